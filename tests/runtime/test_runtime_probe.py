"""The probe: what a Mac user runs and sends back."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import simulate_apps

from iac_base.errors import SetupError
from iac_mcp.cli import probe as cli_probe
from iac_mcp.cli.main import main
from iac_mcp.cli.probe import (
    APPS,
    PROBES,
    ROWS,
    PersonalDetails,
    Probe,
    collision_probes,
    probe,
    redact_person,
    run_probes,
)
from iac_runtime.execution.process import Completed
from iac_runtime.tool import App, Class, Element, Property, Spec
from iac_runtime.tools.catalogue import Catalogue, shipped_folder
from iac_runtime.tools.tables import Tables

SHIPPED = shipped_folder()
PAGE = Path(__file__).parents[2] / "docs" / "mac.md"
ME = PersonalDetails("/Users/eva.k", ("eva.k", "Eva Klein", "evas-mac", "me"))


class Recorder:
    """A runner that says what it was asked, and answers all alike."""

    def __init__(self, done: Completed, running: bool = True) -> None:
        self.calls: list[Sequence[str]] = []
        self._done = done
        self._running = b"true\n" if running else b"false\n"

    def __call__(self, argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        if argv[-1].endswith(".running())"):
            return Completed(self._running, b"", 0)
        self.calls.append(argv)
        return self._done


@pytest.fixture(scope="module")
def simulator() -> Callable[..., Completed]:
    assert SHIPPED is not None
    simulated = simulate_apps(Catalogue([SHIPPED]))

    def run(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        return simulated(argv[argv.index("osascript") :], stdin, timeout)

    return run


def test_every_row_of_the_list_is_answered_by_the_simulator(
    simulator: Callable[..., Completed],
) -> None:
    found = list(run_probes(simulator, ["osascript"], scratch=True, timeout=60))
    assert [answer["id"] for answer in found if answer["row"] not in (9, 10)] == [
        one.id for one in sorted(PROBES, key=lambda one: one.row)
    ]
    assert {answer["row"] for answer in found} == set(ROWS) - {12}
    for answer in found:
        assert answer["question"]
        if "unmeasured" not in answer:
            assert answer["stdout"] or answer["error"] or answer["status"] == 0
    by_id = {answer["id"]: answer for answer in found}
    assert by_id["3.strings-s"]["stdout"] == '["a", "b, c"]\n'
    assert by_id["3.strings-s"]["value"] == ["a", "b, c"]
    assert by_id["4.negative"]["stdout"] == 'Application("Finder").windows.at(-1)\n'
    assert by_id["11.position"]["error"]["number"] == -1719
    assert by_id["11.thrown"]["error"] == {"number": 42, "text": "Error: [object Object]"}
    assert "10" in by_id
    assert "unmeasured" in by_id["10"]


def test_the_page_has_the_rows_and_no_script_writes_unasked() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for row in ROWS:
        assert f"\n| {row} | " in page
    assert len({one.id for one in PROBES}) == len(PROBES)
    for one in PROBES:
        assert one.row in ROWS
        assert not one.app or one.app in APPS
        writes = any(word in one.script for word in ("make(", ".close(", "nonsense = "))
        assert writes == one.scratch
        assert "TextEdit" not in one.script or one.scratch


def test_documents_are_made_only_when_that_is_asked_for() -> None:
    runner = Recorder(Completed(b"x", b"", 0))
    found = [*run_probes(runner, ["osascript"], [7, 8])]
    assert runner.calls == []
    assert all("--textedit" in answer["unmeasured"] for answer in found)
    found = [*run_probes(runner, ["osascript"], [7, 8], scratch=True)]
    assert len(runner.calls) == len(found) == 3
    assert runner.calls[0][:3] == ["/usr/bin/env", "AEDebugSends=1", "osascript"]


def test_an_app_that_is_not_running_is_not_started() -> None:
    runner = Recorder(Completed(b"x", b"", 0), running=False)
    found = [*run_probes(runner, ["osascript"], [5])]
    assert [answer.get("unmeasured") for answer in found[:2]] == [
        "Finder is not running.",
        "System Events is not running.",
    ]
    assert len(runner.calls) == 1


def test_an_app_that_is_to_be_left_alone_gets_no_event() -> None:
    recorder = Recorder(Completed(b"x\n", b"", 0))
    found = list(run_probes(recorder, ["osascript"], [15], leave=["com.apple.systemevents"]))
    assert recorder.calls == []
    assert {one["unmeasured"] for one in found} == {
        "macOS would ask whether System Events may be controlled."
    }


def test_a_script_that_hangs_is_said_to() -> None:
    runner = Recorder(Completed(b"part\xff", b"", -9, timed_out=True))
    (answer,) = run_probes(runner, ["osascript"], [9], more=[Probe("9.x", "q", "while (true) {}")])
    assert answer["timed_out"] is True
    assert answer["stdout"] == "part\\xff"
    assert answer["arguments"] == ["-l", "JavaScript", "-s", "h"]
    json.dumps(answer)


def test_nothing_personal_is_left_in_an_answer() -> None:
    said = b"/Users/eva.k/Desktop of Eva Klein on EVAS-MAC; medium"
    error = b"/Users/eva.k/x.js: execution error: Error: Error: no /Users/eva.k/y (-43)\n"
    runner = Recorder(Completed(said, error, 1))
    (answer,) = run_probes(runner, ["o"], [9], more=[Probe("9.x", "q", "1")], person=ME)
    assert answer["stdout"] == "~/Desktop of <name> on <name>; medium"
    assert answer["error"] == {"number": -43, "text": "Error: Error: no ~/y"}
    assert "eva" not in json.dumps(answer).lower()


@given(text=st.text(), home=st.text(min_size=1), name=st.text(min_size=3))
def test_no_home_is_too_odd(text: str, home: str, name: str) -> None:
    person = PersonalDetails(home, (name,))
    redact_person(text, person)
    if home.strip("/") and "~" not in home:
        assert home.rstrip("/") not in redact_person(f"{home} {text}", PersonalDetails(home))


def test_a_command_with_the_name_of_a_property_is_asked_about() -> None:
    classes = {
        "application": Class("capp", "application", "applications", None, "SAFE", "SAFE",
         (Property("print", "prnt", "print", "text", "r", "SAFE"),),
         (Element("page", "r"), Element("gone", "r"))),
        "page": Class("page", "page", "pages", None, "SAFE", "SAFE",
         (Property("print", "prnt", "print", "text", "r", "SAFE"),
          Property("name", "pnam", "name", "text", "r", "SAFE"))),
    }  # fmt: skip
    spec = Spec("aevtpdoc", "SAFE", "SAFE", {}, "command", "print", "", {})
    press = Tables("press", App("com.example.Press", "Press"), classes, {}, {}, {"print": spec})
    found = list(collision_probes([press]))
    assert [one.id for one in found] == ["9.press-print"] * 2
    assert 'a["pages"][0]["print"]' in found[1].script
    assert list(collision_probes([press], 1)) == found[:1]
    assert list(collision_probes([Tables("press", press.app, {}, {}, {}, press.tools)])) == []


def run(*arguments: str) -> Any:
    return probe.main([*arguments], standalone_mode=False)


@pytest.mark.process
def test_the_command_writes_a_report(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("iac_runtime.tools.catalogue.shipped_folder", lambda: SHIPPED)
    path = tmp_path / "probe.json"
    run("9", "10", "12", "13", "--simulate", "--output", str(path))
    out, err = capsys.readouterr()
    assert out.startswith("9 answers were written to ")
    assert err == ""
    report = json.loads(path.read_text(encoding="utf-8"))
    assert report["simulated"] is True
    assert report["probe"] == 1
    by_row = {answer["row"]: answer for answer in reversed(report["answers"])}
    assert sorted(by_row) == [9, 10, 12, 13]
    assert by_row[13]["stdout"] == "asked stringdone\n"
    assert by_row[12]["unmeasured"]
    assert list(tmp_path.glob("*.part")) == []
    run("10", "--simulate")
    assert json.loads(capsys.readouterr().out)["answers"][0]["row"] == 10


def test_without_a_mac_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(SetupError, match="--simulate"):
        run()


def test_what_cannot_be_done_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SetupError, match="cannot be written"):
        run("10", "--simulate", "--output", str(tmp_path / "no" / "probe.json"))
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("IAC_OSASCRIPT", "/nowhere/osascript")
    with pytest.raises(SetupError, match="cannot be started"):
        run("4")


def test_on_a_mac_the_asked_for_process_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(cli_probe, "responsible_name", lambda: "iTerm")
    monkeypatch.setattr(cli_probe, "automation_permission", lambda app: "would ask")
    run("12")
    (answer,) = json.loads(capsys.readouterr().out)["answers"]
    assert answer["value"]["process"] == "iTerm"
    assert answer["value"]["allowed"]["Finder"] == "would ask"


def test_the_command_is_one_of_iac_mcp(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert main(["probe"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "not a Mac" in err
    assert main(["probe", "16"]) == 2
    assert "16" in capsys.readouterr().err
    assert main(["--help"]) == 0
    assert re.search(r"^  probe +Answer the open questions", capsys.readouterr().out, re.M)


def test_the_command_line_starts_without_the_probe() -> None:
    code = "import sys, iac_mcp.cli.main; print('iac_mcp.cli.probe' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
