// Reads requests (JSON, see request.py), carries them out, and answers JSON: as a worker line by
// line over two descriptors, else one request from standard input, answered between two marks.
// The rooms of this folder are joined in order; the text is constant: nothing of a request becomes
// source.
// ES5 in the main, for the engine is that of the system.

// Error numbers, from each request: `stop` ends the request at once; `unfiltered` is what an app
// answers that cannot decide a filter, and then its columns are read and filtered here.
var NUMBERS = { stop: [], unfiltered: [] };
var MAX_DEPTH = 32, MAX_ITEMS = 50000, MAX_TEXT = 2000000, CUT = '\u2026 [truncated]';

// The process that started this one: once it is gone nobody waits, and nothing more is sent.
var PARENT = null;

function parent() {
  try {
    ObjC.import('unistd');
    ObjC.import('stdlib'); // of exit
    return $.getppid();
  } catch (error) {
    return null;
  }
}

// osascript -e TEXT 3 4: a worker on these descriptors; with one more word it frees nothing (see
// serve). Without arguments: one request.
function run(argv) {
  PARENT = parent();
  if (argv && argv.length >= 2) return serve(Number(argv[0]), Number(argv[1]), argv.length === 2);
  var stdin = $.NSFileHandle.fileHandleWithStandardInput.readDataToEndOfFile;
  var request = JSON.parse(ObjC.unwrap($.NSString.alloc.initWithDataEncoding(stdin, 4)));
  function framed(answer) {
    return '<iac:' + request.mark + '>' + ascii(JSON.stringify(answer)) + '</iac:' + request.mark + '>';
  }
  return framed(answerTo(request, function (step) {
    $.NSFileHandle.fileHandleWithStandardOutput.writeData($(framed(step)).dataUsingEncoding(4));
  }));
}

// A request a line, an answer a line, until the requests end. Nothing of a request outlives it. This
// loop never returns to one that would free what Foundation hands out, so each round has a pool; where
// JXA has none, the first round shows it: the process ends without a hello, and is started once more
// without (see workers.py).
function serve(requests, answers, frees) {
  var input = $.NSFileHandle.alloc.initWithFileDescriptor(requests);
  var output = $.NSFileHandle.alloc.initWithFileDescriptor(answers);
  function say(answer) {
    output.writeData($(ascii(JSON.stringify(answer)) + '\n').dataUsingEncoding(4));
  }
  var pending = [], pool, lines, i;
  for (i = 0; frees && i < 3; i++) {
    pool = $.NSAutoreleasePool.alloc.init;
    linesOf($('{}').dataUsingEncoding(4));
    pool.drain;
  }
  say({ mark: 'hello' });
  for (;;) {
    pool = frees ? $.NSAutoreleasePool.alloc.init : { drain: null };
    lines = linesOf(input.availableData);
    if (lines === null) return undefined;
    for (i = 0; i < lines.length - 1; i++) {
      pending.push(lines[i]);
      say(answerTo(JSON.parse(pending.join('')), say));
      pending = [];
    }
    pending.push(lines[i]);
    pool.drain;
  }
}

// The lines of a part of the requests; null at their end. They are ASCII, so a part is text too.
function linesOf(data) {
  // A 64-bit integer arrives as text.
  if (Number(data.length) === 0) return null;
  return ObjC.unwrap($.NSString.alloc.initWithDataEncoding(data, 4)).split('\n');
}

// Lone surrogates, which JSON allows, cannot be written as UTF-8: all but ASCII is escaped.
function ascii(json) {
  return json.replace(/[\u0080-\uffff]/g, function (unit) {
    return '\\u' + ('000' + unit.charCodeAt(0).toString(16)).slice(-4);
  });
}

function answerTo(request, say) {
  var answer;
  NUMBERS = request.numbers;
  try {
    if (request.op === 'test') answer = { value: examine(request.app) };
    else if (request.needRunning && !Application(request.app).running() && !isHelper(request.app)) {
      answer = { kind: 'not-running' };
    }
    else if (request.pin && !holds(request.pin)) answer = { kind: 'stale' };
    else answer = request.writes || request.before ? exchange(request, say) : carryOut(request);
    answer.ok = answer.ok !== false && !answer.kind;
  } catch (error) {
    answer = failure(error, request);
  }
  answer.mark = request.mark;
  return answer;
}

