"""`iac-mcp audit`: what a person sees of the record."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from iac_base.errors import SetupError
from iac_base.files import open_state
from iac_mcp.cli import audit as cli_audit
from iac_runtime.audit import Audit, AuditIntent, AuditOutcome


def run(*arguments: str, answer: str = "") -> Result:
    return CliRunner().invoke(
        cli_audit.audit, arguments, input=answer, standalone_mode=False, catch_exceptions=False
    )


@pytest.fixture
def recorded() -> Path:
    folder = open_state()
    audit = Audit.open(folder)
    for tool, level in (("mail_get", "SAFE"), ("mail_send", "DANGEROUS"), ("notes_set", "MODIFY")):
        line = 'Application("x").y\x1b[2J[bold]\n'
        intent = AuditIntent(tool, level, client="Claude", source="preset trusted", line=line)
        audit.record_outcome(audit.record_intent(intent), AuditOutcome("done", 0.0125))
    audit.close()
    return folder


def lines(result: Result) -> list[dict]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_tail_prints_the_last_calls_as_json_lines(recorded: Path) -> None:
    found = lines(run("tail", "-n", "2"))
    assert [entry["tool"] for entry in found] == ["mail_send", "notes_set"]
    assert found[0]["level"] == "DANGEROUS"
    assert found[0]["ms"] == 12.5


def test_on_a_terminal_it_is_a_table_and_nothing_acts_on_it(
    recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    shown = run("tail").stdout
    assert "mail_send" in shown
    assert "allow by preset trusted" in shown
    assert "[bold]" in shown
    assert "\x1b[2J" not in shown
    assert run("search", "nothing of this").stdout == "No call fits.\n"
    assert len(lines(run("tail", "--json"))) == 3


@pytest.mark.parametrize(("options", "tools"), [
    (("--tool", "mail_*"), ["mail_get", "mail_send"]), (("--level", "modify"), ["notes_set"]),
    (("--client", "claude", "--since", "1h", "-n", "1"), ["notes_set"]),
    (("Application",), ["mail_get", "mail_send", "notes_set"]), (("--until", "2020-01-01"), []),
    (("--since", "2020-01-01T00:00:00+02:00", "--result", "TIMEOUT"), []),
])  # fmt: skip
def test_search_takes_facts(recorded: Path, options: tuple[str, ...], tools: list[str]) -> None:
    assert [entry["tool"] for entry in lines(run("search", *options))] == tools


@pytest.mark.parametrize("moment", ["yesterday", "2026-13-01", "999999w", ""])
def test_a_time_that_is_none_is_told(recorded: Path, moment: str) -> None:
    import click

    with pytest.raises(click.BadParameter, match=r"write 2026-03-01"):
        run("search", "--since", moment)


def test_verify_says_whether_the_chain_holds(recorded: Path) -> None:
    import sqlite3

    result = run("verify")
    assert result.stdout == "8 rows, 1 to 8: the chain is intact.\n"
    assert result.return_value == 0
    connection = sqlite3.connect(recorded / "audit.db")
    with connection:
        connection.execute("UPDATE rows SET body = '{}' WHERE seq = 3")
    connection.close()
    result = run("verify")
    assert result.stdout.splitlines()[0].startswith("row 3 was changed")
    assert result.stdout.endswith("the chain is broken.\n")
    assert result.return_value == 1


def test_export_gives_every_row(recorded: Path, tmp_path: Path) -> None:
    shown = lines(run("export"))
    assert [row["seq"] for row in shown] == list(range(1, 9))
    target = tmp_path / "rows.jsonl"
    result = run("export", "--output", str(target))
    assert "8 rows" in result.stderr
    assert [json.loads(line) for line in target.read_text().splitlines()] == shown
    assert target.stat().st_mode & 0o077 == 0
    with pytest.raises(SetupError, match="cannot be written"):
        run("export", "--output", str(tmp_path / "none" / "rows"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "rows.jsonl"]


def test_drop_asks_and_the_rest_verifies(recorded: Path) -> None:
    import click

    with pytest.raises(click.Abort):
        run("drop", "--keep", "2", answer="n\n")
    assert run("drop", "--keep", "2", "--yes").stdout == "6 rows dropped.\n"
    assert run("drop", "--before", "2020-01-01", answer="y\n").stdout.endswith(
        "There was nothing to drop.\n"
    )
    assert run("verify").return_value == 0
    with pytest.raises(click.UsageError, match="--before"):
        run("drop", "--yes")


@pytest.mark.parametrize("command", ["tail", "search", "verify", "export", "drop --keep 1 --yes"])
def test_before_the_first_call_one_line_says_so(command: str) -> None:
    with pytest.raises(SetupError, match="There is no audit log in"):
        run(*command.split())


def test_the_command_line_knows_the_commands(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from iac_mcp.cli.main import main

    assert main(["audit", "verify"]) == 0
    assert main(["audit", "tail"]) == 0
    assert main(["audit", "search", "--since", "never"]) == 2
    assert "30d" in capsys.readouterr().err
