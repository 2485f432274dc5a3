"""How things stand with an app, and who may start it: a look does not, a change does."""

import json
import sys
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from defective import Defective
from diary_world import WORLD
from scripted import APP, Scripted, request, until
from simulated import TOOLS as SHIPPED
from simulated import run_tool, simulate_apps

import iac_runtime
from iac_base.errors import Cancellation, SetupError, ToolError
from iac_mcp.cli.main import cli, main
from iac_runtime.execution import mac as permission
from iac_runtime.execution.executor import Executor
from iac_runtime.execution.mac import app_state
from iac_runtime.execution.process import Completed
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall, RefusedCall
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator import Simulator

CLOSED = {**WORLD, "@running": False}


def gate_of(catalogue: Catalogue, launch: Collection[str] = ()) -> tuple[Gate, Simulator]:
    simulator = simulate_apps(catalogue, {"diary": CLOSED})
    return Gate(catalogue, Executor(simulator), "DANGEROUS", launch=launch), simulator


def value(gate: Gate, tool: str, **arguments: object) -> object:
    return run_tool(gate, tool, **arguments).value


def test_a_read_of_an_app_that_is_not_running_says_how_to_start_it(catalogue: Catalogue) -> None:
    gate, simulator = gate_of(catalogue)
    for tool, arguments in (
        ("diary_list", {"element": "journal"}),
        ("diary_count", {"element": "journal"}),
        ("diary_get", {"target": "today"}),
    ):
        with pytest.raises(ToolError) as caught:
            value(gate, tool, **arguments)
        assert (caught.value.type, caught.value.retryable) == ("APP_NOT_RUNNING", True)
        assert "app_launch" in caught.value.suggestion
    assert simulator.events == []
    assert value(gate, "app_running", app="Diary") is False

    value(gate, "app_launch", app="Diary")
    assert value(gate, "app_running", app="Diary") is True
    assert value(gate, "diary_count", element="journal") == 2


def test_an_app_that_policy_lists_is_started_by_a_read(catalogue: Catalogue) -> None:
    gate, _ = gate_of(catalogue, ["COM.example.diary"])
    bundle_id = catalogue.apps["diary"].id
    assert bundle_id.casefold() == "com.example.diary"
    assert value(gate, "diary_count", element="journal") == 2
    assert value(gate, "app_running", app="Diary") is True


def test_a_change_starts_the_app(catalogue: Catalogue) -> None:
    gate, simulator = gate_of(catalogue)
    value(gate, "diary_make", element="journal", properties={"name": "New"})
    assert simulator.events
    assert value(gate, "app_running", app="Diary") is True


def test_a_read_starts_a_helper_that_nobody_sees() -> None:
    catalogue = Catalogue([SHIPPED])
    tables = catalogue.load_tables(catalogue.apps["system_events"])
    simulator = Simulator([tables], {"system_events": {"@running": False}})
    gate = Gate(catalogue, Executor(simulator))
    assert value(gate, "system_events_count", element="process") == 0
    assert value(gate, "app_running", app="system_events") is True


@pytest.mark.parametrize(("path", "facts", "starts"), [
    ("/System/Library/CoreServices/X.app", "LSUIElement: 1", True),
    ("/System/Library/CoreServices/X.app", "LSBackgroundOnly: '1'", True),
    ("/System/Library/CoreServices/X.app", "LSUIElement: false", False),
    ("/System/Applications/X.app", "", False), ("/Applications/X.app", "LSUIElement: true", False),
])  # fmt: skip
def test_on_a_mac_the_bundle_says_whether_an_app_is_such_a_helper(
    catalogue: Catalogue, path: str, facts: str, starts: bool
) -> None:
    mac = f"""
      placeOf = function () {{ return {{ path: '{path}' }}; }};
      $.NSBundle = {{ bundleWithURL: function () {{ return {{ infoDictionary: {{
        objectForKey: function (key) {{ return {{ {facts} }}[key]; }} }} }}; }} }};
    """
    app = Defective(catalogue, mac, CLOSED)
    if starts:
        assert app.call("diary_count", element="journal").value == 2
    else:
        with pytest.raises(ToolError, match="is not running"):
            app.call("diary_count", element="journal")


