// Stands before a JavaScript that runs: what the script gets of apps is wrapped, and each event is held against the
// names that its analysis saw. One beyond them ends the script; nothing that follows is sent. `MAY` is put in as JSON:
// apps (names), names (members asked of apps), sets (members set), open (what was approved names no members), code
// (text may become code), bridge (Objective-C), parses (run is given one JSON text), secrets (properties that are never
// read: not asked for, not in a filter, and taken out of records). A script may change what all arrays and sets share: nothing of that is
// used here once it runs. Every statement ends in a semicolon: it is sent as one line.
((global, may) => {
  "use strict";
  const { Application, ObjectSpecifier, Automation, console, Proxy, Reflect, Object, Array, String, Error, WeakMap } = global;
  const { apply, construct, get: read, set: write, has, ownKeys, getPrototypeOf, defineProperty } = Reflect;
  const { keys, prototype: plain } = Object;
  const { isArray } = Array;
  const day = global.Date.prototype;
  const uncurried = global.Function.prototype.bind.bind(global.Function.prototype.call);
  const knows = uncurried(WeakMap.prototype.has);
  const fetch = uncurried(WeakMap.prototype.get);
  const keep = uncurried(WeakMap.prototype.set);
  const { parse } = global.JSON;
  const raws = new WeakMap();
  const whole = new WeakMap();
  const table = (list) => {
    const found = { __proto__: null };
    for (let at = 0; at < list.length; at += 1) found[list[at]] = true;
    return found;
  };
  const apps = table(may.apps);
  const names = table(may.names);
  const secrets = table(may.secrets);
  const sets = table([...may.sets, "includeStandardAdditions", "strictPropertyScope", "strictCommandScope", "strictParameterType"]);
  let ended = "";
  let over = false;
  let depth = 0;

  const refuse = (what) => {
    ended = ended || what;
    const error = new Error(ended + " was not approved: the script ended there, and it was not sent.");
    error.errorNumber = -10004;
    throw error;
  };
  const hold = (known, what) => {
    if (ended || !known) refuse(what);
  };
  const each = (value, change, hidden) => {
    if (typeof value !== "object" || value === null) return value;
    const list = isArray(value);
    const kind = list || getPrototypeOf(value);
    if (!list && kind !== plain && kind !== null) return value;
    const found = list ? [] : {};
    const all = keys(value);
    for (let at = 0; at < all.length; at += 1) {
      if (hidden && !list && all[at] in secrets && typeof value[all[at]] !== "boolean") continue;
      defineProperty(found, all[at], { __proto__: null, value: change(value[all[at]]), writable: true, enumerable: true, configurable: true });
    }
    if (list) found.length = value.length;
    return found;
  };
  const bare = (value) => {
    if (knows(whole, value)) refuse("handing on all properties of an object");
    return knows(raws, value) ? fetch(raws, value) : each(value, bare);
  };
  const filters = table(["whose", "where", "call", "apply", "bind"]);
  const filtered = (test) => {
    if (typeof test !== "object" || test === null || getPrototypeOf(test) === day) return;
    if (!isArray(test) && getPrototypeOf(test) !== plain) refuse("a filter that is no plain record");
    const all = keys(test);
    for (let at = 0; at < all.length; at += 1) {
      if (all[at] in secrets) refuse("a filter over the secret " + all[at]);
      filtered(test[all[at]]);
    }
  };

  const wrap = (value, name, holder) => {
    if (typeof value !== "function") return each(value, (item) => wrap(item, "", value), true);
    const called = () => hold(may.open || name === "" || +name >= 0 || name in names, name);
    const proxy = new Proxy(() => {}, {
      __proto__: null,
      get: (_, key) => {
        if (typeof key === "symbol") return symbol(value, key);
        if (key in secrets) refuse("reading the secret " + key);
        return wrap(read(value, key), key, value);
      },
      set: (_, key, given) => {
        hold(may.open || key in sets, "setting " + String(key));
        return write(value, key, bare(given));
      },
      apply: (_, self, given) => {
        called();
        const sent = each(given, bare);
        if (name in filters) filtered(sent);
        return wrap(apply(value, holder, sent), "", value);
      },
      construct: (_, given) => {
        called();
        return wrap(construct(value, each(given, bare)), "", value);
      },
      has: (_, key) => has(value, key),
      deleteProperty: () => true,
      ownKeys: () => {
        const all = ownKeys(value);
        const found = [];
        for (let at = 0; at < all.length; at += 1) if (all[at] !== "prototype") found[found.length] = all[at];
        return found;
      },
      getOwnPropertyDescriptor: (_, key) => (key === "prototype" ? undefined : { value: undefined, writable: true, enumerable: true, configurable: true }),
      getPrototypeOf: () => getPrototypeOf(value),
      setPrototypeOf: () => refuse("changing an object of an app"),
      defineProperty: () => refuse("changing an object of an app"),
    });
    keep(raws, proxy, value);
    if (name === "properties" && may.secrets.length > 0) keep(whole, proxy, true);
    return proxy;
  };
  const symbol = (value, key) => {
    const found = read(value, key);
    return typeof found === "function" ? (...given) => wrap(apply(found, value, each(given, bare)), "", value) : found;
  };
  const put = (key, value) => {
    if (!defineProperty(global, key, { __proto__: null, value, writable: false, configurable: false })) write(global, key, value);
    if (global[key] !== value) refuse(key);
  };
  const off = (what) => {
    const refused = () => refuse(what);
    return new Proxy(function () {}, { __proto__: null, get: refused, set: refused, apply: refused, construct: refused });
  };
  const shown = (holder, key) => {
    const own = holder[key];
    write(holder, key, (...given) => apply(own, holder, each(given, bare)));
  };

  const application = function (name) {
    hold(may.open || (typeof name === "string" && name in apps), "Application(" + String(name) + ")");
    return wrap(Application(name), "");
  };
  application.currentApplication = () => wrap(Application.currentApplication(), "");
  put("Application", application);
  put("ObjectSpecifier", new Proxy(() => {}, {
    __proto__: null,
    get: (_, key) => (typeof key === "symbol" ? symbol(ObjectSpecifier, key) : wrap(read(ObjectSpecifier, key), "", ObjectSpecifier)),
    apply: () => wrap(ObjectSpecifier(), ""),
  }));
  shown(Automation, "getDisplayString");
  shown(console, "log");
  if (!may.bridge) ["ObjC", "$", "Ref"].forEach((key) => put(key, off(key)));
  if (!may.code) {
    const kinds = [function () {}, function* () {}, async function () {}, async function* () {}];
    kinds.forEach((kind) => defineProperty(getPrototypeOf(kind), "constructor", { value: off("Function"), writable: false, configurable: false }));
    ["eval", "Function", "Library"].forEach((key) => put(key, off(key)));
  }
  const own = global.run;
  if (typeof own === "function") {
    write(global, "run", (...given) => {
      depth += 1;
      try {
        const first = may.parses && over && depth === 1;
        const found = apply(own, undefined, first ? [parse(given[0][0])] : given);
        return over && depth === 1 ? bare(found) : found;
      } finally {
        depth -= 1;
      }
    });
  }
  return { bare, end: () => { over = true; } };
})(globalThis, MAY);
