"""The shipped world, the demo and every dictionary: everything a tool can do has a place there."""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from simulated import simulate_apps
from simulated_diary import Script
from simulated_dictionaries import tables_in

from iac_base.errors import ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call
from iac_runtime.serve.call import unwrap_call_tool
from iac_runtime.tool import Param, Spec
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import Tables
from iac_runtime.types import parse_type
from iac_simulator import Simulator
from iac_simulator.dictionary import check_value, property_named
from iac_simulator.resolve import resolve_reference
from iac_simulator.simulator import demo_state
from iac_simulator.values import is_mark
from iac_simulator.world import AppWorld, WorldObject

KEYS = {
    "calendar", "finder", "google_chrome", "mail", "music", "notes", "numbers", "reminders",
    "safari", "shortcuts", "standard_additions", "system_events", "terminal", "textedit",
}  # fmt: skip


@pytest.fixture
def demo(shipped: list[Tables]) -> Script:
    return Script(Simulator(shipped))


def objects(world: AppWorld) -> Iterator[WorldObject]:
    yield world.root
    yield from world.descendant_objects(world.root)


def test_every_committed_app_has_a_world(shipped: list[Tables]) -> None:
    assert {tables.key for tables in shipped} == KEYS
    assert set(demo_state()) == KEYS | {"@now"}


@pytest.mark.parametrize("key", sorted(KEYS))
def test_references_resolve_and_values_fit(shipped: list[Tables], key: str) -> None:
    tables = next(tables for tables in shipped if tables.key == key)
    world = AppWorld(tables, demo_state()[key])
    for node in objects(world):
        for name, value in node.data.items():
            prop = property_named(tables, node.term, name)
            refs = [
                v
                for v in (value if isinstance(value, list) else [value])
                if is_mark(v) and "ref" in v
            ]
            assert [v for v in refs if resolve_reference(world, v["ref"]) is None] == []
            holds_objects = isinstance(value, list) and any(isinstance(v, dict) for v in value)
            if (
                prop is not None
                and not refs
                and not holds_objects
                and (is_mark(value) or not isinstance(value, dict))
            ):
                check_value(tables, prop.type, value)


@pytest.mark.parametrize(("source", "value"), [
    ('Application("Mail").inbox.messages.whose({readStatus: false}).length', 2),
    ('Application("Mail").inbox.unreadCount()', 2),
    ('Application("Mail").accounts[0].mailboxes.messages.subject()', [["Roof repair: offer"], []]),
    ('Application("Mail").inbox.messages[0].mailbox().name()', "INBOX"),
    ('Application("Safari").windows[0].currentTab.url()', "https://example.com/"),
    ('Application("Safari").windows.tabs.name()', [["Example Domain", "Weather"]]),
    ('Application("Finder").desktop.items.name()', ["Screenshots", "Todo.txt", "Report.pdf"]),
    ('Application("Finder").desktop.documentFiles.name()', ["Todo.txt", "Report.pdf"]),
    ('Application("Finder").desktop.files["Todo.txt"].url()', "file:///Users/me/Desktop/Todo.txt"),
    ('Application("Finder").home.folders["Desktop"].url()', "file:///Users/me/Desktop/"),
    ('Application("Finder").desktop.files["Todo.txt"].nameExtension()', "txt"),
    ('Application("Finder").desktop.files["Todo.txt"].displayedName()', "Todo.txt"),
    ('Application("Finder").exists(Path("/Users/me/Desktop/Todo.txt"))', True),
    ('Application("Finder").exists(Path("/Users/me/none"))', False),
    ('Application("Finder").disks.name()', ["Macintosh HD"]),
    ('Application("Notes").notes.name()', ["Shopping list", "Gift ideas", "Roof repair"]),
    ('Application("Notes").notes["Shopping list"].plaintext()', "Shopping list\nMilk, eggs, bread"),
    ('Application("Notes").accounts[0].notes.length', 3),
    ('Application("Calendar").calendars["Work"].events.summary()',
     ["Board meeting", "Roof inspection"]),
    ('Application("Reminders").reminders.whose({completed: true}).name()', ["Pay the rent"]),
    ('Application("Music").currentTrack.name()', "Morning Ferry"),
    ('Application("System Events").processes.whose({frontmost: true}).name()', ["Finder"]),
    ('Application("System Events").folders["/Users/me/Desktop"].files.name()',
     ["Todo.txt", "Report.pdf"]),
    ('Application("TextEdit").documents[0].text.paragraphs[0]()', "Dear Ines,"),
    ('Application("Terminal").windows[0].tabs[0].busy()', False),
    ('Application("Shortcuts").shortcuts.name()', ["Good Morning", "Resize Picture"]),
    ('Application("Numbers").documents[0].sheets[0].tables[0].cells["B3"].value()', 30),
    ('Application("Google Chrome").windows[0].activeTab.title()', "Example Domain"),
])  # fmt: skip
def test_the_demo_world_answers(demo: Script, source: str, value: Any) -> None:
    assert demo.value(source) == value


