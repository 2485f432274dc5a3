// Rows of lists: decided, compared, sorted and named by what was read.

function tester(list, test) {
  if (test[0] !== 'test') {
    var parts = test[1].map(function (inner) { return tester(list, inner); });
    return function (i) {
      function passed(inner) { return inner(i); }
      if (test[0] === 'and') return parts.every(passed);
      return parts.some(passed) === (test[0] === 'or');
    };
  }
  var values = tested(list, test[1]), wanted = comparable(wantedValue(list.work, test[3]));
  return function (i) { return compares(comparable(values[i]), test[2], wanted); };
}

function tested(list, path) {
  var name = path.length > 1 ? JSON.stringify(path) : path[0][1];
  if (list.work.raw && path.length === 1) list.work.raw.codes[name] = path[0][2];
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

function printed(value) {
  if (value instanceof Date) return 'date ' + value.getTime();
  if (Array.isArray(value)) return '[' + value.map(printed).join() + ']';
  return typeof value === 'string' || value === null ? JSON.stringify(value) : display(value) || String(value);
}

// Rows of what was read: in order, and the part that was asked for. `before` of them were not read.
function finished(list, request, naming, before) {
  var order = request.order.map(function (pair) { return sortKeys(list, pair); }), rows = [];
  var places = sorted(naming.places ? naming.places(list) : kept(list, {}), order);
  var ids = before ? null : list.read[request.idColumn];
  if (ids) goOn(list, request, places.map(function (at) { return ids[at]; }));
  var end = request.limit === null ? places.length : request.offset - before + request.limit;
  places.slice(request.offset - before, end).every(function (at) {
    var row = request.columns.map(function (pair) { return cell(list.work, list, pair[1], at); });
    rows.push([naming.keys ? naming.keys[at] : at, list.part ? at : at + before, row]);
    if (list.holder) rows[rows.length - 1].push(heldIn(list, at));
    return list.work.items <= MAX_ITEMS;
  });
  return { total: places.length, from: request.offset, by: naming.by, filteredHere: !!list.test, rows: rows, heldBy: list.holder ? list.holder.by : 'id' };
}

function cell(work, list, name, at) {
  var values = list.read[name];
  return values ? plain(work, values[at], 1) : null;
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
  keys = keys && request.nested ? list.own || ownNames(list, keys) || keys : keys;
  // A name tells an item from those of its own object.
  var told = keys && list.holder ? keys.map(function (key, at) { return heldIn(list, at)[0] + ':' + key; }) : keys;
  return keys && once(told) ? { by: 'name', keys: keys } : { by: 'index', keys: null };
}

// What the app itself names the items by; null where it does not, or no more by these names. A box
// in another bears its path there (Mail), and its name is the end of that.
function ownNames(list, names) {
  var objects, own = [];
  try {
    objects = whole(list, '');
  } catch (error) {
    if (isFatal(error)) throw error;
    return null;
  }
  return objects.every(function (object, i) {
    var found = /\.byName\(("(?:[^"\\]|\\.)*")\)$/.exec(display(object)), name = String(names[i]);
    own.push(found && JSON.parse(found[1]));
    return found && (own[i] === name || own[i].slice(-name.length - 1) === '/' + name);
  }) ? own : null;
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
    if (!(i in keys)) continue;
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
