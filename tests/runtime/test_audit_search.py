"""Searching the audit: the index narrows what is read and never changes what is found."""

import json
from pathlib import Path

import pytest
from audit_trial import rows_of
from hypothesis import given, settings
from hypothesis import strategies as st

from iac_base.sqlite import open_database
from iac_runtime.audit import Audit, AuditIntent, AuditOutcome, reading, store
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
from iac_runtime.audit.writer import intent_body
from iac_runtime.tool import Level

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
        store.extend_index(connection, indexed * 2)
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

    @settings(max_examples=60, deadline=None)
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
    monkeypatch.setattr(store, "BATCH", 8)
    audit = Audit.open(folder)
    for _ in range(20):
        audit.record_outcome(
            audit.record_intent(AuditIntent("t", "MODIFY")), AuditOutcome("done", 0.0)
        )
    while rows_of(folder, "SELECT count(*) FROM calls")[0][0] < 17:
        pass
    monkeypatch.setattr(writer_module, "GROUP_SECONDS", 1_000.0)
    monkeypatch.setattr(store, "LAG", 8)
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
    assert store.extend_index(connection)
    connection.close()
    assert len(find_calls(folder, AuditQuery(), 99)) == 11
    assert not verify_audit(folder).is_intact
