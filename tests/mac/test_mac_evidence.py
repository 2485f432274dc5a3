"""What a Mac answered, the simulator answers too; the page says what is proven, and where."""

import copy
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evidence import CALLS, FOLDER, Fact, differences, events_in, kind_of, main, read, simulated

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
    assert {fact["id"].partition(".")[0] for fact in found["facts"]} == {"probe", "call"}
    assert found["prompts"]["before"].keys() == found["prompts"]["after"].keys()
