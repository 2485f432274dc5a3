"""What a request names outright, its slots, and an example call that has them filled in.

A day, an address, a name in quotes or behind `called`: where a tool takes such a value, the example
of its page holds it, so that the call that follows is the example as it stands. A slot that is not
sure is left empty.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from iac_runtime.language.references import has_folders
from iac_runtime.tool import Param
from iac_runtime.tools.tables import Tables, shortest_reference
from iac_runtime.types import TYPES

_QUOTED: Final = re.compile(r'"([^"]+)"|“([^”]+)”|„([^“”]+)[“”]|«([^»]+)»|「([^」]+)」')
_END: Final = (
    r"(?=$|[,;!?]|\.(?=\s|$)|\s+(?:and|but|in|into|on|to|from|with|for|at|under|that|saying|which|by"
    r"|today|tomorrow|yesterday|this|last|next|please)\b)"
)
_NAMED: Final = re.compile(
    rf"\b(?:called|named|titled|entitled|run the command|rename\b.+? to)\s+(.+?){_END}",
    re.IGNORECASE,
)
_TASK: Final = re.compile(
    r"\b[Rr]emind(?:er)?(?: me)? to (.+?)"
    r"(?=$|[,;!?]|\.(?=\s|$)|\s+(?:(?:on|by) )?(?:today|tomorrow|next|[A-Z]\w+day)\b|\s+at \d"
    r"|\s+in(?:to)? (?:my |the )?[A-Z])"
)
_PLACE: Final = re.compile(
    r"\b(?:in|into|to)\s+(?:my\s+|the\s+)?((?:[A-Z][\w&'-]*(?:\s(?=[A-Z]))?)+)(?!\w|\.\w)"
)
_CELL: Final = re.compile(r"\b[A-Z]{1,2}[1-9]\d{0,4}\b")
_FILE: Final = re.compile(
    r"(?<![\w/@.])[A-Z]?[\w-]+\.(?:pdf|txt|rtf|docx?|xlsx?|pages|numbers|png|jpe?g|zip)\b"
)
_FOLDER: Final = re.compile(
    r"\b(?:(to|into)\s+)?(?:(?:my|the)\s+)?(desktop|downloads|documents|pictures|movies)\b",
    re.IGNORECASE,
)
_ABOUT: Final = re.compile(
    r"\b(?:about|regarding|containing|mention(?:s|ing)?|with the words?)"
    rf"\s+(?:the\s+|my\s+)?(.+?){_END}",
    re.IGNORECASE,
)
_PERSON: Final = re.compile(r"\b(?:from|by|of|with|for)\s+((?:[A-Z]\w*[.'’]?\w*\s?)+)")
_THAT: Final = re.compile(r"\b(?:saying|down that|note that|says?)\s+(?:that\s+)?(.+)$")
_URL: Final = re.compile(
    r"https?://\S+[\w/]|\b(?:[\w-]+\.)+(?:com|org|net|io|de|edu|gov)\b(?:/\S*)?"
)
_ADDRESS: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.\w+)+")
_NUMBER: Final = re.compile(r"(?<![\w.:/-])\d{1,4}(?![\w:/-]|\.\d)")
_NUMBERS: Final[tuple[str, ...]] = (
    *("-", "-", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_SPELLED: Final = re.compile(rf"\b({'|'.join(_NUMBERS[2:])})\b", re.IGNORECASE)
_TIME: Final = re.compile(
    r"\b(\d{1,2})(?::(\d\d))?\s*([ap])\.?m\b|\bat (\d{1,2})(?::(\d\d))?\b|\b(\d{1,2}):(\d\d)\b",
    re.IGNORECASE,
)
_DAY: Final = re.compile(
    # Next and last Friday mean two days each.
    r"(?<!next )(?<!last )\b"
    r"(today|tomorrow|yesterday|(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d{4}-\d\d-\d\d)\b",
    re.IGNORECASE,
)

_PERSONS: Final = frozenset({"sender", "artist", "composer", "author", "person", "recipient"})
WORDINGS: Final = frozenset({"body", "content", "text", "contents"})
"""Properties and parameters with what something says, which no list shows and everybody sets."""

_OPTIONAL: Final = frozenset({"limit", *WORDINGS})
"""Parameters that an example has where a request names them."""

_HOLDERS: Final = re.compile(
    r"\b(?:accounts|calendars|folders|groups|lists|mailboxes|playlists|sheets|tables)\[0\]$"
)
"""References to what holds other objects: a request names it behind `in` or `to`."""


class Slots(NamedTuple):
    """What a request names; empty where it does not."""

    day: str = ""
    name: str = ""
    about: str = ""
    person: str = ""
    wording: str = ""
    url: str = ""
    address: str = ""
    number: int | None = None
    place: str = ""
    cell: str = ""
    source: str = ""
    folder: str = ""


def read_slots(request: str) -> Slots:
    """Return what a request names outright."""
    quoted = _QUOTED.search(request)
    name = next((part for part in quoted.groups() if part), "") if quoted else ""
    folders = [(bool(to), f"~/{word.capitalize()}") for to, word in _FOLDER.findall(request)]
    origin = next((path for to, path in folders if not to), "")
    file = _first(_FILE, request)
    place = _first(_PLACE, request)
    day, time = _DAY.search(request), _read_time(request)
    digits = _SPELLED.sub(lambda one: str(_NUMBERS.index(one[1].lower())), request)
    numbers = [int(one) for one in _NUMBER.findall(_TIME.sub(" ", digits))]
    address = _first(_ADDRESS, request)
    return Slots(
        day=f"{day[1].lower()} {time}".strip() if day else "",
        name=name or _first(_NAMED, request) or _first(_TASK, request),
        about=_first(_ABOUT, request),
        person="" if day and _first(_PERSON, request).lower() == day[1].lower()
        else _first(_PERSON, request),
        wording=_first(_THAT, request).strip("\"“”„«»「」"),
        url=_first(_URL, request.replace(address, "")) if address else _first(_URL, request),
        address=address,
        number=numbers[0] if len(numbers) == 1 else None,
        place="" if _DAY.fullmatch(place) else place,
        cell=_first(_CELL, request),
        source=f"{origin}/{file}" if origin and file else "",
        folder=next((path for to, path in folders if to), origin),
    )  # fmt: skip


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return (found[found.lastindex or 0]).strip() if found else ""


def _read_time(text: str) -> str:
    found = _TIME.search(text)
    if found is None:
        return "12:00" if re.search(r"\bnoon\b", text) else ""
    hour, minute, half, *others = found.groups()
    if hour is None:
        hour, minute = (others[0], others[1]) if others[0] else (others[2], others[3])
    number = int(hour) % 12 + 12 * (half.lower() == "p") if half else int(hour)
    return f"{number:02}:{minute or '00'}" if number < 24 else ""


def fill_example(
    example: Mapping[str, Any], params: Mapping[str, Param], slots: Slots, tables: Tables
) -> dict[str, Any]:
    """Return the example of a call with the slots of a request where the tool takes them."""
    filled = {**example}
    held = {
        key: str(example.get(key) or shortest_reference(tables, param.type))
        for key, param in params.items()
        if key in example or (slots.place and param.type in tables.classes)
    }
    # A name is spent once: on what is called so, then on the wording, then on what holds.
    for key in sorted(params, key=lambda key: _spending_order(key, held.get(key, ""))):
        told: Any = _value_for(key, params[key].type, slots, held.get(key, ""), tables)
        if told and (key in held or key in _OPTIONAL) and told not in filled.values():
            filled[key] = told
            if told in (slots.name, _named_reference(held.get(key, ""), slots.name, tables)):
                slots = slots._replace(name="")
    properties = filled.get("properties")
    if isinstance(properties, Mapping):
        told = {key: _property_for(key, slots) or value for key, value in properties.items()}
        filled["properties"] = told
    return filled


def _value_for(key: str, kind: str, slots: Slots, example: str, tables: Tables) -> Any:
    if kind == "date" and key == "day":
        return slots.day.partition(" ")[0]
    if kind == "date":
        return _end_of(slots.day) if key in ("end", "until") else slots.day
    if kind == "integer" and key in TYPES["integer"].examples:
        return slots.number
    if kind == "text":
        return _text_for(key, slots) or (key in WORDINGS and example and slots.name)
    if kind == "any" and not example.endswith("]"):
        return slots.wording or slots.name
    if kind not in tables.classes and "specifier" not in kind:
        return None
    if has_folders(tables) and example[:5] in ("items", "files", "folde", "~/Doc"):
        return slots.folder if kind == "folder" or key in ("to", "at", "of") else slots.source
    holds = _HOLDERS.search(example)
    if holds and slots.place not in ("", tables.app.name):
        return _named_reference(example, slots.place, tables)
    if example.endswith("cells[0]") and slots.cell:
        return _named_reference(example, slots.cell, tables)
    named = slots.name and example.endswith("[0]") and not (holds and key in ("at", "of"))
    return _named_reference(example, slots.name, tables) if named else None


def _named_reference(example: str, name: str, tables: Tables) -> str:
    """Return a reference by name, or by what a class has in its place, such as a subject."""
    text = json.dumps(name, ensure_ascii=False)
    term = tables.find_class(re.split(r"\W", example[:-3])[-1])
    terms = [prop.term for prop in tables.properties(term)] if term else ["name"]
    titles = [title for title in ("summary", "subject", "title") if title in terms]
    if "name" in terms or not titles:
        return f"{example[:-3]}[{text}]"
    return f"{example[:-3]}.whose({{{titles[0]}: {text}}})[0]"


def _spending_order(key: str, example: str) -> int:
    return 2 if _HOLDERS.search(example) else int(key in WORDINGS)


def _end_of(day: str) -> str:
    """Return an hour after a moment, or the end of its day."""
    word, _, time = day.partition(" ")
    hour = int(time[:2]) + 1 if time else 24
    return word and (f"{word} {hour:02}{time[2:]}" if hour < 24 else f"{word} 23:59")


def _property_for(term: str, slots: Slots) -> str:
    if term.endswith("date"):
        return slots.day
    return _text_for(term, slots) if term in ("name", "subject", "summary", *WORDINGS) else ""


def _text_for(key: str, slots: Slots) -> str:
    if key in ("address", "url"):
        return slots.address if key == "address" else slots.url
    if key in _PERSONS:
        return slots.person
    if key == "target":
        return slots.wording or slots.name
    if key in WORDINGS:
        return slots.wording or slots.about
    return slots.name or slots.about
