"""The command line: what is printed, and the exit status."""

import json
import sys
from pathlib import Path

import pytest

from iac_mcp.cli.main import main


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
