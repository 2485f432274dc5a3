"""Commands: positional and named arguments, enumerations, results."""

from datetime import datetime
from typing import assert_type

from iac_tools import calendar, mail, music, notes, standard_additions, system_events

notes.close("documents[0]", saving="no", saving_in="/tmp/x.txt")
notes.quit(saving="ask")
calendar.switch_view(to="week view")
system_events.keystroke("a", using=["command down", "shift down"])
system_events.keystroke("a", using="command down")
music.search("playlists[0]", for_="x", only="albums")
music.play()
assert_type(mail.exists("inbox"), bool)
assert_type(mail.make_message("Hello", content="x"), str)
assert_type(standard_additions.random_number(), float)
assert_type(standard_additions.offset(of="a", in_="banana"), int)
standard_additions.delay(0.5)
calendar.show_day(datetime(2026, 3, 2))
calendar.list_events("calendars[0]", start=datetime(2026, 3, 1), end="2026-04-01")
assert_type(standard_additions.current_date(), datetime)
