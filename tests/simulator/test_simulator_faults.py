"""What goes wrong on purpose: in events of an app, and in the process that sends them."""

import contextlib
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from programs import jar, started
from simulated_diary import DIARY, WORLD, Script

from iac_simulator import Simulator, StateError, read_scenario
from iac_simulator.scenario import parse_scenario

D = 'const d = Application("Diary"); '
TRY = "const n = f => { try { return f() } catch (e) { return e.errorNumber } }; "


def script(*faults: dict[str, Any], **machine: Any) -> Script:
    scenario = parse_scenario({"fault": list(faults), **machine})
    return Script(Simulator([DIARY], {"diary": WORLD}, faults=scenario))


def test_the_nth_event_fails_once() -> None:
    broken = script({"event": "coregetd", "nth": 2, "error": -609})
    names = "[0, 1, 2].map(() => n(() => d.journals[0].name()))"
    assert broken.value(D + TRY + names) == ["Work", -609, "Work"]


@pytest.mark.parametrize(("times", "count"), [(1, 1), (2, 2), (0, 4)])
def test_a_fault_is_repeated(times: int, count: int) -> None:
    broken = script({"times": times, "error": -10000})
    names = "[0, 1, 2, 3].map(() => n(() => d.journals[0].name()))"
    assert broken.value(D + TRY + names).count(-10000) == count


def test_a_fault_is_of_one_app_and_one_code() -> None:
    for app in ("Diary", "com.example.Diary", "COM.EXAMPLE.diary", "diary", ""):
        assert script({"app": app, "error": -1743}).error(D + "d.name()") == -1743
    for other in ({"app": "Mail"}, {"event": "coresetd"}):
        assert script({**other, "error": -1743}).value(D + "d.name()") == "Diary"


def test_a_timeout_after_which_the_work_is_done() -> None:
    late = script({"event": "corecrel", "error": -1712, "after": True})
    source = "[n(() => d.make({new: 'journal'})), d.journals.length]"
    assert late.value(D + TRY + source) == [-1712, 3]
    never = script({"event": "corecrel", "error": -1712})
    assert never.value(D + TRY + source) == [-1712, 2]


def test_an_app_quits_between_two_reads() -> None:
    gone = script({"event": "coregetd", "nth": 2, "quit": True})
    read = "[d.journals[0].name(), n(() => d.journals[0].name()), d.running()]"
    assert gone.value(D + TRY + read) == ["Work", -600, False]
    died = script({"quit": True, "error": -609})
    assert died.error(D + "d.name()") == -609


def test_a_list_moves_between_two_reads() -> None:
    moved = script({"event": "coregetd", "nth": 2, "shift": "journals[0].entries"})
    read = "d.journals[0].entries[0].name()"
    assert moved.value(f"{D}[{read}, {read}]") == ["Monday", "Tuesday"]
    assert script({"shift": "journals[1].entries"}).value(D + "d.name()") == "Diary"


def test_an_answer_is_huge_or_another_one() -> None:
    assert script({"size": 100_000}).value(D + "d.name().length") == 100_000
    assert script({"value": {"record": {"a": 1}}}).value(D + "d.name()") == {"a": 1}


def test_a_slow_app_uses_up_the_time() -> None:
    slow = script({"delay": 31.0, "times": 0})
    assert slow.run(D + "d.name()", timeout=30).timed_out
    assert slow.run(D + "d.name()", timeout=60).stdout == b"Diary\n"


def test_the_process_ends_as_it_is_told() -> None:
    silent = script({"on": "start", "exit": 1}).run("1")
    assert (silent.stdout, silent.stderr, silent.status) == (b"", b"", 1)
    assert script({"exit": 139}).run(D + "d.name()").status == -signal.SIGSEGV
    noisy = script({"on": "start", "write": "{half", "repeat": 2, "times": 1}).run("1")
    assert noisy.stdout == b"{half{half1\n"


