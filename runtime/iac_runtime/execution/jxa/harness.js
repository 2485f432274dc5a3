// Reads requests (JSON, see request.py), carries them out, and answers JSON: as a worker line by
// line over two descriptors, else one request from standard input, answered between two marks.
// The text of this file is constant: nothing of a request becomes source.
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
    return $.getppid();
  } catch (error) {
    return null;
  }
}

// osascript harness.js 3 4: a worker on these descriptors. Without arguments: one request.
function run(argv) {
  PARENT = parent();
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
    answer = failure(error, request);
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
    case 'get': return { value: single(work, request, value(work, request.target)), notes: work.notes };
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
    return failure(error, request);
  }
}

// One event. Parameters that the app's own get or count declares go along.
function read(work, specifier) {
  if (PARENT !== null && parent() !== PARENT) $.exit(0);
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
      fields.push([request.columns[i][0], plain(work, property(work, target, request.columns[i][1]), 0)]);
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
      value = plain(work, property(work, target, request.columns[i][1]), 0);
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

// ---- Lists. Each read is an event of its own, and a list can move between two of them. So few
// items are read one by one through their ids: then a row is of one object, whatever moves. Many
// are read a property at a time, with what tells them apart (ids, else names, else all that is
// read) first and last; what lies between counts only where both are equal.

// What is read through ids: at most so many values, or so few items; a collection is counted
// before a part of it is asked for, and read whole up to this size. How often a list that moved is
// read in all.
var MAX_CELLS = 300, FEW_ITEMS = 6, MAX_WHOLE = 1000, PASSES = 3;

// Names that JXA keeps for itself, on collections and on every object: a property of such a name
// is taken from the record of all properties.
var OF_COLLECTIONS = /^(length|at|byName|byId|whose|where|push|first|last|beginning|end|unshift|splice|pop|shift)$/;
var OF_OBJECTS = new RegExp('^(get|set|make|constructor|prototype|toString|toLocaleString|valueOf|hasOwnProperty|' +
  'propertyIsEnumerable|isPrototypeOf|toJSON|call|apply|bind)$');

function property(work, object, name) {
  if (!name) return read(work, object);
  return OF_OBJECTS.test(name) ? field(read(work, object.properties), name) : read(work, object[name]);
}

function value(work, steps) {
  var last = steps[steps.length - 1] || [];
  if (last[0] !== 'go' || !OF_OBJECTS.test(last[1])) return read(work, build(work.app, steps));
  return property(work, build(work.app, steps.slice(0, -1)), last[1]);
}

function field(record, name) {
  if (record !== null && typeof record === 'object' && Object.prototype.hasOwnProperty.call(record, name)) return record[name];
  throw { errorNumber: -1728, message: 'The app gave no ' + name + '.' };
}

function table(work, request) {
  var steps = request.target, last = steps[steps.length - 1], filtered = last[0] === 'whose';
  var list = {
    work: work,
    bare: build(work.app, filtered ? steps.slice(0, -1) : steps),
    filter: filtered ? last[1] : null, // that the app decides
    test: null, // the same, decided here
    wanted: null, // the ids that the filter was resolved to, where they are many
    total: null,
    kept: null, // positions that passed the filter here, or are wanted; null for all
    ways: Object.create(null), // what is tested beyond one property
    read: Object.create(null)
  };
  list.filtered = list.items = filtered ? build(work.app, steps) : list.bare;
  return list;
}

// The values of one property, or null where the app cannot give them.
function column(list, name, label) {
  if (name in list.read) return list.read[name];
  var values = null;
  try {
    values = whole(list, name);
  } catch (error) {
    if (isFatal(error) || error.moved) throw error;
    if (list.filter && list.total === null && cannotFilter(error)) {
      filterHere(list);
      throw { restart: true };
    }
    // Is it the property, or is there no such collection at all?
    if (list.total === null) list.total = total(list, error);
    if (label) unreadable(list.work, label, error);
  }
  list.read[name] = values;
  return values;
}

function whole(list, name) {
  if (list.ways[name]) return batch(list, follow(list.work.app, list.items, list.ways[name]));
  var clash = OF_OBJECTS.test(name) || OF_COLLECTIONS.test(name);
  var values = batch(list, clash ? list.items.properties : name ? list.items[name] : list.items);
  return clash ? values.map(function (record) { return field(record, name); }) : values;
}

function batch(list, specifier) {
  var values = read(list.work, specifier);
  if (!Array.isArray(values)) throw { errorNumber: -1700, message: 'The app gave no list.' };
  if (list.total === null) list.total = values.length;
  if (values.length !== list.total) throw { moved: true };
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
  list.test = list.filter;
  list.filter = null;
  list.items = list.bare;
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
  var name = path.length > 1 ? JSON.stringify(path) : path[0][1];
  if (path.length > 1) list.ways[name] = path;
  if (!(name in list.read)) list.read[name] = whole(list, name);
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
  }
  filterHere(list);
  settle(list, { columns: [], order: [] });
  return list.kept.length;
}

function list(work, request) {
  var found = table(work, request), ids = request.idColumn ? wantedIds(found, request) : null;
  return (ids && byRows(found, request, ids)) || byColumns(found, request);
}

