// Reads requests (JSON, see request.py), carries them out, and answers JSON: as a worker line by
// line over two descriptors, else one request from standard input, answered between two marks.
// The text of this file is constant: nothing of a request becomes source.
// ES5 in the main, for the engine is that of the system.

// Error numbers, from each request: `stop` ends the request at once; `unfiltered` is what an app
// answers that cannot decide a filter, and then its columns are read and filtered here.
var NUMBERS = { stop: [], unfiltered: [] };
var MAX_DEPTH = 32, MAX_ITEMS = 50000, MAX_TEXT = 2000000, CUT = '\u2026 [truncated]';

// osascript harness.js 3 4: a worker on these descriptors. Without arguments: one request.
function run(argv) {
  if (argv && argv.length === 2) return serve(Number(argv[0]), Number(argv[1]));
  var stdin = $.NSFileHandle.fileHandleWithStandardInput.readDataToEndOfFile;
  var request = JSON.parse(ObjC.unwrap($.NSString.alloc.initWithDataEncoding(stdin, 4)));
  var text = ascii(JSON.stringify(answerTo(request)));
  return '<iac:' + request.mark + '>' + text + '</iac:' + request.mark + '>';
}

// A request a line, an answer a line, until the requests end. Nothing of a request outlives it.
function serve(requests, answers) {
  var input = $.NSFileHandle.alloc.initWithFileDescriptor(requests);
  var output = $.NSFileHandle.alloc.initWithFileDescriptor(answers);
  function say(answer) {
    output.writeData($(ascii(JSON.stringify(answer)) + '\n').dataUsingEncoding(4));
  }
  say({ mark: 'hello' });
  var pending = [], data, lines, i;
  for (;;) {
    data = input.availableData;
    // A 64-bit integer arrives as text. Nothing to read means the end.
    if (Number(data.length) === 0) return undefined;
    // Requests are ASCII, so a piece of one is text too.
    lines = ObjC.unwrap($.NSString.alloc.initWithDataEncoding(data, 4)).split('\n');
    for (i = 0; i < lines.length - 1; i++) {
      pending.push(lines[i]);
      say(answerTo(JSON.parse(pending.join(''))));
      pending = [];
    }
    pending.push(lines[i]);
  }
}

// Lone surrogates, which JSON allows, cannot be written as UTF-8: all but ASCII is escaped.
function ascii(json) {
  return json.replace(/[\u0080-\uffff]/g, function (unit) {
    return '\\u' + ('000' + unit.charCodeAt(0).toString(16)).slice(-4);
  });
}

function answerTo(request) {
  var answer;
  NUMBERS = request.numbers;
  try {
    if (request.op === 'test') answer = { value: examine(request.app) };
    else if (request.needRunning && !Application(request.app).running() && !isHelper(request.app)) {
      answer = { kind: 'not-running' };
    }
    else if (request.pin && !holds(request.pin)) answer = { kind: 'stale' };
    else answer = carryOut(request);
    answer.ok = !answer.kind;
  } catch (error) {
    answer = failure(error);
  }
  answer.mark = request.mark;
  return answer;
}

// Whether what was approved is still so: the same reads have the same answers.
function holds(pin) {
  return JSON.stringify(carryOut(pin[0]).value) === JSON.stringify(pin[1]);
}