@pytest.mark.parametrize(
    ("key", "tool"), [("diary", "app_activate"), ("finder", "finder_activate")]
)
def test_activating_shows_an_app_that_runs_and_starting_one_needs_more(
    catalogue: Catalogue, key: str, tool: str
) -> None:
    if key == "finder":
        catalogue = Catalogue([SHIPPED])
    simulator = Simulator([catalogue.load_tables(catalogue.apps[key])], {key: {"@running": False}})
    gate = Gate(catalogue, Executor(simulator), launch=[catalogue.apps[key].id])
    call = Call(tool, {"app": key} if tool == "app_activate" else {})
    refused = gate.call(call)
    assert isinstance(refused, RefusedCall)
    assert (refused.level, refused.requires_prompt) == ("MODIFY", True)
    assert [effect.verb for effect in gate.plan_call(call).facts.effects] == ["start"]
    assert value(gate, "app_running", app=key) is False

    bold = Gate(catalogue, Executor(simulator), "DANGEROUS")
    assert value(bold, tool, **call.arguments) in (None, {})
    assert value(gate, "app_running", app=key) is True
    shown = gate.call(call)
    assert isinstance(shown, CompletedCall)
    assert shown.level == "SAFE"

    plan = gate.plan_call(call)
    assert [(effect.verb, effect.level) for effect in plan.facts.effects] == [("view", "SAFE")]
    value(bold, "app_quit", app=key)
    with pytest.raises(ToolError, match="is not running"):
        plan.perform(None)
    assert value(gate, "app_running", app=key) is False


def test_an_app_of_which_nobody_can_say_whether_it_runs_counts_as_not_running(
    catalogue: Catalogue,
) -> None:
    gate = Gate(catalogue, Executor(program="/nowhere/osascript"))
    plan = gate.plan_call(Call("app_activate", {"app": "Diary"}))
    assert [(effect.verb, effect.level) for effect in plan.facts.effects] == [("start", "MODIFY")]


def test_the_library_and_the_command_line_name_apps_that_may_be_started(
    output: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"diary": CLOSED}), encoding="utf-8")
    with (
        iac_runtime.connect(simulate=state, tools=output) as session,
        pytest.raises(ToolError, match="app_launch"),
    ):
        session.call("diary_count", element="journal")
    with iac_runtime.connect(simulate=state, tools=output, launch=["Diary"]) as session:
        assert session.call("diary_count", element="journal") == 2

    state.write_text(json.dumps({"diary": CLOSED}), encoding="utf-8")
    command = ["call", "diary_count", '{"element": "journal"}']
    command += ["--tools", str(output), "--simulate", str(state)]
    with pytest.raises(ToolError, match="app_launch"):
        CliRunner().invoke(cli, command, catch_exceptions=False)
    named = CliRunner().invoke(cli, [*command, "--launch", "diary"], catch_exceptions=False)
    assert json.loads(named.output) == {"result": 2}
    with pytest.raises(SetupError, match="--launch: there are no tools for"):
        CliRunner().invoke(cli, [*command, "--launch", "nothing"], catch_exceptions=False)


# The command line: what is printed, and the exit status.


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


@pytest.fixture
def world(output: Path, state_file: Path) -> tuple[str, ...]:
    return ("--tools", str(output), "--simulate", str(state_file))


def test_a_call_prints_its_result_and_the_state_is_kept(
    capsys: pytest.CaptureFixture[str], world: tuple[str, ...]
) -> None:
    arguments = json.dumps({"title": "Milk", "journal": "journals[1]"})
    status, out, err = run(
        capsys, "call", "diary_make_entry", arguments, "--allow", "modify", *world
    )
    assert (status, err) == (0, "")
    ref = json.loads(out)["ref"]
    _, out, _ = run(capsys, "call", "diary_get", json.dumps({"target": ref + ".name"}), *world)
    assert json.loads(out) == {"result": "Milk"}


