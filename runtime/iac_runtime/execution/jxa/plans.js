// How a list is read, by cost: columns of all, columns of a part, values by id, the app's filter or
// the same one here. Costs come with the request; this worker corrects them by what it measures.

// Milliseconds of an event, of reaching an object by id, of reading an item on its own, and of 1,000 items in a column or in a
// filter of the app's. A property that is like none of them (a body) has its own milliseconds an item, in `heavy`.
var COSTS = { event: 50, id: 0, item: 0, column: 50, whose: 50, heavy: {}, stalls: {} }, MEASURED = {};

// So few values are read by id where that is cheaper, and more where it is cheaper by so much. A part
// is read with its neighbours: what is short could be moved round to what it was.
// Columns from so much on are dear: they are read within so much of the time of an event.
var DEAR = 5000, ENOUGH = 1.6, FEW_CELLS = 6, MUCH_MORE = 5000, WIDE = 20, MEASURABLE = 100;

function costsOf(request) {
  var costs = {};
  [COSTS, request.costs || {}, MEASURED[request.app] || {}].forEach(function (known) {
    for (var name in known) costs[name] = known[name];
  });
  costs.app = request.app;
  return costs;
}

// What one read gives; what a long column took is remembered of the app.
function timed(list, read) {
  var began = uptime(), values = read(), took = (uptime() - began) * 1000;
  list.took = took;
  if (values && values.length >= MEASURABLE && took >= list.costs.event && !list.filter) {
    MEASURED[list.costs.app] = { column: list.costs.column = took / values.length * 1000 };
  }
  return values;
}

function cellCost(costs) {
  return costs.event + costs.id + costs.item;
}

function weightOf(list, name) {
  return list.costs.heavy[name] || list.costs.column / 1000;
}

// The names that a filter tests; '' for what is beyond one property.
function namesTested(test) {
  if (test[0] === 'test') return [test[1].length === 1 ? test[1][0][1] : ''];
  return test[1].reduce(function (names, one) { return names.concat(namesTested(one)); }, []);
}

function weightOfAll(list, names) {
  return names.reduce(function (sum, name) { return sum + weightOf(list, name); }, 0);
}

// Whether the app cannot decide a filter in time.
function stalls(list) {
  return !!list.filter && namesTested(list.filter).some(function (name) { return name in list.costs.stalls; });
}

// Whether reading what a filter names is cheaper than the app's own filter, of 1,000 items.
function isCheaperHere(list) {
  var names = list.filter ? namesTested(list.filter) : [''], whose = list.costs.whose;
  names.forEach(function (name) { whose = Math.max(whose, list.costs.stalls[name] || 0); });
  // Columns can be read in parts where they take too long.
  return names.indexOf('') < 0 && weightOfAll(list, names) * 1000 < (whose > DEAR ? 1.25 : 1) * whose;
}

// Of a long list without filter or order only the part is read that is asked for.
function choosePart(list, request) {
  if (list.early) return void (list.total = bareTotal(list));
  list.part = list.kept = null;
  // To count would take as long as to read.
  if (list.costs.event >= MUCH_MORE && list.costs.column <= DEAR) return;
  if (list.filter || list.test || list.holder || request.order.length || request.limit === null) return;
  if (!namesRead(request).concat([request.idColumn]).every(function (name) { return inRange(list, name); })) return;
  var size = bareTotal(list), end = Math.min(request.offset + request.limit, size);
  var part = widened(request.offset, end, size);
  if (request.offset >= end || !isShort(part, size) || !stands(list, request)) return;
  list.part = part;
  list.total = size;
  list.kept = placesOf([request.offset, end]);
}

// What several objects hold is looked through in each of them where all of it would take too long.
function refuseTooLong(list, request) {
  var names = list.holder && list.test && list.range && list.costs.column > DEAR ? namesTested(list.test) : [''];
  function isTooLong() {
    return weightOfAll(list, names) * size(list.work, list.bare) > ENOUGH * list.range.raw.seconds * 1000;
  }
  if (names.indexOf('') >= 0) return;
  if (!MEASURED[list.costs.app]) measureHeld(list, request, names[0]);
  if (list.costs.column > DEAR && isTooLong()) throw { errorNumber: -1700, message: 'To look through all of them would take too long.' };
}

// What others saw is asked of the first of several objects.
function measureHeld(list, request, name) {
  var steps = list.range.target, length = request.holder ? request.holder.length - 1 : 0;
  if (!length) return;
  list.holder.keys = holderKeys(list);
  list.range.target = steps.slice(0, length).concat([[list.holder.by, list.holder.keys[0]]], steps.slice(length));
  measure(list, name);
  list.range.target = steps;
  list.reach = null;
}

function placesOf(part) {
  var places = [];
  for (var at = part[0]; at < part[1]; at++) places.push(at);
  return places;
}

