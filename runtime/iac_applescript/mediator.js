// Stands before a JavaScript that runs: what the script gets of apps is wrapped, and each event is held against what
// was approved. One beyond it ends the script; nothing that follows is sent. `MAY` is put in as JSON:
//   apps (names), names (members asked of apps), sets (members set), code (text may become code), bridge
//   (Objective-C), parses (run is given one JSON text), secrets (properties that are never read: not asked for, not in
//   a filter, and taken out of records), open (names are not known; only after a person saw that)
//   texts (what is spelled out: an address, path or recipient that goes out stands there), most (objects a verb, 0 for
//   no bound), acts (app -> approved members that change something), writes (app -> member that changes something -> 0 gives nothing, 1 gives an object, 2 gives a value)
//   mode ("" sends as the script goes; "record" reads, and keeps what would be written; "commit" does the same and
//   sends it all at the end, if it is `lines`), mark (before what is told on the log: {lines} or {why} or {done, undo})
// A script may change what all arrays, sets and objects share: nothing of that is used here once it runs. A list grows
// by `add`, and a record has no prototype: a setter there would be handed what is assigned. Every statement ends in a
// semicolon: it is sent as one line.
((global, told) => {
  "use strict";
  const may = { __proto__: null, ...told, acts: { __proto__: null, ...told.acts }, writes: { __proto__: null, ...told.writes } };
  const { Application, ObjectSpecifier, Automation, console, Proxy, Reflect, Object, Array, String, Error, WeakMap } = global;
  const { apply, construct, get: read, set: write, has, ownKeys, getPrototypeOf, defineProperty } = Reflect;
  const { keys, prototype: plain } = Object;
  const { isArray } = Array;
  const day = global.Date.prototype;
  const uncurried = global.Function.prototype.bind.bind(global.Function.prototype.call);
  const knows = uncurried(WeakMap.prototype.has);
  const fetch = uncurried(WeakMap.prototype.get);
  const keep = uncurried(WeakMap.prototype.set);
  const { parse, stringify } = global.JSON;
  const log = console.log;
  const tell = (found) => apply(log, console, [may.mark + stringify(found)]);
  const display = Automation.getDisplayString;
  const iso = uncurried(day.toISOString);
  const { exec, test } = global.RegExp.prototype;
  const tests = uncurried(test);
  const matched = uncurried(exec);
  const moment = uncurried(day.getTime);
  const Day = global.Date;
  // Its own `exec`: that of all patterns is the script's to change.
  const pattern = (found) => defineProperty(found, "exec", { __proto__: null, value: exec }) && found;
  const lastOf = uncurried(String.prototype.lastIndexOf);
  const owns = uncurried(Object.prototype.hasOwnProperty);
  const within = uncurried(String.prototype.includes);
  const begins = uncurried(String.prototype.startsWith);
  const cut = uncurried(String.prototype.slice);
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
  const add = (list, value) => defineProperty(list, list.length, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
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
    return knows(raws, value) ? fetch(raws, value).real() : each(value, bare);
  };
  const filters = table(["whose", "where"]);
  const filtered = (test) => {
    if (typeof test !== "object" || test === null || getPrototypeOf(test) === day) return;
    if (!isArray(test) && getPrototypeOf(test) !== plain) refuse("a filter that is no plain record");
    const all = keys(test);
    for (let at = 0; at < all.length; at += 1) {
      if (all[at] in secrets) refuse("a filter over the secret " + all[at]);
      filtered(test[all[at]]);
    }
  };

  const queue = [];
  const counts = { __proto__: null };
  let spelled = may.texts.join("\0");
  const spell = (value) => {
    if (typeof value === "string") spelled += "\0" + value;
    each(value, spell);
  };
  const NAMES = pattern(/(?:url|address|path|location|recipient|handle|phone|file|^to|^in|^at|^cc|^bcc|^using)$/i);
  const PEOPLE = pattern(/(?:address|recipient|handle|phone|^to|^cc|^bcc)$/i);
  const LEADS = pattern(/^(?:[a-z][a-z0-9+.-]*:\S|[~\/]|[^\s@]+@[^\s@]+$)/i);
  const WORD = pattern(/^[A-Za-z_$][\w$]*$/);
  const PICKS = pattern(/\.(?:byId|byName|at)\([^()]*\)$|\[[^\[\]]*\]$/);
  const chooses = table(["byId", "byName", "at", "whose", "where", "first", "last"]);
  const quiet = table(["setTheClipboardTo", "displayDialog", "displayAlert", "displayNotification", "say"]);

  const needs = (why) => {
    if (!ended) tell({ why });
    refuse(why);
  };
  const literal = (value) => {
    if (knows(raws, value)) return fetch(raws, value).text;
    if (value === undefined) return "undefined";
    if (typeof value !== "object" || value === null) return stringify(value);
    const kind = getPrototypeOf(value);
    if (kind === day) return "new Date(" + stringify(iso(value)) + ")";
    const list = isArray(value);
    if (!list && kind !== plain && kind !== null) return display(value);
    const all = keys(value);
    let text = "";
    for (let at = 0; at < all.length; at += 1) text += (at ? ", " : "") + (list ? "" : stringify(all[at]) + ": ") + literal(value[all[at]]);
    return list ? "[" + text + "]" : "{" + text + "}";
  };
  const member = (key) => (tests(WORD, key) ? "." + key : +key >= 0 ? "[" + key + "]" : "[" + stringify(key) + "]");
  const record = (value) => (knows(raws, value) ? fetch(raws, value) : null);

  // The object itself, whatever way it was named by: later writes move no index.
  const settled = (of) => {
    if (of.later || of.made || of.root) return of;
    try {
      const found = of.value();
      if (typeof found === "function") return { __proto__: null, ...of, value: found, text: display(found), real: () => found, one: true };
    } catch (error) {
      return of;
    }
    return of;
  };
  const labelled = (of) => {
    if (of.later || of.made || of.root || !of.one || queue.length > 99) return "";
    const found = ["name", "subject", "summary"];
    for (let at = 0; at < found.length; at += 1) {
      try {
        const text = found[at] in secrets ? "" : read(of.value, found[at])();
        if (typeof text === "string") return text;
      } catch (error) {
        continue;
      }
    }
    return "";
  };
  const listOf = (text) => {
    const found = matched(PICKS, text);
    return found ? cut(text, 0, text.length - found[0].length) : text;
  };
  const last = (text) => cut(text, lastOf(text, ".") + 1);
  // The same list, or one that may be: two objects that were told apart by their ids are not the same.
  const overlaps = (one, two) => one === two || (last(one) === last(two) && !(within(one, ".byId(") && within(two, ".byId(")));
  const reads = (of, lists) => {
    for (let at = 0; at < queue.length; at += 1) {
      const row = queue[at];
      if (row.app !== of.app) continue;
      const holder = of.holder && settled(of.holder);
      const same = row.key !== undefined && row.key === of.name && holder && (!holder.one || holder.text === row.target);
      const near = lists && row.list !== undefined && (overlaps(row.list, of.text) || (holder && (overlaps(row.list, holder.text) || overlaps(row.list, listOf(holder.text)))));
      if (same || near) needs("reading back what it changed (" + of.text + ")");
    }
  };
  // A name that a script reckoned may lead anywhere: what something is handed to is not chosen by one.
  const oddly = (key) => (typeof key === "string" && key !== "" && !within(spelled, key) ? key : "");
  const held = (value, key, name) => {
    if (knows(raws, value) && fetch(raws, value).odd) return refuse("handing something to " + stringify(fetch(raws, value).odd) + ", which the script does not spell out,");
    if (typeof value === "string") {
      const leads = key === "" ? tests(LEADS, value) : tests(PEOPLE, key) || (tests(NAMES, key) && tests(LEADS, value));
      if (leads && value !== "" && !within(spelled, value) && !(name in quiet)) refuse("handing " + stringify(cut(value, 0, 200)) + " to " + name + ", which the script does not spell out,");
    } else if (typeof value === "object" && value !== null && !knows(raws, value)) {
      const kind = getPrototypeOf(value);
      if (kind === day) return;
      const list = isArray(value);
      if (!list && kind !== plain && kind !== null) return held(String(value), "path", name);
      const all = keys(value);
      for (let at = 0; at < all.length; at += 1) held(value[all[at]], list ? key : all[at], name);
    }
  };
  const sends = (of, verb, given) => {
    const approved = may.acts[of.app] || [];
    let known = may.open;
    for (let at = 0; at < approved.length; at += 1) known = known || approved[at] === verb;
    hold(known, verb + " in " + (of.app || "this app"));
    for (let at = 0; at < given.length; at += 1) held(given[at], "", verb);
    const count = (counts[of.app + "\0" + verb] || 0) + 1;
    counts[of.app + "\0" + verb] = count;
    if (may.most && count > may.most) refuse(verb + " on more than " + may.most + " objects of " + of.app);
  };
  const writes = (of) => {
    const known = may.writes[of.app];
    if (of.name === "push" || of.name === "unshift") return of.holder && !of.holder.root ? 1 : undefined;
    if (known === undefined) return may.mode ? needs("using " + of.app + ", whose dictionary is not known,") : undefined;
    return owns(known, of.name) ? known[of.name] : undefined;
  };
  const queued = (of, target, line, run, more) => {
    if (ended) refuse(ended);
    if (queue.length >= 500) needs("more than 500 changes");
    const row = { __proto__: null, app: of.app, text: line, label: labelled(target), target: target.text, run, ...more };
    add(queue, row);
    return row;
  };
  const plainly = (value) => {
    const kept = freeze(value);
    return { __proto__: null, text: literal(value), real: () => melt(kept) };
  };
  const calls = (of, given, answers) => {
    if (answers === 2) needs("the answer of " + of.name);
    const target = settled(of.holder);
    const args = [];
    let about = target;
    for (let at = 0; at < given.length; at += 1) {
      const one = record(given[at]);
      const found = one === null ? null : settled(one);
      add(args, found === null ? plainly(given[at]) : found);
      if (at === 0 && target.root && found !== null) about = found;
    }
    let text = target.text + member(of.name) + "(";
    for (let at = 0; at < args.length; at += 1) text += (at ? ", " : "") + args[at].text;
    text += ")";
    let handed = "";
    for (let at = about === target ? 0 : 1; at < args.length; at += 1) handed += (handed ? ", " : "") + args[at].text;
    const made = of.name === "make" || of.name === "push" || of.name === "unshift" || of.name === "duplicate";
    const run = () => {
      const holder = target.real();
      const found = [];
      for (let at = 0; at < args.length; at += 1) add(found, args[at].real());
      row.result = apply(read(holder, of.name), holder, found);
      const pushed = of.name === "push" || of.name === "unshift" ? found[0] : row.result;
      if (made && typeof pushed === "function") row.undo = display(pushed) + ".delete()";
    };
    const list = of.name === "push" || of.name === "unshift" ? target.text : about.root || about.made ? "" : listOf(about.text);
    const row = queued(of, about, text, run, { list: list || target.text, given: handed });
    return answers === 1 ? wrapped({ later: true, real: () => row.result, name: "", app: of.app, text }) : undefined;
  };
  // What a value is now, apps' objects as what they will be: a script may change it before it is sent.
  const raw = { __proto__: null };
  const freeze = (value) => {
    if (knows(whole, value)) refuse("handing on all properties of an object");
    if (knows(raws, value)) return { __proto__: raw, real: fetch(raws, value).real };
    if (typeof value !== "object" || value === null) return value;
    return getPrototypeOf(value) === day ? new Day(moment(value)) : each(value, freeze);
  };
  const melt = (value) => (typeof value === "object" && value !== null && getPrototypeOf(value) === raw ? value.real() : each(value, melt));
  const puts = (of, key, given) => {
    const target = settled(of);
    const kept = freeze(given);
    const run = () => {
      const holder = target.real();
      try {
        const old = read(holder, key)();
        if (typeof old !== "function") row.undo = target.text + member(key) + " = " + literal(old);
      } catch (error) {
        row.undo = "";
      }
      write(holder, key, melt(kept));
    };
    const row = queued(of, target, target.text + member(key) + " = " + literal(given), run, { key, given: cut(member(key), 1) + " = " + literal(given) });
    return true;
  };
  // Says whether a change is kept for later; else it is sent now.
  const places = (of, key, given) => {
    hold(may.open || key in sets, "setting " + key);
    if (key === "includeStandardAdditions" || begins(key, "strict")) return false;
    if (may.mode) return puts(of, key, given);
    held(given, key, key);
    sends(of, "setting " + key, []);
    return false;
  };
  const finish = () => {
    if (!may.mode) return;
    if (ended) refuse(ended);
    const lines = [];
    for (let at = 0; at < queue.length; at += 1) add(lines, [queue[at].text, queue[at].label, queue[at].given]);
    if (may.mode === "record") {
      tell({ lines });
      return;
    }
    for (let at = 0; at < lines.length || at < may.lines.length; at += 1) {
      if (at < lines.length && at < may.lines.length && lines[at][0] === may.lines[at][0] && lines[at][1] === may.lines[at][1]) continue;
      tell({ changed: at < lines.length ? lines[at][0] : may.lines[at][0] });
      refuse(at < lines.length ? lines[at][0] : "leaving out " + may.lines[at][0]);
    }
    for (let at = 0; at < queue.length; at += 1) {
      try {
        queue[at].run();
      } catch (error) {
        const undo = [];
        for (let before = at - 1; before >= 0; before -= 1) add(undo, queue[before].undo || "");
        tell({ done: at, of: queue.length, failed: queue[at].text, undo });
        ended = ended || "going on after a failure";
        throw error;
      }
    }
    queue.length = 0;
  };

  const wrap = (value, name, holder, text, made, odd) => {
    if (typeof value !== "function") {
      let at = -1;
      return each(value, (item) => { at += 1; return wrap(item, "", holder, typeof item === "function" ? display(item) : "", made); }, true);
    }
    // What lies in an object that is not made yet is another one once it is.
    const real = made && name !== "" ? () => read(holder.real(), name) : () => value;
    return wrapped({ value, real, name, holder, app: holder.app, text, made, odd: odd || holder.odd });
  };
  // What a function of every function does is judged as the call that it comes to.
  const passes = {
    __proto__: null,
    call: (to) => (self, ...given) => apply(to, self, given),
    apply: (to) => (self, given) => apply(to, self, given || []),
    bind: (to) => (self, ...first) => (...more) => apply(to, self, [...first, ...more]),
  };
  const wrapped = (given) => {
    const of = { __proto__: null, ...given };
    const { name, value, later } = of;
    const called = () => hold(may.open || name === "" || +name >= 0 || name in names, name);
    const lead = (key) => (later ? needs("reading what it made (" + of.text + ")") : key);
    const child = (key) => {
      if (later) return wrapped({ later, real: () => read(of.real(), key), name: key, holder: of, app: of.app, text: of.text + member(key) });
      if (may.mode && key === "length") reads(of, true);
      const picks = !(key in names || +key >= 0) && !may.mode ? oddly(key) : "";
      return wrap(read(value, key), key, of, of.text + member(key), of.made, picks);
    };
    const proxy = new Proxy(() => {}, {
      __proto__: null,
      get: (_, key) => {
        if (typeof key === "symbol") return lead(0) || symbol(of, key);
        if (key in secrets) refuse("reading the secret " + key);
        if (key in passes) return passes[key](proxy);
        return child(key);
      },
      set: (_, key, given) => places(of, String(key), given) || write(value, key, bare(given)),
      apply: (_, self, given) => {
        called();
        const owner = name === "set" && of.holder ? of.holder : undefined;
        if (owner && owner.holder) {
          if (owner.name === "" || given.length !== 1) refuse("setting " + owner.text);
          return places(owner.holder, owner.name, given[0]) ? undefined : wrap(apply(value, owner.value, each(given, bare)), "", of, of.text);
        }
        const answers = of.holder ? writes(of) : undefined;
        if (answers !== undefined && may.mode) return calls(of, given, answers);
        if (answers !== undefined) sends(of, name, given);
        if (later) {
          if (!(name in chooses)) lead(0);
          return wrapped({ ...of, real: () => apply(of.real(), of.holder.real(), each(given, bare)), name: "", text: of.text + "(" + inside(given) + ")" });
        }
        const sent = each(given, bare);
        if (name in filters) filtered(sent);
        if (may.mode && queue.length && !(name in chooses)) reads(of, name === "count" || name === "exists");
        const found = apply(value, of.holder ? of.holder.value : undefined, sent);
        if (may.mode && queue.length && isArray(found)) reads(of, true);
        const makes = tests(CAPITAL, name);
        if (makes && !may.mode) for (let at = 0; at < given.length; at += 1) held(given[at], "", name);
        const chosen = typeof found === "function" && !makes && !(name in chooses) ? display(found) : of.text + "(" + inside(given) + ")";
        return wrap(found, "", of, chosen, makes, name === "byName" && !may.mode ? oddly(given[0]) : "");
      },
      construct: (_, given) => {
        called();
        if (!may.mode) for (let at = 0; at < given.length; at += 1) held(given[at], "", name);
        return wrap(construct(value, each(given, bare)), "", of, of.text + "(" + inside(given) + ")", true);
      },
      has: (_, key) => lead(0) || has(value, key),
      deleteProperty: () => true,
      ownKeys: () => {
        lead(0);
        const all = ownKeys(value);
        const found = [];
        for (let at = 0; at < all.length; at += 1) if (all[at] !== "prototype") add(found, all[at]);
        return found;
      },
      getOwnPropertyDescriptor: (_, key) => (key === "prototype" ? undefined : { value: undefined, writable: true, enumerable: true, configurable: true }),
      getPrototypeOf: () => lead(0) || getPrototypeOf(value),
      setPrototypeOf: () => refuse("changing an object of an app"),
      defineProperty: () => refuse("changing an object of an app"),
    });
    keep(raws, proxy, of);
    if (name === "properties" && may.secrets.length > 0) keep(whole, proxy, true);
    return proxy;
  };
  const CAPITAL = pattern(/^[A-Z]/);
  const inside = (given) => { const text = literal(given); return cut(text, 1, text.length - 1); };
  const symbol = (of, key) => {
    const found = read(of.value, key);
    return typeof found === "function" ? (...given) => wrap(apply(found, of.value, each(given, bare)), "", of, of.text) : found;
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

  const opened = (value, app) => {
    const text = app === "" ? "Application.currentApplication()" : "Application(" + stringify(app) + ")";
    return wrapped({ value, real: () => value, name: "", app, text, root: true });
  };
  const application = function (name) {
    hold(may.open || (typeof name === "string" && name in apps), "Application(" + String(name) + ")");
    return opened(Application(name), name);
  };
  application.currentApplication = () => opened(Application.currentApplication(), "");
  put("Application", application);
  const specifiers = { __proto__: null, value: ObjectSpecifier, real: () => ObjectSpecifier, app: "", text: "ObjectSpecifier", root: true };
  put("ObjectSpecifier", new Proxy(() => {}, {
    __proto__: null,
    get: (_, key) => (typeof key === "symbol" ? symbol(specifiers, key) : wrap(read(ObjectSpecifier, key), "", specifiers, "")),
    apply: () => wrap(ObjectSpecifier(), "", specifiers, ""),
  }));
  shown(Automation, "getDisplayString");
  shown(console, "log");
  if (!may.bridge) ["ObjC", "$", "Ref"].forEach((key) => put(key, off(key)));
  if (!may.code) {
    const kinds = [function () {}, function* () {}, async function () {}, async function* () {}];
    kinds.forEach((kind) => defineProperty(getPrototypeOf(kind), "constructor", { value: off("Function"), writable: false, configurable: false }));
    ["eval", "Function", "Library"].forEach((key) => put(key, off(key)));
  }
  const runs = global.run;
  const given = typeof runs === "function";
  if (given) {
    write(global, "run", (...texts) => {
      depth += 1;
      try {
        const first = over && depth === 1;
        const handed = first && may.parses ? [parse(texts[0][0])] : texts;
        if (first) spell(handed);
        const found = apply(runs, undefined, handed);
        if (first) finish();
        return first ? bare(found) : found;
      } finally {
        depth -= 1;
      }
    });
  }
  let finished = false;
  const end = () => {
    if (!given && !finished) finish();
    finished = true;
  };
  return { bare: (value) => { end(); return bare(value); }, end: () => { end(); over = true; } };
})(globalThis, MAY);
