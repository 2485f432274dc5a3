"""One effect, whatever road leads to it: the same decision, limit, record and memory of results."""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import permissions_under
from ui_memory import APP, Memory, node, tree

from iac_accessibility.toolset import UiToolset
from iac_accessibility.toolset import open_toolset as interfaces
from iac_applescript.toolset import ScriptToolset
from iac_applescript.toolset import open_toolset as scripts
from iac_base.errors import Cancellation, ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.execution.process import Completed
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.limiter import Limiter, Permit
from iac_runtime.gate.opening import HOME, open_simulation
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall
from iac_runtime.gate.stored import truncate
from iac_runtime.policy.effects import identify_from_catalogue
from iac_runtime.policy.facts import Effect
from iac_runtime.policy.permissions import Requester
from iac_runtime.serve.call import unwrap_call_tool
from iac_runtime.tools.catalogue import Catalogue, find_tool
from iac_runtime.tools.own import added_tools
from iac_runtime.tools.shape import Tool

ANSWER: Final = "https://elsewhere.example/of-a-stranger"


class Deed(NamedTuple):
    """One effect, and the calls that come to it: tools, scripts, and the press of a button."""

    app: str
    tools: Sequence[tuple[str, Mapping[str, Any]]]
    applescript: str
    javascript: str = ""
    press: str = ""


DEEDS: Final = (
    Deed("Notes",
     [("notes_get", {"target": "notes[0].name"}),
      ("notes_get", {"target": "notes[0]", "properties": ["name"]}), ("notes_list_notes", {})],
     "get name of note 1", "notes[0].name()"),
    Deed("Mail", [("mail_count", {"element": "account"})], "count accounts"),
    Deed("Notes",
     [("notes_make", {"element": "note", "properties": {"name": "x"}}),
      ("notes_make_note", {"name": "x"})], 'make new note with properties {name:"x"}'),
    Deed("Notes", [("notes_set", {"target": "notes[0]", "properties": {"name": "x"}})],
     'set name of note 1 to "x"'),
    Deed("Notes", [("notes_delete", {"target": "notes[0]"})], "delete note 1",
     "delete(app.notes[0])", press="Delete"),
    Deed("Mail", [("mail_send", {"target": "outgoingMessages[0]"})], "send outgoing message 1"),
    Deed("Music", [("app_quit", {"app": "Music"})], "quit", "quit()"),
    Deed("Music", [("app_launch", {"app": "Music"})], "launch"),
    Deed("Music", [("music_pause", {})], "pause", "pause()"),
    Deed("Finder", [("finder_make", {"element": "folder", "at": "~/Documents"})],
     "make new folder"),
)  # fmt: skip


SCREEN: Final = {
    "app": node("app", "application", "", "w"),
    "w": node("w", "window", "Main", "b"),
    "b": node("b", "button", "Delete", actions=("press",)),
}


