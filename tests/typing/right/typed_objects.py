"""The typed objects: what a property is, what a collection gives, what a command takes."""

from datetime import datetime
from pathlib import Path
from typing import Literal, assert_type

import iac_runtime as iac
from iac_runtime import aio, its
from iac_runtime.objects import Color, Condition, Rect, Rows
from iac_tools import calendar, finder, mail, music, notes, safari, standard_additions, textedit

inbox = mail.app.inbox
assert_type(inbox.messages, mail.Messages)
first = inbox.messages[0]
assert_type(first, mail.Message)
assert_type(inbox.messages[-1], mail.Message)
assert_type(inbox.mailboxes["Work"], mail.Mailbox)
assert_type(inbox.messages[10:20], mail.Messages)
assert_type(inbox.messages.by_id(412), mail.Message)
assert_type(inbox.messages.last, mail.Message)
assert_type(inbox.messages.count(), int)
assert_type(first.subject(), str)
assert_type(first.subject.get(), str)
assert_type(first.date_received(), datetime)
assert_type(first.read_status(), bool)
assert_type(first.content(), str)
assert_type(first.content.paragraphs[0](), str)
assert_type(first.mailbox.name(), str)
assert_type(first.exists(), bool)
first.read_status.set(True)
first.move(to=first.mailbox)
notes.app.notes[0].move(to=notes.app.notes[1].container)
notes.app.selection.set([notes.app.notes[0]])
first.move(to=mail.app.accounts["Work"].mailboxes["Archive"])
inbox.messages[mail.Message.read_status == True].delete()  # noqa: E712
unread = inbox.messages[mail.Message.read_status == False]  # noqa: E712
assert_type(unread, mail.Messages)
since = mail.Message.date_received > datetime(2026, 1, 1)
assert_type(since, Condition[mail.Message])
inbox.messages[since & ~mail.Message.subject.contains("sale") | mail.Message.sender.in_(["a"])]
inbox.messages[mail.Message.subject.startswith("Re:") & mail.Message.subject.endswith("?")]
inbox.messages[its.read_status == False]  # noqa: E712
inbox.messages[its.mailbox.name == "Work"]
inbox.messages[mail.Message.mailbox == inbox]
rows = unread.select("subject", "date_received", order=["-date_received"], limit=20)
assert_type(rows, Rows[mail.Message, mail.MessageRow])
for row in rows:
    assert_type(row["subject"], str)
    assert_type(row["date_received"], datetime)
for message in unread:
    assert_type(message, mail.Message)
assert_type(first.get()["sender"], str)
assert_type(iac.read(first.subject, first.date_received), tuple[str, datetime])
new = mail.app.outgoing_messages.make(subject="Hello", visible=True)
assert_type(new, mail.OutgoingMessage)
new.to_recipients.make(address="ines@example.org")
note = notes.app.default_account.folders["Notes"].notes.make(name="Milk")
notes.app.default_account.default_folder.set(notes.app.folders[0])
assert_type(note.container.name(), str)
assert_type(notes.app.selection(), list[notes.Note])
assert_type(notes.app.windows[0].bounds(), Rect)
notes.app.windows[0].bounds.set(Rect(0, 0, 400, 300))
notes.app.quit(saving="no")
assert_type(finder.app.home.folders["Documents"].items[0].name(), str)
assert_type(textedit.app.documents[0].text(), str)
textedit.app.documents[0].text.set("Hello")
assert_type(textedit.app.documents[0].text.paragraphs[0].color(), Color)
assert_type(textedit.app.open(Path("~/a.txt")), textedit.Document)
state: Literal["stopped", "playing", "paused", "fast forwarding", "rewinding"]
state = music.app.player_state()
calendar.app.calendars[0].events[calendar.Event.start_date >= datetime(2026, 3, 1)]
assert_type(safari.app.windows[0].current_tab.url(), str)
standard_additions.app.beep()


def archive(box: mail.Mailbox, messages: mail.Messages) -> "list[mail.MessageRow]":
    messages.move(to=box)
    return list(messages.select("subject"))


async def later() -> None:
    assert_type(await aio.call(first.subject), str)
    assert_type(await aio.read(first.subject, first.read_status), tuple[str, bool])
    await aio.call(first.move, to=inbox)
    async for one in aio.each(inbox.messages):
        assert_type(one, mail.Message)
