// Values of the app as JSON: each thing with its type, within bounds.

function plain(work, value, depth) {
  if (value === null || value === undefined) return null;
  work.items += 1;
  if (typeof value === 'string') return text(work, value);
  if (typeof value === 'number') return isFinite(value) ? value : null;
  if (typeof value === 'boolean') return value;
  if (value instanceof RawAnswer) return value.tagged;
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
  if (value instanceof RawAnswer) return value.tagged.ref || '';
  try {
    return String(Automation.getDisplayString(value));
  } catch (error) {
    return '';
  }
}
