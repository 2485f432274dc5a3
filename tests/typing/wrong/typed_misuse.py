"""The typed objects, misused: a line a mistake."""

from datetime import datetime

import iac_runtime as iac
from iac_runtime import aio
from iac_tools import calendar, finder, mail, music, notes, textedit

first = mail.app.inbox.messages[0]
first.subjekt()  # wrong
print(mail.app.inbocks)  # wrong
print(mail.Message.subjekt)  # wrong
print(mail.app.inbox.calendars)  # wrong
print(notes.app.notes[0].notes)  # wrong
print(mail.Mesage)  # wrong
subject: str = first.subject  # wrong
when: str = first.date_received()  # wrong
count: int = first.subject()  # wrong
first.subject.set("x")  # wrong
first.read_status.set("yes")  # wrong
first.read_status.set()  # wrong
first.read_status = True  # wrong
notes.app.notes[0].name.set(3)  # wrong
notes.app.notes[0].container.set(notes.app.folders[0])  # wrong
notes.app.default_account.set(notes.app.folders[0])  # wrong
notes.app.quit(saving="maybe")  # wrong
notes.app.notes[0].move()  # wrong
notes.app.notes[0].move(notes.app.folders[0])  # wrong
notes.app.notes[0].move(to="folders[0]")  # wrong
notes.app.notes[0].show(separate=True)  # wrong
notes.app.notes.make(nmae="Milk")  # wrong
notes.app.notes.make(name=3)  # wrong
notes.app.notes.select("title")  # wrong
notes.app.notes.select("name", limit="10")  # wrong
notes.app.notes.select("name")[0]["title"]  # wrong
notes.app.notes[1.5]  # wrong
notes.app.notes.by_id(None)  # wrong
mail.app.inbox.messages[mail.Message.date_received == 3]  # wrong
mail.app.inbox.messages[mail.Message.date_received > 3]  # wrong
mail.app.inbox.messages[mail.Mailbox.name == "Work"]  # wrong
mail.app.inbox.messages[mail.Message.subject.contains(3)]  # wrong
mail.app.inbox.messages[mail.Message.read_status.startswith("x")]  # wrong
mail.app.inbox.messages[mail.Message.sender.in_([3])]  # wrong
music.app.song_repeat.set("some")  # wrong
music.app.sound_volume.set("loud")  # wrong
textedit.app.documents[0].text.set(3)  # wrong
calendar.app.calendars[0].events.make(start_date="2026-03-01")  # wrong
finder.app.home.folder["Documents"]  # wrong
pair: tuple[str, str] = iac.read(first.subject, first.date_received)  # wrong
iac.read(first)  # wrong
iac.read("inbox")  # wrong
mail.app.check_for_new_mail(for_="Work")  # wrong


async def later() -> datetime:
    await aio.call(first.move, into=mail.app.inbox)  # wrong
    return await aio.call(first.subject)  # wrong
