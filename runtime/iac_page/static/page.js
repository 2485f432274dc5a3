"use strict";
// Everything works without this file; it saves reloading and reaching for the mouse.
const live = document.getElementById("live");
if (live) {
  const told = document.getElementById("told");
  const questions = () => [...live.querySelectorAll("[data-question]")].map((one) => one.dataset.question);
  let known = new Set(questions());
  new EventSource("/events").addEventListener("message", async () => {
    // What somebody is about to press stays where it is.
    const held = live.contains(document.activeElement) && document.activeElement.closest("[data-question]");
    const answer = await fetch(live.dataset.source, { credentials: "same-origin" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").body;
    const id = held && held.dataset.question;
    const same = id && fresh.querySelector(`[data-question="${CSS.escape(id)}"]`);
    const value = same && document.activeElement.value;
    live.replaceChildren(...fresh.childNodes);
    if (same) live.querySelector(`[data-question="${CSS.escape(id)}"] button[value="${CSS.escape(value)}"]`)?.focus();
    const now = questions();
    if (now.some((one) => !known.has(one))) told.textContent = `${told.dataset.says}: ${now.length}`;
    document.title = document.title.replace(/^\(\d+\) /, "");
    if (now.length) document.title = `(${now.length}) ${document.title}`;
    known = new Set(now);
  });
}
for (const field of document.querySelectorAll("[data-filter]")) {
  field.addEventListener("input", () => {
    for (const row of document.querySelectorAll(field.dataset.filter)) {
      row.hidden = !row.textContent.toLowerCase().includes(field.value.trim().toLowerCase());
    }
  });
}
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, textarea, select") || event.metaKey || event.ctrlKey || event.altKey) return;
  const links = [...document.querySelectorAll("[data-rows] a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "j" || event.key === "k") links[Math.max(0, at + (event.key === "j" ? 1 : -1))]?.focus();
  if (event.key === "/") {
    event.preventDefault();
    document.querySelector("main input")?.focus();
  }
});