// Whether an app is a helper of the system's without a face: it is not seen, and ends when idle.
function isHelper(id) {
  try {
    ObjC.import('AppKit');
    var url = $.NSWorkspace.sharedWorkspace.URLForApplicationWithBundleIdentifier(id);
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
    ObjC.import('AppKit');
    installed = !$.NSWorkspace.sharedWorkspace.URLForApplicationWithBundleIdentifier(id).isNil();
  } catch (error) {
    // Without AppKit, making the object below tells.
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

function failure(error) {
  var number = error && error.errorNumber;
  return {
    ok: false,
    number: typeof number === 'number' ? number : null,
    message: String((error && error.message) || error)
  };
}

function carryOut(request) {
  var app;
  if (request.kind === 'addition') {
    app = Application.currentApplication();
    app.includeStandardAdditions = true;
  } else {
    app = Application(request.app);
  }
  var work = { app: app, more: request.more || [], notes: [], items: 0, within: [] };
  switch (request.op) {
    case 'command': return { value: command(work, request), notes: work.notes };
    case 'get': return { value: single(work, request, read(work, build(app, request.target))), notes: work.notes };
    case 'properties': return { value: properties(work, request), notes: work.notes };
    case 'columns': return { value: columns(work, request), notes: work.notes };
    case 'list': return { list: list(work, request), notes: work.notes };
    case 'count': return { value: count(work, request), notes: work.notes };
    case 'each': return { value: request.parts.map(part) };
    case 'set': return { value: assign(work, request) };
    case 'activate': app.activate(); return { value: null };
    case 'launch': app.launch(); return { value: null };
    case 'quit': app.quit(); return { value: null };
    case 'running': return { value: app.running() };
  }
  throw new Error('unknown operation ' + request.op);
}

// A function has no .apply here: on a specifier that would name a property of the app.
function command(work, request) {
  var app = work.app, name = request.command, given = [];
  if ('direct' in request && (request.direct !== null || request.named.length)) {
    given.push(convert(app, request.direct));
  }
  if (request.named.length) given.push(record(app, request.named));
  var value;
  if (given.length === 0) value = app[name]();
  else if (given.length === 1) value = app[name](given[0]);
  else value = app[name](given[0], given[1]);
  return single(work, request, value);
}

// Several requests in one call: each its own answer or error.
function part(request) {
  try {
    var answer = carryOut(request);
    answer.ok = true;
    return answer;
  } catch (error) {
    if (isFatal(error)) throw error;
    return failure(error);
  }
}

// One event. Parameters that the app's own get or count declares go along.
function read(work, specifier) {
  return work.more.length ? work.app.get(specifier, record(work.app, work.more)) : specifier();
}

function size(work, items) {
  return work.more.length ? work.app.count(items, record(work.app, work.more)) : items.length;
}

function properties(work, request) {
  var target = build(work.app, request.target), all, first;
  try {
    all = read(work, target.properties);
    if (all && typeof all === 'object' && !Array.isArray(all)) return plain(work, all, 0);
  } catch (error) {
    // -1719: there is no such object, so there is nothing to ask.
    if (isFatal(error) || error.errorNumber === -1719) throw error;
    first = error;
  }
  // Some apps cannot give all at once when one property fails: each is asked for itself.
  var fields = [], failed = 0;
  for (var i = 0; i < request.columns.length; i++) {
    try {
      fields.push([request.columns[i][0], plain(work, read(work, target[request.columns[i][1]]), 0)]);
    } catch (error) {
      if (isFatal(error)) throw error;
      failed += 1;
      if (!fields.length && (failed > 2 || failed === request.columns.length)) throw first || error;
    }
  }
  if (failed) work.notes.push(failed + ' of ' + request.columns.length + ' properties could not be read');
  return { record: fields };
}

function columns(work, request) {
  var target = build(work.app, request.target), fields = [], failed = 0, first = null;
  for (var i = 0; i < request.columns.length; i++) {
    var value = null;
    try {
      value = plain(work, read(work, target[request.columns[i][1]]), 0);
    } catch (error) {
      if (isFatal(error)) throw error;
      first = first || error;
      failed += 1;
      unreadable(work, request.columns[i][0], error);
    }
    fields.push([request.columns[i][0], value]);
  }
  if (failed && failed === request.columns.length) throw first;
  return { record: fields };
}

function unreadable(work, label, error) {
  note(work, '"' + label + '" could not be read (' + ((error && error.errorNumber) || 'error') + ')');
}

// A collection whose properties are read whole: one event a property, never one an item.
function table(work, request) {
  var steps = request.target, last = steps[steps.length - 1];
  return {
    work: work,
    items: build(work.app, steps),
    filter: last[0] === 'whose' ? last[1] : null,
    bare: steps.slice(0, -1),
    kept: null, // positions that passed the filter here; null where the app filtered
    total: null,
    read: {}
  };
}

// The values of one property, or null where the app cannot give them.
function column(list, name, label) {
  if (list.read.hasOwnProperty(name)) return list.read[name];
  var values = null;
  try {
    values = whole(list, name ? list.items[name] : list.items);
  } catch (error) {
    if (list.filter && list.total === null && cannotFilter(error)) {
      filterHere(list);
      return column(list, name, label);
    }
    if (isFatal(error) || error.changed) throw error;
    // Is it the property, or is there no such collection at all?
    if (list.total === null) list.total = total(list, error);
    if (label) unreadable(list.work, label, error);
  }
  list.read[name] = values;
  return values;
}

function whole(list, specifier) {
  var values = read(list.work, specifier);
  if (!Array.isArray(values)) throw { errorNumber: -1700, message: 'The app gave no list.' };
  if (list.total === null) list.total = values.length;
  if (values.length !== list.total) {
    throw { errorNumber: -1719, message: 'The list changed while it was read.', changed: true };
  }
  return values;
}

function total(list, error) {
  try {
    return size(list.work, list.items);
  } catch (_) {
    throw error;
  }
}

function filterHere(list) {
  var test = list.filter;
  list.filter = null;
  list.items = build(list.work.app, list.bare);
  var passes = tester(list, test);
  list.kept = [];
  for (var i = 0; i < list.total; i++) if (passes(i)) list.kept.push(i);
  note(list.work, 'the app cannot filter by this, so all ' + list.total + ' items were read and filtered here');
}

function tester(list, test) {
  if (test[0] !== 'test') {
    var parts = test[1].map(function (inner) { return tester(list, inner); });
    return function (i) {
      function passed(inner) { return inner(i); }
      if (test[0] === 'and') return parts.every(passed);
      return parts.some(passed) === (test[0] === 'or');
    };
  }
  var values = tested(list, test[1]), wanted = comparable(convert(list.work.app, test[3]));
  return function (i) { return compares(comparable(values[i]), test[2], wanted); };
}

function tested(list, path) {
  var name = path[0][1];
  if (path.length > 1) return whole(list, follow(list.work.app, list.items, path));
  if (!list.read.hasOwnProperty(name)) list.read[name] = whole(list, list.items[name]);
  return list.read[name];
}

// Values as AppleScript compares them: text without case, dates by their time, a missing value
// equal to nothing but itself.
function comparable(value) {
  if (value === null || value === undefined) return { type: 'missing', key: null };
  if (typeof value === 'string') return { type: 'text', key: value.toLowerCase() };
  if (value instanceof Date) return { type: 'date', key: value.getTime() };
  if (Array.isArray(value)) return { type: 'list', key: value.map(comparable) };
  if (typeof value === 'number' || typeof value === 'boolean') return { type: typeof value, key: value };
  return { type: 'object', key: display(value) };
}

function compares(a, operator, b) {
  if (operator === '=') return same(a, b);
  if (operator === '_contains' && a.type === 'list') {
    return a.key.some(function (inner) { return same(inner, b); });
  }
  if (a.type !== b.type || a.key === null) return false;
  if (operator.charAt(0) === '_') {
    if (a.type !== 'text') return false;
    var at = a.key.length - b.key.length;
    if (operator === '_contains') return a.key.indexOf(b.key) >= 0;
    if (operator === '_beginsWith') return a.key.slice(0, b.key.length) === b.key;
    return at >= 0 && a.key.slice(at) === b.key;
  }
  if (['text', 'number', 'date'].indexOf(a.type) < 0) return false;
  if (operator === '>') return a.key > b.key;
  if (operator === '>=') return a.key >= b.key;
  return operator === '<' ? a.key < b.key : a.key <= b.key;
}

function same(a, b) {
  if (a.type !== b.type) return false;
  if (a.type !== 'list') return a.key === b.key;
  return a.key.length === b.key.length && a.key.every(function (one, i) { return same(one, b.key[i]); });
}

function count(work, request) {
  var list = table(work, request);
  try {
    return size(work, list.items);
  } catch (error) {
    if (!list.filter || !cannotFilter(error)) throw error;
    filterHere(list);
    return list.kept.length;
  }
}

function list(work, request) {
  var found = table(work, request);
  request.columns.forEach(function (pair) { column(found, pair[1], pair[0]); });
  var order = request.order.map(function (pair) { return sortKeys(found, pair); });
  var naming = names(work, found, request), rows = [];
  if (found.total === null) found.total = bareTotal(found);
  var places = sorted(naming.places(found), order);
  var end = request.limit === null ? places.length : request.offset + request.limit;
  places.slice(request.offset, end).every(function (at) {
    var row = request.columns.map(function (pair) { return cell(work, found, pair[1], at); });
    rows.push([naming.keys ? naming.keys[at] : at, at, row]);
    return work.items <= MAX_ITEMS;
  });
  return { total: places.length, by: naming.by, filteredHere: found.kept !== null, rows: rows };
}

function cell(work, list, name, at) {
  var values = list.read[name];
  return values ? plain(work, values[at], 1) : null;
}

function bareTotal(list) {
  try {
    return size(list.work, list.items);
  } catch (error) {
    if (!list.filter || !cannotFilter(error)) throw error;
    filterHere(list);
    return list.total;
  }
}

function sortKeys(list, pair) {
  var values = column(list, pair[0], '');
  if (!values) throw { errorNumber: -1700, message: 'The items cannot be sorted by ' + pair[0] + '.' };
  return { keys: values.map(comparable), sign: pair[1] ? -1 : 1 };
}

// Missing values come last either way; equal items keep their order.
function sorted(places, order) {
  if (!order.length) return places;
  return places.slice().sort(function (one, other) {
    for (var i = 0; i < order.length; i++) {
      var a = order[i].keys[one], b = order[i].keys[other];
      var gone = (a.type === 'missing') - (b.type === 'missing');
      if (gone) return gone;
      if (a.type !== b.type) return a.type < b.type ? -1 : 1;
      if (a.key !== b.key && !same(a, b)) return a.key < b.key ? -order[i].sign : order[i].sign;
    }
    return one - other;
  });
}

// What the items are named by: id, else a name that no other has, else position.
function names(work, list, request) {
  var keys = request.idColumn ? keysOf(list, request.idColumn) : null, doubled = {};
  if (keys && distinct(work, list, request, keys, doubled)) {
    return { by: 'id', keys: keys, places: function (found) { return kept(found, doubled); } };
  }
  keys = request.nameColumn ? keysOf(list, request.nameColumn) : null;
  if (keys && unique(keys)) return { by: 'name', keys: keys, places: function (found) { return kept(found, {}); } };
  return { by: 'index', keys: null, places: function (found) { return kept(found, {}); } };
}

function kept(list, doubled) {
  var places = list.kept || [];
  for (var i = 0; !list.kept && i < list.total; i++) places.push(i);
  return places.filter(function (at) { return !doubled[at]; });
}

function keysOf(list, name) {
  var keys = column(list, name, '');
  return keys && keys.every(function (key) { return typeof key === 'string' || typeof key === 'number'; }) ? keys : null;
}

function unique(keys) {
  var seen = {};
  return keys.every(function (key) {
    var mark = typeof key + ':' + String(key).toLowerCase();
    return !seen.hasOwnProperty(mark) && (seen[mark] = true);
  });
}

// An app may list one object twice (a track that is in two playlists). The same id with other
// values is another object, and then ids name nothing.
function distinct(work, list, request, keys, doubled) {
  var seen = {}, twice = 0;
  for (var i = 0; i < keys.length; i++) {
    var mark = typeof keys[i] + ':' + keys[i];
    if (seen.hasOwnProperty(mark)) {
      for (var j = 0; j < request.columns.length; j++) {
        var values = list.read[request.columns[j][1]];
        if (values && !same(comparable(values[seen[mark]]), comparable(values[i]))) return false;
      }
      doubled[i] = true;
      twice += 1;
    } else seen[mark] = i;
  }
  if (twice) note(work, 'the app listed ' + twice + ' of the items more than once; each is shown once');
  return true;
}

function assign(work, request) {
  var app = work.app, target = build(app, request.target), done = [];
  request.named.forEach(function (pair) {
    var value = convert(app, pair[1]);
    try {
      if (work.more.length) {
        app.set(target[pair[0]], record(app, [['to', pair[1]]].concat(work.more)));
      } else target[pair[0]] = value;
    } catch (error) {
      if (!done.length || typeof error.errorNumber !== 'number') throw error;
      throw { errorNumber: error.errorNumber, message: error.message + ' (' + done.join(', ') + ' was set before)' };
    }
    done.push(pair[0]);
  });
  return null;
}

function isFatal(error) {
  return NUMBERS.stop.indexOf(error && error.errorNumber) >= 0;
}

function cannotFilter(error) {
  return NUMBERS.unfiltered.indexOf(error.errorNumber) >= 0;
}

function build(app, steps) {
  return follow(app, app, steps);
}

function follow(app, begin, steps) {
  var here = begin;
  for (var i = 0; i < steps.length; i++) {
    var how = steps[i][0], what = steps[i][1];
    if (how === 'go') here = here[what];
    else if (how === 'at') here = here.at(what);
    else if (how === 'name') here = here.byName(what);
    else if (how === 'id') here = here.byId(what);
    else here = here.whose(filter(app, what));
  }
  return here;
}

function filter(app, test) {
  var made = {};
  if (test[0] !== 'test') {
    made['_' + test[0]] = test[1].map(function (inner) { return filter(app, inner); });
    return made;
  }
  var path = test[1], value = convert(app, test[3]);
  if (test[2] !== '=') {
    var compared = {};
    compared[test[2]] = value;
    value = compared;
  }
  if (path.length === 1) made[path[0][1]] = value;
  else made._match = [follow(app, ObjectSpecifier(), path), value];
  return made;
}

function convert(app, value) {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(function (part) { return convert(app, part); });
  if ('path' in value) return Path(value.path);
  if ('date' in value) return new Date(value.date);
  if ('ref' in value) return build(app, value.ref);
  return record(app, value.record);
}

function record(app, fields) {
  var made = {};
  for (var i = 0; i < fields.length; i++) made[fields[i][0]] = convert(app, fields[i][1]);
  return made;
}

// A result that is one object is also asked for its id, if its class has one and the app did not
// answer by id: an id outlives a change of the order or the name.
function single(work, request, value) {
  var answer = plain(work, value, 0);
  if (answer === null || typeof answer !== 'object' || !('ref' in answer)) return answer;
  if (/\.byId\((?:"(?:[^"\\]|\\.)*"|[-\d.e+]+)\)$/.test(answer.ref)) return answer;
  try {
    var kind = folded(ObjectSpecifier.classOf(value));
    request.idClasses.forEach(function (pair) {
      if (folded(pair[0]) !== kind) return;
      var id = value[pair[1]]();
      if (typeof id === 'string' || typeof id === 'number') answer.id = id;
    });
  } catch (error) {
    return answer;
  }
  return answer;
}

function folded(name) {
  return String(name).toLowerCase().replace(/[^a-z0-9]/g, '');
}

function plain(work, value, depth) {
  if (value === null || value === undefined) return null;
  work.items += 1;
  if (typeof value === 'string') return text(work, value);
  if (typeof value === 'number') return isFinite(value) ? value : null;
  if (typeof value === 'boolean') return value;
  if (value instanceof Date) return { date: isNaN(value.getTime()) ? null : value.toISOString() };
  var isList = Array.isArray(value), shown = isList ? '' : display(value);
  if (shown.indexOf('Path(') === 0) return { path: value.toString() };
  if (/^Application[(.]/.test(shown)) return { ref: shown };
  if (!isList && (typeof value !== 'object' || /^[$[]/.test(shown))) return { opaque: opaque(value, shown) };
  if (depth >= MAX_DEPTH) return cut(work, 'nested deeper than ' + MAX_DEPTH + ' levels');
  if (work.within.indexOf(value) >= 0) return cut(work, 'contains itself');
  work.within.push(value);
  var made = isList ? items(work, value, depth) : { record: fields(work, value, depth) };
  work.within.pop();
  return made;
}

function text(work, value) {
  if (value.length <= MAX_TEXT) return value;
  note(work, 'a text was cut at ' + MAX_TEXT + ' characters');
  // Not between the halves of one character.
  return value.slice(0, MAX_TEXT).replace(/[\ud800-\udbff]$/, '') + CUT;
}

function cut(work, why) {
  note(work, 'a part was left out: ' + why);
  return { cut: why };
}

function fields(work, value, depth) {
  return Object.keys(value).map(function (key) { return [key, plain(work, value[key], depth + 1)]; });
}

function items(work, value, depth) {
  var made = [];
  for (var i = 0; i < value.length; i++) {
    if (work.items > MAX_ITEMS) {
      note(work, 'only the first ' + i + ' of ' + value.length + ' items were read');
      break;
    }
    made.push(plain(work, value[i], depth + 1));
  }
  return made;
}

// A type that JavaScript has no form for comes wrapped: its four-character code or its class, and
// its bytes where they can be had. What a Mac wraps how only a Mac can confirm.
function opaque(value, shown) {
  var named = /^\[\w+ (\w+)/.exec(shown), found = { type: named ? named[1] : shown || typeof value };
  try {
    if (typeof value.descriptorType === 'number') {
      found.type = [24, 16, 8, 0].map(function (shift) {
        return String.fromCharCode((value.descriptorType >> shift) & 255);
      }).join('');
      value = value.data;
    }
    found.base64 = String(ObjC.unwrap(value.base64EncodedStringWithOptions(0)));
  } catch (error) {
    return found;
  }
  return found;
}

function note(work, text) {
  if (work.notes.indexOf(text) < 0) work.notes.push(text);
}

function display(value) {
  try {
    return String(Automation.getDisplayString(value));
  } catch (error) {
    return '';
  }
}
