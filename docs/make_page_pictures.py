"""Writes docs/images/page-*.png and chat-*.png: each view in both themes, on simulated apps.

    python docs/make_page_pictures.py

Needs Chromium, playwright and Pillow. The record, the question and the update are made here.
"""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from iac_runtime.serve.resources import view_document

IMAGES = Path(__file__).parent / "images"
COLOURS = 192
"""Of a picture, whose letters stay sharp; a page has few."""

SIZE: Any = {"width": 880, "height": 560}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("mail_list_unread", {}),
    ("notes_list", {"element": "note", "properties": ["name"]}),
    ("calendar_list", {"element": "event", "of": "calendars[0]"}),
    ("notes_make_note", {"name": "Packing list"}),
    ("finder_list", {"element": "file"}),
    ("mail_count_messages", {}),
    ("reminders_list_open", {}),
    ("notes_delete", {"target": "notes[0]"}),
)
RULES = """# Nothing leaves while I sleep.
[[deny]]
tool = "mail_send"
hours = "22:00-07:00"

[[allow]]
tool = "notes_make_note"

[[ask]]
app = "safari"
"""
VIEWS = {
    "now": "/now",
    "permissions": "/permissions",
    "app": "/apps/notes",
    "tool": "/tools/notes_make_note",
    "search": "/search?q=which mails came today",
    "history": "/history",
    "call": "/history?tool=notes_make_note",
    "changes": "/changes?compare=1&app=notes",
    "rules": "/rules",
}
HOME = "(one) => { one.textContent = '~/Library/Application Support/iac/policy.toml'; })"
HOST = """
<iframe sandbox="allow-scripts" title="View" width="860" height="300" frameborder="0"></iframe>
<script>
window.addEventListener("message", ({ data, source }) => {
  const reply = (result) => source.postMessage({ jsonrpc: "2.0", id: data.id, result }, "*");
  const tell = (method, params) => source.postMessage({ jsonrpc: "2.0", method, params }, "*");
  const host = { hostCapabilities: { serverResources: {} }, hostContext: { theme } };
  if (data.method === "ui/initialize") reply(host);
  if (data.method === "resources/read") reply({ contents: [{ text: questions }] });
  if (data.method !== "ui/notifications/initialized") return;
  tell("ui/notifications/tool-input", { arguments: {} });
  if (result) tell("ui/notifications/tool-result", { structuredContent: result });
});
</script>"""


def called(env: dict[str, str], tool: str, given: dict[str, Any]) -> Any:
    """Call a tool on simulated apps; what is refused is a row of the record too."""
    argv = [sys.executable, "-m", "iac_mcp", "call", "--simulate", "--allow", "MODIFY", tool]
    done = subprocess.run([*argv, json.dumps(given)], env=env, capture_output=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def fill(data: Path, env: dict[str, str]) -> dict[str, Any]:
    """Make a record, a policy and tools that an update made old; return what calls answered."""
    (data / "policy.toml").write_text(RULES)
    argv = ["build", "notes", "--bundled", "--output", str(data / "tools")]
    subprocess.run([sys.executable, "-m", "iac_gen", *argv], check=True, capture_output=True)
    answers = {tool: called(env, tool, given) for tool, given in CALLS}
    lock = data / "tools" / "tools.lock"
    held = json.loads(lock.read_bytes())
    held["terms"]["property notes.note.name"][1] = ["DANGEROUS"]
    del held["terms"]["property notes.note.creation date"]
    lock.write_text(json.dumps(held))
    return {**answers, "audit_tail": called(env, "audit_tail", {})}


def asking(env: dict[str, str]) -> "subprocess.Popen[str]":
    """Start a server whose client waits for the answer to a question."""
    argv = [sys.executable, "-m", "iac_mcp", "serve", "--simulate"]
    pipe = subprocess.PIPE
    child = subprocess.Popen(argv, env=env, stdin=pipe, stdout=subprocess.DEVNULL, text=True)
    calls = [{"target": "notes[1]"}, {"target": "notes[0]"}]
    given = {"name": "notes_delete", "calls": calls}
    info = {"name": "claude-code", "version": "2"}
    said = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    assert child.stdin is not None
    for message in (
        {"id": 1, "method": "initialize", "params": said},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "dangerous_tool", "arguments": given}},
    ):
        child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    child.stdin.flush()
    return child


def keep(name: str, theme: str, picture: bytes) -> None:
    """Write a picture with few colours."""
    with Image.open(io.BytesIO(picture)) as found:
        small = found.convert("RGB").quantize(
            COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
        small.save(IMAGES / f"{name}-{theme}.png", optimize=True)


def chat_views(browser: Any, answers: dict[str, Any], says: list[Any]) -> None:
    """Write the pictures of the views of MCP Apps."""
    question = {"app": "Notes", "tool": "notes_delete", "level": "DANGEROUS", "says": says}
    shown = {
        "table": answers["notes_list"],
        "day": answers["calendar_list"],
        "files": answers["finder_list"],
        "audit": answers["audit_tail"],
        "approval": None,
    }
    for theme in ("light", "dark"):
        tab = browser.new_page(viewport={"width": 880, "height": 320}, color_scheme=theme)
        for view, result in shown.items():
            given = {"theme": theme, "result": result, "questions": json.dumps([question])}
            tab.set_content(HOST)
            tab.evaluate("(given) => { Object.assign(window, given); }", given)
            tab.locator("iframe").evaluate(
                "(one, html) => { one.srcdoc = html; }", view_document(view)
            )
            tab.wait_for_timeout(600)
            keep(f"chat-{view}", theme, tab.locator("iframe").screenshot())
        tab.close()


def main() -> None:
    """Write all pictures."""
    folder = Path(tempfile.mkdtemp())
    data = folder / "data"
    data.mkdir(mode=0o700)
    env = {**os.environ, "IAC_DATA": str(data)}
    answers = fill(data, env)
    argv = [sys.executable, "-m", "iac_mcp", "open", "--no-browser", "--simulate"]
    page = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True)
    assert page.stdout is not None
    found = re.search(r"(http://[^/]+)/enter\S+", page.stdout.readline())
    assert found is not None
    server = asking(env)
    with sync_playwright() as driver:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = browser.new_context(viewport=SIZE)
        tab = context.new_page()
        tab.goto(found.group())
        tab.wait_for_selector(".question")
        says = tab.evaluate(
            """() => {
            const one = document.querySelector(".question");
            const rows = [...one.querySelectorAll("li")]
                .map((row) => row.innerText.split("\\n")[0]);
            return [one.querySelector("h3").innerText, rows];
            }"""
        )
        for theme in ("light", "dark"):
            tab.emulate_media(color_scheme=theme)
            for name, path in VIEWS.items():
                tab.goto(f"{found[1]}{path}")
                if name == "call":
                    tab.click(".call .what a")
                # Where the files of whoever makes the pictures are is nobody's business.
                tab.evaluate("document.querySelectorAll('.file').forEach(" + HOME)
                tab.wait_for_load_state("networkidle")
                time.sleep(0.4)
                keep(f"page-{name}", theme, tab.screenshot())
        chat_views(browser, answers, says)
        browser.close()
    for child in (server, page):
        child.terminate()
        child.wait(20)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
