// Raw Apple events: the second form of a request, by codes through Foundation's descriptors. What an
// object specifier, a test, a range and an insertion location hold is Apple's (Apple Events
// Programming Guide; AERegistry.h, AEObjects.h), as public libraries pack it.

var WAIT_AND_INTERACT = 0x23, RECT = ['x', 'y', 'width', 'height'];
var RELATIONS = { '=': '=   ', '>': '>   ', '>=': '>=  ', '<': '<   ', '<=': '<=  ',
  _contains: 'cont', _beginsWith: 'bgwt', _endsWith: 'ends' };
var PLACES = { end: 'end ', beginning: 'bgng', before: 'befo', after: 'afte' };
var ORDINALS = { 'firs': '[0]', 'last': '[-1]', 'midd': '.middle', 'any ': '.some', 'all ': '' };

// An object specifier: `want` is the class of what is picked from it, `from` what holds a whole
// collection, of which items are picked; `made` the descriptor.
function RawObject(want, made, from) {
  this.want = want;
  this.made = made;
  this.from = from || made;
}

// What an app answered by a specifier, and what plain() says of it.
function RawAnswer(tagged, made, want) {
  this.tagged = tagged;
  this.made = made;
  this.want = want;
}

// A raw event starts no app, so one that may be started is started first.
function begin(work, id) {
  work.target = $.NSAppleEventDescriptor.descriptorWithBundleIdentifier(id);
  work.root = 'Application(' + JSON.stringify(id) + ')';
  if (!work.app.running()) work.app.launch();
}

function four(code) {
  if (typeof code === 'number') return code;
  return ((code.charCodeAt(0) << 24) | (code.charCodeAt(1) << 16) | (code.charCodeAt(2) << 8) | code.charCodeAt(3)) >>> 0;
}

function letters(number) {
  return [24, 16, 8, 0].map(function (shift) { return String.fromCharCode((number >>> shift) & 255); }).join('');
}

function codeOf(work, name) {
  return name === 'properties' && !work.raw.codes[name] ? four('pALL') : work.raw.codes[name];
}

function typed(code) {
  return $.NSAppleEventDescriptor.descriptorWithTypeCode(four(code));
}

function enumerated(code) {
  return $.NSAppleEventDescriptor.descriptorWithEnumCode(four(code));
}

function empty(type) {
  return $.NSAppleEventDescriptor.descriptorWithDescriptorTypeData(four(type), $.NSData.data);
}

function ordinal(code) {
  return $.NSAppleEventDescriptor.descriptorWithDescriptorTypeData(four('abso'), typed(code).data);
}

function packed(type, fields) {
  var made = $.NSAppleEventDescriptor.recordDescriptor;
  fields.forEach(function (pair) { made.setDescriptorForKeyword(pair[1], four(pair[0])); });
  return type ? made.coerceToDescriptorType(four(type)) : made;
}

function listed(parts) {
  var made = $.NSAppleEventDescriptor.listDescriptor;
  parts.forEach(function (part, i) { made.insertDescriptorAtIndex(part, i + 1); });
  return made;
}

function specifier(want, form, key, from) {
  return packed('obj ', [['want', typed(want)], ['form', enumerated(form)], ['seld', key], ['from', from]]);
}

function rawRoot() {
  return new RawObject(four('cobj'), $.NSAppleEventDescriptor.nullDescriptor);
}

function rawStep(work, here, one) {
  var how = one[0], what = one[1];
  function pick(form, key) { return new RawObject(here.want, specifier(here.want, form, key, here.from)); }
  function at(number, from) { return specifier(here.want, 'indx', rawValue(work, number), from); }
  switch (how) {
    case 'go': return new RawObject(four('cobj'), specifier('prop', 'prop', typed(one[2]), here.made));
    case 'every': return new RawObject(one[2], specifier(one[2], 'indx', ordinal('all '), here.made), here.made);
    case 'at': return pick('indx', rawValue(work, what < 0 ? what : what + 1));
    case 'name': return pick('name', rawValue(work, what));
    case 'id': return pick('ID  ', rawValue(work, what));
    case 'whose': return pick('test', rawTest(work, what));
    case 'among': return pick('indx', ordinal(what));
    case 'span':
      return pick('rang', packed('rang', [['star', at(what, empty('ccnt'))], ['stop', at(one[2], empty('ccnt'))]]));
    case 'beside': return new RawObject(one[2], specifier(one[2], 'rele', enumerated(what), here.made));
    case 'seen':
      if (what !== 'made') return pick(what === 'id' ? 'ID  ' : 'name', rawValue(work, seen()));
      return new RawObject(made().want, made().made);
    case 'place':
      return new RawObject(here.want, packed('insl', [['kobj', here.made], ['kpos', enumerated(PLACES[what])]]));
  }
  throw new Error('no step ' + how);
}

