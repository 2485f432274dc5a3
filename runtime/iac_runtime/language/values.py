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

from iac_base.errors import InvalidParameterError, quote_text
from iac_runtime.language.references import (
    PathKind,
    Reference,
    folder_reference,
    full_path,
    has_folders,
    insertion_place,
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
from iac_runtime.language.syntax import DateLiteral
from iac_runtime.language.terms import (
    camel_case,
    class_term,
    enumerator_term,
    find_class_term,
    find_field,
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
    last: PathKind = "folder"

    def read_value(self, value: Any, kind: str, where: str, *, direct: bool = False) -> Value:
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
            return self._read_union(value, kinds, where, 0)
        except InvalidParameterError as error:
            if where not in error.message:
                error.message = f"{where}: {error.message}"
            raise

    def read_record(
        self, value: Mapping[str, Any], find: Callable[[str], Property | None], depth: int = 0
    ) -> RecordValue:
        """Return a record; `find` gives the field of a name, or None to take it as it is."""
        fields: dict[str, Value] = {}
        for name, part in value.items():
            row = find(name)
            key = property_term(row) if row is not None else camel_case(name)
            if not key or key == "__proto__":
                raise InvalidParameterError(f"{quote_text(name)} is not the name of a field.")
            if key in fields:
                raise InvalidParameterError(f"{quote_text(name)} is given twice.")
            kinds = parse_type(row.type) if row is not None else ANY
            fields[key] = self._read_union(part, kinds, name, depth + 1)
        return RecordValue(tuple(fields.items()))

    def _read_union(
        self, value: Any, kinds: Sequence[Alternative], where: str, depth: int
    ) -> Value:
        if depth > _MAX_DEPTH:
            raise InvalidParameterError(f"{where} is nested deeper than {_MAX_DEPTH} levels.")
        if value is None:
            return None
        if isinstance(value, DateLiteral):
            return read_date(value.iso, where)
        if isinstance(value, str) and Alternative("any") in kinds:
            inside = value[1:-1]
            if value[:1] in _QUOTES and value[:1] == value[-1:] and self._is_part_reference(inside):
                return inside
        lists = [kind._replace(many=False) for kind in kinds if kind.many]
        single = [kind for kind in kinds if not kind.many]
        if isinstance(value, list | tuple):
            # Dictionaries often say one file or one object where the app takes several.
            inner = lists or [kind for kind in single if self._accepts_list(kind.name)]
            if inner:
                return tuple(
                    self._read_union(part, inner, f"{where}[{n}]", depth + 1)
                    for n, part in enumerate(value)
                )
        if not single:
            return (self._read_union(value, lists, where, depth + 1),)
        if len(single) == 1:
            return self._read_single(value, single[0].name, where, depth)
        return self._read_by_form(value, [kind.name for kind in single], where, depth)

    def _read_by_form(self, value: Any, names: list[str], where: str, depth: int) -> Value:
        """Read a value that may be of several types: by its form, then by the first that fits."""
        if isinstance(value, str):
            names = self._order_by_form(value, names)
        problem: InvalidParameterError | None = None
        for name in names:
            try:
                return self._read_single(value, name, where, depth)
            except InvalidParameterError as error:
                problem = problem or error
        assert problem is not None
        raise problem

    def _order_by_form(self, text: str, names: list[str]) -> list[str]:
        """Return the types in the order in which their form fits `text`."""
        plain = "text" in names or "any" in names

        def form_rank(name: str) -> int:
            reading = reading_of(name)
            if reading == "file":
                return 0 if is_path(text) else 9
            if reading == "date":
                return 1 if text[:4].isdigit() and text[4:5] == "-" else 9
            if reading == "any":
                return 2 if self._is_part_reference(text) else 5
            if self._is_reference(name):
                return 2 if is_path(text) or self._is_readable_reference(text, strict=plain) else 8
            if name in self.tables.enums:
                return 3 if enumerator_term(text, self.tables.enums[name]) else 7
            return 4 if reading == "text" else 6

        return sorted(names, key=form_rank)

    def _is_readable_reference(self, text: str, *, strict: bool) -> bool:
        """Say whether `text` is a reference; where it may be mere text, one to an object."""
        try:
            reference = self.read_reference(text)
        except InvalidParameterError:
            return False
        return not strict or len(reference.steps) > 1 or bool(reference.steps and reference.classes)

    def _is_part_reference(self, text: str) -> bool:
        """Say whether `text`, which may be any value, is a reference to a part of something."""
        if not ("[" in text or "(" in text) or not self._has_objects():
            return False
        return self._is_readable_reference(text, strict=True)

    def _has_objects(self) -> bool:
        return APPLICATION in self.tables.classes and self.tables.app.kind != "addition"

    def _accepts_list(self, name: str) -> bool:
        return reading_of(name) in ("any", "file") or self._is_reference(name)

    def _is_reference(self, name: str) -> bool:
        reading = reading_of(name)
        if reading is None:
            return name in self.tables.classes
        # Where files are objects, a class of that name is what a command wants.
        files = reading == "file" and name in self.tables.classes and has_folders(self.tables)
        return files or reading in ("object", "insertion")

    def _read_single(self, value: Any, name: str, where: str, depth: int) -> Value:
        tables, reading = self.tables, reading_of(name)
        if name.startswith("list of "):
            return self._read_union(value, parse_type(name), where, depth + 1)
        if isinstance(value, ObjectText) and (
            # Of text with parts it is the text that counts.
            is_text(name, tables) if self._is_reference(name) else reading != "any"
        ):
            raise InvalidParameterError(
                f"{where} must be a value, not {quote_text(value)}.", CALL_IT
            )
        if name in tables.enums and reading is None:
            return self._read_enumerator(value, name, where)
        if isinstance(value, Mapping) and name in tables.classes:
            # What no app holds but takes: find options, preferences.
            return self.read_record(value, self._field_finder(name), depth)
        if self._is_reference(name):
            return self._read_specifier(value, name, where)
        if name in tables.records and reading != "record":
            return self.read_record(_require_mapping(value, where), self._field_finder(name), depth)
        return _READERS[reading or "any"](self, value, where, depth)

    def _read_enumerator(self, value: Any, name: str, where: str) -> str:
        rows = self.tables.enums[name]
        text = _require_text(value, where)
        found = enumerator_term(text, rows)
        if found is None:
            message = f"{where}: {quote_text(text)} is not a {name}."
            raise InvalidParameterError(message, said=text, known=[row[0] for row in rows])
        return found

    def _read_specifier(self, value: Any, name: str, where: str) -> Value:
        text = _require_text(value, where)
        if is_path(text):
            path = full_path(text, self.home, where)
            if not has_folders(self.tables):
                return PathValue(path)
            last: PathKind = "file" if name == "file" and self.last == "item" else self.last
            return RefValue(folder_reference(path, self.home, self.tables, last))
        reference = self.read_reference(text)
        return (
            insertion_place(reference).value if reading_of(name) == "insertion" else reference.value
        )

    def _field_finder(self, name: str) -> Callable[[str], Property]:
        """Return what finds a field of a record, or of a class that is used as one."""
        record = self.tables.records.get(name)
        rows = record.properties if record else self.tables.properties(name)

        def find_field_row(field: str) -> Property:
            row = find_field(rows, field)
            if row is not None:
                return row
            message = f"{quote_text(field)} is not a field of {name}."
            raise InvalidParameterError(message, said=field, known=[row.term for row in rows])

        return find_field_row

    def _find_any_field(self, name: str) -> Property | None:
        groups = [row.properties for row in self.tables.classes.values()]
        groups += [row.properties for row in self.tables.records.values()]
        for group in groups:
            prop = find_field(group, name)
            if prop is not None:
                # Another class may type the same term otherwise: only the name is sure.
                return prop._replace(type="any")
        return None

    def _read_property(self, value: Any, where: str, _depth: int) -> str:
        return loose_name(_require_text(value, where), self.tables)

    def _read_class_name(self, value: Any, where: str, _depth: int) -> str:
        text = _require_text(value, where)
        found = find_class_term(text, self.tables)
        return text if found is None else class_term(found, self.tables)

    def _read_class(self, value: Any, where: str, _depth: int) -> str:
        term = known_class(_require_text(value, where), self.tables, where)
        return class_term(term, self.tables)

    def _read_file(self, value: Any, where: str, _depth: int) -> Value:
        return PathValue(full_path(_require_text(value, where), self.home, where))

    def _read_color(self, value: Any, where: str, depth: int) -> Value:
        if not isinstance(value, list | tuple):
            return self._read_anything(value, where, depth)
        if len(value) != 3 or not all(_is_measure(part) and 0 <= part <= 1 for part in value):
            raise InvalidParameterError(
                f"{where}: {quote_text(str(value))} is not a colour.",
                "Give red, green and blue from 0 to 1, such as [1, 0.5, 0].",
            )
        return Rgb(value)

    def _read_any_record(self, value: Any, where: str, depth: int) -> Value:
        return self.read_record(_require_mapping(value, where), self._find_any_field, depth)

    def _read_plain(self, value: Any, where: str, depth: int) -> Value:
        return value if isinstance(value, str) else self._read_anything(value, where, depth)

    def _read_anything(self, value: Any, where: str, depth: int) -> Value:
        if isinstance(value, ObjectText) or (
            isinstance(value, str) and self._is_part_reference(value)
        ):
            return self._read_specifier(value, "specifier", where)
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, int | float):
            return _read_number(value, where)
        if isinstance(value, list | tuple):
            return tuple(
                self._read_union(part, ANY, f"{where}[{n}]", depth + 1)
                for n, part in enumerate(value)
            )
        return self._read_any_record(value, where, depth)


def _require_text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise _wrong_type(value, "a text", where)
    return value


def _read_boolean(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong_type(value, "true or false", where)
    return value


def _read_number(value: Any, where: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong_type(value, "a number", where)
    if isinstance(value, float) and not math.isfinite(value):
        raise _wrong_type(value, "a number", where)
    if isinstance(value, int) and abs(value) > MAX_EXACT:
        raise InvalidParameterError(
            f"{where}: the number is larger than 2^53, so JavaScript cannot hold it exactly.",
            "Give it as text, if the app accepts text.",
        )
    return +value


def _read_integer(value: Any, where: str) -> int | float:
    number = _read_number(value, where)
    if number % 1:
        raise _wrong_type(value, "a whole number", where)
    return _read_number(int(number), where)


def _read_rectangle(value: Any, where: str) -> Value:
    fields = value if isinstance(value, dict) else {}
    if set(fields) != set(_BOUNDS) or not all(_is_measure(part) for part in fields.values()):
        raise InvalidParameterError(
            f"{where}: {quote_text(str(value))} is not a rectangle.",
            'Write {"x": 0, "y": 0, "width": 400, "height": 300}.',
        )
    return RecordValue(tuple((key, fields[key]) for key in _BOUNDS))


def _is_measure(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_EXACT


def _reject_value(value: Any, where: str) -> Value:
    raise _wrong_type(value, "null", where)


def _require_mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong_type(value, "an object", where)
    return value


def _wrong_type(value: Any, wanted: str, where: str) -> InvalidParameterError:
    return InvalidParameterError(f"{where} must be {wanted}, not {quote_text(str(value))}.")


_Read: TypeAlias = Callable[[ValueReader, Any, str, int], Value]
"""How a value is read: by whom, the raw value, what to call it in an error, how deep it lies."""


def _without_app(read: Callable[[Any, str], Value]) -> _Read:
    """Return the reader of values that need no knowledge of the app."""
    return lambda _reader, value, where, _depth: read(value, where)


_READERS: Final[Mapping[Reading, _Read]] = {
    "any": ValueReader._read_anything,
    "boolean": _without_app(_read_boolean),
    "class": ValueReader._read_class,
    "class name": ValueReader._read_class_name,
    "color": ValueReader._read_color,
    "date": _without_app(lambda value, where: read_date(_require_text(value, where), where)),
    "file": ValueReader._read_file,
    "integer": _without_app(_read_integer),
    "missing": _without_app(_reject_value),
    "number": _without_app(_read_number),
    "plain": ValueReader._read_plain,
    "property": ValueReader._read_property,
    "record": ValueReader._read_any_record,
    "rectangle": _without_app(_read_rectangle),
    "text": _without_app(_require_text),
}
"""Reading -> reader. Objects and places are references, which `_single` sees to."""
