"""The places of an AppleScript: what file or folder a value is, as far as the script spells it.

A place is spelled as a path from the home folder, `~/Documents/x.txt`, with the holes of
`applescript_names`; what a person picks in a dialog lies below PICKED.
"""

import re
from typing import Final

from iac_applescript.analysis.applescript_names import (
    GIVEN,
    HOLE,
    TYPED,
    Possible,
    ScriptNames,
    class_term,
    container,
    is_known,
    join_texts,
    property_term,
)
from iac_applescript.analysis.texts import DATA_FILE
from iac_runtime.language import applescript_tree as tree
from iac_runtime.policy.places import find_protected_place

PICKED: Final = "~/Documents/<picked>/"

_USERS: Final = "Desktop Documents Downloads Movies Music Pictures Public".split()
_ITEMS: Final = "/private/var/folders/items/"
_FOLDERS: Final = {
    **{f"{name.lower()}{more}": f"~/{name}/" for name in _USERS for more in ("", " folder")},
    "home": "~/", "home folder": "~/", "startup disk": "/", "temporary items": _ITEMS,
    "temporary items folder": _ITEMS, "library folder": "~/Library/",
    "applications folder": "/Applications/", "utilities folder": "/Applications/Utilities/",
}  # fmt: skip
_FILES: Final = frozenset(
    "file|alias|folder|disk|item|container|POSIX file|document file|alias file|application file"
    "|disk item".split("|")
)
_PLAIN_FOLDER: Final = re.compile(
    rf"(?:~|/Users/[^/{HOLE}{TYPED}]+)/(?:{'|'.join(_USERS)})(?:/|\Z)|{_ITEMS}"
)
_ELSEWHERE: Final = re.compile(
    r"(?:~|/Users/[^/]+)/Public(?:/|\Z)|/Volumes/(?!Macintosh HD(?:/|\Z))|Mobile Documents"
    r"|CloudStorage|iCloud|/Users/Shared|Dropbox|OneDrive|Google Drive"
)
_USERS_OWN: Final = re.compile(r"(?:~|/Users/[^/]+)/")


def spell_places(node: Possible, names: ScriptNames, depth: int = 0) -> list[str]:
    """Return the paths of what a value may be."""
    places: list[str] = []
    for value in names.possible_values(node, depth):
        places += _spell_place(value, names, depth)
    return [*dict.fromkeys(places)]


def _spell_place(value: Possible, names: ScriptNames, depth: int) -> list[str]:
    word = property_term(value)
    match value:
        case tree.Value(value=str(text)):
            return [_as_posix(text)]
        case tree.CommandCall(term="pathTo", direct=which, parameters=rows):
            domain = next((getattr(v, "term", "") for k, v in rows if k == "from"), "user domain")
            name = which.term if isinstance(which, tree.TermName) else property_term(which)
            path = _FOLDERS.get(name.casefold(), HOLE)
            return [path if domain == "user domain" else path.replace("~", "")]
        case tree.CommandCall(term="chooseFolder"):
            return [PICKED]
        case tree.CommandCall(term="chooseFileName"):
            return [f"{PICKED}{TYPED}.txt"]
        case tree.CommandCall(term="chooseFile"):
            return [f"{PICKED}{TYPED}"]
        case tree.CommandCall(term="openForAccess", direct=file):
            return spell_places(file, names, depth + 1)
        case tree.CommandCall(term="make", parameters=rows) if "at" in dict(rows):
            given = dict(rows)
            record = given.get("with properties")
            fields = dict(record.fields) if isinstance(record, tree.RecordOf) else {}
            called = names.spell_texts(fields["name"]) if "name" in fields else [TYPED]
            return join_texts([_closed(spell_places(given["at"], names, depth + 1)), called])
        case tree.OperatorForm(operator="&", operands=(first, rest)):
            # A colon parts names in a text of the Finder's form.
            before = spell_places(first, names, depth + 1)
            after = [text.replace(":", "/") for text in names.spell_texts(rest, depth + 1)]
            return join_texts([before, after])
        case tree.Member() if word in ("posix path", "url") and value.within is not None:
            return spell_places(value.within, names, depth + 1)
        case tree.Member(within=None) if word in _FOLDERS:
            return [_FOLDERS[word]]
        case tree.ElementForm() if class_term(value) in _FILES and value.form in ("index", "name"):
            within = container(value)
            keys = [one for key in value.keys for one in spell_places(key, names, depth + 1)]
            keys = [HOLE if key.lstrip("-").isdigit() else key for key in keys]
            if within is None or isinstance(within, tree.Application):
                return keys
            return join_texts([_closed(spell_places(within, names, depth + 1)), keys])
        case _:
            return names.spell_texts(value, depth)


def _closed(places: list[str]) -> list[str]:
    return [place if place.endswith("/") else f"{place}/" for place in places]


def _as_posix(text: str) -> str:
    """Return the path that a text spells, if it may be one of the Finder's form."""
    head, colon, rest = text.partition(":")
    if not colon or "/" in head or text.startswith("~"):
        return text
    rest = "/" + rest.replace(":", "/")
    return rest if rest.startswith("/Users/") or not head else f"/Volumes/{head}{rest}"


def _is_hidden(place: str) -> bool:
    return (
        bool(re.search(r"(?:\A|[/:])\.", place))
        or "::" in place
        or bool(find_protected_place(place.replace("~", "/Users/x")))
    )


def is_data_place(node: Possible, names: ScriptNames) -> bool:
    """Say whether a value is a file of the user's folders that nothing runs."""
    places = spell_places(node, names)
    return bool(places) and all(
        _PLAIN_FOLDER.match(place)
        and DATA_FILE.search(place)
        and not _is_hidden(place)
        and not _ELSEWHERE.search(place)
        for place in places
    )


def is_own_folder(node: Possible, names: ScriptNames) -> bool:
    """Say whether a value is a folder where a person keeps documents, or one in it."""
    for value in names.possible_values(node):
        if value is None:
            return False
        called = isinstance(value, tree.CommandCall) and value.term in (
            "pathTo",
            "chooseFolder",
            "make",
        )
        plain = class_term(value) == "folder" or property_term(value) in _FOLDERS
        posix = property_term(value) == "posix path" and is_own_folder(container(value), names)
        if not called and not plain and not posix:
            return False
    places = spell_places(node, names)
    return bool(places) and all(
        _PLAIN_FOLDER.match(place)
        and HOLE not in place
        and not _is_hidden(place)
        and not place.rstrip("/").rpartition("/")[2].count(".")
        for place in places
    )


def describe_place_danger(node: Possible, names: ScriptNames) -> str:
    """Return why putting something in a place of the disk is dangerous; empty where it is not."""
    for place in spell_places(node, names):
        if not is_known(place):
            return "a place that is known only when the script runs"
        if _is_hidden(place):
            return "a place where things run by themselves, or settings lie"
        if _ELSEWHERE.search(place):
            return "a place that leaves this machine or this account"
        known = place.startswith((GIVEN, _ITEMS)) or _USERS_OWN.match(place)
        if not known or place.startswith("~/Library"):
            return "a place that is not the user's own"
    return ""
