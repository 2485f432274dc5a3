"""`iac-mcp audit`: what a person sees of the record."""

import json
from pathlib import Path

import pytest
from audit_trial import rows_of
from click.testing import CliRunner, Result
from diary_world import WORLD, gate_of
from hypothesis import given, settings
from hypothesis import strategies as st

from iac_base.errors import SetupError, ToolError
from iac_base.files import open_state
from iac_base.sqlite import open_database
from iac_mcp.cli import audit as cli_audit
from iac_runtime.audit import reading
from iac_runtime.audit import store as store_module
from iac_runtime.audit import writer as writer_module
from iac_runtime.audit.reading import (
    AuditQuery,
    find_calls,
    iterate_links,
    iterate_rows,
    row_lines,
    verify_audit,
)
from iac_runtime.audit.store import FILE, SCHEMA, START, chain_rows, hashed_text
from iac_runtime.audit.writer import Audit, AuditIntent, AuditOutcome, intent_body
from iac_runtime.gate.limiter import Limiter, Permit, RetryAfter
from iac_runtime.gate.opening import open_audit
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall, RefusedCall
from iac_runtime.policy.permissions import Requester
from iac_runtime.tool import Level
from iac_runtime.tools.catalogue import Catalogue


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


# Searching the audit: the index narrows what is read and never changes what is found.


OLD = SCHEMA._replace(migrations=SCHEMA.migrations[:1])

ROWS: tuple[tuple[str, str, Level, str, str, tuple[str, ...]], ...] = (
    ("mail", "get", "SAFE", "Claude", 'a "quoted" subject', ()),
    ("mail", "send", "DANGEROUS", "Claude", "Grüße an alle", ("mail", "Contacts")),
    ("notes", "set", "MODIFY", "other", "milk and bread", ("notes",)),
    ("finder", "list", "SAFE", "other", "100% of [it]", ("finder", "mail")),
)

INTENTS = [
    AuditIntent(
        f"{app}_{verb}",
        level,
        app=f"com.apple.{app}",
        client=client,
        arguments={"text": text},
        effects=tuple((verb, f"com.apple.{other}", "object", "") for other in others),
    )
    for app, verb, level, client, text, others in ROWS
]

QUERIES = st.builds(
    AuditQuery,
    text=st.sampled_from(["", "m", "mi", "MILK", "grüße", '"quoted"', "100% of [", "never there"]),
    app=st.sampled_from(["", "com.apple.mail", "COM.APPLE.contacts", "com.apple.mai"]),
    client=st.sampled_from(["", "claude", "Other", "nobody"]),
    tool=st.sampled_from(["", "mail_*", "*_get", "mail_send", "none"]),
    level=st.sampled_from(["", "SAFE", "modify"]),
    since=st.sampled_from(["", "t03", "t06"]),
    until=st.sampled_from(["", "t03", "t09"]),
)


def record(folder: Path, indexed: int, schema: object = SCHEMA) -> Path:
    """Make an audit of twelve calls, as many of which are in the index as `indexed` says."""
    folder.mkdir(mode=0o700, exist_ok=True)
    connection = open_database(folder / FILE, schema)  # type: ignore[arg-type]
    parts = [
        (f"t{n:02}", "s", n, "intent", intent_body(INTENTS[n % len(INTENTS)])[0]) for n in range(12)
    ]
    made = chain_rows(START, 0, parts)
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)", made)
    if indexed:
        store_module.extend_index(connection, indexed * 2)
    connection.close()
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    base = tmp_path_factory.mktemp("audits")
    return [record(base / str(count), count) for count in (0, 5, 12)]


@pytest.mark.parametrize("few", [0, 1_000], ids=["by letters", "by facts"])
def test_indexed_in_part_wholly_or_not_at_all_the_same_is_found(
    folders: list[Path], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "FEW", few)

    @settings(max_examples=min(60, settings.default.max_examples), deadline=None)
    @given(QUERIES, st.integers(1, 12))
    def check(query: AuditQuery, limit: int) -> None:
        plain, *others = ([e.seq for e in find_calls(f, query, limit)] for f in folders)
        assert others == [plain, plain]

    check()


def test_a_call_is_found_by_any_app_that_it_reaches(folders: list[Path]) -> None:
    for folder in folders:
        for app, tools in (
            ("com.apple.contacts", {"mail_send"}),
            ("com.apple.mail", {"mail_get", "mail_send", "finder_list"}),
            ("com.apple.conta", set()),
        ):
            assert {entry.tool for entry in find_calls(folder, AuditQuery(app=app), 99)} == tools
        (entry,) = find_calls(folder, AuditQuery(seq=2), 9)
        assert entry.effects == [
            ["send", "com.apple.mail", "object", ""],
            ["send", "com.apple.Contacts", "object", ""],
        ]


