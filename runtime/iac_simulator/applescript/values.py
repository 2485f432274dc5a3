"""AppleScript's values: what they are, how they are coerced, compared and written.

Numbers, texts, lists and booleans are Python's, None is missing value. Sources: AppleScript
Language Guide, "Class ObjectReference" (coercions), "Working with Errors" (numbers).
"""

import calendar
import copy
import math
import operator
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, NamedTuple

from iac_runtime.language.applescript_expressions import LARGEST

MONTHS: Final = tuple(calendar.month_name)


class AppleScriptError(Exception):
    """An error of a script, with its number; `start` is where it arose, once that is known."""

    def __init__(self, number: int, message: str) -> None:
        super().__init__(message)
        self.number, self.message = number, message
        self.start: int | None = None
        self.partial: Any = None
        self.source: Any = None


class UnsupportedError(Exception):
    """A construct that the simulator does not run."""


class Constant(NamedTuple):
    """An enumerator, or a constant of the language."""

    term: str


class ClassName(NamedTuple):
    """A class as a value."""

    term: str


class Path(NamedTuple):
    """A file by its POSIX path; `kind` is `alias` or `file`."""

    path: str
    kind: str = "file"


class AppValue(NamedTuple):
    """An application."""

    key: str
    name: str


class ObjectReference(NamedTuple):
    """A reference to objects of an app: its chain as requests have it."""

    app: AppValue
    chain: tuple[tuple[str, Any], ...]


class ValueReference(NamedTuple):
    """A reference to a place in the script's own values; `source` gives it as a script says it."""

    read: Callable[[], Any]
    write: Callable[[Any], None]
    source: Callable[[], str]


class Measure(NamedTuple):
    """A number of a unit."""

    amount: float
    unit: str


@dataclass
class Date:
    """A date; `set day of it to …` changes it."""

    moment: datetime


@dataclass
class ScriptRecord:
    """A record: the values by their labels, in lower case."""

    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class ScriptObject:
    """A script object: its properties, its handlers, its parent: the script it is in if not said.

    `body` is what `run` carries out where there is no handler of that name.
    """

    name: str
    values: dict[str, Any]
    handlers: Mapping[str, Any]
    parent: "ScriptObject | None" = None
    globals: dict[str, Any] = field(default_factory=dict)
    declared: set[str] = field(default_factory=set)
    body: Sequence[Any] = ()

    def __deepcopy__(self, memo: dict[int, Any]) -> "ScriptObject":
        return replace(self, values=copy.deepcopy(self.values, memo))


_CLASS_NAMES: Final = {
    bool: "boolean", int: "integer", float: "real", str: "text", list: "list",
    ScriptRecord: "record",
    Date: "date", Constant: "constant", ClassName: "class", AppValue: "application",
    ScriptObject: "script", type(None): "class",
}  # fmt: skip


def class_name(value: Any) -> str:
    """Return the class of a value, as `class of` says it."""
    match value:
        case Path(_, name) | Measure(_, name):
            return name
    return _CLASS_NAMES.get(type(value), "reference")


def plain(value: Any) -> Any:
    """Return a value, what a reference to the script's own values leads to for itself."""
    while isinstance(value, ValueReference):
        value = value.read()
    return value


def item_reference(items: list[Any], place: int) -> ValueReference:
    """Return a reference to an item of a list."""

    def read() -> Any:
        if place >= len(items):
            raise AppleScriptError(-1728, f"Can’t get item {place + 1} of {source_text(items)}.")
        return items[place]

    return ValueReference(
        read,
        partial(operator.setitem, items, place),
        lambda: f"item {place + 1} of {source_text(items)}",
    )


def number_text(value: float) -> str:
    """Return a number as text: reals from 10,000 on and below a thousandth by powers of ten.

    Twelve places are written, the last one rounded.
    """
    if isinstance(value, int):
        return str(value)
    if value and math.isfinite(value) and not 0.001 <= abs(value) < 10_000:
        digits, power = f"{value:.12e}".split("e")
        digits = digits.rstrip("0")
        digits += "0" if digits.endswith(".") else ""
        return f"{digits}E{int(power):+d}"
    text = f"{value:.12f}".rstrip("0")
    return text + "0" if text.endswith(".") else text


