"""Words that people use for one another when they ask for a script again, beside the lexicon of
the search for tools.

A group holds words that stand for each other; how well is one figure, `FIT`.
"""

from functools import lru_cache
from typing import Final

from iac_runtime.search.request import stem

__all__ = ["FIT", "others"]

FIT: Final = 0.7

_GROUPS: Final = """\
repeated duplicate double same | compose write draft | email mail message | boss sender
bigger smaller larger resize size | room place location where | past late overdue expired
appearance theme mode look | open running | program application app | remove delete close
add append insert put extend | line row | value cell sum total number | spreadsheet numbers table
playing current | song track title | site website page web url address link | link url
names titles list | count how number | show display reveal | read get | fetch get
switch toggle turn change | wallpaper desktop picture background | loud aloud speak say voice
todo task reminder | meeting appointment event | agenda calendar schedule | due deadline
folder directory mailbox | file document | picture image photo | send post | search find contain
copy duplicate clone | lock sleep | empty clear | quieter louder volume sound | rename name
tomorrow today date | alert alarm notify notification | invite attendee guest | start begin launch
front frontmost active | save export store download | text content body | front current active
convert transform | merge combine join | split divide | window screen | battery power
wifi network internet | screenshot capture | contact person people address | phone number
zip compress archive | headline heading title | unsubscribe stop cancel | artist singer sings band
postpone snooze delay push shift reschedule move | chart graph plot diagram draw | artwork cover
"""


@lru_cache(maxsize=1)
def _table() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for line in _GROUPS.splitlines():
        for group in line.split(" | "):
            words = {stem(word) for word in group.split()}
            for word in words:
                table.setdefault(word, set()).update(words - {word})
    return {word: frozenset(found) for word, found in table.items()}


def others(word: str) -> frozenset[str]:
    """Return the stems that may stand for a stem."""
    return _table().get(word, frozenset())