def test_effects_are_in_the_chain_and_in_the_export(tmp_path: Path) -> None:
    folder = record(tmp_path / "state", 0)
    body = json.loads(json.loads(list(row_lines(folder))[1])["body"])
    assert body["effects"][1] == ["send", "com.apple.Contacts", "object", ""]
    connection = open_database(folder / FILE, SCHEMA)
    connection.execute("UPDATE rows SET body = replace(body, 'Contacts', 'Music') WHERE seq = 2")
    connection.close()
    assert verify_audit(folder).faults[0].startswith("row 2 was changed")


def test_of_many_effects_every_app_is_kept_and_secrets_are_not() -> None:
    many = [("get", "com.apple.mail", f"message {n}", "") for n in range(80)]
    last = ("send", "com.apple.Music", "x" * 900, "Bearer abcdefghijklmnop1234567890")
    body = json.loads(intent_body(AuditIntent("t", "SAFE", effects=(*many, last)))[0])
    assert len(body["effects"]) == 53
    verb, app, shown, flow = body["effects"][51]
    assert (verb, app) == ("send", "com.apple.Music")
    assert len(shown) < 300
    assert "abcdefghijklmnop" not in flow
    assert body["effects"][52][0] == "… [81 effects]"
    few = AuditIntent("t", "SAFE", effects=tuple(many[:50]))
    assert json.loads(intent_body(few)[0])["effects"] == [list(effect) for effect in many[:50]]


def test_a_file_of_an_older_version_reads_and_verifies_and_is_brought_forward(
    tmp_path: Path,
) -> None:
    folder = record(tmp_path / "state", 0, OLD)
    connection = open_database(folder / FILE, OLD)
    # Older versions wrote no effects.
    parts = [("t12", "s", 12, "intent", intent_body(INTENTS[0])[0].replace(',"effects":[]', ""))]
    (head,) = connection.execute("SELECT hash FROM rows WHERE seq = 12").fetchone()
    made = chain_rows(head, 12, parts)
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)", made)
    connection.close()
    for _ in range(2):
        assert verify_audit(folder).is_intact
        assert find_calls(folder, AuditQuery(seq=13), 1)[0].effects == []
        assert len(find_calls(folder, AuditQuery(app="com.apple.contacts", text="alle"), 99)) == 3
        audit = Audit.open(folder)
        audit.record_intent(AuditIntent("notes_set", "MODIFY"))
        audit.close()
    assert rows_of(folder, "PRAGMA user_version") == [(2,)]


def test_sqlite_writes_what_is_hashed_as_the_export_says(tmp_path: Path) -> None:
    folder = record(tmp_path / "state", 0)
    audit = Audit.open(folder)
    forged = '\x00\x1f\x7f\\"/\u2028\ud800é'
    audit.record_intent(AuditIntent("t", "MODIFY", arguments={"text": forged}, line=forged))
    audit.close()
    connection = open_database(folder / FILE, SCHEMA)
    read = [(row.seq, hashed_text(*row[:6]), row.hash) for row in iterate_rows(connection)]
    assert list(iterate_links(connection)) == read
    connection.execute("UPDATE rows SET body = x'00ff', hash = 'text' WHERE seq = 3")
    connection.close()
    assert verify_audit(folder).faults[0].startswith("row 3 was changed")


def test_a_running_program_indexes_when_it_is_idle_or_far_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "state"
    monkeypatch.setattr(store_module, "BATCH", 8)
    audit = Audit.open(folder)
    for _ in range(20):
        audit.record_outcome(
            audit.record_intent(AuditIntent("t", "MODIFY")), AuditOutcome("done", 0.0)
        )
    while rows_of(folder, "SELECT count(*) FROM calls")[0][0] < 17:
        pass
    monkeypatch.setattr(writer_module, "GROUP_SECONDS", 1_000.0)
    monkeypatch.setattr(store_module, "LAG", 8)
    for _ in range(20):
        audit.record_intent(AuditIntent("t", "MODIFY"))
    audit.close()
    assert rows_of(folder, "SELECT count(*) FROM calls")[0][0] > 30
    assert len(find_calls(folder, AuditQuery(tool="t"), 99)) == 40


def test_an_index_that_cannot_be_written_costs_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_self: object, *, idle: bool) -> bool:
        raise OSError(f"idle: {idle}")

    monkeypatch.setattr(store_module.AuditStore, "extend_index", broken)
    audit = Audit.open(tmp_path / "state")
    for _ in range(3):
        audit.record_outcome(
            audit.record_intent(AuditIntent("t", "MODIFY")), AuditOutcome("done", 0.0)
        )
    audit.close()
    assert len(find_calls(tmp_path / "state", AuditQuery(result="done"), 9)) == 3


def test_a_call_whose_body_was_cut_by_hand_does_not_stop_a_search(tmp_path: Path) -> None:
    folder = record(tmp_path / "state", 0)
    connection = open_database(folder / FILE, SCHEMA)
    connection.execute("UPDATE rows SET body = '{\"client' WHERE seq = 3")
    assert store_module.extend_index(connection)
    connection.close()
    assert len(find_calls(folder, AuditQuery(), 99)) == 11
    assert not verify_audit(folder).is_intact


# What one call through the gate takes of the limits, and what the audit holds of it.