def test_a_note_made_in_a_folder_is_counted_by_the_app(demo: Script) -> None:
    n = 'const n = Application("com.apple.Notes"); '
    made = n + 'n.make({new: "note", at: n.folders["Work"], withProperties: {name: "Milk"}}); '
    assert demo.value(made + "[n.notes.length, n.folders['Work'].notes.length]") == [4, 2]
    assert demo.value(n + "n.notes['Milk'].delete(); n.notes.length") == 3
    assert demo.value(n + "n.make({new: 'note'}); n.folders['Notes'].notes.length") == 3


def sample(tables: Tables, type_: str) -> str:
    """Return JavaScript for a value of a type."""
    term, listed = parse_type(type_)[0]
    if listed:
        return f"[{sample(tables, term)}]"
    if tables.enums.get(term):
        return json.dumps(tables.enums[term][0][0])
    if term in tables.classes or term in ("specifier", "location specifier"):
        return "app.windows[0]"
    simple = {
        "integer": "2", "real": "1.5", "number": "3", "boolean": "true", "date": "new Date(0)",
        "file": "Path('/x')", "alias": "Path('/x')", "record": "{}",
    }  # fmt: skip
    return "{}" if term in tables.records else simple.get(term, "'x'")


def commands(tables: Tables) -> Iterator[Spec]:
    yield from (spec for spec in tables.tools.values() if spec.op == "command" and not spec.bind)


@pytest.mark.sweep
@pytest.mark.parametrize("key", sorted(KEYS))
def test_every_command_sends_its_event_with_its_codes(shipped: list[Tables], key: str) -> None:
    tables = next(tables for tables in shipped if tables.key == key)
    script = Script(Simulator(shipped))
    start = f"const app = Application({json.dumps(tables.app.name)}); "
    if tables.app.kind == "addition":
        start = (
            "const app = Application.currentApplication(); app.includeStandardAdditions = true; "
        )
    for spec in commands(tables):
        named: dict[str, Param] = {
            p.jxa or p.term: p for p in spec.params.values() if p.code not in ("", "----")
        }
        direct = next((p for p in spec.params.values() if p.code == "----"), None)
        record = ", ".join(
            f"{json.dumps(name)}: {sample(tables, p.type)}" for name, p in named.items()
        )
        args = ([sample(tables, direct.type)] if direct else []) + (
            [f"{{{record}}}"] if named else []
        )
        before = len(script.simulator.events)
        script.run(f"{start}app[{json.dumps(spec.jxa)}]({', '.join(args)})")
        sent = script.simulator.events[before:]
        assert [event.event for event in sent] == [spec.event], spec.jxa
        assert set(sent[0].params) == {param.code for param in named.values()}, spec.jxa


@pytest.mark.sweep
@pytest.mark.parametrize("key", sorted(KEYS - {"standard_additions"}))
def test_every_object_tool_has_its_event(shipped: list[Tables], key: str) -> None:
    tables = next(tables for tables in shipped if tables.key == key)
    script = Script(Simulator(shipped))
    app = f"Application({json.dumps(tables.app.name)})"
    for prop in tables.properties("application"):
        script.run(f"{app}.{prop.jxa}()")
    for element in tables.elements("application"):
        plural = tables.classes[element.term].plural
        assert script.value(f"{app}.{plural}.length") >= 0
        assert isinstance(script.value(f"{app}.{plural}().length"), int)
    assert {event.app for event in script.simulator.events} == {tables.app.id}


ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((Path(__file__).parent / "demo_events.json").read_text("utf-8"))