def test_a_dry_run_prints_the_line_and_sends_nothing(
    capsys: pytest.CaptureFixture[str], world: tuple[str, ...], state_file: Path
) -> None:
    before = state_file.read_bytes()
    arguments = '{"target": "journals[0]"}'
    status, out, _ = run(capsys, "call", "diary_delete", arguments, "--dry-run", *world)
    app = 'Application("com.example.Diary")'
    assert (status, out) == (0, f"{app}.delete({app}.journals[0])\n")
    assert state_file.read_bytes() == before


def test_simulated_apps_need_no_state_file(
    capsys: pytest.CaptureFixture[str], output: Path
) -> None:
    arguments = (
        "call", "diary_count", '{"element": "entry"}', "--tools", str(output), "--simulate",
    )  # fmt: skip
    status, out, _ = run(capsys, *arguments)
    assert status == 0
    assert json.loads(out)["result"] > 0


@pytest.mark.parametrize(("arguments", "status", "words"), [
    (["call", "diary_delete", '{"target": "journals[0]"}'], 1, "DANGEROUS"),
    (["call", "diary_make", '{"element": "entry"}', "--read-only", "--allow", "MODIFY"], 1,
     "--read-only"),
    (["call", "diary_get", '{"target": "journals[9]"}'], 1, "Diary"),
    (["call", "diary_get", '{"target": "journls"}'], 1, "Nearest: journals"),
    (["call", "diary_gt"], 2, "Nearest: diary_get"), (["call", "diary_get", "{"], 2, "not JSON"),
    (["call", "diary_get", "[" * 100_000], 2, "not JSON"),
    (["call", "diary_get", "[]"], 2, "one JSON object"), (["call"], 2, "TOOL"),
    (["call", "diary_get", "--allow", "ALL"], 2, "MODIFY"),
    (["call", "diary_get", "--timeout", "0"], 2, "timeout"),
    (["call", "diary_get", "--tools", "/nowhere"], 2, "/nowhere"), (["tols"], 2, "tols"),
])  # fmt: skip
def test_bad_input_is_one_line_on_standard_error(
    capsys: pytest.CaptureFixture[str],
    world: tuple[str, ...],
    arguments: list[str],
    status: int,
    words: str,
) -> None:
    more = world if arguments[0] == "call" and len(arguments) > 1 else ()
    found, out, err = run(capsys, *arguments, *more)
    assert found == status
    assert out == ""
    assert words in err
    assert "Traceback" not in err
    assert len(err.splitlines()) <= 2


def test_a_tool_that_was_taken_for_a_state_file_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = '{"target": "journals[0]"}'
    found = run(capsys, "call", "--simulate", "diary_get", arguments)
    assert found[:2] == (2, "")
    assert "--simulate took diary_get for the name of its state file" in found[2]
    assert "put --simulate last" in found[2]


def test_tools_are_listed_with_their_levels(
    capsys: pytest.CaptureFixture[str], output: Path
) -> None:
    status, out, _ = run(capsys, "tools", "--app", "Diary", "--tools", str(output))
    assert status == 0
    assert "diary_set  SAFE to DANGEROUS  Change" in out
    assert "diary_delete  DANGEROUS  " in out
    status, _, err = run(capsys, "tools", "--app", "Dairy", "--tools", str(output))
    assert status == 2
    assert "diary" in err