// What is read of each item, but for the ids.
function namesRead(request) {
  var names = request.columns.map(function (pair) { return pair[1]; });
  request.order.forEach(function (pair) { names.push(pair[0]); });
  return names.filter(function (name, i) { return name !== request.idColumn && names.indexOf(name) === i; });
}

// The ids of the items that are asked for, where they are few enough to be read one by one; of an
// ordered list, of all of them.
function wantedIds(list, request) {
  var width = namesRead(request).length, end = request.limit === null ? Infinity : request.offset + request.limit;
  if (!list.filter && !request.order.length && request.limit * width <= MAX_CELLS && request.limit !== null) {
    var size = bareTotal(list);
    if (size > MAX_WHOLE) return { ids: placed(list, request, Math.min(end, size)), total: size, from: request.offset };
    list.total = null;
  }
  try {
    var all = column(list, request.idColumn, '');
  } catch (error) {
    if (!error.restart) throw error;
    return null;
  }
  if (!areIds(all)) return null;
  var ids = request.order.length ? all : all.slice(request.offset, end);
  // A list no longer than its reads could be moved round to what it was at first.
  var few = ids.length <= Math.min(width + 1, FEW_ITEMS) || (list.filter && ids.length * width <= MAX_CELLS);
  if (few || !width) {
    return { ids: ids, total: all.length, from: request.order.length ? 0 : request.offset };
  }
  if (list.filter) {
    list.wanted = all;
    list.items = list.bare;
    list.read = Object.create(null);
    list.total = null;
  }
  return null;
}

function placed(list, request, end) {
  var ids = [];
  for (var i = request.offset; i < end; i++) {
    try {
      ids.push(property(list.work, list.items.at(i), request.idColumn));
    } catch (error) {
      if (error.errorNumber !== -1719 && error.errorNumber !== -1728) throw error;
      break;
    }
  }
  var distinct = ids.filter(function (id, i) { return ids.indexOf(id) === i; });
  if (distinct.length < end - request.offset) note(list.work, 'the list changed while it was read: items may be left out');
  return distinct;
}

// The rows of items by their ids; null where the app finds none by its id.
function byRows(list, request, wanted) {
  var work = list.work, gone = 0, rows = [], names = namesRead(request), failed = Object.create(null);
  list.read = Object.create(null);
  list.read[request.idColumn] = [];
  names.forEach(function (name) { list.read[name] = []; failed[name] = 0; });
  wanted.ids.forEach(function (id) {
    var row = rowOf(list, request, names, id, failed);
    if (!row) return void (gone += 1);
    rows.push(id);
    list.read[request.idColumn].push(id);
    names.forEach(function (name, i) { list.read[name].push(row[i]); });
  });
  if (gone && !rows.length) {
    list.read = Object.create(null);
    list.total = null;
    return null;
  }
  if (gone) note(work, 'the list changed while it was read: ' + gone + ' of the items went and are left out');
  list.total = rows.length;
  list.kept = null;
  var made = finished(list, request, { by: 'id', keys: rows }, request.order.length ? 0 : wanted.from);
  made.total = wanted.total - gone;
  return made;
}

function rowOf(list, request, names, id, failed) {
  var object = list.bare.byId(id), row = [];
  for (var i = 0; i < names.length; i++) {
    row.push(null);
    // What two items could not give and none could, is not asked of the others.
    if (failed[names[i]] === 2) continue;
    try {
      row[i] = property(list.work, object, names[i]);
      failed[names[i]] = -Infinity;
    } catch (error) {
      if (isFatal(error)) throw error;
      if (isGone(error) && !answers(list, object, request)) return null;
      failed[names[i]] += 1;
      request.columns.forEach(function (pair) { if (pair[1] === names[i]) unreadable(list.work, pair[0], error); });
    }
  }
  return row;
}

function isGone(error) {
  return error.errorNumber === -1728 || error.errorNumber === -1719;
}

function answers(list, object, request) {
  try {
    property(list.work, object, request.idColumn);
    return true;
  } catch (error) {
    if (isFatal(error)) throw error;
    return false;
  }
}

function byColumns(found, request) {
  if (!settle(found, request)) {
    var ids = found.wanted || (found.test ? null : found.read[request.idColumn]);
    var some = areIds(ids) ? stable(found, request, ids) : null;
    if (!some) throw { moved: true };
    return some;
  }
  return finished(found, request, names(found.work, found, request), 0);
}

// What does not hold still is read by rows, in part where that would take too long.
function stable(list, request, ids) {
  var end = request.limit === null ? ids.length : request.offset + request.limit;
  var most = Math.floor(MAX_CELLS / Math.max(1, namesRead(request).length));
  var page = ids.slice(request.offset, Math.min(end, request.offset + most));
  note(list.work, 'the list kept changing while it was read: these rows are right, others may be missing' +
    (request.order.length ? ', and the order is of these alone' : ''));
  list.items = list.bare;
  return byRows(list, request, { ids: page, total: ids.length, from: request.offset });
}

