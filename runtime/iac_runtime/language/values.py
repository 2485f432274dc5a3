"""Arguments to tagged values, by the type that the dictionary declares.

A type decides how a text is read, not what an app may accept: declared types are often wrong, so
a value is refused here only where it cannot be read at all. In a union of text-like types the
form decides, in this order: absolute or `~` path, date, reference, enumerator, text. Where anything
goes, a text is a reference if it picks an object that can be there (`documents[0].pages[3]`), and
the same in quotes is that text.

A colour is red, green and blue from 0 to 1 (AppleScript: 0 to 65535). Bounds are
`{x, y, width, height}` in points from the top left of the main screen (AppleScript: left, top,
right, bottom). Value forms: JXA release notes 10.10, "Data types"; colours and rectangles: WWDC
2014 session 306; for bounds working scripts.
How a reference is read is the caller's to say (`ReadReference`), for it can hold values.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from iac_base.errors import InvalidParameterError, quoted
from iac_runtime.language.references import (
    Last,
    Reference,
    folder_reference,
    full_path,
    has_folders,
    insertion,
    is_path,
)
from iac_runtime.language.steps import (
    ObjectText,
    PathValue,
    RecordValue,
    RefValue,
    Rgb,
    Value,
    read_date,
)
from iac_runtime.language.syntax import Moment
from iac_runtime.language.terms import (
    camel,
    class_named,
    class_term,
    enumerator_term,
    field_named,
    is_text,
    known_class,
    loose_name,
    property_term,
)
from iac_runtime.tool import Property
from iac_runtime.tools.checking import CALL_IT, MAX_EXACT
from iac_runtime.tools.tables import APPLICATION, Tables
from iac_runtime.types import ANY, Alternative, Reading, parse_type, reading_of

ReadReference: TypeAlias = Callable[[str], Reference]

_MAX_DEPTH: Final = 32
_QUOTES: Final = ('"', "'")
_BOUNDS: Final = ("x", "y", "width", "height")


@dataclass(frozen=True, slots=True)
class ValueReader:
    """Reads values for one app.

    Attributes:
        home: The user's home folder, for `~`; empty where files cannot be meant.
        last: What a path stands for where files are objects.
    """

    tables: Tables
    home: str
    read_reference: ReadReference
    last: Last = "folder"

    def value(self, value: Any, kind: str, where: str, *, direct: bool = False) -> Value:
        """Return `value` as a tagged value of the type `kind` (the grammar of `Param.type`).

        Args:
            where: What to call the value in an error.
            direct: It is a direct parameter: of type `any` it is more often an object than a
                text, so a mere name of an object of the app (`inbox`) is taken for it, too.

        Raises:
            InvalidParameterError: The value cannot be read as that type.
        """
        kinds = parse_type(kind)
        if direct and kinds == ANY and self._has_objects():
            kinds = (Alternative("specifier"), *kinds)
        try:
            return self._union(value, kinds, where, 0)
        except InvalidParameterError as error:
            if where not in error.message:
                error.message = f"{where}: {error.message}"
            raise

    def record(
        self, value: Mapping[str, Any], find: Callable[[str], Property | None], depth: int = 0
    ) -> RecordValue:
        """Return a record; `find` gives the field of a name, or None to take it as it is."""
        fields: dict[str, Value] = {}
        for name, part in value.items():
            row = find(name)
            key = property_term(row) if row is not None else camel(name)
            if not key or key == "__proto__":
                raise InvalidParameterError(f"{quoted(name)} is not the name of a field.")
            if key in fields:
                raise InvalidParameterError(f"{quoted(name)} is given twice.")
            kinds = parse_type(row.type) if row is not None else ANY
            fields[key] = self._union(part, kinds, name, depth + 1)
        return RecordValue(tuple(fields.items()))

    def _union(self, value: Any, kinds: Sequence[Alternative], where: str, depth: int) -> Value:
        if depth > _MAX_DEPTH:
            raise InvalidParameterError(f"{where} is nested deeper than {_MAX_DEPTH} levels.")
        if value is None:
            return None
        if isinstance(value, Moment):
            return read_date(value.iso, where)
        if isinstance(value, str) and Alternative("any") in kinds:
            inside = value[1:-1]
            if value[:1] in _QUOTES and value[:1] == value[-1:] and self._picks(inside):
                return inside
        lists = [kind._replace(many=False) for kind in kinds if kind.many]
        single = [kind for kind in kinds if not kind.many]
        if isinstance(value, list | tuple):
            # Dictionaries often say one file or one object where the app takes several.
            inner = lists or [kind for kind in single if self._plural(kind.name)]
            if inner:
                return tuple(
                    self._union(part, inner, f"{where}[{n}]", depth + 1)
                    for n, part in enumerate(value)
                )
        if not single:
            return (self._union(value, lists, where, depth + 1),)
        if len(single) == 1:
            return self._single(value, single[0].name, where, depth)
        return self._choose(value, [kind.name for kind in single], where, depth)

    def _choose(self, value: Any, names: list[str], where: str, depth: int) -> Value:
        """Read a value that may be of several types: by its form, then by the first that fits."""
        if isinstance(value, str):
            names = self._by_form(value, names)
        problem: InvalidParameterError | None = None
        for name in names:
            try:
                return self._single(value, name, where, depth)
            except InvalidParameterError as error:
                problem = problem or error
        assert problem is not None
        raise problem

    def _by_form(self, text: str, names: list[str]) -> list[str]:
        """Return the types in the order in which their form fits `text`."""
        plain = "text" in names or "any" in names

        def rank(name: str) -> int:
            reading = reading_of(name)
            if reading == "file":
                return 0 if is_path(text) else 9
            if reading == "date":
                return 1 if text[:4].isdigit() and text[4:5] == "-" else 9
            if reading == "any":
                return 2 if self._picks(text) else 5
            if self._is_reference(name):
                return 2 if is_path(text) or self._reads(text, strict=plain) else 8
            if name in self.tables.enums:
                return 3 if enumerator_term(text, self.tables.enums[name]) else 7
            return 4 if reading == "text" else 6

        return sorted(names, key=rank)

    def _reads(self, text: str, *, strict: bool) -> bool:
        """Say whether `text` is a reference; where it may be mere text, one to an object."""
        try:
            found = self.read_reference(text)
        except InvalidParameterError:
            return False
        return not strict or len(found.steps) > 1 or bool(found.steps and found.classes)

    def _picks(self, text: str) -> bool:
        """Say whether `text`, which may be any value, is a reference to a part of something."""
        if not ("[" in text or "(" in text) or not self._has_objects():
            return False
        return self._reads(text, strict=True)

    def _has_objects(self) -> bool:
        return APPLICATION in self.tables.classes and self.tables.app.kind != "addition"

    def _plural(self, name: str) -> bool:
        return reading_of(name) in ("any", "file") or self._is_reference(name)

    def _is_reference(self, name: str) -> bool:
        reading = reading_of(name)
        if reading is None:
            return name in self.tables.classes
        # Where files are objects, a class of that name is what a command wants.
        files = reading == "file" and name in self.tables.classes and has_folders(self.tables)
        return files or reading in ("object", "insertion")

    def _single(self, value: Any, name: str, where: str, depth: int) -> Value:
        tables, reading = self.tables, reading_of(name)
        if name.startswith("list of "):
            return self._union(value, parse_type(name), where, depth + 1)
        if isinstance(value, ObjectText) and (
            # Of text with parts it is the text that counts.
            is_text(name, tables) if self._is_reference(name) else reading != "any"
        ):
            raise InvalidParameterError(f"{where} must be a value, not {quoted(value)}.", CALL_IT)
        if name in tables.enums and reading is None:
            return self._enum(value, name, where)
        if isinstance(value, Mapping) and name in tables.classes:
            # What no app holds but takes: find options, preferences.
            return self.record(value, self._field_of(name), depth)
        if self._is_reference(name):
            return self._reference(value, name, where)
        if name in tables.records and reading != "record":
            return self.record(_mapping(value, where), self._field_of(name), depth)
        return _READERS[reading or "any"](self, value, where, depth)

    def _enum(self, value: Any, name: str, where: str) -> str:
        rows = self.tables.enums[name]
        text = _text(value, where)
        found = enumerator_term(text, rows)
        if found is None:
            message = f"{where}: {quoted(text)} is not a {name}."
            raise InvalidParameterError(message, said=text, known=[row[0] for row in rows])
        return found

    def _reference(self, value: Any, name: str, where: str) -> Value:
        text = _text(value, where)
        if is_path(text):
            path = full_path(text, self.home, where)
            if not has_folders(self.tables):
                return PathValue(path)
            last: Last = "file" if name == "file" and self.last == "item" else self.last
            return RefValue(folder_reference(path, self.home, self.tables, last))
        found = self.read_reference(text)
        return insertion(found).value if reading_of(name) == "insertion" else found.value

    def _field_of(self, name: str) -> Callable[[str], Property]:
        """Return what finds a field of a record, or of a class that is used as one."""
        record = self.tables.records.get(name)
        rows = record.properties if record else self.tables.properties(name)

        def find(field: str) -> Property:
            row = field_named(rows, field)
            if row is not None:
                return row
            message = f"{quoted(field)} is not a field of {name}."
            raise InvalidParameterError(message, said=field, known=[row.term for row in rows])

        return find

    def _any_field(self, name: str) -> Property | None:
        groups = [row.properties for row in self.tables.classes.values()]
        groups += [row.properties for row in self.tables.records.values()]
        for group in groups:
            prop = field_named(group, name)
            if prop is not None:
                # Another class may type the same term otherwise: only the name is sure.
                return prop._replace(type="any")
        return None

    def _property(self, value: Any, where: str, _depth: int) -> str:
        return loose_name(_text(value, where), self.tables)

    def _class_name(self, value: Any, where: str, _depth: int) -> str:
        text = _text(value, where)
        found = class_named(text, self.tables)
        return text if found is None else class_term(found, self.tables)

    def _class(self, value: Any, where: str, _depth: int) -> str:
        term = known_class(_text(value, where), self.tables, where)
        return class_term(term, self.tables)

    def _file(self, value: Any, where: str, _depth: int) -> Value:
        return PathValue(full_path(_text(value, where), self.home, where))

    def _color(self, value: Any, where: str, depth: int) -> Value:
        if not isinstance(value, list | tuple):
            return self._anything(value, where, depth)
        if len(value) != 3 or not all(_is_measure(part) and 0 <= part <= 1 for part in value):
            raise InvalidParameterError(
                f"{where}: {quoted(str(value))} is not a colour.",
                "Give red, green and blue from 0 to 1, such as [1, 0.5, 0].",
            )
        return Rgb(value)

    def _record(self, value: Any, where: str, depth: int) -> Value:
        return self.record(_mapping(value, where), self._any_field, depth)

    def _plain(self, value: Any, where: str, depth: int) -> Value:
        return value if isinstance(value, str) else self._anything(value, where, depth)

    def _anything(self, value: Any, where: str, depth: int) -> Value:
        if isinstance(value, ObjectText) or (isinstance(value, str) and self._picks(value)):
            return self._reference(value, "specifier", where)
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, int | float):
            return _number(value, where)
        if isinstance(value, list | tuple):
            return tuple(
                self._union(part, ANY, f"{where}[{n}]", depth + 1) for n, part in enumerate(value)
            )
        return self._record(value, where, depth)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise _wrong(value, "a text", where)
    return value


def _boolean(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(value, "true or false", where)
    return value


def _number(value: Any, where: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(value, "a number", where)
    if isinstance(value, float) and not math.isfinite(value):
        raise _wrong(value, "a number", where)
    if isinstance(value, int) and abs(value) > MAX_EXACT:
        raise InvalidParameterError(
            f"{where}: the number is larger than 2^53, so JavaScript cannot hold it exactly.",
            "Give it as text, if the app accepts text.",
        )
    return +value


def _integer(value: Any, where: str) -> int | float:
    found = _number(value, where)
    if found % 1:
        raise _wrong(value, "a whole number", where)
    return _number(int(found), where)


def _rectangle(value: Any, where: str) -> Value:
    fields = value if isinstance(value, dict) else {}
    if set(fields) != set(_BOUNDS) or not all(_is_measure(part) for part in fields.values()):
        raise InvalidParameterError(
            f"{where}: {quoted(str(value))} is not a rectangle.",
            'Write {"x": 0, "y": 0, "width": 400, "height": 300}.',
        )
    return RecordValue(tuple((key, fields[key]) for key in _BOUNDS))


def _is_measure(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_EXACT


def _missing(value: Any, where: str) -> Value:
    raise _wrong(value, "null", where)


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(value, "an object", where)
    return value


def _wrong(value: Any, wanted: str, where: str) -> InvalidParameterError:
    return InvalidParameterError(f"{where} must be {wanted}, not {quoted(str(value))}.")


_Read: TypeAlias = Callable[[ValueReader, Any, str, int], Value]
"""How a value is read: by whom, the raw value, what to call it in an error, how deep it lies."""


def _alone(read: Callable[[Any, str], Value]) -> _Read:
    """Return the reader of values that need no knowledge of the app."""
    return lambda _reader, value, where, _depth: read(value, where)


_READERS: Final[Mapping[Reading, _Read]] = {
    "any": ValueReader._anything,
    "boolean": _alone(_boolean),
    "class": ValueReader._class,
    "class name": ValueReader._class_name,
    "color": ValueReader._color,
    "date": _alone(lambda value, where: read_date(_text(value, where), where)),
    "file": ValueReader._file,
    "integer": _alone(_integer),
    "missing": _alone(_missing),
    "number": _alone(_number),
    "plain": ValueReader._plain,
    "property": ValueReader._property,
    "record": ValueReader._record,
    "rectangle": _alone(_rectangle),
    "text": _alone(_text),
}
"""Reading -> reader. Objects and places are references, which `_single` sees to."""