class Counted(Limiter):
    """A limiter that notes what was asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[tuple[str, int]] = []

    def reserve_places(self, kind: str, places: int = 1) -> Permit:
        self.taken.append((kind, places))
        return Permit(0.0)


class Recorded:
    """An audit that keeps the intents of calls in memory."""

    warning = ""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def record_intent(self, intent: Any) -> int:
        self.rows.append(intent)
        return len(self.rows)

    def record_outcome(self, _number: int, _outcome: Any) -> None:
        pass

    def close(self) -> None:
        pass


class World(NamedTuple):
    """What all gates of this test stand on."""

    catalogue: Catalogue
    executor: Executor
    scripts: ScriptToolset


@pytest.fixture(scope="module", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what is kept in a folder of this module's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IAC_DATA", str(tmp_path_factory.mktemp("data") / "data"))
        yield


@pytest.fixture(scope="module")
def world(generated: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    catalogue = Catalogue([generated])
    executor = Executor(open_simulation(catalogue, None))

    def run(_argv: Any, _stdin: bytes, _timeout: float, **_more: Any) -> Completed:
        return Completed(f'"{ANSWER}"'.encode(), b"", 0)

    state = tmp_path_factory.mktemp("state")
    state.chmod(0o700)
    toolset = ScriptToolset(catalogue, state, run, runs=lambda _app: True)
    yield World(catalogue, executor, toolset)
    toolset.close()
    executor.close()


class Seen(NamedTuple):
    """What came of a call: how it ended, what decided, and what was counted, kept and recorded."""

    ended: str
    level: str
    source: str
    limit: tuple[tuple[str, int], ...]
    apps: tuple[str, ...]
    verbs: tuple[tuple[str, str], ...]
    remembered: bool


def seen(
    world: World, policy: str, call: Call, *, button: str = "Memory", tool: Tool | None = None
) -> Seen:
    identify = identify_from_catalogue(world.catalogue)
    permissions = permissions_under(policy, home=HOME, identify=identify)
    remembered: list[Any] = []
    permissions.taint.remember_texts = (  # type: ignore[method-assign]
        lambda value, _source=None: remembered.append(value)
    )
    limiter, audit = Counted(), Recorded()
    app = APP._replace(name=button, id=f"com.apple.{button}")
    screen = Memory(tree(SCREEN), apps=(app,))
    gate = Gate(
        world.catalogue,
        world.executor,
        home=HOME,
        permissions=permissions,
        audit=lambda: audit,  # type: ignore[arg-type,return-value]
        limiter=limiter,
        added=added_tools,
        kept={scripts: world.scripts, interfaces: UiToolset(screen)},
        launch=["*"],
    )
    try:
        found = gate.call(unwrap_call_tool(call), tool=tool, cancel=Cancellation())
        ended = (
            "done"
            if isinstance(found, CompletedCall)
            else "asks"
            if isinstance(found, PendingCall)
            else "no"
        )
    except ToolError:
        ended = "done"
    (row,) = audit.rows
    return Seen(
        ended,
        row.level,
        row.source,
        tuple(limiter.taken),
        tuple(sorted(row.app.split(","))),
        tuple(sorted({(effect[0], effect[1]) for effect in getattr(row, "effects", ())})),
        bool(remembered),
    )


ASKED: Final = Requester("tester", ("client",))


def roads(deed: Deed) -> Iterator[tuple[str, Call, dict[str, Any]]]:
    """Yield every road to a deed: its name, the call, and how it is made."""
    for name, arguments in deed.tools:
        yield name, Call(name, arguments, ASKED), {}
        door = {"name": name, "arguments": arguments}
        yield f"door {name}", Call("dangerous_tool", door, ASKED), {}
        key = deed.app.lower().replace(" ", "_")
        if name.startswith(key):
            module = importlib.import_module(f"iac_tools.{key}")
            function = name.removeprefix(f"{key}_")
            tool = find_tool(module, function, name)
            yield f"library {name}", Call(name, arguments, ASKED), {"tool": tool}
    if all(name.split("_")[1] in ("get", "list", "count") for name, _ in deed.tools):
        whose = f"com.apple.{deed.app}" if deed.app != "Mail" else "com.apple.mail"
        read = Effect("read", whose, deed.app)
        _, note = truncate("x" * 50, 20, [read])
        yield "read on", Call("read_more", {"result": note.split('"')[1], "offset": 20}, ASKED), {}
    script = deed.applescript
    if deed.app != "Standard Additions":
        script = f'tell application "{deed.app}" to {script}'
    yield "AppleScript", Call("execute_applescript", {"script": script}, ASKED), {}
    if deed.javascript:
        script = f'const app = Application("{deed.app}"); app.{deed.javascript}'
        given = {"script": script, "language": "javascript"}
        yield "JavaScript", Call("execute_applescript", given, ASKED), {}
    if deed.press:
        given = {"app": deed.app, "element": f"window[0]/button[@title='{deed.press}']"}
        press = {**given, "action": "press"}
        yield "interface", Call("perform_action", press, ASKED), {"button": deed.app}


STRICT: Final = ("done", "asks", "no")


@st.composite
def policies(draw: st.DrawFn) -> str:
    """Draw a policy whose rules speak of apps and levels, as effects have them."""
    apps = st.sampled_from(["Notes", "com.apple.mail", "Music", "com.apple.*", "Finder", "Safari"])
    parts = [f'preset = "{draw(st.sampled_from(["read-only", "cautious", "private", "trusted"]))}"']
    if draw(st.booleans()):
        parts.append(f'reads = ["{draw(apps)}"]')
    if draw(st.integers(0, 3)) == 0:
        parts.append("read_only = true")
    if draw(st.integers(0, 3)) == 0:
        parts.append('[blocklist]\nadd = ["com.apple.Notes"]')
    sections = ('[only]\napps = ["Notes", "Music"]', "[never]\nsend = true\ndelete = true")
    parts += [section for section in sections if draw(st.integers(0, 3)) == 0]
    for kind in ("deny", "ask", "allow", "rule"):
        if draw(st.booleans()):
            levels = ["", 'level = "SAFE"', 'level = ["SAFE", "MODIFY"]']
            level = 'level = "MODIFY"' if kind == "rule" else draw(st.sampled_from(levels))
            parts.append(f'[[{kind}]]\napp = "{draw(apps)}"\n{level}')
    return "\n".join(parts)


@given(st.sampled_from(DEEDS), policies())
def test_an_effect_is_judged_alike_on_every_road(world: World, deed: Deed, policy: str) -> None:
    found = {name: seen(world, policy, call, **more) for name, call, more in roads(deed)}
    first, *_ = found.values()
    for name, other in found.items():
        if name == "JavaScript":
            # Its names are decided at run time, so it needs more, and never less; a rule for one
            # level can then speak of the others alone.
            stricter = STRICT.index(other.ended) >= STRICT.index(first.ended)
            assert stricter or "level = " in policy, (name, first, other)
            assert other.apps == first.apps, (name, first, other)
        else:
            assert other == first, (name, first, other)
