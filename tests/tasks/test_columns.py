"""What a list shows where nothing is asked for: what a person would look at."""

import json
from pathlib import Path

import pytest
from player import Answer

from iac_runtime.gate.gate import Gate
from iac_runtime.language import columns
from iac_runtime.language.columns import default_columns
from iac_runtime.tools.tables import Tables

TABLE = json.loads(Path(columns.__file__).with_suffix(".json").read_text("utf-8"))
DULL = {"id", "uid", "index", "all headers", "source", "message id", "calendarIdentifier"}


@pytest.fixture(scope="module")
def apps(gate: Gate) -> dict[str, Tables]:
    assert gate.catalogue is not None
    return {key: gate.catalogue.load_tables(app) for key, app in gate.catalogue.apps.items()}


def test_a_list_of_mails_is_read_like_a_mailbox(answer: Answer) -> None:
    (first, *_) = answer("mail_list", {"element": "message", "of": "inbox"})["result"]
    assert list(first) == [
        *("ref", "subject", "sender", "date received", "read status", "message size"),
    ]


def test_no_list_is_of_headers_or_ids_alone(apps: dict[str, Tables]) -> None:
    shown = {
        (key, term): [column.label for column in default_columns(term, tables)]
        for key, tables in apps.items()
        for term in tables.classes
    }
    assert len(shown) > 250
    assert [at for at, labels in shown.items() if labels and set(labels) <= DULL] == []
    assert [at for at, labels in shown.items() if len(labels) > 6] == []


def test_every_row_of_the_table_is_of_something_that_is_there(apps: dict[str, Tables]) -> None:
    strange = [
        (key, term, name)
        for key, rows in TABLE["rows"].items()
        for term, names in rows.items()
        for name in names
        if term not in apps[key].classes or apps[key].find_property(term, name) is None
    ]
    assert strange == []


def test_a_row_says_what_the_rule_does_not(
    apps: dict[str, Tables], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {(key, term) for key, rows in TABLE["rows"].items() for term in rows}
    now = {at: default_columns(at[1], apps[at[0]]) for at in told}
    monkeypatch.setattr(columns, "_load_column_table", lambda: {**TABLE, "rows": {}})
    default_columns.cache_clear()
    ruled = {at: default_columns(at[1], apps[at[0]]) for at in told}
    default_columns.cache_clear()
    assert [at for at in sorted(told) if now[at] == ruled[at]] == []
