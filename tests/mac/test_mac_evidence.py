"""What a Mac answered, the simulator answers too; the page says what is proven, and where."""

import copy
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evidence import (
    CALLS,
    FOLDER,
    LANGUAGE,
    Fact,
    asked_of_book,
    differences,
    events_in,
    kind_of,
    main,
    only_reads,
    open_rows,
    read,
    replayed_language,
    shipped,
    simulated,
)
from iac_applescript.analysis.analyser import ScriptAnalyzer
from iac_runtime.execution.process import Completed
from iac_simulator import Simulator

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

import make_mac


@pytest.fixture(scope="module")
def own() -> list[Fact]:
    return simulated()


def made_up(facts: list[Fact], **more: Any) -> dict[str, Any]:
    """Return a file of evidence as a Mac that is like the simulator would write it."""
    prompts = {"names": {"unmeasured": "Only macOS knows."}}
    return {"macos": "99.1", "date": "2027-01-31", "prompts": prompts, "facts": facts, **more}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_what_a_mac_answered_the_simulator_answers_too(path: Path, own: list[Fact]) -> None:
    assert differences(read(path)["facts"], own) == []


def test_a_mac_that_answers_something_else_is_noticed(own: list[Fact]) -> None:
    facts = copy.deepcopy(own)
    assert differences(facts, own) == []
    by_id = {fact["id"]: fact for fact in facts}
    by_id["probe.3.strings-s"]["stdout"] = "a, b\n"
    by_id["probe.11.position"]["error"] = {"number": -1728, "text": "anything"}
    by_id["call.textedit-text"]["value"] = {"text": "One"}
    by_id["probe.15.count"]["events"] = ["coregetd"]
    by_id["probe.6.string"] = {"id": "probe.6.string", "unmeasured": "left out"}
    found = differences(list(by_id.values()), own)
    assert [line.partition(":")[0] for line in found] == [
        *("probe.3.strings-s", "probe.11.position", "probe.15.count", "call.textedit-text")
    ]
    # The words of an error are a matter of the Mac's language.
    by_id["probe.11.name"]["error"]["text"] = "Objekt kann nicht gelesen werden."
    assert len(differences(list(by_id.values()), own)) == len(found)


def test_every_call_is_answered_by_the_simulator_and_cleans_up(own: list[Fact]) -> None:
    by_id = {fact["id"]: fact for fact in own}
    refused = {"finder-name-taken", "finder-nothing-there", "notes-name-taken"}
    for call in CALLS:
        fact = by_id[f"call.{call['id']}"]
        assert ("error" in fact) == (call["id"] in refused), fact
        assert "unmeasured" not in fact


def test_an_applescript_with_another_result_or_error_is_noticed(own: list[Fact]) -> None:
    answers = {"6 / 2": (b"3\n", b"", 0), "1 / 0": (b"", b"0:5: execution error: No. (-1)\n", 1)}
    right = {f"language.{c['topic']}.{c['name']}": c for c in LANGUAGE}

    def osascript(argv: Sequence[str], _stdin: bytes, _timeout: float) -> Completed:
        assert argv[:4] == ["osascript", "-s", "s", "-e"]
        case = next(c for c in right.values() if c["script"] == argv[4])
        failed = f"execution error: Something. ({case.get('error')})\n".encode()
        usual = (b"", failed, 1) if "error" in case else (f"{case['result']}\n".encode(), b"", 0)
        return Completed(*answers.get(argv[4], usual))

    found = differences(list(replayed_language(osascript, ["osascript"])), own)
    assert found == [
        "language.numbers.division is real: stdout is '3' on a Mac, '3.0' in the simulator",
        "language.numbers.division by zero: error is -1 on a Mac, -2701 in the simulator",
    ]


def test_the_page_says_what_is_proven_on_which_system(own: list[Fact]) -> None:
    files = [read(path) for path in sorted(FOLDER.glob("*.json"))]
    now = make_mac.PAGE.read_text("utf-8")
    assert make_mac.page(now, files, own) == now, "run: python docs/make_mac.py"
    wrong = copy.deepcopy(own)
    next(fact for fact in wrong if fact["id"] == "probe.4.first")["stdout"] = "x\n"
    rows = make_mac.table([made_up(wrong)], own).splitlines()
    assert rows[4].endswith("| macOS 99.1 (2027-01-31) |")
    assert "macOS 99.1 (2027-01-31), 1 of " in rows[5]
    assert rows[11].endswith("| not yet |")


