"""The views of MCP Apps in the host of the extension's own package, before a real server."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from opened_page import HOSTILE, environment

from iac_runtime.serve.protocol import VIEW_EXTENSION, VIEW_TYPE
from iac_runtime.serve.resources import VIEWS, view_document

HOST = Path(__file__).with_name("chat_host.html")
CAN = {"extensions": {VIEW_EXTENSION: {"mimeTypes": [VIEW_TYPE]}}, "elicitation": {}}


class Chat:
    """A client that shows views, as far as a server sees it."""

    def __init__(self, data: Path) -> None:
        argv = [sys.executable, "-m", "iac_mcp", "serve", "--simulate", "--expose", "all"]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.child = subprocess.Popen(argv, env=environment(data), text=True, **pipes)
        self.answers: dict[int, queue.SimpleQueue[Any]] = {}
        self.asked: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.last = 0
        threading.Thread(target=self._hear, daemon=True).start()
        info = {"name": "chat", "version": "1"}
        said = {"protocolVersion": "2025-11-25", "capabilities": CAN, "clientInfo": info}
        assert VIEW_EXTENSION in self.ask("initialize", **said)["capabilities"]["extensions"]
        self.say({"method": "notifications/initialized"})

    def _hear(self) -> None:
        for line in self.child.stdout or ():
            message = json.loads(line)
            if message.get("method") == "elicitation/create":
                self.asked.put(message)
            elif "id" in message:
                self.answers[message["id"]].put(message)

    def say(self, message: dict[str, Any]) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.child.stdin.flush()

    def begin(self, method: str, **params: Any) -> "queue.SimpleQueue[Any]":
        self.last += 1
        found = self.answers[self.last] = queue.SimpleQueue()
        self.say({"id": self.last, "method": method, "params": params})
        return found

    def ask(self, method: str, **params: Any) -> Any:
        message = self.begin(method, **params).get(timeout=60)
        return message["result"]

    def close(self) -> None:
        assert self.child.stdin is not None
        self.child.stdin.close()
        self.child.wait(20)
        assert self.child.stdout is not None
        self.child.stdout.close()


@pytest.fixture(scope="module")
def chat(data: Path) -> Iterator[Chat]:
    found = Chat(data)
    yield found
    found.close()


@pytest.fixture(scope="module")
def host(browser: Any, modules: Path, chat: Chat) -> Iterator[Any]:
    """The host of the package, its files served by the browser's own routes."""
    context = browser.new_context()

    def serve(route: Any) -> None:
        path = route.request.url.partition("host.test")[2]
        if path == "/":
            route.fulfill(path=HOST, content_type="text/html")
        else:
            route.fulfill(path=modules / path[1:], content_type="text/javascript")

    context.route("http://host.test/**", serve)
    page = context.new_page()
    page.on("dialog", lambda dialog: faults.append(dialog.message))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda line: faults.append(line.text) if _is_fault(line) else None)
    faults: list[str] = []
    page.expose_function(
        "read_resource", lambda uri: json.dumps(chat.ask("resources/read", uri=uri))
    )
    page.goto("http://host.test/")
    page.wait_for_function("window.ready")
    yield page
    context.close()
    assert faults == []


def _is_fault(line: Any) -> bool:
    """One refusal is asked for."""
    wanted = "wanted.invalid" in line.text
    return not wanted and (line.type == "error" or "Content Security" in line.text)


def shown(host: Any, html: str, given: Any, result: Any, theme: str = "light") -> Any:
    """Show a view with the arguments and the result of a call; return its frame."""
    host.evaluate("([html, theme]) => open_view(html, theme)", [html, theme])
    host.evaluate("([given, result]) => give(given, result)", [given, result])
    return host.frame_locator("iframe").locator("main")


def called(host: Any, chat: Chat, tool: str, **given: Any) -> Any:
    """Call a tool and show its view, as a client does."""
    listed = {row["name"]: row for row in chat.ask("tools/list")["tools"]}
    uri = listed[tool]["_meta"]["ui"]["resourceUri"]
    (read,) = chat.ask("resources/read", uri=uri)["contents"]
    result = chat.ask("tools/call", name=tool, arguments=given)
    return shown(host, read["text"], given, result)


def test_rows_are_sorted_filtered_and_used_in_the_chat(host: Any, chat: Chat) -> None:
    view = called(host, chat, "notes_list", element="note", properties=["name"])
    names = view.locator("tbody td:first-child")
    assert names.all_inner_texts()[0] == "Shopping list"
    view.locator("thead button").click()
    assert names.all_inner_texts() == sorted(names.all_inner_texts())
    view.locator("input").fill("roof")
    assert names.all_inner_texts() == ["Roof repair"]
    view.get_by_role("button", name="Use in chat").click()
    host.wait_for_function("said.length")
    assert host.evaluate("said") == ['I mean: notes.byId("x-coredata://demo/ICNote/p6")']
    assert host.evaluate("sizes.every((one) => one.height > 0)")


