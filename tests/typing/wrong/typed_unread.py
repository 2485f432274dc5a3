"""The typed objects where their values are wanted: a forgotten `()`, or a second property."""

from iac_tools import mail, notes, numbers, textedit

messages = mail.app.inbox.messages
note, other = notes.app.notes[0], notes.app.notes[1]
cell = numbers.app.documents[0].sheets[0].tables[0].cells[0]
messages[mail.Message.subject != mail.Message.sender].delete()  # wrong
messages[mail.Message.subject == messages[0].subject].delete()  # wrong
messages[mail.Message.date_received > messages[0].date_received]  # wrong
messages[mail.Message.subject.contains(messages[0].subject)]  # wrong
messages[mail.Message.sender.in_([messages[0].sender])]  # wrong
note.name.set(other.name)  # wrong
note.name.set(other)  # wrong
note.name.set(notes.Note.name)  # wrong
cell.value.set(cell.value)  # wrong
notes.app.notes.make(body=other.body)  # wrong
notes.app.notes.make(body=other)  # wrong
notes.app.notes.by_id(other.id)  # wrong
notes.app.notes[other.name]  # wrong
notes.app.notes.select(notes.Note.name)  # wrong
notes.app.notes.select("name", limit=mail.app.inbox.unread_count)  # wrong
notes.app.open_note_location(other.name)  # wrong
note.move(to=other.name)  # wrong
note.duplicate(to=other.name)  # wrong
textedit.app.documents[0].text.set(textedit.app.documents[1].text)  # wrong
if note.name == "Milk":  # wrong
    note.delete()
if messages[0].subject != "Keep":  # wrong
    messages[0].delete()
