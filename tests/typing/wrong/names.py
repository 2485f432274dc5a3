"""Names of classes and properties that are not there, and values of the wrong type."""

from iac_tools import calendar, finder, mail, notes

notes.make("notes")  # wrong
notes.make("note", properties={"nmae": "Milk"})  # wrong
notes.set("notes[0]", properties={"Name": "Bread"})  # wrong
notes.get("notes[0]", properties=["titel"])  # wrong
notes.get("notes[0]", properties="name")  # wrong
mail.count("mesage")  # wrong
mail.list("message", properties=["subject", "from"])  # wrong
mail.list("message", limit="10")  # wrong
calendar.list("event", wher={"summary": "x"})  # wrong
finder.delete(3)  # wrong
size: str = finder.count("file")  # wrong
