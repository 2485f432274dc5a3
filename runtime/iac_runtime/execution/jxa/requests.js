// Operations on one object: what is sent for them, in JXA's form or raw (raw.js).

function carryOut(request) {
  var app;
  if (request.kind === 'addition') {
    app = Application.currentApplication();
    app.includeStandardAdditions = true;
  } else {
    app = Application(request.app);
  }
  var work = { app: app, more: request.more || [], notes: [], items: 0, within: [], raw: request.raw || null };
  if (work.raw) begin(work, request.app);
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
  if (work.raw) return single(work, request, MADE = rawCommand(work, request));
  var app = work.app, name = request.command, given = [];
  if ('direct' in request && (request.direct !== null || request.named.length)) {
    given.push(convert(work, request.direct));
  }
  if (request.named.length) given.push(record(work, request.named));
  var value;
  try {
    if (given.length === 0) value = app[name]();
    else if (given.length === 1) value = app[name](given[0]);
    else value = app[name](given[0], given[1]);
  } catch (error) {
    value = madeOtherwise(work, request, error);
  }
  MADE = value;
  return single(work, request, value);
}

// Some apps make nothing at the end of a collection, but take what is pushed there, or its holder
// as the place (seen: OmniFocus, -10024). Who refuses so has made nothing.
var NO_PLACE = [-10024, -10002, -1700, -1708];

function madeOtherwise(work, request, error) {
  var app = work.app, told = {}, kind, made, into;
  request.named.forEach(function (field) { told[field[0]] = field[1]; });
  into = request.command === 'make' && told.at && told.at.ref;
  if (!into || into.length < 2 || into[into.length - 1][1] !== 'end' || NO_PLACE.indexOf(error.errorNumber) < 0) throw error;
  if (Object.keys(told).some(function (name) { return ['new', 'at', 'withProperties'].indexOf(name) < 0; })) throw error;
  into = into.slice(0, -1);
  kind = told['new'].charAt(0).toUpperCase() + told['new'].slice(1);
  try {
    made = app[kind](told.withProperties ? convert(work, told.withProperties) : {});
    build(work, into).push(made);
    return made;
  } catch (again) {
    if (typeof again.errorNumber === 'number' && NO_PLACE.indexOf(again.errorNumber) < 0) throw again;
  }
  told = record(work, request.named);
  told.at = build(work, into.slice(0, -1));
  return app.make(told);
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
  if (work.raw) return rawRead(work, specifier);
  return work.more.length ? work.app.get(specifier, record(work, work.more)) : specifier();
}

function size(work, items) {
  if (work.raw) return rawCount(work, items);
  return work.more.length ? work.app.count(items, record(work, work.more)) : items.length;
}