// Of what is dear no more is looked through than there is time for, from the first item on.
function chooseTime(list, request) {
  var names = namesRead(request).concat([request.idColumn]), costs = list.costs;
  var test = list.filter || list.test, tested = test ? namesTested(test) : [];
  names = names.concat(tested);
  if (costs.column <= DEAR || list.holder || request.limit === null || !(test || request.order.length)) return;
  if (!names.every(function (name) { return inRange(list, name); })) return;
  var all = size(list.work, list.bare), time = ENOUGH * list.range.raw.seconds * 1000 - names.length * costs.event;
  // Where a filter decides, what is read of the items that pass it is little.
  var whole = test ? tested : names.concat([names[0]]);
  function most() { return Math.max(WIDE, Math.floor(time / weightOfAll(list, whole) / (test ? 1.5 : 1))); }
  if (most() >= all) return;
  if (!MEASURED[costs.app]) {
    measure(list, request.idColumn || names[0]);
    time -= list.took || 0;
  }
  if (most() >= all) return;
  list.early = true;
  list.total = all;
  list.part = [0, most()];
  list.kept = placesOf(list.part);
  note(list.work, 'to look through all ' + all + ' items would take too long: only the first ' + most() + ' were');
}

// What others saw is asked of this app, before anything is left out for it.
function measure(list, name) {
  try {
    someOf(list, name, [0, 2 * WIDE]);
    MEASURED[list.costs.app] = { column: list.costs.column = Math.max(list.took - list.costs.event, list.took / 4) / WIDE * 500 };
  } catch (error) {
    if (isFatal(error)) throw error;
  }
  list.reach = null;
}

function inRange(list, name) {
  return !!list.range && name in list.range.raw.codes;
}

function widened(from, to, size) {
  from = Math.max(0, Math.min(from, size - WIDE));
  return [from, Math.min(size, Math.max(to, from + WIDE))];
}

function isShort(part, size) {
  return (part[1] - part[0]) * 1.5 < size;
}

// A column of a part of the collection, at its positions. JXA has no form for a range.
function someOf(list, name, part) {
  var work = list.work, own = work.raw, column = [], values;
  try {
    work.raw = list.range.raw;
    if (!own) begin(work, list.costs.app);
    var range = rawStep(work, build(work, list.range.target), ['span', part[0] + 1, part[1]]);
    values = timed(list, function () { return rawRead(work, member(work, range, name)); });
  } finally {
    work.raw = own;
  }
  if (!Array.isArray(values) || values.length !== part[1] - part[0]) throw { moved: true };
  if (list.reach) part = [Math.min(part[0], list.reach[0]), Math.max(part[1], list.reach[1])];
  list.reach = part;
  values.forEach(function (value, i) { column[part[0] + i] = value; });
  return column;
}

// Reads the properties of the items at these places (null for all), each in the cheapest way.
function fill(list, request, pairs, places) {
  var waiting = pairs.filter(function (pair) { return !(pair[0] in list.read); });
  if (!waiting.length) return;
  var first = Infinity, last = -1;
  (places || []).forEach(function (at) { first = Math.min(first, at); last = Math.max(last, at); });
  if (last < 0) places = places && [];
  var part = places && places.length ? widened(first, last + 1, list.total) : null;
  waiting.forEach(function (pair) {
    var name = pair[0], ranged = part && !list.part && inRange(list, name) && isShort(part, list.total);
    if (places && !places.length) return void (list.read[name] = []);
    var many = places ? places.length * waiting.length : Infinity, weight = weightOf(list, name);
    var read = list.part || (ranged ? part : [0, list.total]), ends = list.reach ? 0 : 1 / waiting.length;
    var more = (1 + ends) * ((read[1] - read[0]) * weight + list.costs.event) -
      many / waiting.length * (cellCost(list.costs) + weight);
    if (more > 0 && (many <= FEW_CELLS || more > MUCH_MORE)) return cells(list, request, pair, places);
    var whole = list.part;
    if (ranged) list.part = part;
    try {
      column(list, name, places ? '' : pair[1]);
    } finally {
      list.part = whole;
    }
    // One bad item can fail a column.
    if (places && list.read[name] === null) cells(list, request, pair, places);
  });
}

// One property of single items, by id. What two could not give and none could, is asked of no more.
function cells(list, request, pair, places) {
  var ids = list.read[request.idColumn], values = [], failed = 0;
  places.forEach(function (at) {
    var object = step(list.work, list.bare, ['id', ids[at]]);
    values[at] = null;
    if (failed === 2) return;
    try {
      values[at] = property(list.work, object, pair[0]);
      failed = -Infinity;
    } catch (error) {
      if (isFatal(error)) throw error;
      if (isGone(error) && !answers(list, object, request)) throw { moved: true };
      failed += 1;
      if (pair[1]) unreadable(list.work, pair[1], error);
    }
  });
  list.read[pair[0]] = failed > 0 ? null : values;
}

