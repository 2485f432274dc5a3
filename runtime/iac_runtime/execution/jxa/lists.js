// Lists. Each read is an event of its own, and a list can move between two of them. So few
// items are read one by one through their ids: then a row is of one object, whatever moves. Many
// are read a property at a time, with what tells them apart (ids, else names, else all that is
// read) first and last; what lies between counts only where both are equal. Of a long list only the
// part is read in which the items lie (plans.js).

// What is read through ids: so few items, or so many values of a list that does not hold still. How
// often a list that moved is read in all.
var MAX_CELLS = 300, FEW_ITEMS = 6, PASSES = 3, TIMED_OUT = -1712;

function table(work, request) {
  var steps = request.target, last = steps[steps.length - 1], filtered = last[0] === 'whose';
  var list = {
    work: work,
    bare: build(work, filtered ? steps.slice(0, -1) : steps),
    filter: filtered ? last[1] : null, // that the app decides
    test: null, // the same, decided here
    wanted: null, // the ids that the filter was resolved to, where they are many
    total: null,
    part: null, // from where to where of the collection is read at all; null for all
    early: false, // whether that is what there is time for, and not what is asked for
    kept: null, // positions that passed the filter here, or are wanted; null for all
    ways: Object.create(null), // what is tested beyond one property
    read: Object.create(null),
    reach: null, // from where to where columns were read
    range: request.range || null,
    costs: costsOf(request),
    holder: request.holder ? {
      by: 'id', ids: build(work, request.holder),
      names: request.holderName ? build(work, request.holderName) : null, keys: null, shape: null
    } : null
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
  if (list.part) return someOf(list, name, list.part);
  list.reach = [0, Infinity];
  if (list.ways[name]) return batch(list, follow(list.work, list.items, list.ways[name]));
  var clash = !list.work.raw && (OF_OBJECTS.test(name) || OF_COLLECTIONS.test(name));
  var asked = clash ? 'properties' : name;
  var values = batch(list, asked ? member(list.work, list.items, asked) : list.items);
  return clash ? values.map(function (record) { return field(record, name); }) : values;
}

function batch(list, specifier) {
  var values = timed(list, function () { return read(list.work, specifier); });
  if (!Array.isArray(values)) throw { errorNumber: -1700, message: 'The app gave no list.' };
  if (list.holder) values = flat(list, values);
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

function filteredHere(list) {
  return list.why + ', so all ' + list.total + ' items were read and filtered here';
}

function count(work, request) {
  var list = table(work, request);
  if (stalls(list)) filterHere(list, '');
  try {
    if (!list.test) return size(work, list.items);
  } catch (error) {
    if (!isDecidedHere(list, error)) throw error;
  }
  settle(list, { columns: [], order: [] });
  return list.kept.length;
}

function list(work, request) {
  var found = table(work, request), ids = null;
  chooseTime(found, request);
  if (found.early) {
    if (found.filter) filterHere(found, '');
  } else if (isCheaperHere(found) || (found.holder && found.filter && !request.idColumn)) filterHere(found, '');
  refuseTooLong(found, request);
  var made = sieved(found, request);
  if (made) return made;
  ids = request.idColumn && !found.test ? wantedIds(found, request) : null;
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
  var width = namesRead(request).length, all, end;
  try {
    choosePart(list, request);
    all = column(list, request.idColumn, '');
  } catch (error) {
    if (!error.restart && !(list.part && (error.moved || error.errorNumber === TIMED_OUT))) throw error;
    if (error.restart) return null;
  }
  if (list.part && !areIds(all)) {
    // There are no ranges, or they take too long.
    readAfresh(list);
    list.range = list.part = list.kept = null;
    all = column(list, request.idColumn, '');
  }
  if (!areIds(all) || list.holder && !list.filter) return null;
  if (!request.order.length && !list.part) goOn(list, request, all);
  end = request.limit === null ? Infinity : request.offset + request.limit;
  var ids = request.order.length ? all : all.slice(request.offset, end);
  // A list no longer than its reads could be moved round to what it was at first.
  var few = all.length <= Math.min(width + 1, FEW_ITEMS);
  if (list.filter || list.part) few = ids.length * width <= (list.filter ? FEW_CELLS : width + 1);
  var cells = ids.length * width * cellCost(list.costs), columns = (width + 1) * Math.max(list.took, list.costs.event);
  if (list.filter && cells + MUCH_MORE < columns) few = true;
  if (cells > columns + MUCH_MORE) few = false;
  if (list.holder) few = false;
  if (few || !width) {
    return { ids: ids, total: list.total, from: request.order.length ? 0 : request.offset };
  }
  if (list.filter && list.costs.whose >= list.costs.column) {
    list.wanted = all;
    list.items = list.bare;
    readAfresh(list);
  }
  return null;
}

function readAfresh(list) {
  list.read = Object.create(null);
  list.total = list.reach = null;
  if (list.holder) list.holder.keys = null;
}

// Where a cursor goes on: behind the item that it names, wherever that is now.
function goOn(list, request, ids) {
  var at = request.after ? ids.map(String).indexOf(request.after) : request.offset - 1;
  if (at + 1 === request.offset) return;
  if (at < 0) note(list.work, 'the item that the cursor names is gone: items may be missing, or come twice');
  request.offset = at < 0 ? Math.max(request.offset - 1, 0) : at + 1;
  // Once: where it goes on is told by the offset from here on.
  request.after = '';
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

// The rows of items by their ids; null where the app finds none by its id.
function byRows(list, request, wanted) {
  list.part = list.kept = null;
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
    var ids = found.wanted || (found.test || found.holder ? null : found.read[request.idColumn]);
    var some = areIds(ids) ? stable(found, request, ids) : null;
    if (!some) throw { moved: true };
    return some;
  }
  var naming = names(found.work, found, request), part = found.early ? null : found.part;
  if (found.holder && found.filter && naming.by === 'index') throw { errorNumber: -1700, message: 'They have no ids.' };
  var made = finished(found, request, naming, part ? request.offset : 0);
  if (part) made.total = found.total;
  return made;
}

// What does not hold still is read by rows, in part where that would take too long.
function stable(list, request, ids) {
  var end = request.limit === null ? ids.length : request.offset + request.limit;
  var most = Math.floor(MAX_CELLS / Math.max(1, namesRead(request).length));
  var page = ids.slice(request.offset, Math.min(end, request.offset + most));
  note(list.work, 'the list kept changing while it was read: these rows are right, others may be missing' +
    (request.order.length ? ', and the order is of these alone' : ''));
  list.items = list.bare;
  return byRows(list, request, { ids: page, total: list.part ? list.total : ids.length, from: request.offset });
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
      readAfresh(list);
      if (list.part) choosePart(list, request);
    }
  }
  return false;
}