function rawTest(work, test) {
  var parts;
  if (test[0] !== 'test') {
    parts = test[1].map(function (inner) { return rawTest(work, inner); });
    // NOT takes one test; of several none may hold.
    if (test[0] === 'not' && parts.length > 1) parts = [logical('OR  ', parts)];
    return logical({ and: 'AND ', or: 'OR  ', not: 'NOT ' }[test[0]], parts);
  }
  var tested = follow(work, new RawObject(four('cobj'), empty('exmn')), test[1]);
  return packed('cmpd', [['relo', enumerated(RELATIONS[test[2]])], ['obj1', tested.made], ['obj2', rawValue(work, test[3])]]);
}

function logical(word, parts) {
  return packed('logi', [['logc', enumerated(word)], ['term', listed(parts)]]);
}

function rawValue(work, value) {
  var make = $.NSAppleEventDescriptor;
  function inner(part) { return rawValue(work, part); }
  if (value === null) return typed('msng');
  if (typeof value === 'string') return make.descriptorWithString(value);
  if (typeof value === 'boolean') return make.descriptorWithBoolean(value);
  if (typeof value === 'number') {
    return value === (value | 0) ? make.descriptorWithInt32(value) : make.descriptorWithDouble(value);
  }
  if (Array.isArray(value)) return listed(value.map(inner));
  if ('path' in value) return make.descriptorWithFileURL($.NSURL.fileURLWithPath(value.path));
  if ('date' in value) return make.descriptorWithDate($.NSDate.dateWithTimeIntervalSince1970(value.date / 1000));
  if ('word' in value) return value.form === 'enum' ? enumerated(value.code) : typed(value.code);
  if ('color' in value) return listed(value.color.map(function (part) { return inner(Math.round(part * 65535)); }));
  if ('ref' in value) return build(work, value.ref).made;
  return rawRecord(work, value.record);
}

// A rectangle is a list in an event: left, top, right, bottom.
function rawRecord(work, fields) {
  var names = fields.map(function (field) { return field[0]; }), own = [], coded = [];
  var parts = fields.map(function (field) { return rawValue(work, field[1]); });
  if (names.join() === RECT.join()) {
    var at = fields.map(function (field) { return field[1]; });
    return listed([at[0], at[1], at[0] + at[2], at[1] + at[3]].map(function (part) { return rawValue(work, part); }));
  }
  fields.forEach(function (field, i) {
    if (field[2]) coded.push([field[2], parts[i]]);
    else own.push(rawValue(work, field[0]), parts[i]);
  });
  if (own.length) coded.push(['usrf', listed(own)]);
  return packed('', coded);
}

function rawSend(work, kind, id, params) {
  var made = $.NSAppleEventDescriptor.appleEventWithEventClassEventIDTargetDescriptorReturnIDTransactionID(
    four(kind), four(id), work.target, -1, 0), error = $(), number;
  params.forEach(function (pair) { made.setParamDescriptorForKeyword(pair[1], four(pair[0])); });
  var reply = made.sendEventWithOptionsTimeoutError(WAIT_AND_INTERACT, work.raw.seconds, error);
  if (reply.isNil()) throw { errorNumber: Number(error.code), message: String(ObjC.unwrap(error.localizedDescription)) };
  number = reply.paramDescriptorForKeyword(four('errn'));
  // An event that was sent can still be answered by an error of the app.
  if (!number.isNil() && Number(number.int32Value) !== 0) {
    var said = reply.paramDescriptorForKeyword(four('errs'));
    throw { errorNumber: Number(number.int32Value), message: said.isNil() ? '' : String(ObjC.unwrap(said.stringValue)) };
  }
  return answered(work, reply.paramDescriptorForKeyword(four('----')));
}

function moreOf(work) {
  return work.more.map(function (field) { return [field[2], rawValue(work, field[1])]; });
}

function rawRead(work, object) {
  return rawSend(work, 'core', 'getd', [['----', object.made]].concat(moreOf(work)));
}

// The class of what is counted is required of some apps (Finder, Music, Illustrator), whatever the
// dictionary of others says; for a collection it is that of any object.
function rawCount(work, object) {
  return rawSend(work, 'core', 'cnte', [['----', object.made], ['kocl', typed('cobj')]].concat(moreOf(work)));
}

function rawSet(work, object, value) {
  rawSend(work, 'core', 'setd', [['----', object.made], ['data', rawValue(work, value)]].concat(moreOf(work)));
}

function rawCommand(work, request) {
  var params = request.named.map(function (field) { return [field[2], rawValue(work, field[1])]; });
  if ('direct' in request && request.direct !== null) params.unshift(['----', rawValue(work, request.direct)]);
  return rawSend(work, work.raw.event[0], work.raw.event[1], params);
}

