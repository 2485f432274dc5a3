"""Twelve small scripts with the typed objects, run on simulated apps."""

import csv
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from simulated import TOOLS

import iac_runtime as iac
from iac_runtime import its
from iac_tools import (
    calendar,
    finder,
    mail,
    music,
    notes,
    numbers,
    reminders,
    safari,
    standard_additions,
    textedit,
)


@pytest.fixture(autouse=True)
def session() -> Iterator[iac.Session]:
    with iac.connect(simulate=True, tools=TOOLS) as opened:
        yield opened


def test_read_mail_is_archived() -> None:
    inbox, archive = mail.app.inbox, mail.app.accounts[0].mailboxes[-1]
    read = inbox.messages[mail.Message.read_status == True]  # noqa: E712
    gone, before = read.count(), inbox.messages.count()
    for message in read.get():
        message.move(to=archive)
    assert gone
    assert inbox.messages.count() == before - gone


def test_senders_of_unread_mail_are_counted() -> None:
    unread = mail.app.inbox.messages[its.read_status == False]  # noqa: E712
    found = Counter(row["sender"] for row in unread.select("sender"))
    assert found.total() == unread.count()


def test_a_draft_is_written() -> None:
    draft = mail.app.outgoing_messages.make(subject="Hello", visible=True)
    draft.content.set("How are you?")
    assert iac.read(draft.subject, draft.visible) == ("Hello", True)
    assert draft.content() == "How are you?"


def test_reminders_become_csv(tmp_path: Path) -> None:
    rows = reminders.app.reminders.select("name", "completed", order=["name"])
    with (tmp_path / "reminders.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["name", "completed"])
        writer.writeheader()
        writer.writerows(rows)
    assert len((tmp_path / "reminders.csv").read_text().splitlines()) == len(rows) + 1 > 1


def test_files_are_renamed_by_date() -> None:
    files = finder.app.desktop.files
    for file in files.get():
        day, name = iac.read(file.modification_date, file.name)
        file.name.set(f"{day:%Y-%m-%d} {name}")
        break
    assert any(row["name"][:2] == "20" for row in files.select("name")) or not files.count()


def test_a_playlist_becomes_a_contact_sheet() -> None:
    tracks = music.app.playlists[0].tracks.select("name", "artist", limit=3)
    sheet = "\n".join(f"{row['artist']}: {row['name']}" for row in tracks)
    assert len(sheet.splitlines()) == len(tracks) == len(tracks.objects)


def test_the_calendar_gives_notes_for_a_standup() -> None:
    day = datetime(2026, 1, 1, tzinfo=UTC)
    events = calendar.app.calendars[0].events[calendar.Event.start_date >= day]
    body = "".join(f"<li>{row['summary']}</li>" for row in events.select("summary"))
    note = notes.app.notes.make(name="Standup", body=f"<ul>{body}</ul>", text_format="html")
    assert note.body().count("<li>") == events.count()


def test_safari_tabs_become_markdown() -> None:
    lines = [
        f"- [{row['name']}]({row['url']})"
        for window in safari.app.windows
        for row in window.tabs.select("name", "url")
    ]
    assert lines
    assert all(line.startswith("- [") for line in lines)


def test_a_table_goes_to_pandas_and_back() -> None:
    pytest.importorskip("pandas")
    cells = numbers.app.documents[0].sheets[0].tables[0].cells.select("name", "value")
    frame = cells.to_dataframe().set_index("name")
    dearer = [round(value * 1.1, 2) for value in frame.loc[["B2", "B3"], "value"]]
    frame.loc[["B2", "B3"], "value"] = dearer
    for cell, value in zip(cells.objects, frame["value"], strict=True):
        cell.value.set(value)
    assert [
        numbers.app.documents[0].sheets[0].tables[0].cells[n].value() for n in ("B2", "B3")
    ] == dearer


def test_open_reminders_are_done() -> None:
    undone = reminders.app.reminders[reminders.Reminder.completed == False]  # noqa: E712
    for reminder in undone.get():
        reminder.completed.set(True)
    assert undone.count() == 0


def test_a_text_is_counted_by_words() -> None:
    made = textedit.app.documents.make(text="One two two")
    assert Counter(word() for word in made.text.words.get())["two"] == 2


def test_notes_are_searched_and_one_is_read_aloud(session: iac.Session) -> None:
    found = notes.app.notes[notes.Note.plaintext.contains("milk")]
    standard_additions.app.say(found[0].plaintext())
    assert "Shopping list" in str(session.simulator.events[-1].direct)