def test_help_and_version_end_well(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(capsys, "--help")[0] == 0
    monkeypatch.setattr(sys, "argv", ["iac-mcp", "serve", "--help"])
    from iac_mcp.entry import main as entry

    assert entry() == 0
    assert "read-only" in capsys.readouterr().out


class TestHowThingsStand:
    def test_the_program_is_looked_for_where_it_would_be_run(self, osascript: Scripted) -> None:
        assert osascript.executor().installed_versions().osascript == str(osascript.program)
        nowhere = Executor(program="/nowhere/osascript")
        assert nowhere.installed_versions().osascript is None
        simulated = Executor(lambda *_: Completed(b"", b"", 0))
        assert simulated.installed_versions().osascript is None

    @pytest.mark.parametrize(
        ("app", "installed", "scriptable", "running", "reason"),
        [
            ("com.apple.mail", "yes", "yes", "yes", ""),
            ("com.example.None", "no", "unknown", "unknown", "It is not installed."),
        ],
    )
    def test_an_app_is_asked_without_an_event(
        self, app: str, installed: str, scriptable: str, running: str, reason: str
    ) -> None:
        from iac_runtime.tools.catalogue import Catalogue

        folder = SHIPPED
        catalogue = Catalogue([folder])
        simulator = Simulator([catalogue.load_tables(catalogue.apps["mail"])])
        found = Executor(simulator).test_app(app)
        assert (found.installed, found.scriptable, found.running) == (
            installed,
            scriptable,
            running,
        )
        assert found.permitted == ("unknown" if sys.platform != "darwin" else found.permitted)
        assert found.reason == reason
        assert simulator.events == []

    @pytest.mark.process
    def test_an_app_that_hangs_does_not_keep_the_answer(self, osascript: Scripted) -> None:
        executor, cancel = osascript.executor(), Cancellation()
        with ThreadPoolExecutor(1) as pool:
            call = pool.submit(
                executor.execute, request("hang"), app="D", command="t", cancel=cancel
            )
            assert until(lambda: len(osascript.processes()) == 1)
            found = executor.test_app(APP)
            assert (found.installed, found.running) == ("unknown", "unknown")
            assert "status 1" in found.reason
            cancel.cancel()
            with pytest.raises(ToolError):
                call.result(20)

    @pytest.mark.parametrize(
        ("record", "may", "reason"),
        [
            ([True, True, True], "yes", ""),
            ([False, None, None], "yes", "not installed"),
            ([True, False, True], "yes", "dictionary"),
            ([True, True, True], "no", "Automation"),
            ([True, True, False], "unknown", "app_launch"),
            ([True, True, True], "would ask", "will ask"),
        ],
    )
    def test_the_reason_is_what_stands_in_the_way(
        self,
        monkeypatch: pytest.MonkeyPatch,
        record: list[bool | None],
        may: str,
        reason: str,
    ) -> None:
        monkeypatch.setattr("iac_runtime.execution.mac.automation_permission", lambda _: may)
        fields = zip(("installed", "scriptable", "running"), record, strict=True)
        found = app_state({"record": [list(field) for field in fields]}, APP)
        assert reason in found.reason
        assert bool(found.reason) == bool(reason)

    @pytest.mark.parametrize("facts", [None, [], {"record": None}, {"record": [1, ["a"]]}])
    def test_facts_that_are_none_are_unknown(self, facts: object) -> None:
        assert app_state(facts, APP).installed == "unknown"


class CoreServices:
    """The two functions of the framework, in the place of a Mac's."""

    def __init__(self, status: int, failed: int = 0) -> None:
        self.made: list[bytes] = []
        self.disposed = 0
        self.AECreateDesc = self._function(self._make)
        self.AEDeterminePermissionToAutomateTarget = self._function(lambda *_: status)
        self.AEDisposeDesc = self._function(self._dispose)
        self._failed = failed

    @staticmethod
    def _function(behaviour: Any) -> Any:
        def function(*arguments: Any) -> Any:
            return behaviour(*arguments)

        return function

    def _make(self, kind: int, data: bytes, size: int, into: Any) -> int:
        assert (kind, size) == (int.from_bytes(b"bund", "big"), len(data))
        self.made.append(data)
        return self._failed

    def _dispose(self, target: Any) -> int:
        self.disposed += 1
        return 0


@pytest.mark.parametrize(
    ("status", "expected"), [(0, "yes"), (-1743, "no"), (-1744, "would ask"), (-600, "unknown")]
)
def test_the_permission_is_read_from_the_status(
    monkeypatch: pytest.MonkeyPatch, status: int, expected: str
) -> None:
    library = CoreServices(status)
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr("ctypes.CDLL", lambda path: library)
    assert permission.automation_permission("com.apple.mail") == expected
    assert (library.made, library.disposed) == ([b"com.apple.mail"], 1)
    failing = CoreServices(0, failed=-108)
    monkeypatch.setattr("ctypes.CDLL", lambda path: failing)
    assert permission.automation_permission("x") == "unknown"
    monkeypatch.setattr("ctypes.CDLL", lambda path: object())
    assert permission.automation_permission("x") == "unknown"