// The items of several objects as one list: the app answers a list for each of them.
function flat(list, values) {
  if (!values.every(Array.isArray)) throw { errorNumber: -1700, message: 'The app gave no list for each.' };
  var shape = values.map(function (inner) { return inner.length; });
  if (list.holder.shape && list.total !== null && list.holder.shape.join() !== shape.join()) throw { moved: true };
  list.holder.shape = shape;
  return values.reduce(function (all, inner) { return all.concat(inner); }, []);
}

// What tells several objects apart: their ids, or their names where an app gives no ids.
function holderKeys(list) {
  var holder = list.holder, keys;
  try {
    keys = holder.by === 'id' ? read(list.work, holder.ids) : null;
  } catch (error) {
    if (isFatal(error) || !holder.names) throw error;
  }
  if (holder.names && !(Array.isArray(keys) && areIds(keys))) {
    holder.by = 'name';
    keys = read(list.work, holder.names);
  }
  if (!Array.isArray(keys) || !keys.every(isKey) || !once(keys, holder.by === 'id')) {
    throw { errorNumber: -1700, message: 'They have no ids.' };
  }
  return keys;
}

// Where columns are dear: those that are tested first, then all properties of what passed, by ranges
// of the positions. An item that is not there any more has other values than were tested.
function sieved(list, request) {
  if (!(list.test || list.early) || !list.range || !request.idColumn || list.costs.column <= DEAR) return null;
  if (list.test && namesTested(list.test).indexOf('') >= 0) return null;
  for (var pass = 0; pass < PASSES; pass++) {
    try {
      return siftedOnce(list, request);
    } catch (error) {
      if (isFatal(error)) throw error;
      readAfresh(list);
      list.kept = list.early ? placesOf(list.part) : null;
      if (!error.moved) return null;
    }
  }
  return null;
}

function siftedOnce(list, request) {
  if (list.holder) list.holder.keys = holderKeys(list);
  var passes = list.test ? tester(list, list.test) : Boolean.bind(null, true), tested = Object.keys(list.read), fresh = Object.create(null);
  var order = request.order.every(function (pair) { return pair[0] in list.read; }) ? request.order : null;
  var places = list.kept = placesOf(list.part || [0, list.total]).filter(passes), wanted = places;
  if (order && request.limit !== null) {
    wanted = sorted(places, order.map(function (pair) { return sortKeys(list, pair); }));
    wanted = wanted.slice(Math.max(0, request.offset - 1), request.offset + request.limit);
    wanted.sort(function (one, other) { return one - other; });
  }
  namesRead(request).concat([request.idColumn]).forEach(function (name) { fresh[name] = []; });
  clustersOf(list, wanted).forEach(function (cluster) {
    recordsOf(list, request, cluster).forEach(function (record, i) {
      var at = cluster.before + cluster.from + i;
      if (wanted.indexOf(at) < 0) return;
      tested.forEach(function (name) {
        if (printed(field(record, name)) !== printed(list.read[name][at])) throw { moved: true };
      });
      for (var name in fresh) fresh[name][at] = field(record, name);
    });
  });
  for (var name in fresh) if (!(name in list.read)) list.read[name] = fresh[name];
  if (list.why && !list.early) note(list.work, filteredHere(list));
  return finished(list, request, names(list.work, list, request), 0);
}

// Ranges of positions that hold these places, few of them, each within one object.
function clustersOf(list, places) {
  for (var gap = 1; ; gap *= 2) {
    var found = [];
    places.forEach(function (at) {
      var held = list.holder ? heldIn(list, at) : [null, at], last = found[found.length - 1];
      if (last && last.key === held[0] && held[1] - last.to < gap) last.to = held[1] + 1;
      else found.push({ key: held[0], from: held[1], to: held[1] + 1, before: at - held[1] });
    });
    if (found.length <= FEW_ITEMS || gap > list.total) return found;
  }
}

function recordsOf(list, request, cluster) {
  var work = list.work, own = work.raw, steps = list.range.target, length = request.holder ? request.holder.length - 1 : 0;
  if (length) steps = steps.slice(0, length).concat([[list.holder.by, cluster.key]], steps.slice(length));
  try {
    work.raw = list.range.raw;
    if (!own) begin(work, list.costs.app);
    var range = rawStep(work, build(work, steps), ['span', cluster.from + 1, cluster.to]);
    var records = rawRead(work, member(work, range, 'properties'));
  } finally {
    work.raw = own;
  }
  if (!Array.isArray(records) || records.length !== cluster.to - cluster.from) throw { moved: true };
  return records;
}

// In which of them the item at a place is, and where in it.
function heldIn(list, at) {
  for (var i = 0; at >= list.holder.shape[i]; i++) at -= list.holder.shape[i];
  return [list.holder.keys[i], at];
}
