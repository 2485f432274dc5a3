"""What a server lists: tools that are not generated, patterns, pins, folders that hide others."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from builds import Built
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from piped import Piped
from vendors import cut, entry_faults, name_faults

from iac_base.errors import SetupError, ToolError, UnknownToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall, Plan, RefusedCall, ToolResult
from iac_runtime.policy.facts import CallFacts, Effect, Verb
from iac_runtime.policy.permissions import Requester
from iac_runtime.serve.call import done_result, failure_result
from iac_runtime.serve.listing import Choice, chosen_lines, own_tools
from iac_runtime.tool import Level
from iac_runtime.tools.catalogue import Catalogue, read_tool_folders
from iac_runtime.tools.own import META_TOOLS, OWN_TOOLS, TOOLSETS, added_tools, toolset_tools
from iac_runtime.tools.shape import Tool
from iac_runtime.tools.shape import listing_entry as listing_entry

ASKED = Requester("tester", ("client",))


@pytest.mark.parametrize("name", TOOLSETS)
def test_a_toolset_is_listed_where_it_is_chosen_and_not_elsewhere(name: str) -> None:
    def names(choice: Choice) -> set[str]:
        return {tool.name for tool in own_tools(choice)}

    tools = {tool.name for tool in toolset_tools((name,))}
    assert names(Choice((name,))) >= tools
    assert names(Choice(pins=(name,))) >= tools | {"find_tools"}
    assert not names(Choice()) & tools
    assert not names(Choice(("all",))) & tools
    read_only = names(Choice((name,), read_only=True))
    assert read_only & tools
    assert not read_only & {"perform_action", "set_value", "click_menu", "execute_applescript"}


class Windows:
    """A toolset of one tool that writes to a window of an app."""

    def __init__(self, app: str, level: Level, memory: str = "") -> None:
        self._app, self._level, self._memory = app, level, memory
        self.pressed = 0
        schema = {"type": "object", "properties": {}, "additionalProperties": False}
        row = Tool("press", "Press it.", schema, self.plan, level="SAFE", ceiling="DANGEROUS")
        self.tools = {row.name: row}

    def plan(self, tool: Tool, call: Call, _context: Any) -> Plan:
        def perform(_cancel: Any) -> ToolResult:
            self.pressed += 1
            return ToolResult({"pressed": self.pressed})

        verb: Verb = "read" if self._level == "SAFE" else "unknown"
        effect = Effect(verb, self._app, "An app", level=self._level)
        line = "press it"
        facts = CallFacts(tool.name, (effect,), call.arguments, line=line, memory=self._memory)
        return Plan(tool, facts, perform)


@pytest.fixture
def gate_of(generated: Path) -> Callable[..., Gate]:
    def make(toolset: Any) -> Gate:
        return Gate(
            Catalogue([generated]), Executor(), home="/Users/me", added=lambda: toolset.tools
        )

    return make


@pytest.mark.parametrize("app", ["com.apple.Terminal", "com.apple.SecurityAgent", ""])
def test_nothing_is_pressed_in_an_app_of_the_blocklist_or_without_identity(
    gate_of: Callable[..., Gate], app: str
) -> None:
    toolset = Windows(app, "MODIFY")
    outcome = gate_of(toolset).call(Call("press", {}, ASKED))
    assert isinstance(outcome, RefusedCall)
    assert "blocklist" in outcome.source
    assert toolset.pressed == 0


def test_an_approval_holds_for_the_window_and_for_no_other(gate_of: Callable[..., Gate]) -> None:
    toolset = Windows("com.example.app", "MODIFY", "window 1")
    gate = gate_of(toolset)
    asked = gate.call(Call("press", {}, ASKED))
    assert isinstance(asked, PendingCall)
    answered = gate.call(Call("press", {}, ASKED, token=asked.token, verdict="once"))
    assert isinstance(answered, CompletedCall)
    assert isinstance(gate.call(Call("press", {}, ASKED)), CompletedCall)
    toolset._memory = "window 2"
    assert isinstance(gate.call(Call("press", {}, ASKED)), PendingCall)
    toolset._memory, toolset._level = "window 1", "DANGEROUS"
    assert isinstance(gate.call(Call("press", {}, ASKED)), PendingCall)
    assert toolset.pressed == 2


def test_reading_needs_no_question(gate_of: Callable[..., Gate]) -> None:
    assert isinstance(
        gate_of(Windows("com.apple.Terminal", "SAFE")).call(Call("press", {})), CompletedCall
    )


def test_an_unknown_name_is_looked_for_among_them_too(gate_of: Callable[..., Gate]) -> None:
    with pytest.raises(UnknownToolError, match="press"):
        gate_of(Windows("x.y", "SAFE")).call(Call("pres", {}))


@pytest.fixture
def scripts(generated: Path) -> Gate:
    catalogue, executor = Catalogue([generated]), Executor()
    return Gate(catalogue, executor, home="/Users/me", added=added_tools)


@pytest.mark.parametrize(
    ("script", "level"),
    [
        ("return 1 + 1", "SAFE"),
        # It would start Notes, which does not run.
        ('tell application "Notes" to count notes', "MODIFY"),
        ('do shell script "id"', "DANGEROUS"),
        ('tell application "Mail" to delete message 1 of inbox', "DANGEROUS"),
    ],
)
def test_a_script_is_judged_by_what_it_says(scripts: Gate, script: str, level: str) -> None:
    outcome = scripts.call(Call("execute_applescript", {"script": script}), dry_run=True)
    assert isinstance(outcome, CompletedCall)
    assert outcome.level == level


def test_a_script_that_writes_to_a_blocked_app_is_refused(scripts: Gate) -> None:
    script = 'tell application "Terminal" to close window 1'
    outcome = scripts.call(Call("execute_applescript", {"script": script}, ASKED))
    assert isinstance(outcome, RefusedCall)
    assert "blocklist" in outcome.source


def test_a_wrong_argument_is_told_before_anything_runs(scripts: Gate) -> None:
    with pytest.raises(ToolError, match="script"):
        scripts.call(Call("execute_applescript", {"scrip": "x"}))


# Every listing that can be produced is one that clients and model vendors accept.


Entries = list[dict[str, Any]]
OWN: Entries = [listing_entry(tool) for tool in (*META_TOOLS.values(), *OWN_TOOLS.values())]


def parsed(text: str) -> Entries:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def committed(generated: Path) -> Entries:
    return parsed((generated / "listing.jsonl").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def built(corpus_build: Built) -> Entries:
    """The listing of every real dictionary at once."""
    return parsed(corpus_build.files["listing.jsonl"])


def faults(entries: Entries) -> list[str]:
    found = list(name_faults([entry["name"] for entry in entries]))
    return found + [
        f"{entry['name']}: {fault}" for entry in entries for fault in entry_faults(entry)
    ]


def test_what_the_committed_tools_and_our_own_show_is_accepted(committed: Entries) -> None:
    assert faults([*committed, *OWN]) == []


def test_what_real_dictionaries_show_is_accepted(built: Entries) -> None:
    assert len(built) > 1_000
    assert faults([*built, *OWN]) == []


def test_hints_agree_with_one_another(committed: Entries) -> None:
    for entry in [*committed, *OWN]:
        hints = entry.get("annotations", {})
        assert not (hints.get("readOnlyHint") and hints.get("destructiveHint")), entry["name"]


@pytest.mark.parametrize(("change", "fault"), [
    ({"name": "mail.send"}, "odd characters"), ({"name": "x" * 55}, "too long with its prefix"),
    ({"description": ""}, "description"), ({"description": "x" * 2000}, "description"),
    ({"description": "\x1b[31m"}, "description"),
    ({"inputSchema": {"properties": {}}}, "not an object"),
    ({"inputSchema": {"type": "object", "anyOf": []}}, "union at the root"),
    ({"inputSchema": {"type": "object"}}, "open"),
    ({"outputSchema": {"type": "string"}}, "not an object"), ({"more": 1}, "keys"),
])  # fmt: skip
def test_the_rules_find_what_is_wrong(change: dict[str, Any], fault: str) -> None:
    entry = {
        "name": "mail_get",
        "description": "Read.",
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
    }
    assert faults([entry]) == []
    assert any(fault in found for found in faults([{**entry, **change}]))


@pytest.mark.parametrize("row", [
    {}, {"type": ["string", "null"]}, {"type": "null"}, {"const": 1, "type": "string"},
    {"$ref": "#/x", "type": "string"}, {"anyOf": []},
    {"anyOf": [{"type": "string"}, {"oneOf": []}]}, {"type": "array"},
    {"type": "object", "properties": {"x": {"type": "string"}}}, {"type": "integer", "enum": [1]},
    {"type": "string", "enum": ["a", "a"]}, {"type": "string", "format": "uri"},
    {"type": "string", "description": "\u202e"},
])  # fmt: skip
def test_the_rules_find_what_is_wrong_with_a_property(row: Any) -> None:
    schema = {"type": "object", "properties": {"x": row}, "additionalProperties": False}
    assert list(entry_faults({"name": "a", "description": "b", "inputSchema": schema}))


def test_the_rules_find_names_that_a_client_makes_equal() -> None:
    long = "x" * 25
    assert cut("y" * 64) == f"{'y' * 30}...{'y' * 30}"
    assert list(name_faults([f"a{long}", f"A{long}"]))
    assert list(name_faults(["mail-send", "mail_send"]))
    assert not list(name_faults(["mail_send", "mail_seen"]))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda part: (
        st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=8), part, max_size=4)
    ),
    max_leaves=12,
)
WRAPPED = {"type": "object", "properties": {"result": {}}}


@given(VALUES, st.sampled_from([None, WRAPPED]))
def test_structured_content_and_text_say_the_same(value: Any, output: Any) -> None:
    result = done_result(CompletedCall(value, "line", "SAFE", note="n", output=output))
    (content,) = result["content"]
    assert isinstance(result["structuredContent"], dict)
    assert json.loads(content["text"]) == result["structuredContent"]
    assert not result["isError"]


def test_an_error_has_its_facts_in_the_text_and_no_structured_content() -> None:
    result = failure_result(ToolError("NOT_FOUND", "There is no note.", "Look again."))
    assert result["isError"]
    assert "structuredContent" not in result
    (content,) = result["content"]
    assert json.loads(content["text"])["type"] == "NOT_FOUND"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Piped]:
    found = Piped(tmp_path, "--simulate", "--allow", "MODIFY")
    found.open()
    yield found
    assert found.close() == 0


@pytest.mark.process
def test_a_large_result_is_cut_to_what_clients_take_and_can_be_read_on(served: Piped) -> None:
    body = "".join(f"{number:07} " for number in range(40_000))
    properties = {"name": "Large", "body": body}
    made = served.call("notes_make", element="note", properties=properties, at='folders["Notes"]')
    target = made["structuredContent"]["ref"]
    result = served.call("notes_get", target=target, properties=["body"])
    assert len(result["content"][0]["text"]) < 110_000
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert "read_more" in json.dumps(result)


@pytest.mark.process
def test_a_list_that_is_too_large_is_cut_to_rows_that_fit_its_output_schema(
    served: Piped, committed: Entries
) -> None:
    (entry,) = (entry for entry in committed if entry["name"] == "notes_list")
    for length in (40_000, 300_000):
        properties = {"name": f"Large {length}", "body": f"{length:07} " * (length // 8)}
        for _ in range(3):
            served.call("notes_make", element="note", properties=properties)
        large = {"=": f"Large {length}"}
        result = served.call(
            "notes_list", element="note", properties=["name", "body"], where={"name": large}
        )
        content = result["structuredContent"]
        assert "read_more" in content["note"]
        assert 0 < len(json.dumps(content)) < 110_000
        assert content["result"][0]["name"] == f"Large {length}"
        Draft202012Validator(entry["outputSchema"]).validate(content)


Row = tuple[str, str, str]


def tool_folder(folder: Path, apps: dict[str, list[Row]]) -> Path:
    """Write an output folder of tools given as (function, level, ceiling)."""
    folder.mkdir(parents=True)
    lines, tools = b"", {}
    for key, rows in apps.items():
        for function, level, ceiling in rows:
            name = f"{key}_{function}"
            tools[name] = {
                "module": key, "function": function, "level": level, "ceiling": ceiling,
            }  # fmt: skip
            lines += json.dumps({"name": name, "from": folder.name}).encode() + b"\n"
    catalogue = {
        "format": 1,
        "apps": {
            key: {"id": f"com.{key}", "name": key.title(), "kind": "application"} for key in apps
        },
        "tools": tools,
    }
    (folder / "catalogue.json").write_text(json.dumps(catalogue))
    (folder / "listing.jsonl").write_bytes(lines)
    return folder


READ, WRITE, REACH = (
    ("get", "SAFE", "SAFE"),
    ("make", "MODIFY", "MODIFY"),
    ("open", "SAFE", "DANGEROUS"),
)


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    own = tool_folder(tmp_path / "own", {"mail": [READ]})
    shipped = tool_folder(
        tmp_path / "shipped",
        {"mail": [READ, WRITE], "notes": [READ, WRITE, REACH], "safari": [READ]},
    )
    return [own, shipped]


def listed(folders: list[Path], choice: Choice) -> list[str]:
    return [json.loads(line)["name"] for line in chosen_lines(read_tool_folders(folders), choice)]


def test_search_lists_no_generated_tool(folders: list[Path]) -> None:
    assert listed(folders, Choice()) == []


def test_a_pinned_app_is_listed_beside_search(folders: list[Path]) -> None:
    assert listed(folders, Choice(pins=("safari", "mail"))) == ["mail_get", "safari_get"]
    assert listed(folders, Choice(pins=("SAFARI", "Mail.app"))) == ["mail_get", "safari_get"]


@pytest.mark.parametrize(("expose", "names"), [
    (("all",), ["mail_get", "notes_get", "notes_make", "notes_open", "safari_get"]),
    (("*_get",), ["mail_get", "notes_get", "safari_get"]),
    (("mail_*", "safari"), ["mail_get", "safari_get"]), (("notes_make",), ["notes_make"]),
    (("Apple Mail", "Safari.app"), ["mail_get", "safari_get"]),
])  # fmt: skip
def test_patterns_and_keys_choose(
    folders: list[Path], expose: tuple[str, ...], names: list[str]
) -> None:
    assert listed(folders, Choice(expose)) == names


def test_an_earlier_folder_hides_the_app_of_a_later_one_whole(folders: list[Path]) -> None:
    lines = chosen_lines(read_tool_folders(folders), Choice(("mail",)))
    assert [json.loads(line)["from"] for line in lines] == ["own"]


def test_read_only_leaves_out_what_can_change_something(folders: list[Path]) -> None:
    assert listed(folders, Choice(("all",), read_only=True)) == [
        "mail_get",
        "notes_get",
        "safari_get",
    ]


@pytest.mark.parametrize(("choice", "words"), [
    (Choice(("mali_*",)), "No tool is called mali_*"), (Choice(("safary",)), "Nearest: safari"),
    (Choice(pins=("notse",)), "There are no tools for notse. Nearest: notes."),
])  # fmt: skip
def test_a_pattern_that_names_nothing_is_one_clear_line(
    folders: list[Path], choice: Choice, words: str
) -> None:
    with pytest.raises(SetupError) as caught:
        listed(folders, choice)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("file", "text", "words"), [
    ("catalogue.json", "{", "damaged"), ("catalogue.json", "[]", "another version"),
    ("catalogue.json", '{"format": 99}', "another version"),
    ("catalogue.json", '{"format": 1}', "damaged"), ("catalogue.json", None, "missing"),
    ("listing.jsonl", None, "damaged"),
])  # fmt: skip
def test_a_damaged_folder_says_how_to_mend_it(
    tmp_path: Path, file: str, text: str | None, words: str
) -> None:
    folder = tool_folder(tmp_path / "one", {"mail": [READ]})
    if text is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(text)
    with pytest.raises(SetupError, match=words) as caught:
        listed([folder], Choice(("all",)))
    assert "iac-gen build" in str(caught.value)


def test_no_folder_at_all_says_what_to_do() -> None:
    with pytest.raises(SetupError, match="iac-gen build"):
        read_tool_folders([])