// Whether what was approved is still so: the same reads have the same answers.
function holds(pin) {
  return JSON.stringify(carryOut(pin[0]).value) === JSON.stringify(pin[1]);
}

// A request with what is read before and after it, and every write. It is said in lines, of which
// each adds to the answer: what was read before, as it is sent; what it came to itself, whatever the
// reads after it give; those reads. So whoever ends this process knows what was done. What the reads
// after it go by is an object of this exchange (see steps.py, Seen).
var SEEN = null, MADE = null, LOOK_SECONDS = 2;

// Seconds on a clock that nobody sets.
function uptime() {
  return Number($.NSProcessInfo.processInfo.systemUptime);
}

function exchange(request, say) {
  var until = uptime() + LOOK_SECONDS, answer, after = [], keys = [null];
  var before = request.before && request.before.map(function (one) { return look(one, until); });
  MADE = null;
  say({ mark: request.mark, step: 'sent', before: before });
  try {
    answer = carryOut(request);
    answer.ok = true;
  } catch (error) {
    answer = failure(error, request);
    // Nothing more is asked of an app that does not answer.
    if (isFatal(error)) return answer;
  }
  if (!before) return answer;
  answer.mark = request.mark;
  answer.step = 'answered';
  say(answer);
  if (request.seen) keys = seenIn(before[0]);
  until = uptime() + LOOK_SECONDS;
  keys.forEach(function (key) {
    SEEN = key;
    request.after.forEach(function (one) { after.push(look(one, until)); });
  });
  return { ok: answer.ok, after: after };
}

function seenIn(first) {
  if (!first || !first.ok) return [];
  if (!first.list) return [first.value.record[0][1]];
  return first.list.by === 'id' ? first.list.rows.map(function (row) { return row[0]; }) : [];
}

function look(request, until) {
  if (uptime() > until) return { ok: false, late: true };
  try {
    return part(request);
  } catch (error) {
    return failure(error, request);
  }
}

// Where an app is, by Launch Services; null where it is not. AppKit would tell too, and could put
// osascript into the Dock.
function placeOf(id) {
  ObjC.import('CoreServices');
  var urls = ObjC.castRefToObject($.LSCopyApplicationURLsForBundleIdentifier($(id), null));
  return !urls || urls.isNil() || !Number(urls.count) ? null : urls.objectAtIndex(0);
}

// Whether an app is a helper of the system's without a face: it is not seen, and ends when idle.
function isHelper(id) {
  try {
    var url = placeOf(id);
    if (!/^\/System\//.test(ObjC.unwrap(url.path))) return false;
    var facts = $.NSBundle.bundleWithURL(url).infoDictionary;
    return ['LSBackgroundOnly', 'LSUIElement'].some(function (key) {
      return /^(1|true|yes)$/i.test(String(ObjC.unwrap(facts.objectForKey(key))));
    });
  } catch (error) {
    return false;
  }
}

// How things stand with an app, without an event to it; null for what cannot be said.
function examine(id) {
  var installed = null, scriptable = null, running = null, app;
  try {
    installed = placeOf(id) !== null;
  } catch (error) {
    // Without Launch Services, making the object below tells.
  }
  if (installed !== false) {
    try {
      app = Application(id);
      running = app.running();
      // With a dictionary every name is a term to JXA, without one only a few are.
      scriptable = typeof app.windows === 'function';
      installed = true;
    } catch (error) {
      if (running === null && installed === null) installed = false;
    }
  }
  return { record: [['installed', installed], ['scriptable', scriptable], ['running', running]] };
}

// An error without a number of an app's is explained by what the system knows of the app, for its
// words are in the language of the user.
function failure(error, request) {
  if (error && error.moved) return { ok: false, kind: 'changed' };
  var number = error && error.errorNumber;
  var answer = {
    ok: false,
    number: typeof number === 'number' ? number : null,
    message: String((error && error.message) || error)
  };
  if ((answer.number === null || answer.number === -2700) && request.kind === 'application') {
    answer.about = examine(request.app).record;
  }
  return answer;
}
