// Running a script: called by the host, for the completion value or that of run(), or for a line
// of the interactive mode.
(function (global) {
  "use strict";
  const { specs, source, human, finish } = global.__inner;
  delete global.__inner;

  const EMPTY = "\u0000iac-empty";

  function failure(error) {
    let text = "";
    try { text = String(error); } catch (_) { text = "[object Object]"; }
    const isError = error instanceof Error;
    const coded = typeof error === "object" && error !== null && typeof error.errorNumber === "number";
    return { text, number: coded ? error.errorNumber : -2700, coded: coded && isError,
      message: isError ? String(error.message) : "", name: isError ? String(error.name) : "",
      stack: isError ? String(error.stack) : "",
      // JavaScriptCore's own; with a source it is a line of ours.
      line: isError && !error.sourceURL && Number.isInteger(error.line) ? error.line : null };
  }

  // A fixed clock moves on by what a script waits: a loop until a moment has to end.
  function fixClock(now) {
    const real = global.delay;
    let moment = now;
    global.delay = (seconds) => {
      real(seconds);
      moment += Math.max(0, Number(seconds) || 0) * 1000;
    };
    global.Date = new Proxy(Date, {
      construct: (target, args, made) => Reflect.construct(target, args.length ? args : [moment], made),
      apply: (target) => String(new target(moment)),
      get: (target, key) => (key === "now" ? () => moment : Reflect.get(target, key)),
    });
  }

  let entry;
  global.__keep = (found) => { if (typeof found === "function") entry = found; };

  global.__run = function (request) {
    const { script, argv, form, now } = JSON.parse(request);
    const evaluate = eval;
    if (now !== null) fixClock(now);
    const keep = "\n;let __iac_kept = __keep(typeof run === 'function' ? run : undefined);";
    try {
      // A string first and a declaration last leave the completion value as it is.
      let value = evaluate(JSON.stringify(EMPTY) + ";" + script + keep);
      if (entry && !specs.has(entry)) value = entry(argv);
      if (value === EMPTY) return JSON.stringify({ text: "", empty: true });
      return JSON.stringify({ text: form === "s" ? source(value) : human(value) });
    } catch (error) {
      return JSON.stringify({ error: failure(error), prefix: JSON.stringify(EMPTY).length + 1 });
    } finally {
      finish(true);
    }
  };
  // A line of the interactive mode. What it declares has to outlive it: eval keeps only `var`.
  global.__step = function (request) {
    const { line, now } = JSON.parse(request);
    const evaluate = eval;
    if (now !== null) fixClock(now);
    finish(false);
    try {
      return JSON.stringify({ text: source(evaluate(line.replace(/^\s*(?:let|const)\b/, "var"))) });
    } catch (error) {
      return JSON.stringify({ error: failure(error), prefix: 0 });
    } finally {
      finish(true);
    }
  };
})(globalThis);
