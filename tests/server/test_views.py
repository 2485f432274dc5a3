"""What a client that shows views is told besides, and that any other is told nothing of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from talking import ENVELOPE, HANDSHAKE
from test_front_answers import Side, request

from iac_runtime.serve import resources
from iac_runtime.serve.protocol import VIEW_EXTENSION, VIEW_TYPE, shows_views
from iac_runtime.serve.resources import VIEWS as ROWS
from iac_runtime.serve.resources import tool_view, view_document

SHOWING = {"extensions": {VIEW_EXTENSION: {"mimeTypes": [VIEW_TYPE]}}}
CLIENT_CAN = "io.modelcontextprotocol/clientCapabilities"
READ = {"uri": "ui://iac/table"}
NOT_SHOWING: list[Any] = [
    {}, {"extensions": {}}, {"extensions": {VIEW_EXTENSION: {}}},
    {"extensions": {VIEW_EXTENSION: {"mimeTypes": ["text/html"]}}},
    {"extensions": {"io.modelcontextprotocol/other": {"mimeTypes": [VIEW_TYPE]}}},
]  # fmt: skip


def exchange(tools: Path, capabilities: Any, *, modern: bool, era: Any = None) -> dict[str, Any]:
    """Say all that leads to a view, and return what was answered, as bytes, by what was asked."""
    side = Side(tools)
    try:
        meta = {"_meta": {**ENVELOPE, CLIENT_CAN: capabilities}} if modern else {}
        if not modern:
            said = {**HANDSHAKE, "capabilities": capabilities}
            opened = side.ask(request(1, "initialize", **said), era)
            side.say({"jsonrpc": "2.0", "method": "notifications/initialized"}, era)
        else:
            opened = side.ask(request(1, "server/discover", **meta), era)
        found = {"open": opened}
        for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list"):
            found[method] = side.ask(request(2, method, **meta), era)
        calls: list[tuple[str, dict[str, Any]]] = [
            ("notes_count", {"element": "note"}),
            ("notes_list", {"element": "note"}),
            ("notes_list", {"element": "nothing"}),
        ]
        for name, given in calls:
            call = request(3, "tools/call", name=name, arguments=given, **meta)
            found[f"{name} {given}"] = side.ask(call, era)
        found["view"] = side.ask(request(4, "resources/read", **READ, **meta), era)
        return found
    finally:
        side.close()


@pytest.mark.parametrize("modern", [False, True])
def test_a_client_that_shows_none_is_sent_the_same_bytes_as_without_views(
    tools: Path, modern: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the views is even asked for it: what is not there cannot have been sent."""
    plain = exchange(tools, {}, modern=modern)
    for name in ("identity_with_views", "with_views", "read_view"):
        monkeypatch.delattr(resources, name)
    for capabilities in NOT_SHOWING:
        assert not shows_views(capabilities)
        assert exchange(tools, capabilities, modern=modern) == plain
    (refused,) = plain["view"]
    assert "There is no resource" in json.loads(refused)["error"]["message"]
    assert not any(b"ui://" in line for key in plain if key != "view" for line in plain[key])


@pytest.mark.parametrize("modern", [False, True])
def test_a_client_that_shows_views_is_told_of_them_and_of_nothing_else(
    tools: Path, modern: bool
) -> None:
    plain, more = (exchange(tools, one, modern=modern) for one in ({}, SHOWING))
    for key in plain.keys() - {"open", "tools/list", "resources/list", "view"}:
        # The model gets what it gets without a view.
        assert more[key] == plain[key]
    opened = json.loads(more["open"][0])
    extensions = opened["result"]["capabilities"]["extensions"]
    assert extensions.pop(VIEW_EXTENSION) == {}
    if not extensions:
        del opened["result"]["capabilities"]["extensions"]
    assert opened == json.loads(plain["open"][0])
    listed = json.loads(more["tools/list"][0])
    views = []
    for row in listed["result"]["tools"]:
        views.append(row.get("_meta", {}).pop("ui", {}).get("resourceUri"))
        if not row.get("_meta", True):
            del row["_meta"]
    assert listed == json.loads(plain["tools/list"][0])
    by_name = dict(zip((row["name"] for row in listed["result"]["tools"]), views, strict=True))
    assert by_name["read_tool"] == "ui://iac/table"
    assert by_name["dangerous_tool"] == "ui://iac/approval"
    assert by_name["find_tools"] is None
    resources = json.loads(more["resources/list"][0])
    rows = resources["result"]["resources"]
    resources["result"]["resources"] = [row for row in rows if not row["uri"].startswith("ui:")]
    assert len(rows) == len(resources["result"]["resources"]) + len(ROWS)
    assert resources == json.loads(plain["resources/list"][0])
    (view,) = json.loads(more["view"][0])["result"]["contents"]
    assert (view["mimeType"], view["text"]) == (VIEW_TYPE, view_document("table"))


def test_a_session_of_the_sdk_tells_the_same_of_views(tools: Path) -> None:
    front, sdk = (exchange(tools, SHOWING, modern=False, era=era) for era in (None, "legacy"))
    for key in front.keys() - {"open"}:
        assert [*map(json.loads, front[key])] == [*map(json.loads, sdk[key])]


@pytest.mark.parametrize(("tool", "reads", "view"), [
    ("notes_list", True, "table"), ("mail_list_unread", True, "table"),
    ("calendar_list_events", True, "day"), ("finder_list_folder", True, "files"),
    ("standard_additions_list_folder", True, "files"), ("audit_tail", True, "audit"),
    ("notes_delete", False, "approval"), ("notes_count", True, ""),
])  # fmt: skip
def test_a_tool_has_the_view_that_fits_its_result(tool: str, reads: bool, view: str) -> None:
    assert tool_view(tool, {"readOnlyHint": reads}) == view


def test_the_words_of_the_extension_are_those_of_the_sdk() -> None:
    from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID

    assert (VIEW_EXTENSION, VIEW_TYPE) == (EXTENSION_ID, APP_MIME_TYPE)


@pytest.mark.parametrize("view", ROWS)
def test_a_view_is_small_and_whole(view: str) -> None:
    text = view_document(view)
    assert len(text.encode()) <= 60_000
    for word in (" src=", " href=", "@import", "url(", "import(", "fetch(", "innerHTML", "eval("):
        assert word not in text


def test_a_question_waits_for_the_card_until_it_is_answered(tools: Path) -> None:
    side, meta = Side(tools), {"_meta": {**ENVELOPE, CLIENT_CAN: {**SHOWING, "elicitation": {}}}}
    given = {"name": "notes_delete", "arguments": {"target": "notes[0]"}}
    call = request(1, "tools/call", name="dangerous_tool", arguments=given, **meta)

    def waiting() -> Any:
        side.say(request(2, "resources/read", uri="ui://iac/questions", **meta))
        (read,) = json.loads(side.heard.get(timeout=30))["result"]["contents"]
        return json.loads(read["text"])

    try:
        side.say(call)
        asked = json.loads(side.heard.get(timeout=30))["result"]
        (question,) = waiting()
        assert (question["tool"], question["level"]) == ("notes_delete", "DANGEROUS")
        assert any("Shopping list" in str(line) for line in question["says"])
        no = {"approval": {"action": "decline"}}
        more = {"inputResponses": no, "requestState": asked["requestState"]}
        side.say({**call, "params": {**call["params"], **more}})
        assert json.loads(side.heard.get(timeout=30))["result"]["isError"]
        assert waiting() == []
    finally:
        side.close()
