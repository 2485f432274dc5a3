"""Trash, junk and archive by their names in the languages of macOS: one effect, one decision."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from policy_calls import CAUTIOUS, facts_of, settings_of

from iac_runtime.policy import places
from iac_runtime.policy.decide import decide_call, find_approval_scope
from iac_runtime.policy.facts import CallFacts
from iac_runtime.policy.places import mailbox_role

TABLE = json.loads(Path(places.__file__).with_name("mailboxes.json").read_bytes())


def names() -> Iterator[tuple[str, str, str]]:
    for role, languages in TABLE.items():
        for language, row in languages.items():
            yield from ((role, language, name) for name in row.split("|"))


def moved(to: str) -> CallFacts:
    return facts_of("mail move", {"target": "inbox.messages[0]", "to": to})


def judged(to: str) -> tuple[str, str, tuple[str, ...]]:
    found = decide_call(moved(to), CAUTIOUS, settings_of())
    return found.action, found.level, found.rules


def test_every_role_has_names_in_the_languages_of_macos() -> None:
    assert [*TABLE] == ["trash", "junk", "archive"]
    languages = [set(row) for row in TABLE.values()]
    assert len(languages[0]) >= 40
    assert languages[0] == languages[1] == languages[2]


@pytest.mark.sweep
@pytest.mark.parametrize("role", [*TABLE])
def test_a_mailbox_is_its_role_in_every_language(role: str) -> None:
    english = judged(f'mailboxes["{role.capitalize()}"]')
    nested = judged(f'accounts["Work"].mailboxes["{role.capitalize()}"]')
    for _, language, name in (row for row in names() if row[0] == role):
        for box in (name, name.upper(), f"[Gmail]/{name}", f"INBOX.{name}"):
            assert judged(f'mailboxes["{box}"]') == english, (language, box)
        account = f'accounts["Work"].mailboxes["{name}"]'
        assert judged(account) == nested, (language, name)
        assert judged(f'mailboxes.byName("{name}")') == english


def test_an_archive_is_one_place_in_every_language_and_no_other_mailbox() -> None:
    scopes = {
        find_approval_scope(moved(f'mailboxes["{name}"]').effects)
        for role, _, name in names()
        if role == "archive"
    }
    (found,) = scopes
    assert found is not None
    assert found.description == "move messages to the archive in Mail"
    for other in ("Archive 2024", "Work", "Archived plans"):
        assert find_approval_scope(moved(f'mailboxes["{other}"]').effects) not in scopes
    nested = find_approval_scope(moved('accounts["Work"].mailboxes["Archiv"]').effects)
    assert nested is not None
    assert nested.description == 'move messages to the archive of accounts["Work"] in Mail'


@pytest.mark.parametrize(
    "name", ["Work", "Binders", "Junket", "Spammers", "Trashy", "Kosztorys", "Lixos", "Inbox", ""]
)
def test_other_names_have_no_role(name: str) -> None:
    assert mailbox_role(name) == ""


def test_the_trash_of_finder_is_known_however_it_is_named() -> None:
    for to in ("trash", "~/.Trash", 'folders["Papierkorb"]'):
        facts = facts_of("finder move", {"target": "~/Documents/a.txt", "to": to})
        assert decide_call(facts, CAUTIOUS, settings_of()).level == "DANGEROUS", to


def test_a_mailbox_that_is_set_is_a_mailbox_that_is_moved_to() -> None:
    row = {"mailbox": 'accounts["Arbeit"].mailboxes["Papierkorb"]'}
    facts = facts_of("mail set", {"target": "inbox.messages[0]", "properties": row})
    assert "to-trash" in [raised.rule for raised in facts.raised]
