// Reads one request (JSON, see request.py) from standard input, carries it out, and answers JSON
// between two marks. The text of this file is constant: nothing of a request becomes source.
// ES5 in the main, for the engine is that of the system.

var FATAL = [-128, -600, -609, -1712, -1743, -1744];
var MAX_DEPTH = 12, MAX_ITEMS = 50000, MAX_TEXT = 2000000;

function run() {
  var stdin = $.NSFileHandle.fileHandleWithStandardInput.readDataToEndOfFile;
  var request = JSON.parse(ObjC.unwrap($.NSString.alloc.initWithDataEncoding(stdin, 4)));
  var answer;
  try {
    answer = carryOut(request);
    answer.ok = true;
  } catch (error) {
    answer = failure(error);
  }
  return '<iac:' + request.mark + '>' + JSON.stringify(answer) + '</iac:' + request.mark + '>';
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
  var work = { app: app, notes: [], items: 0 };
  switch (request.op) {
    case 'command': return { value: command(work, request), notes: work.notes };
    case 'get': return { value: single(work, request, build(app, request.target)()), notes: work.notes };
    case 'properties': return { value: properties(work, request), notes: work.notes };
    case 'columns': return { value: columns(work, request), notes: work.notes };
    case 'list': return { list: list(work, request), notes: work.notes };
    case 'count': return { value: build(app, request.target).length };
    case 'set': return { value: assign(app, request) };
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

function properties(work, request) {
  var target = build(work.app, request.target), all, first;
  try {
    all = target.properties();
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
      fields.push([request.columns[i][0], plain(work, target[request.columns[i][1]](), 0)]);
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
  var target = build(work.app, request.target), fields = [];
  for (var i = 0; i < request.columns.length; i++) {
    fields.push([request.columns[i][0], plain(work, target[request.columns[i][1]](), 0)]);
  }
  return { record: fields };
}

// One event a property for all items, not one an item.
function list(work, request) {
  var items = build(work.app, request.target), read = {}, total = null, i, j;
  function column(name) {
    if (!read.hasOwnProperty(name)) read[name] = wholeColumn(work, items, name);
    if (total === null) total = read[name].length;
    if (read[name].length !== total) throw { errorNumber: -1719, message: 'The list changed while it was read.' };
    return read[name];
  }
  for (i = 0; i < request.columns.length; i++) column(request.columns[i][1]);
  var keys = null, by = null;
  if (request.idColumn) {
    keys = whole(column, request.idColumn, false);
    if (keys) by = 'id';
  }
  if (!keys && request.nameColumn) {
    keys = whole(column, request.nameColumn, true);
    if (keys) by = 'name';
  }
  if (total === null) total = items.length;
  var end = request.limit === null ? total : Math.min(total, request.offset + request.limit), rows = [];
  for (i = request.offset; i < end; i++) {
    var row = [];
    for (j = 0; j < request.columns.length; j++) row.push(plain(work, read[request.columns[j][1]][i], 1));
    rows.push([keys ? keys[i] : i, row]);
    if (work.items > MAX_ITEMS) break;
  }
  return { total: total, by: by || 'index', rows: rows };
}

// Ids or names of all items, or null if one is missing or (for names) taken twice.
function whole(column, name, unique) {
  var keys, seen = {};
  try {
    keys = column(name);
  } catch (error) {
    if (isFatal(error)) throw error;
    return null;
  }
  for (var i = 0; i < keys.length; i++) {
    var key = keys[i], mark = typeof key + ':' + key;
    if (typeof key !== 'string' && typeof key !== 'number') return null;
    if (unique && seen.hasOwnProperty(mark)) return null;
    seen[mark] = true;
  }
  return keys;
}

function wholeColumn(work, items, name) {
  try {
    var column = name ? items[name]() : items();
    if (Array.isArray(column)) return column;
  } catch (error) {
    if (isFatal(error)) throw error;
    var first = error;
  }
  var count = items.length, values = [], failed = 0;
  for (var i = 0; i < count; i++) {
    try {
      values.push(name ? items.at(i)[name]() : items.at(i)());
    } catch (error) {
      if (isFatal(error)) throw error;
      failed += 1;
      values.push(null);
    }
  }
  if (failed && failed === count) throw first || new Error('no item answers ' + name);
  if (failed) work.notes.push(name + ' could not be read of ' + failed + ' of ' + count + ' items');
  return values;
}

function assign(app, request) {
  var target = build(app, request.target);
  for (var i = 0; i < request.named.length; i++) {
    target[request.named[i][0]] = convert(app, request.named[i][1]);
  }
  return null;
}

function isFatal(error) {
  return FATAL.indexOf(error && error.errorNumber) >= 0;
}

function build(app, steps) {
  var here = app;
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
  var made = {}, i;
  if (test[0] !== 'test') {
    made['_' + test[0]] = test[1].map(function (part) { return filter(app, part); });
    return made;
  }
  var path = test[1], value = convert(app, test[3]);
  if (test[2] !== '=') {
    var compared = {};
    compared[test[2]] = value;
    value = compared;
  }
  if (path.length === 1) {
    made[path[0]] = value;
    return made;
  }
  var item = ObjectSpecifier();
  for (i = 0; i < path.length; i++) item = item[path[i]];
  return { _match: [item, value] };
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
  if (typeof value === 'string') {
    if (value.length <= MAX_TEXT) return value;
    note(work, 'a text was cut at ' + MAX_TEXT + ' characters');
    return value.slice(0, MAX_TEXT);
  }
  if (typeof value === 'number') return isFinite(value) ? value : null;
  if (typeof value === 'boolean') return value;
  if (value instanceof Date) return { date: isNaN(value.getTime()) ? null : value.toISOString() };
  if (Array.isArray(value)) return items(work, value, depth);
  var shown = display(value);
  if (shown.indexOf('Path(') === 0) return { path: value.toString() };
  if (typeof value === 'function') return { ref: shown };
  if (depth >= MAX_DEPTH) {
    note(work, 'what lies deeper than ' + MAX_DEPTH + ' levels was left out');
    return null;
  }
  var fields = [];
  Object.keys(value).forEach(function (key) { fields.push([key, plain(work, value[key], depth + 1)]); });
  return { record: fields };
}

function items(work, value, depth) {
  var made = [];
  if (depth >= MAX_DEPTH) {
    note(work, 'what lies deeper than ' + MAX_DEPTH + ' levels was left out');
    return made;
  }
  for (var i = 0; i < value.length; i++) {
    if (work.items > MAX_ITEMS) {
      note(work, 'only the first ' + i + ' of ' + value.length + ' items were read');
      break;
    }
    made.push(plain(work, value[i], depth + 1));
  }
  return made;
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