def date_text(moment: datetime) -> str:
    """Return a date as the English locale writes it."""
    return f"{day_text(moment)} at {time_text(moment)}"


def day_text(moment: datetime) -> str:
    """Return the day of a date as text."""
    return f"{moment:%A, %B} {moment.day}, {moment.year}"


def time_text(moment: datetime) -> str:
    """Return the time of a date as text."""
    return f"{moment.hour % 12 or 12}:{moment:%M:%S %p}"


def hfs_path(path: str) -> str:
    """Return a POSIX path with colons, as `as text` of a file gives it."""
    return "Macintosh HD" + path.replace("/", ":")


def posix_path(text: str) -> str:
    """Return the POSIX path of a path with colons; one with slashes stays."""
    if ":" not in text:
        return text
    volume, _, rest = text.partition(":")
    rest = rest.replace(":", "/")
    return f"/{rest}" if volume == "Macintosh HD" else f"/Volumes/{volume}/{rest}"


def cannot_make(value: Any, kind: str) -> AppleScriptError:
    """Return the error of a coercion that fails."""
    return AppleScriptError(-1700, f"Can’t make {source_text(value)} into type {kind}.")


def as_text(value: Any, delimiter: str = "") -> str:
    """Return a value as text.

    Raises:
        AppleScriptError: -1700: it has no text.
    """
    match value:
        case str():
            return value
        case None:
            return "missing value"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return number_text(value)
        case list():
            return delimiter.join(as_text(item, delimiter) for item in value)
        case Date(moment):
            return date_text(moment)
        case Constant(term) | ClassName(term):
            return term
        case Path(path):
            return hfs_path(path)
        case Measure(amount):
            return number_text(amount)
        case ValueReference():
            return as_text(plain(value), delimiter)
    raise cannot_make(value, "text")


def parse_number(text: str) -> float | None:
    """Return the number that a text is; None for another text."""
    plain = text.strip()
    if re.fullmatch(r"[+-]?\d+", plain):
        return as_number(int(plain))
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", plain):
        return float(plain)
    return None


def as_number(value: Any) -> float:
    """Return a value as a number; integers out of range become real.

    Raises:
        AppleScriptError: -1700: it is none.
    """
    value = plain(value)
    if isinstance(value, list) and len(value) == 1:
        return as_number(value[0])
    if isinstance(value, Measure):
        return value.amount
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value if abs(value) <= LARGEST else float(value)
    if isinstance(value, float):
        return value
    if isinstance(value, Constant) and value.term in MONTHS:
        return MONTHS.index(value.term)
    number = parse_number(value) if isinstance(value, str) else None
    if number is None:
        raise cannot_make(value, "number")
    return number


def as_integer(value: Any) -> int:
    """Return a value as an integer: halves go to the even neighbour.

    Raises:
        AppleScriptError: -1700: it is no number.
    """
    try:
        return round(as_number(value))
    except (AppleScriptError, OverflowError, ValueError):
        raise cannot_make(value, "integer") from None


def as_boolean(value: Any) -> bool:
    """Return a value as a boolean.

    Raises:
        AppleScriptError: -1700: it is none.
    """
    value = plain(value)
    if isinstance(value, bool):
        return value
    text = value.casefold() if isinstance(value, str) else value
    if text in ("true", "false"):
        return bool(text == "true")
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise cannot_make(value, "boolean")


def as_list(value: Any) -> list[Any]:
    """Return a value as a list; one that is no list is its only item."""
    value = plain(value)
    if isinstance(value, ScriptRecord):
        return list(value.fields.values())
    return list(value) if isinstance(value, list) else [value]


