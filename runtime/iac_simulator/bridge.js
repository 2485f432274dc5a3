// The part of the Objective-C bridge that scripts use to reach their own streams and environment.
//
// Foundation's names as the bridge spells them: methods without arguments are properties, 64-bit
// integers come back as strings, returned objects stay wrapped (JXA release notes 10.10).
(function (global) {
  "use strict";
  const { ask, bridged } = global.__bridge;
  delete global.__bridge;
  const UTF8 = 4;

  class NSObject {
    isNil() { return false; }
    get js() { return this; }
  }
  class Nil extends NSObject {
    #said;
    isNil() { return this.#said === undefined; }
    fill(said) { this.#said = said; }
    get localizedDescription() { return this.#said === undefined ? new Nil() : new NSString(this.#said); }
    get code() { return 260; }
    get js() { return undefined; }
  }

  class NSData extends NSObject {
    #bytes;
    constructor(bytes) { super(); this.#bytes = bytes; }
    get bytes() { return this.#bytes; }
    get length() { return String(this.#bytes.length); }
    appendData(other) { this.#bytes += other.bytes; }
    base64EncodedStringWithOptions(_options) { return new NSString(ask("base64", { data: this.#bytes })); }
  }

  class NSString extends NSObject {
    #text;
    constructor(text) { super(); this.#text = String(text); }
    get js() { return this.#text; }
    get UTF8String() { return this.#text; }
    get length() { return String(this.#text.length); }
    dataUsingEncoding(_encoding) { return new NSData(ask("encode", { text: this.#text })); }
    toString() { return this.#text; }
  }

  class Boxed extends NSObject {
    #value;
    constructor(value) { super(); this.#value = value; }
    get js() { return this.#value; }
  }

  class NSFileHandle extends NSObject {
    #descriptor;
    constructor(descriptor) { super(); this.#descriptor = descriptor; }
    get readDataToEndOfFile() { return new NSData(ask("read", { descriptor: this.#descriptor, size: null })); }
    get availableData() { return new NSData(ask("read", { descriptor: this.#descriptor, size: 0 })); }
    readDataOfLength(size) { return new NSData(ask("read", { descriptor: this.#descriptor, size: Number(size) })); }
    writeData(data) { if (data instanceof NSData === false) throw new TypeError("writeData takes NSData"); ask("write", { descriptor: this.#descriptor, data: data.bytes }); }
    get synchronizeFile() { return undefined; }
    get closeFile() { ask("close", { descriptor: this.#descriptor }); }
  }

  const decoded = (data, encoding) => {
    const text = ask("decode", { data: data.bytes, encoding: Number(encoding) });
    return text === null ? new Nil() : new NSString(text);
  };

  const $ = function (value) {
    if (value === undefined || value === null) return new Nil();
    if (value instanceof NSObject) return value;
    return bridged.wrap(value);
  };
  bridged.wrap = (value) => (typeof value === "string" ? new NSString(value) : new Boxed(value));
  const environment = (name) => ask("environment", { name: String(name) });
  $.NSUTF8StringEncoding = UTF8;
  $.NSString = {
    alloc: { initWithDataEncoding: decoded, initWithUTF8String: (text) => new NSString(text) },
    stringWithString: (text) => new NSString(bridged.unwrap(text)),
    stringWithUTF8String: (text) => new NSString(text),
  };
  $.NSFileHandle = {
    get fileHandleWithStandardInput() { return new NSFileHandle(0); },
    get fileHandleWithStandardOutput() { return new NSFileHandle(1); },
    get fileHandleWithStandardError() { return new NSFileHandle(2); },
    alloc: {
      initWithFileDescriptor: (descriptor) => new NSFileHandle(descriptor),
      initWithFileDescriptorCloseOnDealloc: (descriptor) => new NSFileHandle(descriptor),
    },
  };
  class NSDictionary extends Boxed {
    objectForKey(key) {
      const value = this.js[bridged.unwrap(key)];
      return value === undefined ? new Nil() : $(value);
    }
  }
  $.NSProcessInfo = {
    get processInfo() {
      return {
        get processIdentifier() { return ask("pid", {}); },
        get systemUptime() { return ask("uptime", {}); },
        get environment() { return new NSDictionary(ask("surroundings", {})); },
      };
    },
  };
  // The apps as the system's launch services know them, its look and its displays; asking sends no event.
  const machine = () => ask("machine", {});
  class NSRunningApplication extends NSObject {
    #app;
    constructor(app) { super(); this.#app = app; }
    get bundleIdentifier() { return new NSString(this.#app.id); }
    get localizedName() { return new NSString(this.#app.name); }
    get processIdentifier() { return this.#app.pid; }
    get activationPolicy() { return 0; }
    get isActive() { return this.#app.front; }
    get active() { return this.#app.front; }
  }
  const running = () => machine().apps.filter((app) => app.running);
  const folderOf = (id) => {
    const found = machine().apps.find((app) => app.id === bridged.unwrap(id));
    return found && `/Applications/${found.name}.app`;
  };
  $.NSUserDefaults = {
    get standardUserDefaults() {
      return { stringForKey: (key) => (bridged.unwrap(key) === "AppleInterfaceStyle" && machine().dark ? new NSString("Dark") : new Nil()) };
    },
  };
  class NSScreen extends NSObject {
    #screen;
    constructor(screen) { super(); this.#screen = screen; }
    get frame() { return { origin: { x: 0, y: 0 }, size: { width: this.#screen.width, height: this.#screen.height } }; }
    get visibleFrame() { return this.frame; }
    get backingScaleFactor() { return this.#screen.scale; }
  }
  $.NSData = {
    get data() { return new NSData(""); },
    alloc: { initWithBase64EncodedStringOptions: (text, _options) => new NSData(ask("unbase64", { text: bridged.unwrap(text) })) },
  };
  $.NSMutableData = { get data() { return new NSData(""); } };
  // What is there once its header or framework is imported, and not before.
  const screens = () => machine().displays.map((screen) => new NSScreen(screen));
  const process = {
    unistd: { getppid: () => ask("parent", {}), getpid: () => ask("pid", {}) },
    stdlib: {
      getenv: (name) => { const value = environment(name); return value === null ? undefined : value; },
      exit: (status) => void ask("exit", { status: Number(status) }),
    },
  };
  const imported = {
    ...process,
    get CoreServices() {
      return {
        LSCopyApplicationURLsForBundleIdentifier(id, _error) {
          const folder = folderOf(id);
          return folder ? bridged.wrap([$.NSURL.fileURLWithPath(folder)]) : new Nil();
        },
      };
    },
    get AppKit() {
      return {
        NSWorkspace: {
          get sharedWorkspace() {
            return {
              URLForApplicationWithBundleIdentifier(id) {
                const folder = folderOf(id);
                return folder ? $.NSURL.fileURLWithPath(folder) : new Nil();
              },
              get runningApplications() { return bridged.wrap(running().map((app) => new NSRunningApplication(app))); },
              get frontmostApplication() {
                const found = running().find((app) => app.front);
                return found ? new NSRunningApplication(found) : new Nil();
              },
            };
          },
        },
        NSScreen: { get screens() { return bridged.wrap(screens()); }, get mainScreen() { return screens()[0]; } },
      };
    },
    get Cocoa() { return this.AppKit; },
  };

  bridged.test = (value) => value instanceof NSObject;
  bridged.unwrap = (value) => (value instanceof NSObject ? (value.js === value ? null : value.js) : value);

  const isRecord = (value) => typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  const deep = (value) => {
    const plain = value instanceof NSObject ? value.js : value;
    if (isRecord(plain)) return Object.fromEntries(Object.entries(plain).map(([key, item]) => [key, deep(item)]));
    return Array.isArray(plain) ? plain.map(deep) : plain;
  };
  global.$ = $;
  global.ObjC = {
    import: (name) => void Object.assign($, imported[name]),
    unwrap: (value) => (value instanceof NSObject ? value.js : value),
    deepUnwrap: deep,
    wrap: $,
  };
  global.__foundation = { ask, bridged, NSObject, NSString, NSData, Boxed, Nil, process };
})(globalThis);
