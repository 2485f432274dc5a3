"use strict";
// A result as people look at it. What apps say is text here, never markup; the client shows this
// in a frame of its own and hands it arguments and result. Source: MCP Apps, 2026-01-26.
const TEXTS = {
  filter: "Filter", none: "There is nothing here.", more: "Show more", rows: "rows", of: "of",
  ref: "Use in chat", used: "The reference is in the chat.", copied: "The reference is copied.",
  table: "Table", day: "Day", files: "Files", earlier: "Earlier day", later: "Later day",
  free: "No events.", allDay: "all day", failed: "The call failed", done: "Done",
  waits: "Waiting for your answer", answer: "Answer in your client, the dialog or the page. You cannot approve here.",
  working: "The call is running.", cancelled: "The call was cancelled.", says: "I mean",
};
const STEP = 100;
const view = document.getElementById("view"), told = document.getElementById("told");
const kind = document.documentElement.dataset.view;
let host = {}, rows = [], given = {}, over = false;

// The client, as JSON-RPC over messages to the frame around this one.
const pending = new Map();
let last = 0;
const send = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
const tell = (method, params) => send({ method, params });
const ask = (method, params) => new Promise((resolve, reject) => {
  pending.set(++last, { resolve, reject });
  send({ id: last, method, params });
});
window.addEventListener("message", ({ source, data }) => {
  if (source !== window.parent || !data || data.jsonrpc !== "2.0") return;
  const waiting = pending.get(data.id);
  if (data.method) {
    HEARD[data.method]?.(data.params ?? {});
    if (data.id !== undefined) send({ id: data.id, result: {} });
  } else if (waiting) {
    pending.delete(data.id);
    if (data.error) waiting.reject(data.error); else waiting.resolve(data.result);
  }
});
const HEARD = {
  __proto__: null,
  "ui/notifications/tool-input": (params) => { given = params.arguments ?? {}; if (kind === "approval") follow(); },
  "ui/notifications/tool-result": (params) => { over = true; show(params); },
  "ui/notifications/tool-cancelled": () => { over = true; view.replaceChildren(make("p", {}, TEXTS.cancelled)); },
  "ui/notifications/host-context-changed": dress,
};
function dress({ theme, styles } = {}) {
  if (theme) document.documentElement.style.colorScheme = theme;
  for (const [name, value] of Object.entries(styles?.variables ?? {})) {
    if (name.startsWith("--") && typeof value === "string") document.documentElement.style.setProperty(name, value);
  }
}

// What hides or acts on a screen is written out.
const seen = (text) => String(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}]/gu,
  (one) => (one === "\n" || one === "\t" ? one : `\\u${one.codePointAt(0).toString(16).padStart(4, "0")}`));
const words = (value) => (value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
function make(tag, settings = {}, ...inside) {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(settings)) {
    if (name.startsWith("on")) found.addEventListener(name.slice(2), value); else found.setAttribute(name, value);
  }
  found.append(...inside.map((one) => (one instanceof Node ? one : seen(one))));
  return found;
}
const level = (value) => make("span", { class: `level ${/^[A-Z]+$/.test(value) ? value.toLowerCase() : ""}` }, value);

async function use(ref) {
  const content = [{ type: "text", text: `${TEXTS.says}: ${ref}` }];
  try {
    if (host.message) await ask("ui/message", { role: "user", content });
    else if (host.updateModelContext) await ask("ui/update-model-context", { content });
    else throw new Error();
    told.textContent = TEXTS.used;
  } catch {
    await navigator.clipboard?.writeText(ref).catch(() => {});
    told.textContent = TEXTS.copied;
  }
}
const chooser = (ref) => (typeof ref === "string" ? make("button", { type: "button", title: seen(ref), "aria-label": seen(`${TEXTS.ref}: ${ref}`), onclick: () => use(ref) }, TEXTS.ref) : "");