def coerce(value: Any, kind: str, delimiter: str) -> Any:
    """Return a value as a class.

    Raises:
        AppleScriptError: -1700: it cannot be.
    """
    if kind in UNITS:
        return convert_measure(value, kind)
    match kind.casefold():
        case "text" | "string" | "unicode text":
            return as_text(value, delimiter)
        case "integer":
            return as_integer(value)
        case "real":
            return float(as_number(value))
        case "number":
            return as_number(value)
        case "boolean":
            return as_boolean(value)
        case "list":
            return as_list(value)
        case "alias" | "file" | "posix file":
            path = value.path if isinstance(value, Path) else posix_path(as_text(value))
            return Path(path, "alias" if kind == "alias" else "file")
        case "isot" if isinstance(value, Date):
            return f"{value.moment:%Y-%m-%dT%H:%M:%S}"
        case "anything":
            return value
        case same if same == class_name(value).casefold():
            return value
    if isinstance(value, list) and len(value) == 1:
        return coerce(value[0], kind, delimiter)
    raise cannot_make(value, kind)


def _units(size: str, rows: str) -> dict[str, tuple[str, float, float]]:
    """Return units by name: what they measure, how many of the first one they are, from where."""
    units = {}
    for row in rows.split("|"):
        name, _, numbers = row.partition("=")
        factor, _, shift = numbers.partition("+")
        units[name] = size, float(factor), float(shift or 0)
    return units


UNITS: Final[Mapping[str, tuple[str, float, float]]] = {
    **_units(
        "length",
        "meters=1|metres=1|centimeters=.01|centimetres=.01|kilometers=1000|kilometres=1000"
        "|feet=.3048|inches=.0254|miles=1609.344|yards=.9144",
    ),
    **_units(
        "area",
        "square meters=1|square metres=1|square kilometers=1e6|square kilometres=1e6"
        "|square feet=.09290304|square miles=2589988.110336|square yards=.83612736",
    ),
    **_units(
        "volume",
        "cubic meters=1|cubic metres=1|cubic centimeters=1e-6|cubic centimetres=1e-6"
        "|cubic feet=.028316846592|cubic inches=1.6387064e-5|cubic yards=.764554857984"
        "|liters=.001|litres=.001|gallons=.003785411784|quarts=.000946352946",
    ),
    **_units("weight", "grams=1|kilograms=1000|ounces=28.349523125|pounds=453.59237"),
    **_units(
        "temperature",
        "degrees Celsius=1+273.15|degrees Fahrenheit=.5555555555555556+459.67|degrees Kelvin=1",
    ),
}


def convert_measure(value: Any, unit: str) -> Measure:
    """Return a number, or a measure of the same kind, in a unit.

    Raises:
        AppleScriptError: -1700: it measures something else.
    """
    if not isinstance(value, Measure):
        return Measure(float(as_number(value)), unit)
    (size, factor, shift), (other, by, back) = UNITS[value.unit], UNITS[unit]
    if size != other:
        raise cannot_make(value, unit)
    return Measure((value.amount + shift) * factor / by - back, unit)


def fold_text(text: str, words: frozenset[str]) -> str:
    """Return a text as it is compared, by what is ignored."""
    if "case" in words:
        text = text.casefold()
    if "diacriticals" in words:
        split = unicodedata.normalize("NFD", text)
        text = "".join(char for char in split if not unicodedata.combining(char))
    if "white" in words:
        text = re.sub(r"\s", "", text)
    if "punctuation" in words:
        text = re.sub(r"[^\w\s]", "", text)
    if "hyphens" in words:
        text = re.sub("[-‐‑–—]", "", text)
    if "numeric" not in words:
        text = re.sub(r"\d+", lambda number: number[0].zfill(20), text)
    return text


def is_equal(left: Any, right: Any, ignored: frozenset[str]) -> bool:
    """Say whether two values are equal; those of different classes are not."""
    left, right = (v.term if isinstance(v, Constant | ClassName) else v for v in (left, right))
    if isinstance(left, str) and isinstance(right, str):
        return fold_text(left, ignored) == fold_text(right, ignored)
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    if isinstance(left, list) and isinstance(right, list):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(is_equal(a, b, ignored) for a, b in pairs)
    if isinstance(left, ScriptRecord) and isinstance(right, ScriptRecord):
        same = left.fields.keys() == right.fields.keys()
        fields = right.fields
        return same and all(is_equal(v, fields[k], ignored) for k, v in left.fields.items())
    return bool(left == right)


