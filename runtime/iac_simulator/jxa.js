// The JXA surface of the simulator: specifiers as callable proxies, values, display texts.
//
// Engine-neutral: it needs one global, __send(json) -> json, and removes it. Which names are
// properties, collections or commands is the host's to say; JavaScript only builds chains.
// Facts: JXA release notes 10.10 and 10.11; our docs/simulator.md lists what is inferred.
(function (global) {
  "use strict";
  const send = global.__send;
  delete global.__send;
  for (const name of ["queueMicrotask", "performance", "btoa", "atob", "DOMException", "setTimeout",
    "setInterval", "print", "printErr", "gc", "navigator", "scriptArgs", "console"]) delete global[name];

  const specs = new WeakMap();
  const paths = new WeakMap();
  const bridged = { test: () => false, unwrap: (value) => value };
  const APP_SWITCHES = ["includeStandardAdditions", "strictPropertyScope", "strictCommandScope",
    "strictParameterType"];
  const REFLECTION = ["commandsOfClass", "elementsOfClass", "propertiesOfClass", "parentOfClass",
    "displayNameForCommand", "displayNameForElementOfClass", "displayNameForPropertyOfClass"];
  const WITHOUT_DICTIONARY = ["id", "name", "version", "running", "frontmost", "activate", "launch", "quit"];

  function appError(number, message) {
    const error = new Error(message);
    error.errorNumber = number;
    return error;
  }

  // JavaScriptCore runs the jobs of promises once a script is done; in osascript they never run.
  let done = false;

  function ask(op, body) {
    if (done) throw new Error("the script is over");
    const reply = JSON.parse(send(JSON.stringify(Object.assign({ op }, body))));
    if (reply.error) throw appError(reply.error.number, reply.error.message);
    if (reply.missing) throw new Error(reply.missing);
    return reply.value;
  }

  // ---- values on the wire: plain JSON, and {"$": tag, v: ...} for the rest

  const isPlain = (value) => typeof value === "object" && value !== null;

  function encode(value) {
    if (value === null || typeof value === "boolean" || typeof value === "string") return value;
    if (typeof value === "number") return Number.isFinite(value) ? value : { $: "number", v: String(value) };
    if (typeof value === "bigint") return { $: "number", v: String(value) };
    const spec = specs.get(value);
    if (spec) {
      if (spec.made) return { $: "new", v: spec.made.term, p: spec.made.properties };
      return spec.root.item ? { $: "it", v: spec.chain } : { $: "ref", root: rootOf(spec), v: spec.chain };
    }
    if (!isPlain(value) && typeof value !== "function") return { $: "undefined" };
    if (paths.has(value)) return { $: "path", v: paths.get(value) };
    if (bridged.test(value)) return encode(bridged.unwrap(value));
    if (typeof value === "function") return { $: "undefined" };
    if (value instanceof Date) {
      return isNaN(value) ? null : { $: "date", v: value.toISOString() };
    }
    if (Array.isArray(value)) return Array.from(value, encode);
    const record = {};
    for (const key of Object.keys(value)) record[key] = encode(value[key]);
    return { $: "record", v: record };
  }

  function decode(wire, root) {
    if (!isPlain(wire)) return wire;
    if (Array.isArray(wire)) return wire.map((item) => decode(item, root));
    switch (wire.$) {
      case "undefined": return undefined;
      case "date": return new Date(wire.v);
      case "path": return Path(wire.v);
      case "number": return Number(wire.v);
      case "record": {
        const record = {};
        for (const key of Object.keys(wire.v)) record[key] = decode(wire.v[key], root);
        return record;
      }
      case "ref": {
        const same = root && !root.item && root.key === wire.root.key;
        return specifier(same ? root : Object.assign({ switches: {} }, wire.root), wire.v);
      }
      default: return specifier({ item: true }, wire.v);
    }
  }

  const rootOf = (spec) => ({ key: spec.root.key, additions: spec.root.switches.includeStandardAdditions === true });

  // ---- specifiers

  function specifier(root, chain, made) {
    const target = function () {};
    const spec = { root, chain, made: made || null, kind: null };
    const proxy = new Proxy(target, HANDLER);
    spec.proxy = proxy;
    specs.set(target, spec);
    specs.set(proxy, spec);
    return proxy;
  }

  const grow = (spec, kind, value) => specifier(spec.root, spec.chain.concat([[kind, value]]));
  const request = (op, spec, more) => ask(op, Object.assign({ root: rootOf(spec), chain: spec.chain }, more));
  const answer = (op, spec, more) => decode(request(op, spec, more), spec.root);

  function kindOf(spec) {
    if (spec.kind === null) {
      spec.kind = spec.root.item ? { kind: "elements" } : request("kind", spec, {});
    }
    return spec.kind;
  }

  const lastKind = (spec) => (spec.chain.length ? spec.chain[spec.chain.length - 1][0] : "app");
  const numeric = (key) => /^-?\d+$/.test(key);

  const COLLECTION = {
    at: (spec) => (index) => grow(spec, "i", Number(index)),
    byName: (spec) => (name) => grow(spec, "n", String(name)),
    byId: (spec) => (id) => grow(spec, "id", typeof id === "number" ? id : String(id)),
    whose: (spec) => (filter, modifiers) => {
      const folded = ask("filter", { filter: encode(filter), modifiers: encode(modifiers) });
      return grow(spec, "w", folded);
    },
    push: (spec) => (item) => {
      const other = specs.get(item);
      if (!other || !other.made) throw appError(-1700, "Can't convert types.");
      create(other, { at: { root: rootOf(spec), chain: spec.chain.concat([["l", "end"]]) } });
    },
  };
  COLLECTION.where = COLLECTION.whose;

  // These are names of collections only: an object may have a property of the same name.
  const OF_ELEMENTS = {
    first: (spec) => grow(spec, "i", 0),
    last: (spec) => grow(spec, "i", -1),
    beginning: (spec) => grow(spec, "l", "beginning"),
    end: (spec) => grow(spec, "l", "end"),
    length: (spec) => answer("length", spec, {}),
  };

  const NOT_OF_LISTS = ["unshift", "splice", "pop", "shift"];

  const NATURAL = {
    toString: (spec) => () => source(spec.proxy),
    toLocaleString: (spec) => () => source(spec.proxy),
    valueOf: (spec) => () => spec.proxy,
    hasOwnProperty: () => () => true,
    propertyIsEnumerable: () => () => true,
    isPrototypeOf: () => () => false,
    constructor: () => Function,
    toJSON: () => undefined,
    call: () => Function.prototype.call,
    apply: () => Function.prototype.apply,
    bind: () => Function.prototype.bind,
  };

  function create(spec, more) {
    const { term, properties, data } = spec.made;
    const body = Object.assign({ root: rootOf(spec), term, properties }, more);
    if (data !== undefined) body.data = data;
    spec.chain = ask("create", body).v;
    spec.made = null;
    spec.kind = null;
    return spec.proxy;
  }

  function member(spec, key) {
    const own = (table) => Object.prototype.hasOwnProperty.call(table, key);
    if (own(NATURAL) && !isCommand(spec, key)) return NATURAL[key](spec);
    const last = lastKind(spec);
    if (last === "app" && !spec.root.item) {
      if (APP_SWITCHES.includes(key)) return Boolean(spec.root.switches[key]);
      if (REFLECTION.includes(key)) {
        return (...names) => decode(request("reflect", spec, { name: key, args: names.map(encode) }));
      }
      if (spec.root.dictionary === false && !WITHOUT_DICTIONARY.includes(key)) return Object.freeze(Object.create(null));
      return grow(spec, "p", key);
    }
    if (spec.made && key === "make") return () => create(spec, {});
    if (key === "get") return (modifiers) => answer("get", spec, { modifiers: encode(modifiers) });
    if (key === "set") return (value, modifiers) => void assign(spec, value, modifiers);
    if (last === "p" || last === "w") {
      if (own(COLLECTION)) return COLLECTION[key](spec);
      if (numeric(key)) return grow(spec, "i", Number(key));
      const { kind, names } = kindOf(spec);
      if (kind === "elements" || last === "w") {
        if (own(OF_ELEMENTS)) return OF_ELEMENTS[key](spec);
        if (NOT_OF_LISTS.includes(key)) return undefined;
        if (last === "w" && isNamedAgain(spec, key)) return spec.proxy;
        if (!spec.root.item && !request("member", spec, { name: key })) return grow(spec, "n", key);
      }
    }
    return grow(spec, "p", key);
  }

  // Functions have methods of these names; a command of the dictionary is what is meant.
  const isCommand = (spec, key) => ["call", "apply", "bind"].includes(key) && !spec.root.item &&
    request("member", spec, { name: key, command: true });

  // A display text names the collection again after a filter; read back, it means the same.
  function isNamedAgain(spec, key) {
    const names = spec.chain.filter(([kind]) => kind === "p");
    const same = names.length > 0 && names[names.length - 1][1] === key;
    return same && !spec.root.item && !request("member", spec, { name: key, own: true });
  }

  function assign(spec, value, modifiers) {
    request("set", spec, { value: encode(value), modifiers: encode(modifiers) });
  }

  function construct(spec, args) {
    const properties = encode(args[0] === undefined || args[0] === null ? {} : args[0]);
    const made = { term: kindOf(spec).term, properties, data: args.length > 1 ? encode(args[1]) : undefined };
    return specifier(spec.root, [["new", made.term]], made);
  }

  function invoke(spec, args) {
    if (spec.root.item) return specifier({ item: true }, spec.chain);
    if (spec.chain.length === 0) return spec.proxy;
    if (spec.chain.length === 1 && /^[A-Z]/.test(spec.chain[0][1]) && kindOf(spec).kind === "class") {
      return construct(spec, args);
    }
    return answer("call", spec, { args: args.map(encode) });
  }

  const HANDLER = {
    get(target, key) {
      const spec = specs.get(target);
      if (key === Symbol.toPrimitive) return () => source(spec.proxy);
      if (typeof key === "symbol" || key === "prototype") return Reflect.get(target, key);
      return member(spec, key);
    },
    set(target, key, value) {
      const spec = specs.get(target);
      if (spec.chain.length === 0 && APP_SWITCHES.includes(key)) {
        spec.root.switches[key] = Boolean(value);
      } else if (spec.made) {
        spec.made.properties.v[key] = encode(value);
      } else {
        assign(specs.get(member(spec, key)) || { root: spec.root, chain: spec.chain.concat([["p", key]]) }, value);
      }
      return true;
    },
    apply(target, self, args) { return invoke(specs.get(target), args); },
    construct(target, args) { return invoke(specs.get(target), args); },
    has: () => true,
    deleteProperty: () => true,
    ownKeys(target) {
      const spec = specs.get(target);
      const names = spec.root.item || spec.made ? [] : request("names", spec, {});
      return [...new Set([...names, "prototype"])];
    },
    getOwnPropertyDescriptor(target, key) {
      if (typeof key === "symbol" || key === "prototype") return Reflect.getOwnPropertyDescriptor(target, key);
      return { value: undefined, writable: true, enumerable: true, configurable: true };
    },
  };

  // ---- the globals

  global.Application = function Application(name) {
    const root = ask("application", { name: encode(name) });
    return specifier(Object.assign(root, { switches: {} }), []);
  };
  global.Application.currentApplication = () =>
    specifier(Object.assign(ask("application", { name: null }), { switches: {} }), []);

  function Path(text) {
    if (paths.has(text)) return text;
    const path = Object.create(Path.prototype);
    paths.set(path, String(text));
    return path;
  }
  Path.prototype.toString = function toString() { return paths.get(this); };
  global.Path = Path;

  global.ObjectSpecifier = function ObjectSpecifier() { return specifier({ item: true }, []); };
  const isSpecifier = (value) => {
    const spec = specs.get(value);
    return Boolean(spec) && (spec.chain.length > 0 || Boolean(spec.root.item));
  };
  Object.defineProperty(global.ObjectSpecifier, Symbol.hasInstance, { value: (value) => specs.has(value) });
  global.ObjectSpecifier.hasInstance = (value) => specs.has(value);
  global.ObjectSpecifier.classOf = (value) => {
    if (!specs.has(value)) return undefined;
    return isSpecifier(value) ? kindOf(specs.get(value)).jxa : "application";
  };
  // The release notes also write `ObjectSpecifier.tabs[0]`, without the call.
  const OF_FUNCTION = ["classOf", "hasInstance", "prototype", "call", "apply", "bind", "toString"];
  global.ObjectSpecifier = new Proxy(global.ObjectSpecifier, {
    get: (target, key) => (typeof key === "symbol" || OF_FUNCTION.includes(key)
      ? Reflect.get(target, key) : specifier({ item: true }, [["p", key]])),
  });

  global.Automation = {
    getDisplayString: (value) => source(value),
    log: (value) => global.console.log(value),
  };
  global.console = { log: (...items) => void ask("log", { text: items.map(shown).join(" ") }) };
  global.delay = (seconds) => void ask("delay", { seconds: Number(seconds === undefined ? 0 : seconds) });
  global.Library = (name) => { throw appError(-1728, "Can't get object."); };
  global.Progress = { totalUnitCount: 0, completedUnitCount: 0, description: "", additionalDescription: "" };
  global.Ref = () => [undefined];

  const shown = (value) => (typeof value === "symbol" ? value.toString() : String(value));

  // ---- source form, human form

  const literal = (value) => JSON.stringify(value);
  const name = (text) => (/^[A-Za-z_$][\w$]*$/.test(text) ? "." + text : "[" + literal(text) + "]");

  const isShown = (value) => [Date, Error, RegExp, Promise].some((type) => value instanceof type);

  function source(value) {
    if (specs.has(value)) return reference(specs.get(value));
    if (typeof value === "string") return literal(value);
    if (paths.has(value)) return "Path(" + literal(paths.get(value)) + ")";
    if (Array.isArray(value)) return "[" + value.map(source).join(", ") + "]";
    if (!isPlain(value) || isShown(value)) return shown(value);
    if (bridged.test(value)) return "$(" + source(bridged.unwrap(value)) + ")";
    return "{" + Object.keys(value).map((key) => literal(key) + ":" + source(value[key])).join(", ") + "}";
  }

  function human(value) {
    if (specs.has(value)) return source(value);
    if (Array.isArray(value)) return value.map(human).join(", ");
    if (!isPlain(value) || paths.has(value) || isShown(value)) return shown(value);
    if (bridged.test(value)) return source(value);
    return Object.keys(value).map((key) => key + ":" + human(value[key])).join(", ");
  }

  function reference({ root, chain }) {
    let text = root.item ? "ObjectSpecifier()"
      : root.current ? "Application.currentApplication()" : "Application(" + literal(root.name) + ")";
    let collection = "";
    let filtered = false;
    for (const [kind, value] of chain) {
      if (kind === "p" || kind === "l") text += name(value);
      else {
        if (filtered && kind !== "w") text += name(collection);
        if (kind === "i") text += ".at(" + value + ")";
        else if (kind === "n") text += ".byName(" + literal(value) + ")";
        else if (kind === "id") text += ".byId(" + literal(value) + ")";
        else if (kind === "new") text += "." + value + "()";
        else text += ".whose(" + criterion(value) + ")";
      }
      if (kind === "p") collection = value;
      filtered = kind === "w";
    }
    return text;
  }

  function criterion(filter) {
    if (filter.match) {
      const [chain, operator, value] = filter.match;
      const right = source(decode(value));
      const key = /^_/.test(operator) ? operator : literal(operator);
      return "{_match: [" + reference({ root: { item: true }, chain }) + ", " +
        (operator === "=" ? right : "{" + key + ": " + right + "}") + "]}";
    }
    const key = Object.keys(filter)[0];
    return "{_" + key + ": [" + filter[key].map(criterion).join(", ") + "]}";
  }

  global.__bridge = { ask, bridged };
  global.__inner = { specs, source, human, finish: (over) => { done = over; } };
})(globalThis);