// A value that is compared here is compared as the app answers it.
function wantedValue(work, value) {
  return work.raw ? answered(work, rawValue(work, value)) : convert(work, value);
}

function rawId(work, value, answer) {
  var id = value instanceof RawAnswer && work.raw.ids[value.want];
  if (!id) return answer;
  id = rawRead(work, step(work, new RawObject(value.want, value.made), ['go', '', id]));
  if (typeof id === 'string' || typeof id === 'number') answer.id = id;
  return answer;
}

function answered(work, made) {
  if (made.isNil()) return null;
  var type = letters(made.descriptorType), found;
  if (NUMBERED[type] || TEXTS.test(type) || FILES.test(type)) {
    found = fromBytes(made, type);
    if (found !== null || !made.isRecordDescriptor) return found === null ? made : found;
  }
  switch (type) {
    case 'long': case 'shor': return Number(made.int32Value);
    case 'doub': case 'sing': case 'comp': case 'ucom': case 'ldbl':
      return Number(made.coerceToDescriptorType(four('doub')).doubleValue);
    case 'bool': case 'true': case 'fals': return Boolean(made.booleanValue);
    case 'ldt ': return new Date(Math.round(Number(made.dateValue.timeIntervalSince1970) * 1000));
    case 'null': return null;
    case 'type': return letters(made.typeCodeValue) === 'msng' ? null : worded(work, made.typeCodeValue);
    case 'enum': return worded(work, made.enumCodeValue);
    case 'list': return partsOf(made).map(function (part) { return answered(work, part); });
    case 'obj ': return named(work, made);
  }
  return made.isRecordDescriptor || type === 'reco' ? recorded(work, made, type) : made;
}

// A record: styled text is its text; one of a type of its own is of that class.
function recorded(work, made, type) {
  var text = made.descriptorForKeyword(four('ktxt')), found;
  if (!text.isNil()) return answered(work, text);
  found = fieldsOf(work, made);
  if (type !== 'reco' && !found['class']) found['class'] = worded(work, made.descriptorType);
  return found;
}

function worded(work, code) {
  return work.raw.words[code] || work.raw.properties[code] || letters(code);
}

function partsOf(made) {
  var parts = [];
  // A 64-bit integer arrives as text.
  for (var i = 1; i <= Number(made.numberOfItems); i++) parts.push(made.descriptorAtIndex(i));
  return parts;
}

function fieldsOf(work, made) {
  var found = {};
  partsOf(made).forEach(function (part, i) {
    var code = made.keywordForDescriptorAtIndex(i + 1), own;
    if (code !== four('usrf')) return void (found[work.raw.properties[code] || letters(code)] = answered(work, part));
    own = partsOf(part).map(function (one) { return answered(work, one); });
    for (var j = 0; j + 1 < own.length; j += 2) found[own[j]] = own[j + 1];
  });
  return found;
}

function named(work, made) {
  var text = chain(work, made);
  if (text === null) return made;
  return new RawAnswer({ ref: work.root + text }, made, made.descriptorForKeyword(four('want')).typeCodeValue);
}

// The text of a specifier after the application; null for one that is not by property, position,
// name or id all the way.
function chain(work, made) {
  if (letters(made.descriptorType) === 'null') return '';
  if (letters(made.descriptorType) !== 'obj ') return null;
  function field(key) { return made.descriptorForKeyword(four(key)); }
  function access(name) { return /^[A-Za-z_$][\w$]*$/.test(name) ? '.' + name : '[' + JSON.stringify(name) + ']'; }
  var holder = chain(work, field('from')), form = letters(field('form').enumCodeValue), key = field('seld'), value, every;
  if (holder === null) return null;
  if (form === 'prop') {
    value = work.raw.properties[key.typeCodeValue];
    return value ? holder + access(value) : null;
  }
  every = work.raw.elements[field('want').typeCodeValue];
  if (!every) return null;
  if (letters(key.descriptorType) === 'abso') {
    value = ORDINALS[letters(typedData(key))];
    return value === undefined ? null : holder + access(every) + value;
  }
  value = answered(work, key);
  if (form === 'indx') return holder + access(every) + '.at(' + (value < 0 ? value : value - 1) + ')';
  if (form === 'name') return holder + access(every) + '.byName(' + JSON.stringify(value) + ')';
  return form === 'ID  ' ? holder + access(every) + '.byId(' + JSON.stringify(value) + ')' : null;
}

function typedData(made) {
  return $.NSAppleEventDescriptor.descriptorWithDescriptorTypeData(four('type'), made.data).typeCodeValue;
}