// A result: what it is, and how it may be looked at.
function show(result) {
  let value = result.structuredContent;
  const text = (result.content ?? []).filter((one) => one.type === "text").map((one) => one.text).join("\n");
  if (value === undefined) try { value = JSON.parse(text); } catch { value = text; }
  if (result.isError) return fail(value);
  const list = [value, value?.result, value?.calls, value?.apps].find(Array.isArray);
  if (!list) return facts(value?.result ?? value);
  rows = list.map((one) => (one && typeof one === "object" && !Array.isArray(one) ? one : { value: one }));
  const ways = ["table"];
  if (rows.some(begins)) ways.unshift("day");
  if (rows.some((row) => "kind" in row && "name" in row && "ref" in row)) ways.unshift("files");
  draw(ways.includes(kind) ? kind : "table", ways, value);
}
function fail(value) {
  const said = [value?.message ?? words(value), value?.suggestion].filter(Boolean).map((one) => make("p", {}, one));
  view.replaceChildren(make("section", { class: "card" }, make("h2", { class: "dangerous" }, TEXTS.failed), ...said));
}
function facts(value) {
  const parts = value && typeof value === "object" ? Object.entries(value) : [[TEXTS.done, value ?? ""]];
  view.replaceChildren(make("dl", {}, ...parts.flatMap(([name, one]) => [make("dt", {}, name), make("dd", {}, words(one))])));
}
function draw(way, ways, value) {
  const bar = make("div", { class: "bar" });
  if (ways.length > 1) {
    for (const one of ways) bar.append(make("button", { type: "button", "aria-pressed": one === way, onclick: () => draw(one, ways, value) }, TEXTS[one]));
  }
  const body = make("div");
  view.replaceChildren(bar, body);
  if (way === "day") return days(body);
  grid(bar, body, way === "files" ? ["name", "kind", "size", "modification date"] : kind === "audit" || value?.calls ? CALLS : null);
}

// A table: sorted by a column's name, filtered by a word, a part of it at a time.
const CALLS = ["time", "client", "app", "tool", "level", "decision", "result", "ms"];
function grid(bar, body, chosen) {
  const names = chosen ?? [...new Set(rows.flatMap(Object.keys))].filter((name) => name !== "ref");
  const count = make("span", { class: "quiet", role: "status" });
  let by = "", down = false, wanted = "", most = STEP;
  bar.append(make("input", { type: "search", "aria-label": TEXTS.filter, placeholder: TEXTS.filter,
    oninput: ({ target }) => { wanted = target.value.toLowerCase(); most = STEP; fill(); } }), count);
  const heads = names.map((name) => make("th", { scope: "col", "aria-sort": "none" },
    make("button", { type: "button", onclick: () => { down = by === name && !down; by = name; fill(); } }, name)));
  const lines = make("tbody"), more = make("button", { type: "button", onclick: () => { most += STEP; fill(); } }, TEXTS.more);
  const refs = rows.some((row) => typeof row.ref === "string");
  if (refs) heads.push(make("td"));
  body.append(make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": TEXTS.table },
    make("table", {}, make("thead", {}, make("tr", {}, ...heads)), lines)), more);
  function fill() {
    const found = rows.filter((row) => !wanted || words(row).toLowerCase().includes(wanted));
    if (by) found.sort((one, other) => (down ? -1 : 1) * compare(one[by], other[by]));
    names.forEach((name, at) => heads[at].setAttribute("aria-sort", name === by ? (down ? "descending" : "ascending") : "none"));
    lines.replaceChildren(...found.slice(0, most).map((row) => make("tr", {}, ...names.map((name) => cell(name, row[name])),
      ...(refs ? [make("td", {}, chooser(row.ref))] : []))));
    if (!found.length) lines.append(make("tr", {}, make("td", { colspan: names.length + 1 }, TEXTS.none)));
    count.textContent = `${Math.min(most, found.length)} ${TEXTS.of} ${found.length} ${TEXTS.rows}`;
    more.hidden = found.length <= most;
  }
  fill();
}
const compare = (one, other) => (typeof one === "number" && typeof other === "number" ? one - other : words(one).localeCompare(words(other), undefined, { numeric: true }));
function cell(name, value) {
  if (name === "level" && typeof value === "string") return make("td", {}, level(value));
  if (name === "size" && typeof value === "number") return make("td", { class: "number" }, bytes(value));
  if (typeof value === "number") return make("td", { class: "number" }, Math.round(value * 10) / 10 === value ? value : value.toFixed(1));
  return make("td", {}, moment(value) ?? words(value));
}
function bytes(value) {
  const step = value > 0 ? Math.min(4, Math.floor(Math.log10(value) / 3)) : 0;
  return `${+(value / 1000 ** step).toFixed(1)} ${["B", "kB", "MB", "GB", "TB"][step]}`;
}