def session() -> list[Call]:
    """Return the calls of docs/demo.py that reach an app, by the tools' own names."""
    spec = importlib.util.spec_from_file_location("demo", ROOT / "docs" / "demo.py")
    assert spec is not None
    assert spec.loader is not None
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    calls = [unwrap_call_tool(Call(tool, arguments)) for _, tool, arguments in demo.SESSION]
    return [call for call in calls if call.tool not in ("list_apps", "find_tools")]


def sent(generated: Path) -> dict[str, list[dict[str, Any]]]:
    catalogue = Catalogue([generated])
    simulator = simulate_apps(catalogue)
    gate = Gate(catalogue, Executor(simulator), "MODIFY", home="/Users/me")
    found: dict[str, list[dict[str, Any]]] = {}
    for call in session():
        before = len(simulator.events)
        try:
            # What is read around a write is no event of its own in the table.
            gate.call(call._replace(confirm=False))
        except ToolError:
            pytest.fail(f"{call.tool} failed")
        found[call.tool] = [
            {"app": e.app, "event": e.event, "direct": e.direct, "params": dict(e.params)}
            for e in simulator.events[before:]
        ]
    return found


def test_the_demo_sends_the_events_of_the_table(generated: Path) -> None:
    expected = {
        row["tool"]: [{k: v for k, v in event.items() if k != "source"} for event in row["events"]]
        for row in GOLDEN
    }
    assert sent(generated) == expected


def test_every_shape_has_a_public_source() -> None:
    assert [e for row in GOLDEN for e in row["events"] if not e["source"].strip()] == []


FOLDER = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "sdef"
STEMS = sorted(path.stem for path in FOLDER.glob("*.sdef"))


TRIED = """
const wrong = [];
const call = (line, f) => {
  try { f() } catch (e) { if (e.errorNumber === undefined) wrong.push([line, String(e)]) }
};
%s
JSON.stringify(wrong)"""


def calls(tables: Tables) -> Iterator[tuple[str, set[str]]]:
    """Yield a call of each command, with its event; homonyms are one name in JavaScript."""
    for spec in commands(tables):
        named = [p for p in spec.params.values() if p.code not in ("", "----")]
        direct = [p for p in spec.params.values() if p.code == "----"]
        keys = [f"{json.dumps(p.jxa or p.term)}: {sample(tables, p.type)}" for p in named]
        record = ", ".join(keys)
        given = [*(sample(tables, p.type) for p in direct), *([f"{{{record}}}"] if named else [])]
        yield (
            f"app[{json.dumps(spec.jxa)}]({', '.join(given)})",
            {other.event for other in commands(tables) if other.jxa == spec.jxa},
        )


def reads(tables: Tables) -> Iterator[str]:
    """Yield a read of each property and each collection of the application."""
    if "application" in tables.classes:
        yield from (f"app[{json.dumps(p.jxa)}]()" for p in tables.properties("application"))
        for element in tables.elements("application"):
            plural = json.dumps(tables.classes[element.term].plural)
            yield f"app[{plural}].length"
            yield f"app[{plural}]().map(x => x.properties())"


@pytest.mark.sweep
@pytest.mark.parametrize("stem", STEMS)
def test_everything_that_a_dictionary_declares_can_be_called(corpus: Path, stem: str) -> None:
    tables = tables_in(corpus / "sdef", stem)
    simulator = Simulator([tables], {})
    expected = list(calls(tables))
    lines = [line for line, _ in expected] + list(reads(tables))
    start = f"const app = Application({json.dumps(tables.app.name)});"
    if tables.app.kind == "addition":
        start = "const app = Application.currentApplication(); app.includeStandardAdditions = true;"
    tried = "".join(f"call({json.dumps(line)}, () => {line});" for line in lines)
    done = simulator(["osascript", "-l", "JavaScript", "-e", start + TRIED % tried], b"", 60)
    assert done.stderr == b""
    assert json.loads(done.stdout) == []
    sent = simulator.events[: len(expected)]
    assert [
        e.event for e, (_, codes) in zip(sent, expected, strict=True) if e.event not in codes
    ] == []
