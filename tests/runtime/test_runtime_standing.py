"""How things stand with an app: installed, scriptable, running, permitted."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from scripted import APP, Scripted, request, until

from iac_base.errors import Cancellation, ToolError
from iac_runtime.execution import mac as permission
from iac_runtime.execution.executor import Executor
from iac_runtime.execution.mac import app_state
from iac_runtime.execution.process import Completed
from iac_simulator import Simulator


class TestHowThingsStand:
    def test_the_program_is_looked_for_where_it_would_be_run(self, osascript: Scripted) -> None:
        assert osascript.executor().is_available()
        assert osascript.executor().installed_versions().osascript == str(osascript.program)
        nowhere = Executor(program="/nowhere/osascript")
        assert not nowhere.is_available()
        assert nowhere.installed_versions().osascript is None
        simulated = Executor(lambda *_: Completed(b"", b"", 0))
        assert simulated.is_available()
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

        folder = Path(__file__).parents[2] / "generated" / "iac_tools"
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
