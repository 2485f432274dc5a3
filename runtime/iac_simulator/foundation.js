// What common scripts use of Foundation beside their streams: text, lists, files, URLs, UUIDs, and C
// functions that are bound by name. Files are those of the simulated world. What is not here is
// refused with its name: the real bridge would have had it.
(function (global) {
  "use strict";
  const { ask, bridged, NSObject, NSString, NSData, Boxed, Nil, process } = global.__foundation;
  const $ = global.$;
  const HOME = "/Users/me";
  const plain = bridged.unwrap;
  const text = (value) => new NSString(value);
  const list = (items) => new NSArray(Array.from(items));

  // A name that no class has falls through to here.
  const SILENT = ["toJSON", "then", "constructor", "length", "name", "prototype", "nodeType"];
  function refusing(what) {
    return new Proxy(Object.prototype, {
      get(target, key) {
        if (typeof key === "symbol" || key in target || SILENT.includes(key)) return target[key];
        throw new TypeError(`the simulator has no ${what()}${key}`);
      },
    });
  }
  Object.setPrototypeOf(NSObject.prototype, refusing(() => "Objective-C method "));

  const disk = (does, path, to) => ask("disk", { does, path: whole(path), to });
  const whole = (path) => {
    const found = String(plain(path)).replace(/^~(?=\/|$)/, HOME);
    const parts = [];
    for (const part of found.split("/")) {
      if (part === "..") parts.pop();
      else if (part !== "" && part !== ".") parts.push(part);
    }
    return "/" + parts.join("/");
  };
  // An `NSError **` is `$()`: it gets the error.
  const failed = (error, result) => {
    if (error instanceof Nil) error.fill("The file couldn’t be opened.");
    return result;
  };
  const done = (found, error) => (found === null ? failed(error, false) : true);

  const TEXT = {
    get uppercaseString() { return text(this.js.toUpperCase()); },
    get lowercaseString() { return text(this.js.toLowerCase()); },
    get capitalizedString() { return text(this.js.toLowerCase().replace(/(^|\s)\S/g, (c) => c.toUpperCase())); },
    get integerValue() { return parseInt(this.js, 10) || 0; },
    get intValue() { return parseInt(this.js, 10) || 0; },
    get doubleValue() { return parseFloat(this.js) || 0; },
    get boolValue() { return /^\s*[yYtT1-9]/.test(this.js); },
    get lastPathComponent() { return text(this.js.replace(/(?!^)\/+$/, "").split("/").pop() || "/"); },
    get pathExtension() { return text((/[^./]\.([^./]+)\/*$/.exec(this.js) || ["", ""])[1]); },
    get pathComponents() { return list(this.js.split("/").map((part, at) => (at === 0 && part === "" ? "/" : part)).filter(Boolean)); },
    get stringByDeletingLastPathComponent() { return text(this.js.replace(/(?!^)\/+$/, "").replace(/(^\/|\/?)[^/]*$/, (_, slash) => (this.js.lastIndexOf("/") === 0 ? "/" : ""))); },
    get stringByDeletingPathExtension() { return text(this.js.replace(/([^./])\.[^./]+$/, "$1")); },
    get stringByExpandingTildeInPath() { return text(this.js.replace(/^~(?=\/|$)/, HOME)); },
    get stringByStandardizingPath() { return text(whole(this.js)); },
    get stringByRemovingPercentEncoding() { return text(decodeURIComponent(this.js)); },
    stringByAppendingString(other) { return text(this.js + plain(other)); },
    stringByAppendingPathComponent(other) { return text(this.js.replace(/\/*$/, "/") + String(plain(other)).replace(/^\/+/, "")); },
    stringByAppendingPathExtension(other) { return text(this.js + "." + plain(other)); },
    stringByReplacingOccurrencesOfStringWithString(old, other) { return text(this.js.split(plain(old)).join(plain(other))); },
    stringByTrimmingCharactersInSet(set) { return text(this.js.replace(set.ends, "")); },
    componentsSeparatedByString(other) { return list(this.js.split(plain(other))); },
    componentsJoinedByString: undefined,
    substringFromIndex(at) { return text(this.js.slice(Number(at))); },
    substringToIndex(at) { return text(this.js.slice(0, Number(at))); },
    hasPrefix(other) { return this.js.startsWith(plain(other)); },
    hasSuffix(other) { return this.js.endsWith(plain(other)); },
    containsString(other) { return this.js.includes(plain(other)); },
    isEqualToString(other) { return this.js === plain(other); },
    rangeOfString(other) { const at = this.js.indexOf(plain(other)); return { location: at < 0 ? 9223372036854775807 : at, length: at < 0 ? 0 : plain(other).length }; },
    writeToFileAtomically(path, _whole) { return disk("write", path, this.js) !== null; },
    writeToFileAtomicallyEncodingError(path, _whole, _encoding, error) { return done(disk("write", path, this.js), error); },
  };
  delete TEXT.componentsJoinedByString;
  Object.defineProperties(NSString.prototype, Object.getOwnPropertyDescriptors(TEXT));
  Object.assign($.NSString, {
    get string() { return text(""); },
    stringWithContentsOfFileEncodingError(path, _encoding, error) {
      const found = disk("read", path);
      return found === null ? failed(error, new Nil()) : text(found);
    },
    stringWithFormat() { throw new TypeError("the simulator has no NSString.stringWithFormat; JXA crashes on its variable arguments"); },
  });
  Object.assign($.NSString.alloc, {
    initWithString: (value) => text(plain(value)),
    initWithContentsOfFileEncodingError: $.NSString.stringWithContentsOfFileEncodingError,
  });
  $.NSMutableString = $.NSString;

  class NSArray extends Boxed {
    get count() { return this.js.length; }
    get firstObject() { return this.js.length ? $(this.js[0]) : new Nil(); }
    get lastObject() { return this.js.length ? $(this.js[this.js.length - 1]) : new Nil(); }
    get mutableCopy() { return list(this.js); }
    objectAtIndex(at) {
      if (Number(at) >= this.js.length) throw new RangeError(`index ${at} beyond bounds`);
      return $(this.js[Number(at)]);
    }
    containsObject(item) { return this.js.some((other) => plain(other) === plain(item)); }
    indexOfObject(item) { const at = this.js.findIndex((other) => plain(other) === plain(item)); return at < 0 ? 9223372036854775807 : at; }
    componentsJoinedByString(between) { return text(this.js.map(plain).join(plain(between))); }
    arrayByAddingObject(item) { return list([...this.js, item]); }
    sortedArrayUsingSelector(_selector) { return list([...this.js].sort((a, b) => (plain(a) < plain(b) ? -1 : 1))); }
    addObject(item) { this.js.push(item); }
    removeObjectAtIndex(at) { this.js.splice(Number(at), 1); }
  }
  $.NSArray = { get array() { return list([]); }, arrayWithArray: (items) => list(plain(items)), arrayWithObject: (item) => list([item]) };
  $.NSMutableArray = { ...$.NSArray, get array() { return list([]); }, arrayWithCapacity: () => list([]) };
  const boxed = bridged.wrap;
  bridged.wrap = (value) => (Array.isArray(value) ? list(value) : boxed(value));

  class NSURL extends NSObject {
    #path; #text;
    constructor(path, shown) { super(); this.#path = path; this.#text = shown; }
    get path() { return text(this.#path); }
    get absoluteString() { return text(this.#text); }
    get isFileURL() { return this.#text.startsWith("file:"); }
    get lastPathComponent() { return this.path.lastPathComponent; }
    get pathExtension() { return this.path.pathExtension; }
    get scheme() { return text(this.#text.split(":")[0]); }
    get host() { const found = /^\w+:\/\/([^/:?#]+)/.exec(this.#text); return found ? text(found[1]) : new Nil(); }
    get URLByDeletingLastPathComponent() { return fileURL(this.path.stringByDeletingLastPathComponent.js); }
    URLByAppendingPathComponent(part) { return fileURL(this.path.stringByAppendingPathComponent(part).js); }
  }
  // A URL may name what is not there, and where nothing is simulated that has files.
  const isFolder = (path) => { try { return disk("kind", path) === "folder"; } catch { return false; } };
  const fileURL = (path) => new NSURL(whole(path), "file://" + whole(path).split("/").map(encodeURIComponent).join("/") +
    (isFolder(path) && whole(path) !== "/" ? "/" : ""));
  const anyURL = (value) => {
    const shown = String(plain(value));
    if (/\s/.test(shown)) return new Nil();
    return new NSURL(decodeURIComponent(shown.replace(/^\w+:\/\/[^/]*/, "").replace(/[?#].*/, "")) || "/", shown);
  };
  $.NSURL = { fileURLWithPath: fileURL, URLWithString: anyURL, alloc: { initFileURLWithPath: fileURL, initWithString: anyURL } };

  const hex = () => Math.floor(Math.random() * 16).toString(16).toUpperCase();
  const uuid = () => "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx".replace(/x/g, hex);
  class NSUUID extends NSObject {
    #text = uuid();
    get UUIDString() { return text(this.#text); }
  }
  $.NSUUID = { get UUID() { return new NSUUID(); }, alloc: { get init() { return new NSUUID(); } } };

  class NSFileManager extends NSObject {
    fileExistsAtPath(path) { return disk("kind", path) !== null; }
    fileExistsAtPathIsDirectory(path, answer) {
      const kind = disk("kind", path);
      if (Array.isArray(answer)) answer[0] = kind === "folder";
      return kind !== null;
    }
    isReadableFileAtPath(path) { return disk("kind", path) !== null; }
    isWritableFileAtPath(path) { return disk("kind", path) !== null; }
    contentsOfDirectoryAtPathError(path, error) {
      const names = disk("names", path);
      return names === null ? failed(error, new Nil()) : list(names);
    }
    createDirectoryAtPathWithIntermediateDirectoriesAttributesError(path, all, _attributes, error) { return done(disk("folder", path, Boolean(plain(all))), error); }
    createFileAtPathContentsAttributes(path, data, _attributes) { return disk("write", path, data instanceof NSData ? ask("decode", { data: data.bytes }) || "" : "") !== null; }
    contentsAtPath(path) { const found = disk("read", path); return found === null ? new Nil() : text(found).dataUsingEncoding(4); }
    removeItemAtPathError(path, error) { return done(disk("remove", path), error); }
    copyItemAtPathToPathError(path, to, error) { return done(disk("copy", path, whole(to)), error); }
    moveItemAtPathToPathError(path, to, error) { return done(disk("move", path, whole(to)), error); }
    get homeDirectoryForCurrentUser() { return fileURL(HOME); }
    get temporaryDirectory() { return fileURL("/tmp"); }
    get currentDirectoryPath() { return text(HOME); }
  }
  const manager = new NSFileManager();
  $.NSFileManager = { get defaultManager() { return manager; }, alloc: { get init() { return manager; } } };
  Object.assign($, {
    NSHomeDirectory: () => text(HOME), NSTemporaryDirectory: () => text("/tmp/"), NSUserName: () => text("me"),
    NSNotFound: 9223372036854775807, NSOrderedSame: 0,
    NSNumber: { numberWithInt: Number, numberWithDouble: Number, numberWithBool: Boolean },
    NSCharacterSet: {
      whitespaceCharacterSet: { ends: /^[ \t]+|[ \t]+$/g },
      whitespaceAndNewlineCharacterSet: { ends: /^\s+|\s+$/g }, newlineCharacterSet: { ends: /^[\n\r]+|[\n\r]+$/g },
    },
  });
  class NSAutoreleasePool extends NSObject {
    get init() { return this; }
    get drain() { return undefined; }
  }
  $.NSAutoreleasePool = { get alloc() { return new NSAutoreleasePool(); } };
  $.NSData.dataWithContentsOfFile = (path) => manager.contentsAtPath(path);

  // Bound once, then a function of `$`, as the release notes show with pow.
  const C = { pow: Math.pow, sqrt: Math.sqrt, sin: Math.sin, cos: Math.cos, tan: Math.tan, exp: Math.exp, log: Math.log,
    floor: Math.floor, ceil: Math.ceil, round: Math.round, fabs: Math.abs, abs: Math.abs, fmod: (a, b) => a % b,
    strlen: (value) => ask("encode", { text: String(value) }).length, toupper: (c) => (c >= 97 && c <= 122 ? c - 32 : c),
    sleep: (seconds) => { ask("delay", { seconds }); return 0; }, usleep: (micro) => { ask("delay", { seconds: micro / 1e6 }); return 0; },
    time: () => Math.floor(Date.now() / 1000), rand: () => Math.floor(Math.random() * 2147483647),
    arc4random_uniform: (bound) => Math.floor(Math.random() * bound), ...process.unistd, ...process.stdlib };
  global.ObjC.bindFunction = (name, _types) => {
    if (!Object.prototype.hasOwnProperty.call(C, name)) throw new TypeError(`the simulator has no C function ${name}`);
    $[name] = C[name];
  };
  global.ObjC.castRefToObject = (value) => value;
  for (const name of ["registerSubclass", "block", "super"]) {
    global.ObjC[name] = () => { throw new TypeError(`the simulator has no ObjC.${name}`); };
  }
  // Functions of C are asked after by `typeof`; a class that is not here is refused when it is named.
  Object.setPrototypeOf($, new Proxy(Function.prototype, {
    get(target, key) {
      if (typeof key === "string" && /^(NS|CF|AX|CG|OSA|UN|WK|AV)[A-Z]/.test(key)) throw new TypeError(`the simulator has no $.${key}`);
      return target[key];
    },
  }));
})(globalThis);