@pytest.mark.parametrize(("data", "said"), [
    ([], "scenario: a scenario must be a table."),
    ({"falt": []}, 'scenario: "falt" is not a key. Nearest: fault.'),
    ({"fault": {}}, "scenario: fault must be a list of tables: write [[fault]]."),
    ({"fault": [3]}, "scenario: fault 1: must be a table."),
    ({"fault": [{}, {"eror": 1}]}, 'scenario: fault 2: "eror" is not a key. Nearest: error'),
    ({"fault": [{"error": "x"}]}, "scenario: fault 1: error must be int."),
    ({"fault": [{"nth": True}]}, "scenario: fault 1: nth must be int."),
    ({"fault": [{"on": "end"}]}, "scenario: fault 1: on must be one of event, start."),
    ({"language": "xx"}, "scenario: language must be one of en, de, fr, ja, ar."),
])  # fmt: skip
def test_a_wrong_scenario_gives_one_line(data: Any, said: str) -> None:
    with pytest.raises(StateError) as caught:
        parse_scenario(data)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(("name", "text"), [
    ("s.toml", 'language = "de"\n[[fault]]\nerror = -43\n'),
    ("s.json", '{"language": "de", "fault": [{"error": -43}]}'),
])  # fmt: skip
def test_a_scenario_is_read_from_a_file(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    scenario = read_scenario(path)
    assert (scenario.language, scenario.faults[0].error) == ("de", -43)
    path.write_text("{", "utf-8")
    with pytest.raises(StateError, match="not a scenario"):
        read_scenario(path)
    with pytest.raises(StateError, match="No such file"):
        read_scenario(tmp_path / "none.toml")


def scenario_file(folder: Path, text: str) -> str:
    path = folder / "faults.toml"
    path.write_text(text, "utf-8")
    return str(path)


COINS = "Application('Jar').coins.length"


@pytest.mark.process
def test_processes_share_the_count_of_a_fault(tmp_path: Path) -> None:
    faults = scenario_file(tmp_path, '[[fault]]\nevent = "corecnte"\nnth = 2\nerror = -600\n')
    tools, seen = jar(tmp_path / "tools"), []
    for _ in range(3):
        process = started(tools, "-e", COINS, faults=faults)
        process.communicate(timeout=30)
        seen.append(process.returncode)
    assert seen == [0, 1, 0]


@pytest.mark.process
def test_a_segmentation_fault_is_a_real_one(tmp_path: Path) -> None:
    faults = scenario_file(tmp_path, "[[fault]]\nexit = 139\n")
    process = started(jar(tmp_path / "tools"), "-e", COINS, faults=faults)
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGSEGV


@pytest.mark.process
def test_a_process_ignores_term_and_leaves_a_child(tmp_path: Path) -> None:
    lines = "ignore_term = true\nfork = 60\nsetsid = true\nwrite = 'up'\ndelay = 0.0\n"
    faults = scenario_file(tmp_path, f"[[fault]]\non = 'start'\n{lines}")
    process = started(jar(tmp_path / "tools"), "-e", "delay(60)", faults=faults)
    psutil = pytest.importorskip("psutil")
    child = None
    try:
        assert process.stdout.read(2) == b"up"
        [child] = psutil.Process(process.pid).children()
        assert os.getsid(child.pid) != process.pid
        process.terminate()
        with pytest.raises(Exception, match="timed out"):
            process.wait(0.3)
    finally:
        process.kill()
        with contextlib.suppress(psutil.Error):
            if child is not None:
                child.kill()
        process.communicate(timeout=30)


@pytest.mark.process
def test_a_bad_scenario_file_gives_one_line(tmp_path: Path) -> None:
    faults = scenario_file(tmp_path, "[[fault]]\neror = 1\n")
    process = started(jar(tmp_path / "tools"), "-e", "1", faults=faults)
    _, err = process.communicate(timeout=30)
    [line] = err.decode().splitlines()
    assert line.startswith(f"osascript: {faults}: fault 1: ")
    assert process.returncode == 1