def test_events_are_a_day_and_files_have_sizes(host: Any, chat: Chat) -> None:
    view = called(host, chat, "calendar_list", element="event", of="calendars[0]")
    assert "08:00–08:45 · 12 High Street" in view.inner_text()
    assert "Lunch" not in view.inner_text()
    view.get_by_role("button", name="Later day").click()
    assert "Lunch with Ines" in view.inner_text()
    view = called(host, chat, "finder_list", element="file")
    assert "184.3 kB" in view.inner_text()
    view = called(host, chat, "audit_tail")
    assert "finder_list" in view.inner_text()


def test_a_card_shows_what_waits_and_cannot_answer(host: Any, chat: Chat) -> None:
    given = {"target": "notes[0]"}
    answer = chat.begin("tools/call", name="notes_delete", arguments=given)
    question = chat.asked.get(timeout=60)
    view = shown(host, view_document("approval"), given, None)
    view.get_by_text("Shopping list").first.wait_for()
    assert "Waiting for your answer DANGEROUS" in view.inner_text()
    assert "cannot approve" in view.inner_text()
    assert view.locator("button, input, a").count() == 0
    said = {"action": "accept", "content": {"answer": "Deny"}}
    chat.say({"id": question["id"], "result": said})
    result = answer.get(timeout=60)["result"]
    host.evaluate("(result) => give(null, result)", result)
    view.get_by_text("The call failed").wait_for()
    assert chat.ask("resources/read", uri="ui://iac/questions")["contents"][0]["text"] == "[]"


def test_what_apps_say_runs_nothing_and_nothing_is_connected(host: Any, axe: str) -> None:
    row: dict[str, Any] = dict.fromkeys(
        ("name", "kind", "summary", "location", "level", "ref", HOSTILE), HOSTILE
    )
    row |= {"start date": f"2026-03-03T08:00:00{HOSTILE}", "end date": HOSTILE, "size": HOSTILE}
    texts: list[Any] = [{"calls": [row]}, {"result": row}, HOSTILE, {"result": [row]}]
    results: list[Any] = [{"content": [{"type": "text", "text": json.dumps(one)}]} for one in texts]
    failed = {"message": HOSTILE, "suggestion": HOSTILE}
    results.insert(0, {"isError": True, "content": [{"text": json.dumps(failed), "type": "text"}]})
    for at, kind in enumerate(VIEWS):
        theme = ("light", "dark")[at % 2]
        view = shown(host, view_document(kind), None, None, theme)
        for result in results:
            host.evaluate("(result) => give(null, result)", result)
            view.get_by_text("<script>alert(1)</script>").first.wait_for()
            assert "\u202e" not in view.inner_text()
            frame = host.frames[-1]
            assert frame.locator("main script, main img").count() == 0
    for kind, theme in (("day", "light"), ("table", "dark")):
        shown(host, view_document(kind), None, results[-1], theme)
        frame = host.frames[-1]
        frame.evaluate(axe)
        found = frame.evaluate("axe.run()")["violations"]
        assert [(kind, one["id"], one["nodes"][0]["html"]) for one in found] == []
    refused = """new Promise((resolve) => {
        document.onsecuritypolicyviolation = (one) => resolve(one.effectiveDirective);
        fetch("http://wanted.invalid/").catch(() => {});
    })"""
    assert frame.evaluate(refused) == "connect-src"


@pytest.mark.slow
def test_what_is_declared_has_the_types_of_the_extension(chat: Chat, modules: Path) -> None:
    package = modules / "@modelcontextprotocol" / "ext-apps"
    kinds = json.loads((package / "dist/src/generated/schema.json").read_bytes())["$defs"]
    metas = [row.get("_meta", {}) for row in chat.ask("tools/list")["tools"]]
    tools = [meta["ui"] for meta in metas if "ui" in meta]
    assert {one["resourceUri"] for one in tools} == {f"ui://iac/{view}" for view in VIEWS}
    for one in {json.dumps(one): one for one in tools}.values():
        jsonschema.validate(one, kinds["McpUiToolMeta"])
    listed = {row["uri"]: row for row in chat.ask("resources/list")["resources"]}
    for view in VIEWS:
        (read,) = chat.ask("resources/read", uri=f"ui://iac/{view}")["contents"]
        assert listed[read["uri"]]["mimeType"] == read["mimeType"] == VIEW_TYPE
        assert listed[read["uri"]]["_meta"] == read["_meta"]
        jsonschema.validate(read["_meta"]["ui"], kinds["McpUiResourceMeta"])
    jsonschema.validate(CAN["extensions"][VIEW_EXTENSION], kinds["McpUiClientCapabilities"])