// Times are read as they are written: in the zone of the Mac that said them.
const DATE = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)/;
const moment = (value) => { const found = typeof value === "string" && DATE.exec(value); return found ? `${found[1]} ${found[2]}` : null; };
const begins = (row) => { const found = DATE.exec(row["start date"] ?? row.start ?? ""); return found && { day: found[1], time: found[2] }; };
const ends = (row) => DATE.exec(row["end date"] ?? row.end ?? "")?.[2];
function days(body, at = 0) {
  const events = rows.filter(begins).sort((one, other) => words(one["start date"] ?? one.start).localeCompare(words(other["start date"] ?? other.start)));
  const known = [...new Set(events.map((row) => begins(row).day))];
  const day = known[at], today = events.filter((row) => begins(row).day === day);
  const step = (by, label) => {
    const found = make("button", { type: "button", onclick: () => days(body, at + by) }, label);
    found.disabled = !known[at + by];
    return found;
  };
  const item = (row) => make("li", {}, make("time", {}, row["allday event"] ? TEXTS.allDay : begins(row).time),
    make("div", { class: "event" }, make("strong", {}, row.summary ?? row.name ?? ""),
      make("div", { class: "quiet" }, [ends(row) && `${begins(row).time}–${ends(row)}`, row.location].filter(Boolean).join(" · ")), chooser(row.ref)));
  body.replaceChildren(make("div", { class: "bar" }, step(-1, TEXTS.earlier), make("h2", { "aria-live": "polite" }, day ?? TEXTS.free), step(1, TEXTS.later)),
    make("ol", { class: "day" }, ...today.map(item)));
}

// The card of approvals reads what waits; the answer is given elsewhere.
async function follow() {
  view.replaceChildren(make("p", { class: "quiet" }, TEXTS.working));
  let before = "";
  while (!over && host.serverResources) {
    const found = await ask("resources/read", { uri: "ui://iac/questions" }).catch(() => null);
    const text = found?.contents?.[0]?.text ?? "[]";
    if (!over && text !== before) card(JSON.parse(before = text));
    await new Promise((resolve) => setTimeout(resolve, 700));
  }
}
function card(questions) {
  const mine = questions.filter((one) => !given.name || one.tool === given.name);
  view.replaceChildren(...mine.map((one) => make("article", { class: "card" }, make("h2", {}, TEXTS.waits, " ", level(one.level)),
    ...one.says.map((part) => (Array.isArray(part)
      ? make("div", { class: "wide" }, make("table", {}, make("tbody", {}, ...part.map((row) => make("tr", {}, make("td", {}, row))))))
      : make("p", {}, part))),
    make("p", { class: "quiet" }, TEXTS.answer))));
  if (!mine.length) view.replaceChildren(make("p", { class: "quiet" }, TEXTS.working));
  else told.textContent = TEXTS.waits;
}

(async () => {
  const found = await ask("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "iac", version: "1" }, appCapabilities: {} });
  host = found.hostCapabilities ?? {};
  dress(found.hostContext);
  tell("ui/notifications/initialized", {});
  new ResizeObserver(() => tell("ui/notifications/size-changed",
    { width: document.documentElement.scrollWidth, height: Math.ceil(document.body.getBoundingClientRect().height) })).observe(document.body);
})();
