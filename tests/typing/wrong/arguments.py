"""Arguments that a command has not, enumerators of another enumeration, results misused."""

from iac_tools import calendar, mail, music, notes, standard_additions, system_events

notes.close("documents[0]", saving="maybe")  # wrong
notes.close("documents[0]", "no")  # wrong
notes.close(saving="no")  # wrong
notes.quit(save="no")  # wrong
calendar.switch_view(to="Week View")  # wrong
calendar.switch_view()  # wrong
system_events.keystroke("a", using=["command"])  # wrong
system_events.key_code("a")  # wrong
music.search("playlists[0]", for_="x", only="album names")  # wrong
subject: int = mail.make_message("Hello", content="x")  # wrong
mail.make_message("Hello", "x")  # wrong
standard_additions.delay("1")  # wrong
notes.no_such_command()  # wrong