READ = ("diary_get", {"target": "entries[0].name"})
WRITE = ("diary_make_entry", {"title": "a"})
DELETE = ("diary_delete", {"target": "entries[0]"})
ASKED = Requester("tester", ("client",))


class Taken(Limiter):
    """A limiter that notes what was asked of it."""

    def __init__(self, answer: Permit | RetryAfter) -> None:
        super().__init__()
        self.answer = answer
        self.kinds: list[str] = []

    def reserve_places(self, kind: str, _places: int = 1) -> Permit | RetryAfter:
        self.kinds.append(kind)
        return self.answer


def test_each_call_takes_the_place_of_its_kind_and_a_refusal_none(catalogue: Catalogue) -> None:
    limiter = Taken(Permit(0.0))
    gate = gate_of(catalogue, WORLD, "MODIFY", limiter=limiter)
    for call in (READ, WRITE, DELETE, ("list_apps", {})):
        gate.call(Call(*call))
    assert limiter.kinds == ["read", "write"]
    asked = gate.call(Call(*DELETE, ASKED))
    assert isinstance(asked, PendingCall)
    assert limiter.kinds == ["read", "write"]
    done = gate.call(Call(*DELETE, ASKED, token=asked.token, verdict="once"))
    assert isinstance(done, CompletedCall)
    assert limiter.kinds == ["read", "write", "dangerous"]


def test_a_call_that_must_wait_says_how_long_and_its_answer_keeps(catalogue: Catalogue) -> None:
    limiter = Taken(RetryAfter(2.25))
    gate = gate_of(catalogue, WORLD, "SAFE", limiter=limiter)
    asked = gate.call(Call(*WRITE, ASKED))
    assert isinstance(asked, PendingCall)
    again = Call(*WRITE, ASKED, token=asked.token, verdict="once")
    with pytest.raises(ToolError) as caught:
        gate.call(again)
    error = caught.value
    assert (error.type, error.retryable) == ("BUSY", True)
    assert (error.app, error.command) == ("Diary", "diary_make_entry")
    assert error.message == "Too many calls: this one can run after 2.2 seconds."
    assert error.suggestion == "Wait, or do more in one call."
    assert gate.simulator.events == []  # type: ignore[attr-defined]
    limiter.answer = Permit(0.06)
    done = gate.call(again)
    assert isinstance(done, CompletedCall)
    assert "waited 0.1 seconds" in done.note


def test_the_audit_holds_who_called_what_was_decided_and_what_came_of_it(
    catalogue: Catalogue, own_data_folder: Path
) -> None:
    gate = gate_of(catalogue, WORLD, "SAFE", audit=open_audit)

    read = gate.call(Call(*READ, ASKED))
    assert isinstance(read, CompletedCall)
    asked = gate.call(Call(*DELETE, ASKED))
    assert isinstance(asked, PendingCall)
    denied = gate.call(Call(*DELETE, ASKED, token=asked.token, verdict="decline"))
    assert isinstance(denied, RefusedCall)
    with pytest.raises(ToolError) as caught:
        gate.call(Call("diary_get", {"target": "journals['No'].name"}, ASKED))
    failed = caught.value
    assert (failed.app, failed.command) == ("Diary", "diary_get")
    gate.close()

    rows = sorted(find_calls(open_state(), AuditQuery(), 10), key=lambda row: row.seq)
    assert {(row.client, row.app) for row in rows} == {("tester", "com.example.Diary")}
    assert [(row.tool, row.level, row.decision, row.source, row.result) for row in rows] == [
        ("diary_get", "SAFE", "allow", "preset cautious", "done"),
        ("diary_delete", "DANGEROUS", "deny", "the user", "refused"),
        ("diary_get", "SAFE", "allow", "preset cautious", "NOT_FOUND"),
    ]
    assert [row.error for row in rows] == ["", "", failed.message]
    assert rows[0].line == read.line
    # Both rows of the call that was asked about are one.
    always = "DANGEROUS calls always require approval."
    assert rows[1].reasons == [always, "The user declined."]
    assert [row.asked for row in rows] == [[], [["client", "decline"]], []]
    assert len(find_calls(open_state(), AuditQuery(simulated=True), 10)) == 3
    assert find_calls(open_state(), AuditQuery(simulated=False), 10) == []


def test_a_trial_and_another_door_run_nothing(catalogue: Catalogue) -> None:
    limiter = Taken(Permit(0.0))
    gate = gate_of(catalogue, WORLD, limiter=limiter)
    tried = gate.call(Call(*DELETE), dry_run=True)
    assert isinstance(tried, CompletedCall)
    assert (tried.value, tried.level) == (None, "DANGEROUS")
    other = gate.call(Call(*DELETE, most="MODIFY"))
    assert isinstance(other, RefusedCall)
    assert isinstance(gate.call(Call(*READ, most="SAFE")), CompletedCall)
    assert limiter.kinds == ["read"]
    assert len(gate.simulator.events) == 1  # type: ignore[attr-defined]