def run(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
    return Simulator(shipped()[1])(argv, stdin, timeout)


def test_reports_that_nobody_proved_are_asked_by_scripts_that_only_read() -> None:
    analyzer, rows = ScriptAnalyzer(shipped()[0]), open_rows([])
    assert len(rows) >= 20
    wrong = (row for row in rows if not only_reads(*next(iter(row.probe.items())), analyzer))
    assert [row.id for row in wrong] == []
    said = [*asked_of_book(run, ["osascript"], rows, lambda _: True)]
    assert [fact["id"] for fact in said] == [f"field.{row.id}" for row in rows]
    assert sum("value" in fact for fact in said) >= 14


@pytest.mark.parametrize("script", [
    'Application("Notes").notes[0].name = "x"; true',
    'Application("Notes").delete(Application("Notes").notes[0]); true',
    'Application("Mail").outgoingMessages[0].send(); true',
    "Application(name).quit(); true",
])  # fmt: skip
def test_a_probe_that_does_more_than_read_is_not_run(script: str) -> None:
    row = replace(open_rows([])[0], probe={"javascript": script})
    (fact,) = asked_of_book(never, ["osascript"], [row], lambda _: True)
    assert fact["unmeasured"] == "The probe would do more than read."


def never(*_: object) -> Completed:
    raise AssertionError


def test_an_app_that_may_not_be_asked_is_left_alone() -> None:
    rows = [row for row in open_rows([]) if row.app]
    said = [*asked_of_book(never, ["osascript"], rows, lambda _: False)]
    assert all("value" not in fact for fact in said)


@pytest.mark.parametrize(("value", "told"), [(True, "so"), (False, "not so")])
def test_a_mac_where_it_is_so_proves_a_report(value: bool, told: str) -> None:
    """Where it is not so, it may be on another."""
    row = next(one for one in open_rows([]) if one.confidence == "measured by one")
    file = made_up([{"id": f"field.{row.id}", "value": value}])
    assert (row in open_rows([file])) == (not value)

    def count_all(files: list[dict[str, Any]]) -> list[int]:
        line = next(one for one in make_mac.book(files).splitlines() if one.startswith("| all"))
        return [int(cell) for cell in line.split("|")[2:-1]]

    proven, reported, unknown = count_all([])
    assert f"| {told} on macOS 99.1 (2027-01-31) |" in make_mac.book([file])
    assert count_all([file]) == [proven + value, reported - value, unknown]


def test_the_log_of_the_system_is_read_as_events() -> None:
    """The form is that of public logs of AEDebugSends."""
    log = "{ 1 } 'aevt':  core/cnte (ppc ){\n return id: 7\n}\n{ 1 } 'aevt':  aevt/ansr (****){ }\n"
    assert events_in(log) == ["corecnte"]
    assert events_in("nothing of the kind") == []


def test_only_the_kind_of_what_is_a_users_own_is_kept() -> None:
    assert kind_of({"name": "Taxes", "rows": [{"n": 1}, {"n": 2}]}) == {
        "name": "str",
        "rows": [{"n": "int"}],
    }


def test_without_a_mac_it_is_said_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys, "argv", ["evidence.py"])
    assert main() == 2
    assert "--stand-in" in capsys.readouterr().out


@pytest.mark.stress
@pytest.mark.process
def test_the_session_runs_under_the_stand_in(tmp_path: Path) -> None:
    program = [sys.executable, str(Path(__file__).with_name("evidence.py"))]
    done = subprocess.run(
        [*program, "--stand-in", "--output", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "IAC_SIMULATOR_STATE": str(tmp_path / "state.json")},
    )
    assert done.returncode == 0, done.stderr
    [path] = tmp_path.glob("simulated-*.json")
    found = read(path)
    assert {fact["id"].partition(".")[0] for fact in found["facts"]} == {"probe", "call", "field"}
    assert found["prompts"]["before"].keys() == found["prompts"]["after"].keys()
