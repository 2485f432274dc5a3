// Stands before a JavaScript that runs: what the script gets of apps is wrapped, and each event is held against the
// names that its analysis saw. One beyond them ends the script; nothing that follows is sent. `MAY` is put in as JSON:
// apps (names), names (members asked of apps), sets (members set), open (what was approved names no members), code
// (text may become code), bridge (Objective-C). Every statement ends in a semicolon: it is sent as one line.
((global, may) => {
  "use strict";
  const { Application, ObjectSpecifier, Automation, console, Proxy, Reflect, Object, Array, String, Error, WeakMap } = global;
  const raws = new WeakMap();
  const names = new Set(may.names);
  const sets = new Set(may.sets);
  const SWITCHES = ["includeStandardAdditions", "strictPropertyScope", "strictCommandScope", "strictParameterType"];
  let ended = "";

  const refuse = (what) => {
    ended = ended || what;
    throw Object.assign(new Error(ended + " was not approved: the script ended there, and it was not sent."), { errorNumber: -10004 });
  };
  const hold = (known, what) => {
    if (ended || !known) refuse(what);
  };
  const plain = (value) => {
    if (typeof value !== "object" || value === null) return false;
    const kind = Reflect.getPrototypeOf(value);
    return kind === Object.prototype || kind === null;
  };
  const each = (value, change) => {
    if (Array.isArray(value)) return value.map((item) => change(item));
    if (plain(value)) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, change(item)]));
    return value;
  };
  const bare = (value) => (raws.has(value) ? raws.get(value) : each(value, bare));

  const wrap = (value, name, holder) => {
    if (typeof value !== "function") return each(value, (item) => wrap(item, "", value));
    const may_call = () => hold(may.open || name === "" || /^\d+$/.test(name) || names.has(name), name);
    const proxy = new Proxy(() => {}, {
      get: (_, key) => (typeof key === "symbol" ? symbol(value, key) : wrap(Reflect.get(value, key), key, value)),
      set: (_, key, given) => {
        hold(may.open || sets.has(key) || SWITCHES.includes(key), "setting " + String(key));
        return Reflect.set(value, key, bare(given));
      },
      apply: (_, self, given) => {
        may_call();
        return wrap(Reflect.apply(value, holder, given.map(bare)), "", value);
      },
      construct: (_, given) => {
        may_call();
        return wrap(Reflect.construct(value, given.map(bare)), "", value);
      },
      has: (_, key) => Reflect.has(value, key),
      deleteProperty: () => true,
      ownKeys: () => Reflect.ownKeys(value).filter((key) => key !== "prototype"),
      getOwnPropertyDescriptor: (_, key) => (key === "prototype" ? undefined : { value: undefined, writable: true, enumerable: true, configurable: true }),
      getPrototypeOf: () => Reflect.getPrototypeOf(value),
      setPrototypeOf: () => refuse("changing an object of an app"),
      defineProperty: () => refuse("changing an object of an app"),
    });
    raws.set(proxy, value);
    return proxy;
  };
  const symbol = (value, key) => {
    const found = Reflect.get(value, key);
    return typeof found === "function" ? (...given) => wrap(Reflect.apply(found, value, given.map(bare)), "", value) : found;
  };
  const put = (key, value) => {
    try {
      Object.defineProperty(global, key, { value, writable: false, configurable: false });
    } catch (_) {
      global[key] = value;
    }
    if (global[key] !== value) refuse(key);
  };
  const off = (what) => {
    const refused = () => refuse(what);
    return new Proxy(function () {}, { get: refused, set: refused, apply: refused, construct: refused });
  };

  const application = function (name) {
    hold(may.open || may.apps.includes(name), "Application(" + String(name) + ")");
    return wrap(Application(name), "");
  };
  application.currentApplication = () => wrap(Application.currentApplication(), "");
  put("Application", application);
  put("ObjectSpecifier", new Proxy(() => {}, {
    get: (_, key) => (typeof key === "symbol" ? symbol(ObjectSpecifier, key) : wrap(Reflect.get(ObjectSpecifier, key), "", ObjectSpecifier)),
    apply: () => wrap(ObjectSpecifier(), ""),
  }));
  Automation.getDisplayString = ((shows) => (value) => shows(bare(value)))(Automation.getDisplayString);
  console.log = ((log) => (...given) => log(...given.map(bare)))(console.log);
  if (!may.bridge) ["ObjC", "$", "Ref"].forEach((key) => put(key, off(key)));
  if (!may.code) {
    const kinds = [function () {}, function* () {}, async function () {}, async function* () {}];
    kinds.forEach((kind) => Object.defineProperty(Reflect.getPrototypeOf(kind), "constructor", { value: off("Function") }));
    ["eval", "Function", "Library"].forEach((key) => put(key, off(key)));
  }
  put("__bare", bare);
  if (typeof global.run === "function") global.run = ((own) => (...given) => bare(own(...given)))(global.run);
})(globalThis, MAY);