function properties(work, request) {
  var target = build(work, request.target), all, first;
  try {
    all = read(work, member(work, target, 'properties'));
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
  var target = build(work, request.target), fields = [], failed = 0, first = null;
  var all = together(work, request, target);
  for (var i = 0; i < request.columns.length; i++) {
    var value = null, name = request.columns[i][1];
    try {
      value = plain(work, all && name in all ? all[name] : property(work, target, name), 0);
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

// All properties of an object in one event, where each on its own is dear; else null.
function together(work, request, target) {
  if (work.raw || !request.costs || (request.columns.length - 1) * cellCost(costsOf(request)) < MUCH_MORE) return null;
  try {
    var all = read(work, target.properties);
    return all && typeof all === 'object' && !Array.isArray(all) ? all : null;
  } catch (error) {
    if (isFatal(error) || isGone(error)) throw error;
    return null;
  }
}

function unreadable(work, label, error) {
  note(work, '"' + label + '" could not be read (' + ((error && error.errorNumber) || 'error') + ')');
}

// Names that JXA keeps for itself, on collections and on every object: a property of such a name
// is taken from the record of all properties.
var OF_COLLECTIONS = /^(length|at|byName|byId|whose|where|push|first|last|beginning|end|unshift|splice|pop|shift)$/;
var OF_OBJECTS = new RegExp('^(get|set|make|constructor|prototype|toString|toLocaleString|valueOf|hasOwnProperty|' +
  'propertyIsEnumerable|isPrototypeOf|toJSON|call|apply|bind)$');

function property(work, object, name) {
  if (!name) return read(work, object);
  if (work.raw || !OF_OBJECTS.test(name)) return read(work, member(work, object, name));
  return field(read(work, object.properties), name);
}

function value(work, steps) {
  var last = steps[steps.length - 1] || [];
  if (work.raw || last[0] !== 'go' || !OF_OBJECTS.test(last[1])) return read(work, build(work, steps));
  return property(work, build(work, steps.slice(0, -1)), last[1]);
}

function field(record, name) {
  if (record !== null && typeof record === 'object' && Object.prototype.hasOwnProperty.call(record, name)) return record[name];
  throw { errorNumber: -1728, message: 'The app gave no ' + name + '.' };
}

function assign(work, request) {
  var target = build(work, request.target), done = [], late = {}, waiting = request.named.slice(), pair;
  while (waiting.length) {
    pair = waiting.shift();
    try {
      if (pair[1] && pair[1].append !== undefined) pair = extended(work, target, pair);
      var value = work.raw ? null : convert(work, pair[1]);
      if (work.raw) rawSet(work, step(work, target, ['go', pair[0], pair[2]]), pair[1]);
      else if (work.more.length) {
        work.app.set(target[pair[0]], record(work, [['to', pair[1]]].concat(work.more)));
      } else target[pair[0]] = value;
    } catch (error) {
      // A start after the old end is taken once the new end is set.
      if (error.errorNumber === -10025 && waiting.length && !late[pair[0]]) {
        late[pair[0]] = true;
        waiting.push(pair);
        continue;
      }
      if (!done.length || typeof error.errorNumber !== 'number') throw error;
      throw { errorNumber: error.errorNumber, message: error.message + ' (' + done.join(', ') + ' was set before)' };
    }
    done.push(pair[0]);
  }
  return null;
}

// A text with more at its end, by what it is now.
function extended(work, target, pair) {
  var old = read(work, work.raw ? step(work, target, ['go', pair[0], pair[2]]) : target[pair[0]]);
  return [pair[0], (old === null || old === undefined ? '' : String(old)) + pair[1].append, pair[2]];
}

function isFatal(error) {
  return NUMBERS.stop.indexOf(error && error.errorNumber) >= 0;
}

function cannotFilter(error) {
  return NUMBERS.unfiltered.indexOf(error.errorNumber) >= 0;
}

function build(work, steps) {
  return follow(work, work.raw ? rawRoot() : work.app, steps);
}

function follow(work, begin, steps) {
  return steps.reduce(function (here, one) { return step(work, here, one); }, begin);
}

function member(work, here, name) {
  return work.raw ? step(work, here, ['go', name, codeOf(work, name)]) : here[name];
}

function step(work, here, one) {
  if (work.raw) return rawStep(work, here, one);
  switch (one[0]) {
    case 'at': return here.at(one[1]);
    case 'name': return here.byName(one[1]);
    case 'id': return here.byId(one[1]);
    case 'whose': return here.whose(filter(work, one[1]));
    case 'go': return here[one[1]];
    case 'seen': return one[1] === 'made' ? made() : one[1] === 'id' ? here.byId(seen()) : here.byName(seen());
  }
  throw new Error('JavaScript for Automation has no form for ' + one[0]);
}

function seen() {
  if (typeof SEEN === 'string' || typeof SEEN === 'number') return SEEN;
  throw { errorNumber: -1728, message: 'It has no id.' };
}

function made() {
  if (MADE !== null && typeof MADE === 'object' || typeof MADE === 'function') return MADE;
  throw { errorNumber: -1728, message: 'The app named no object.' };
}

function filter(work, test) {
  var made = {};
  if (test[0] !== 'test') {
    made['_' + test[0]] = test[1].map(function (inner) { return filter(work, inner); });
    return made;
  }
  var path = test[1], value = convert(work, test[3]);
  if (test[2] !== '=') {
    var compared = {};
    compared[test[2]] = value;
    value = compared;
  }
  if (path.length === 1) made[path[0][1]] = value;
  else made._match = [follow(work, ObjectSpecifier(), path), value];
  return made;
}

function convert(work, value) {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(function (part) { return convert(work, part); });
  if ('path' in value) return Path(value.path);
  if ('date' in value) return new Date(value.date);
  if ('ref' in value) return build(work, value.ref);
  return record(work, value.record);
}

function record(work, fields) {
  var made = {};
  for (var i = 0; i < fields.length; i++) made[fields[i][0]] = convert(work, fields[i][1]);
  return made;
}

// A result that is one object is also asked for its id, if its class has one and the app did not
// answer by id: an id outlives a change of the order or the name.
function single(work, request, value) {
  var answer = plain(work, value, 0);
  if (answer === null || typeof answer !== 'object' || !('ref' in answer)) return answer;
  if (/\.byId\((?:"(?:[^"\\]|\\.)*"|[-\d.e+]+)\)$/.test(answer.ref)) return answer;
  try {
    if (work.raw) return rawId(work, value, answer);
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
