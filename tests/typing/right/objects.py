"""Objects: classes and properties by their names, values as the signatures say."""

from collections.abc import Mapping
from typing import Any, assert_type

from iac_tools import calendar, finder, mail, notes

made = notes.make("note", properties={"name": "Milk", "body": "2 l"}, at="folders[0]")
assert_type(made, str)
notes.set(made, properties={"name": "Bread"})
notes.get(made, properties=["name", "modification date"])
notes.delete([made])

assert_type(mail.count("message", of="inbox", where={"read status": False}), int)
for row in mail.list("message", of="inbox", properties=["subject", "sender"], limit=10):
    assert_type(row, Mapping[str, Any])

changes: dict[notes.PropertyName, Any] = {"name": "Eggs"}
notes.set(made, properties=changes)
kind: notes.ClassName = "folder"
notes.count(kind)

finder.move("desktop.files[0]", to="home.folders['Documents']")
calendar.list("event", of="calendars[0]", offset=10)