// One pass; says whether the list was at the end what it was at the beginning.
function held(list, request) {
  var holders = list.holder && (list.holder.keys = list.holder.keys || holderKeys(list));
  var key = request.idColumn && column(list, request.idColumn, '') ? request.idColumn : '';
  if (!key && request.nameColumn && column(list, request.nameColumn, '')) key = request.nameColumn;
  var dear = (namesRead(request).length + 1) * list.costs.event >= MUCH_MORE;
  if ((dear || !key || key !== request.idColumn) && !list.holder && !list.part) {
    if (atOnce(list, request, dear ? key : '')) return true;
  }
  if (key) list.reach = null;
  if (list.test) {
    var passes = tester(list, list.test);
    list.kept = placesOf(list.part || [0, list.total]).filter(passes);
    if (list.why && !list.early) note(list.work, filteredHere(list));
  }
  if (key && !areKeys(list, key, request)) key = '';
  if (list.wanted) {
    if (!key) return unresolved(list);
    list.kept = positions(list, list.read[key]);
  }
  var partly = key && key === request.idColumn && !list.holder && list.items === list.bare;
  fill(list, request, request.order.map(function (pair) { return [pair[0], '']; }), partly ? list.kept : null);
  fill(list, request, request.columns.map(function (pair) { return [pair[1], pair[0]]; }), partly ? page(list, request) : null);
  if (list.total === null) list.total = bareTotal(list);
  var names = Object.keys(list.read).filter(function (name) { return list.read[name]; });
  if (names.length < 2 || !list.reach) return true;
  // Objects that come by the same names as before are the same, and what is asked for last anyway.
  list.own = request.nested && key && key !== request.idColumn ? ownNames(list, list.read[key]) : null;
  return (!!list.own || (key ? [key] : names.reverse()).every(function (name) {
    return alike(list.read[name], list.reach[1] < Infinity ? someOf(list, name, list.reach) : whole(list, name));
  })) && (!holders || holderKeys(list).join() === holders.join());
}

// The places of the items that are asked for.
function page(list, request) {
  if ((list.part && !list.early) || request.limit === null) return list.kept;
  var ids = list.read[request.idColumn];
  var places = sorted(kept(list, {}), request.order.map(function (pair) { return sortKeys(list, pair); }));
  goOn(list, request, places.map(function (at) { return ids[at]; }));
  return places.slice(request.offset, request.offset + request.limit);
}

// A few items without ids are read by all their properties, which is one event.
function atOnce(list, request, key) {
  var names = namesRead(request), ids = key && list.read[key];
  if (key) names.push(key);
  if (request.nameColumn && names.indexOf(request.nameColumn) < 0) names.push(request.nameColumn);
  if (list.test && key) names = names.concat(namesTested(list.test));
  if (names.length < 2 || (list.test && !key) || names.indexOf('') >= 0) return false;
  if (list.total === null) list.total = bareTotal(list);
  if (list.total > FEW_ITEMS) return false;
  try {
    var records = batch(list, member(list.work, list.items, 'properties')), read = Object.create(null);
    names.forEach(function (name) { read[name] = records.map(function (record) { return field(record, name); }); });
  } catch (error) {
    if (isFatal(error) || error.moved) throw error;
    return false;
  }
  if (ids && !alike(ids, read[key])) throw { moved: true };
  for (var name in read) list.read[name] = read[name];
  if (list.test) list.kept = placesOf([0, list.total]).filter(tester(list, list.test));
  if (list.why) note(list.work, filteredHere(list));
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
  return last.every(function (value, i) { return printed(value) === printed(first[i]); });
}

function bareTotal(list) {
  try {
    return size(list.work, list.items);
  } catch (error) {
    if (!isDecidedHere(list, error)) throw error;
    throw { restart: true };
  }
}