// Read until nothing moves; says whether that came to be.
function settle(list, request) {
  for (var pass = 0; pass < PASSES; pass++) {
    try {
      if (held(list, request)) return true;
    } catch (error) {
      if (error.restart) pass -= 1;
      else if (!error.moved) throw error;
    }
    if (pass < PASSES - 1) {
      list.read = Object.create(null);
      list.total = null;
    }
  }
  return false;
}

// One pass; says whether the list was at the end what it was at the beginning.
function held(list, request) {
  var key = request.idColumn && column(list, request.idColumn, '') ? request.idColumn : '';
  if (!key && request.nameColumn && column(list, request.nameColumn, '')) key = request.nameColumn;
  if (!key || key !== request.idColumn) {
    if (atOnce(list, request)) return true;
  }
  if (list.test) {
    var passes = tester(list, list.test);
    list.kept = [];
    for (var i = 0; i < list.total; i++) if (passes(i)) list.kept.push(i);
    note(list.work, 'the app cannot filter by this, so all ' + list.total + ' items were read and filtered here');
  }
  request.columns.forEach(function (pair) { column(list, pair[1], pair[0]); });
  request.order.forEach(function (pair) { column(list, pair[0], ''); });
  if (list.total === null) list.total = bareTotal(list);
  var names = Object.keys(list.read).filter(function (name) { return list.read[name]; });
  if (key && !areKeys(list, key, request)) key = '';
  if (list.wanted) {
    if (!key) return unresolved(list);
    list.kept = positions(list, list.read[key]);
  }
  if (names.length < 2) return true;
  return (key ? [key] : names.reverse()).every(function (name) {
    return alike(list.read[name], whole(list, name));
  });
}

// A few items without ids are read by all their properties, which is one event.
function atOnce(list, request) {
  var names = namesRead(request);
  if (request.nameColumn && names.indexOf(request.nameColumn) < 0) names.push(request.nameColumn);
  if (names.length < 2 || list.test || names.indexOf('') >= 0) return false;
  if (list.total === null) list.total = bareTotal(list);
  if (list.total > FEW_ITEMS) return false;
  try {
    var records = batch(list, list.items.properties), read = Object.create(null);
    names.forEach(function (name) { read[name] = records.map(function (record) { return field(record, name); }); });
  } catch (error) {
    if (isFatal(error) || error.moved) throw error;
    return false;
  }
  for (var name in read) list.read[name] = read[name];
  return true;
}

// Ids that name several items of the whole collection find nothing in it.
function unresolved(list) {
  list.wanted = null;
  list.items = list.filtered;
  throw { restart: true };
}

function positions(list, ids) {
  var at = {}, found = [], missing = 0;
  ids.forEach(function (id, i) { at[typeof id + ':' + id] = i; });
  list.wanted.forEach(function (id) {
    var position = at[typeof id + ':' + id];
    if (position === undefined) missing += 1;
    else found.push(position);
  });
  if (missing) note(list.work, 'the list changed while it was read: ' + missing + ' of the items went and are left out');
  return found;
}

function areIds(keys) {
  return !!keys && keys.every(isKey) && once(keys, true);
}

function areKeys(list, key, request) {
  return key === request.idColumn ? areIds(list.read[key]) : list.read[key].every(isKey) && once(list.read[key]);
}

function alike(first, last) {
  return first.every(function (value, i) { return printed(value) === printed(last[i]); });
}

function printed(value) {
  if (value instanceof Date) return 'date ' + value.getTime();
  if (Array.isArray(value)) return '[' + value.map(printed).join() + ']';
  return typeof value === 'string' || value === null ? JSON.stringify(value) : display(value) || String(value);
}

// Rows of what was read: in order, and the part that was asked for. `before` of them were not read.
function finished(list, request, naming, before) {
  var order = request.order.map(function (pair) { return sortKeys(list, pair); }), rows = [];
  var places = sorted(naming.places ? naming.places(list) : kept(list, {}), order);
  var end = request.limit === null ? places.length : request.offset - before + request.limit;
  places.slice(request.offset - before, end).every(function (at) {
    var row = request.columns.map(function (pair) { return cell(list.work, list, pair[1], at); });
    rows.push([naming.keys ? naming.keys[at] : at, at + before, row]);
    return list.work.items <= MAX_ITEMS;
  });
  return { total: places.length, by: naming.by, filteredHere: !!list.test, rows: rows };
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
    throw { restart: true };
  }
}

function sortKeys(list, pair) {
  var values = list.read[pair[0]];
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
  return keys && once(keys) ? { by: 'name', keys: keys } : { by: 'index', keys: null };
}

function kept(list, doubled) {
  var places = list.kept || [];
  for (var i = 0; !list.kept && i < list.total; i++) places.push(i);
  return places.filter(function (at) { return !doubled[at]; });
}

function keysOf(list, name) {
  var keys = list.read[name];
  return keys && keys.every(isKey) ? keys : null;
}

function isKey(key) {
  return typeof key === 'string' || typeof key === 'number';
}

// Names are compared without case, ids with it.
function once(keys, exact) {
  var seen = {};
  return keys.every(function (key) {
    var mark = typeof key + ':' + (exact ? key : String(key).toLowerCase());
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
