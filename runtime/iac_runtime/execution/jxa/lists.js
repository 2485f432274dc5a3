// Lists. Each read is an event of its own, and a list can move between two of them. So few
// items are read one by one through their ids: then a row is of one object, whatever moves. Many
// are read a property at a time, with what tells them apart (ids, else names, else all that is
// read) first and last; what lies between counts only where both are equal.

// What is read through ids: at most so many values, or so few items; a collection is counted
// before a part of it is asked for, and read whole up to this size. How often a list that moved is
// read in all.
var MAX_CELLS = 300, FEW_ITEMS = 6, MAX_WHOLE = 1000, PASSES = 3;
// Seconds that positions may take before whole columns do instead; the number of a time-out.
var PLACED_SECONDS = 5, TIMED_OUT = -1712;

function table(work, request) {
  var steps = request.target, last = steps[steps.length - 1], filtered = last[0] === 'whose';
  var list = {
    work: work,
    bare: build(work, filtered ? steps.slice(0, -1) : steps),
    filter: filtered ? last[1] : null, // that the app decides
    test: null, // the same, decided here
    wanted: null, // the ids that the filter was resolved to, where they are many
    total: null,
    kept: null, // positions that passed the filter here, or are wanted; null for all
    ways: Object.create(null), // what is tested beyond one property
    read: Object.create(null)
  };
  list.filtered = list.items = filtered ? build(work, steps) : list.bare;
  if (filtered && request.filterHere) filterHere(list, request.filterHere === 'slow' ? TOO_LONG : '');
  return list;
}

// The values of one property, or null where the app cannot give them.
function column(list, name, label) {
  if (name in list.read) return list.read[name];
  var values = null;
  try {
    values = whole(list, name);
  } catch (error) {
    if (list.total === null && isDecidedHere(list, error)) throw { restart: true };
    if (isFatal(error) || error.moved) throw error;
    // Is it the property, or is there no such collection at all?
    if (list.total === null) list.total = total(list, error);
    if (label) unreadable(list.work, label, error);
  }
  list.read[name] = values;
  return values;
}

function whole(list, name) {
  if (list.ways[name]) return batch(list, follow(list.work, list.items, list.ways[name]));
  var clash = !list.work.raw && (OF_OBJECTS.test(name) || OF_COLLECTIONS.test(name));
  var asked = clash ? 'properties' : name;
  var values = batch(list, asked ? member(list.work, list.items, asked) : list.items);
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

var CANNOT = 'the app cannot filter by this', TOO_LONG = 'the app took too long to filter';

// Whether a filter that failed is decided here from now on: the app cannot, or takes too long.
function isDecidedHere(list, error) {
  var slow = error.errorNumber === TIMED_OUT;
  if (!list.filter || !(slow || cannotFilter(error))) return false;
  filterHere(list, slow ? TOO_LONG : CANNOT);
  return true;
}

function filterHere(list, why) {
  list.why = why;
  list.test = list.filter;
  list.filter = null;
  list.items = list.bare;
}

function count(work, request) {
  var list = table(work, request);
  try {
    if (!list.test) return size(work, list.items);
  } catch (error) {
    if (!isDecidedHere(list, error)) throw error;
  }
  settle(list, { columns: [], order: [] });
  return list.kept.length;
}

function list(work, request) {
  var found = table(work, request), ids = request.idColumn && !found.test ? wantedIds(found, request) : null;
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
  var width = namesRead(request).length, end;
  if (!list.filter && !request.order.length && request.limit !== null && request.limit * Math.max(width, 1) <= MAX_CELLS) {
    var size = bareTotal(list);
    if (size > MAX_WHOLE && stands(list, request)) {
      var some = placed(list, request, Math.min(request.offset + request.limit, size));
      if (some) return { ids: some, total: size, from: request.offset };
    }
    list.total = null;
  }
  try {
    var all = column(list, request.idColumn, '');
  } catch (error) {
    if (!error.restart) throw error;
    return null;
  }
  if (!areIds(all)) return null;
  if (!request.order.length) goOn(list, request, all);
  end = request.limit === null ? Infinity : request.offset + request.limit;
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

// Where a cursor goes on: behind the item that it names, wherever that is now.
function goOn(list, request, ids) {
  var at = request.after ? ids.map(String).indexOf(request.after) : request.offset - 1;
  if (at + 1 === request.offset) return;
  if (at < 0) note(list.work, 'the item that the cursor names is gone: items may be missing, or come twice');
  request.offset = at < 0 ? Math.max(request.offset - 1, 0) : at + 1;
}

// Whether the item that a cursor names is where it was; without one there is nothing to ask.
function stands(list, request) {
  if (!request.after) return true;
  try {
    return String(property(list.work, step(list.work, list.items, ['at', request.offset - 1]), request.idColumn)) === request.after;
  } catch (error) {
    if (isFatal(error)) throw error;
    return false;
  }
}

// The ids at positions; null where the app takes too long to find them.
function placed(list, request, end) {
  var ids = [], until = uptime() + PLACED_SECONDS;
  for (var i = request.offset; i < end; i++) {
    if (uptime() > until) return null;
    try {
      ids.push(property(list.work, step(list.work, list.items, ['at', i]), request.idColumn));
    } catch (error) {
      if (error.errorNumber === TIMED_OUT) return null;
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
  var object = step(list.work, list.bare, ['id', id]), row = [];
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
    if (list.why) note(list.work, list.why + ', so all ' + list.total + ' items were read and filtered here');
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
  // Objects that come by the same names as before are the same, and what is asked for last anyway.
  list.own = request.nested && key && key !== request.idColumn ? ownNames(list, list.read[key]) : null;
  return !!list.own || (key ? [key] : names.reverse()).every(function (name) {
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
    var records = batch(list, member(list.work, list.items, 'properties')), read = Object.create(null);
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

function bareTotal(list) {
  try {
    return size(list.work, list.items);
  } catch (error) {
    if (!isDecidedHere(list, error)) throw error;
    throw { restart: true };
  }
}