def compare_order(left: Any, right: Any, ignored: frozenset[str]) -> int:
    """Return the sign of what is between two values; the right one becomes what the left one is.

    Raises:
        AppleScriptError: -1700: they cannot be compared.
    """
    one: Any
    other: Any
    if isinstance(left, Date) and isinstance(right, Date):
        one, other = left.moment, right.moment
    elif isinstance(left, str):
        one, other = fold_text(left, ignored), fold_text(as_text(right), ignored)
    elif isinstance(left, Measure) and isinstance(right, Measure):
        one, other = left.amount, convert_measure(right, left.unit).amount
    else:
        one, other = as_number(left), as_number(right)
    return int(one > other) - int(one < other)


def quote_text(text: str) -> str:
    """Return a text as a script writes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def source_text(value: Any) -> str:
    """Return a value as a script writes it."""
    match value:
        case str():
            return quote_text(value)
        case list():
            return "{" + ", ".join(map(source_text, value)) + "}"
        case ScriptRecord(fields):
            return "{" + ", ".join(f"{k}:{source_text(v)}" for k, v in fields.items()) + "}"
        case Date(moment):
            return f'date "{date_text(moment)}"'
        case Path(path, kind):
            return f"{kind} {quote_text(hfs_path(path))}"
        case AppValue(_, name):
            return f"application {quote_text(name)}"
        case ObjectReference():
            return reference_text(value)
        case ScriptObject(name):
            return f"«script {name}»" if name else "«script»"
        case ValueReference():
            return value.source()
        case Measure(amount, unit):
            return f"{unit} {number_text(amount)}"
    return as_text(value)


def human_text(value: Any) -> str:
    """Return a value as osascript prints it for people."""
    if isinstance(value, list):
        return ", ".join(map(human_text, value))
    if isinstance(value, ScriptRecord):
        return ", ".join(f"{key}:{human_text(item)}" for key, item in value.fields.items())
    return value if isinstance(value, str) else source_text(value)


def reference_text(reference: ObjectReference) -> str:
    """Return a reference as a script writes it, by the names that its chain has."""
    text = f"application {quote_text(reference.app.name)}" if reference.app.name else ""
    chain: Sequence[tuple[str, Any]] = reference.chain
    for place, (kind, value) in enumerate(chain):
        following = chain[place + 1][0] if place + 1 < len(chain) else ""
        if kind == "p":
            words = re.sub(r"(?<=[a-z])([A-Z])", lambda m: f" {m[1].lower()}", str(value))
            if following in ("i", "n", "id"):
                name = words.removesuffix("s")
                key = chain[place + 1][1]
                key = key + 1 if following == "i" and key >= 0 else key
                name += f" id {source_text(key)}" if following == "id" else f" {source_text(key)}"
            else:
                plural = following in ("w", "r", "l") or (words.endswith("s") and not following)
                name = f"every {words.removesuffix('s')}" if plural else words
            text = f"{name} of {text}" if text else name
    return text


def _real_quotient(a: float, b: float) -> float:
    return float(a) / b


OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _real_quotient,
    "div": lambda a, b: int(a / b),
    "mod": lambda a, b: a - b * int(a / b),
    "^": lambda a, b: float(a) ** b,
}
COMPARISONS: Final[Mapping[str, Callable[[Any, Any, frozenset[str]], bool]]] = {
    "=": is_equal,
    "≠": lambda a, b, ignored: not is_equal(a, b, ignored),
    "<": lambda a, b, ignored: compare_order(a, b, ignored) < 0,
    ">": lambda a, b, ignored: compare_order(a, b, ignored) > 0,
    "≤": lambda a, b, ignored: compare_order(a, b, ignored) <= 0,
    "≥": lambda a, b, ignored: compare_order(a, b, ignored) >= 0,
}
