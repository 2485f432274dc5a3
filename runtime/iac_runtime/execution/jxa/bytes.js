// What a raw answer holds in its bytes, where the system has no coercion to a form of JavaScript's:
// a point or a color coerced to a list is a list of itself. Numbers are in the order of this Mac,
// which is the low byte first on every one that runs this; those of an alias the high byte first.
// Sources: QuickDraw's Point (v, h) and Rect (top, left, bottom, right), AEDataModel.h, the layouts
// of aliases and bookmarks as mac_alias gives them.

// Types of numbers: how many, bytes of each, whether one can be negative, and what they make.
var NUMBERED = {
  QDpt: [2, 2, true, function (at) { return { x: at[1], y: at[0] }; }],
  qdrt: [4, 2, true, function (at) {
    return { x: at[1], y: at[0], width: at[3] - at[1], height: at[2] - at[0] };
  }],
  cRGB: [3, 2, false, function (parts) { return parts.map(function (part) { return part / 65535; }); }],
  ushr: [1, 2, false, function (one) { return one[0]; }],
  magn: [1, 4, false, function (one) { return one[0]; }]
};
var TEXTS = /^(utxt|TEXT|utf8|ut16|itxt|STXT|styl|sutx|cstr|pstr|url )$/, FILES = /^(furl|alis|bmrk)$/;
var BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

// The value of a descriptor of these types; null where there is none in it.
function fromBytes(made, type) {
  if (TEXTS.test(type)) return textOf(made, type);
  if (FILES.test(type)) return fileOf(made, type);
  var row = NUMBERED[type], bytes = bytesOf(made.data), numbers = [];
  if (bytes.length !== row[0] * row[1]) return null;
  for (var at = 0; at < bytes.length; at += row[1]) {
    var number = little(bytes, at, row[1]);
    numbers.push(row[2] && number >= 32768 ? number - 65536 : number);
  }
  return row[3](numbers);
}

// Bytes as text of one character each.
function bytesOf(data) {
  var text = ObjC.unwrap(data.base64EncodedStringWithOptions(0)).replace(/=+$/, ''), made = '', held = 0;
  for (var i = 0; i < text.length; i++) {
    held = (held << 6 | BASE64.indexOf(text.charAt(i))) & 0xffff;
    if (i % 4) made += String.fromCharCode(held >> (6 - 2 * (i % 4)) & 255);
  }
  return made;
}

function little(bytes, at, size) {
  for (var number = 0, i = size; i--;) number = number * 256 + bytes.charCodeAt(at + i);
  return number;
}

function big(bytes, at) {
  return bytes.charCodeAt(at) * 256 + bytes.charCodeAt(at + 1);
}

function utf8(bytes) {
  return decodeURIComponent(escape(bytes));
}

// Text of C ends at its zero, that of Pascal begins with its length; a coding is not said, so it is
// UTF-8 or else Mac Roman.
function textOf(made, type) {
  var text = made.stringValue;
  if (!text.isNil()) return ObjC.unwrap(text);
  if (!/^(cstr|pstr|url )$/.test(type)) return null;
  [4, 30].some(function (coding) {
    text = $.NSString.alloc.initWithDataEncoding(made.data, coding);
    return !text.isNil();
  });
  if (text.isNil()) return null;
  text = ObjC.unwrap(text);
  return type === 'pstr' ? text.slice(1) : text.split('\u0000')[0];
}

// Of a file that is gone its alias and its bookmark still say where it was.
function fileOf(made, type) {
  var url = made.fileURLValue, path = url.isNil() ? null : ObjC.unwrap(url.path);
  try {
    if (!path && type !== 'furl') path = (type === 'alis' ? aliasPath : bookmarkPath)(bytesOf(made.data));
  } catch (error) {
    return null;
  }
  return path ? Path(path) : null;
}

// An alias: a head by its version, then tag, length and content of each part, to an even place.
// Part 18 is the path on the volume, 19 where that is mounted.
function aliasPath(bytes) {
  var at = { 2: 150, 3: 58 }[big(bytes, 6)], parts = {};
  while (at + 4 <= bytes.length && big(bytes, at) !== 0xffff) {
    parts[big(bytes, at)] = bytes.substr(at + 4, big(bytes, at + 2));
    at += 4 + big(bytes, at + 2) + big(bytes, at + 2) % 2;
  }
  return parts[18] ? utf8('/' + (parts[19] || '') + '/' + parts[18]).replace(/\/+/g, '/') : null;
}

// A bookmark: a head, a table of items by number, and the items; number 0x1004 is the list of the
// names of the path. Each has its length and type before it.
function bookmarkPath(bytes) {
  function number(at) { return little(bytes, at, 4); }
  var head = number(12), table = head + number(head), names = [], row, list, at, name;
  var rows = Math.min(number(table + 16), bytes.length / 12);
  for (row = table + 20; rows-- >= 1; row += 12) {
    if (number(row) !== 0x1004) continue;
    list = head + number(row + 4);
    for (at = list + 8; at < list + 8 + number(list) && at < bytes.length; at += 4) {
      name = head + number(at);
      names.push(bytes.substr(name + 8, number(name)));
    }
  }
  return names.length ? utf8('/' + names.join('/')) : null;
}
