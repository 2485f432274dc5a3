"use strict";
// Everything works without this file; it saves reloading and reaching for the mouse.
const live = document.querySelector("[data-live]");
const told = document.getElementById("told");
const questions = () => [...document.querySelectorAll("[data-question]")].map((one) => one.dataset.question);
let known = new Set(questions());

function count() {
  const now = questions();
  if (told && now.some((one) => !known.has(one))) told.textContent = `${told.dataset.says}: ${now.length}`;
  document.title = document.title.replace(/^\(\d+\) /, "");
  if (now.length) document.title = `(${now.length}) ${document.title}`;
  const badge = document.getElementById("waiting");
  if (badge && live && live.contains(told)) badge.textContent = now.length || "";
  known = new Set(now);
}

function place(element) {
  const card = element && element.closest("[data-question]");
  return card && { id: card.dataset.question, value: element.value };
}

if (live) {
  count();
  new EventSource(`/events?since=${live.dataset.live}`).addEventListener("message", async () => {
    const address = new URL(location);
    address.searchParams.set("part", "1");
    address.searchParams.delete("said");
    const answer = await fetch(address, { credentials: "same-origin" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").body;
    // What somebody reads, types or is about to press stays as it is.
    const open = [...live.querySelectorAll("[data-question] details[open]")].map((one) => place(one).id);
    const held = live.contains(document.activeElement) ? place(document.activeElement) : null;
    const path = held ? null : focusPath();
    for (const one of [...live.children]) if (one !== told) one.remove();
    live.append(...fresh.childNodes);
    for (const id of open) live.querySelector(`[data-question="${CSS.escape(id)}"] details`)?.setAttribute("open", "");
    if (held) live.querySelector(`[data-question="${CSS.escape(held.id)}"] button[value="${CSS.escape(held.value)}"]`)?.focus();
    else if (path) live.querySelector(path)?.focus();
    tick();
    count();
  });
  setInterval(tick, 1000);
  tick();
}

function focusPath() {
  const at = document.activeElement;
  return live.contains(at) && at.getAttribute("href") ? `a[href="${CSS.escape(at.getAttribute("href"))}"]` : null;
}

function tick() {
  for (const one of document.querySelectorAll("[data-until]")) {
    const left = Math.max(0, Math.round(one.dataset.until - Date.now() / 1000));
    one.dataset.says ??= one.textContent;
    one.textContent = `${one.dataset.says} · ${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  }
}

for (const field of document.querySelectorAll("[data-filter]")) {
  field.addEventListener("input", () => {
    for (const row of document.querySelectorAll(field.dataset.filter)) {
      row.hidden = !row.textContent.toLowerCase().includes(field.value.trim().toLowerCase());
    }
  });
}

// What takes long is asked for once the view is painted.
const later = () => document.querySelectorAll("[data-later]").forEach((one) => {
  fetch(one.dataset.later, { credentials: "same-origin" }).then(async (answer) => {
    if (!answer.ok) return;
    const found = new DOMParser().parseFromString(await answer.text(), "text/html");
    const rows = found.querySelectorAll("[data-prompts]");
    for (const row of rows) {
      const to = one.querySelector(`[data-prompts="${CSS.escape(row.dataset.prompts)}"]`);
      if (to) to.textContent = row.textContent;
    }
    if (!rows.length) one.replaceChildren(...found.body.childNodes);
  });
});
requestAnimationFrame(() => setTimeout(later));

document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, textarea, select") || event.metaKey || event.ctrlKey || event.altKey) return;
  const links = [...document.querySelectorAll("[data-rows] a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "j" || event.key === "k") links[Math.max(0, at + (event.key === "j" ? 1 : -1))]?.focus();
  if (event.key === "/") {
    event.preventDefault();
    document.getElementById("find").focus();
  }
});
