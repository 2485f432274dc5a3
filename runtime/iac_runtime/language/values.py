"""Arguments to tagged values, by the type that the dictionary declares.

A type decides how a text is read, not what an app may accept: declared types are often wrong, so
a value is refused here only where it cannot be read at all. In a union of text-like types the
form decides, in this order: absolute or `~` path, date, reference, enumerator, text.
Value forms: JXA release notes 10.10, "Data types"; colours and rectangles: WWDC 2014 session 306.
"""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from iac_runtime.errors import InvalidParameterError, near_text, quoted
from iac_runtime.language.paths import folder_reference, full_path, has_folders, is_path
from iac_runtime.language.references import Reference, camel, loose_name, parse_reference
from iac_runtime.language.steps import (
    Boundary,
    DateValue,
    Every,
    PathValue,
    RecordValue,
    RefValue,
    Value,
)
from iac_runtime.language.syntax import Moment
from iac_runtime.language.typespec import ANY, BUILTIN, REFERENCES, Type, parse_type
from iac_runtime.tables import APPLICATION, Tables, fold
from iac_runtime.tool import Property

__all__ = ["enumerator", "marshal", "read_date", "read_record"]

_FILES: Final = frozenset({"file", "alias"})
MAX_DEPTH: Final = 32


def marshal(
    value: Any,
    kind: str,
    tables: Tables,
    home: str = "",
    *,
    where: str = "value",
    item: bool = False,
    direct: bool = False,
) -> Value:
    """Return `value` as a tagged value of the type `kind` (the grammar of `Param.type`).

    Args:
        home: The user's home folder, for `~`; empty where files cannot be meant.
        where: What to call the value in an error.
        item: A path stands for any item of the file system, not for a folder.
        direct: It is a direct parameter: of type `any` it is more often an object than a text, so
            a text that names an object of the app is taken for it.

    Raises:
        InvalidParameterError: The value cannot be read as that type.
    """
    kinds = parse_type(kind)
    if direct and kinds == ANY and APPLICATION in tables.classes and tables.app.kind != "addition":
        kinds = (Type("specifier"), *kinds)
    return _Marshal(tables, home, item).union(value, kinds, where, 0)


def read_date(text: str, where: str = "date") -> DateValue:
    """Return the moment that an ISO 8601 text names; without a zone it is local time.

    Raises:
        InvalidParameterError: The text is no such date.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.astimezone()
        span = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        raise InvalidParameterError(
            f"{where}: {quoted(text)} is no date.", "Write it like 2026-03-09T14:30 or 2026-03-09."
        ) from None
    return DateValue(round(span.total_seconds() * 1000))


def enumerator(text: str, rows: tuple[tuple[str, str], ...]) -> str | None:
    """Return the dictionary's spelling of an enumerator, found without case or by its code."""
    wanted = fold(text)
    for name, code in rows:
        if text in (name, code) or (wanted and wanted == fold(name)):
            return name
    return None


def read_record(
    value: Mapping[str, Any],
    find: Callable[[str], Property | None],
    tables: Tables,
    home: str,
    depth: int = 0,
) -> RecordValue:
    """Return a record; `find` gives the field of a name, or None to take the name as it is."""
    return _Marshal(tables, home, False).record(value, find, depth)


class _Marshal:
    def __init__(self, tables: Tables, home: str, item: bool) -> None:
        self.tables = tables
        self.home = home
        self.item = item

    def union(self, value: Any, kinds: tuple[Type, ...], where: str, depth: int) -> Value:
        if depth > MAX_DEPTH:
            raise InvalidParameterError(f"{where} is nested deeper than {MAX_DEPTH} levels.")
        if value is None:
            return None
        if isinstance(value, Moment):
            return read_date(value.iso, where)
        lists = [kind for kind in kinds if kind.many]
        if isinstance(value, list | tuple):
            # Dictionaries often say one file or one object where the app takes several.
            inner = tuple(Type(kind.name) for kind in lists or kinds if lists or self.objects(kind))
            if inner:
                return tuple(
                    self.union(part, inner, f"{where}[{n}]", depth + 1)
                    for n, part in enumerate(value)
                )
        single = tuple(kind for kind in kinds if not kind.many)
        if not single:
            return (self.union(value, tuple(Type(k.name) for k in lists), where, depth + 1),)
        if len(single) == 1:
            return self.single(value, single[0].name, where, depth)
        return self.choose(value, [kind.name for kind in single], where, depth)

    def choose(self, value: Any, names: list[str], where: str, depth: int) -> Value:
        """Read a value that may be of several types: by its form, then by the first that fits."""
        if isinstance(value, str):
            names = self.by_form(value, names)
        problem: InvalidParameterError | None = None
        for name in names:
            try:
                return self.single(value, name, where, depth)
            except InvalidParameterError as error:
                problem = problem or error
        assert problem is not None
        raise problem

    def by_form(self, text: str, names: list[str]) -> list[str]:
        """Return the types in the order in which their form fits `text`."""
        plain = "text" in names or "any" in names

        def rank(name: str) -> int:
            if name in _FILES:
                return 0 if is_path(text) else 9
            if name == "date":
                return 1 if text[:4].isdigit() and text[4:5] == "-" else 9
            if self.is_reference(name):
                return 2 if is_path(text) or self.reads(text, strict=plain) else 8
            if name in self.tables.enums:
                return 3 if enumerator(text, self.tables.enums[name]) else 7
            return 4 if name in ("text", "any") else 6

        return sorted(names, key=rank)

    def reads(self, text: str, *, strict: bool) -> bool:
        """Say whether `text` is a reference; where it may be mere text, one to an object."""
        try:
            found = parse_reference(text, self.tables)
        except InvalidParameterError:
            return False
        return not strict or len(found.steps) > 1 or bool(found.steps and found.classes)

    def objects(self, kind: Type) -> bool:
        return kind.name in _FILES or self.is_reference(kind.name)

    def is_reference(self, name: str) -> bool:
        if name in REFERENCES or (name in self.tables.classes and name not in BUILTIN):
            return True
        # Where files are objects, a class of that name is what a command wants.
        return name in _FILES and name in self.tables.classes and has_folders(self.tables)

    def single(self, value: Any, name: str, where: str, depth: int) -> Value:
        tables = self.tables
        if name in tables.enums and name not in BUILTIN:
            return self.enum(value, name, where)
        if self.is_reference(name):
            return self.reference(value, name, where)
        if name in tables.records and name != "record":
            fields = {fold(row.term): row for row in tables.records[name].properties}
            return self.record(self.mapping(value, where), self.field_of(name, fields), depth)
        match name:
            case "text":
                return self.text(value, where)
            case "boolean":
                if not isinstance(value, bool):
                    raise _wrong(value, "true or false", where)
                return value
            case "integer" | "real" | "number":
                return self.number(value, name, where)
            case "date":
                return read_date(self.text(value, where), where)
            case "file" | "alias":
                return PathValue(full_path(self.text(value, where), self.home, where))
            case "type" | "class" | "property":
                return self.term(value, name, where)
            case "record":
                return self.record(self.mapping(value, where), self.any_field, depth)
            case "missing value":
                raise _wrong(value, "null", where)
        return self.anything(value, where, depth)

    def text(self, value: Any, where: str) -> str:
        if not isinstance(value, str):
            raise _wrong(value, "a text", where)
        return value

    def number(self, value: Any, name: str, where: str) -> int | float:
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise _wrong(value, "a number", where)
        if name == "integer" and isinstance(value, float):
            if not value.is_integer():
                raise _wrong(value, "a whole number", where)
            return int(value)
        return value

    def term(self, value: Any, name: str, where: str) -> str:
        text = self.text(value, where)
        if name == "property":
            return loose_name(text, self.tables)
        found = self.tables.find_class(text)
        if found is not None:
            return self.tables.classes[found].jxa
        if name == "class":
            names = list(self.tables.classes)
            raise InvalidParameterError(
                f"{where}: {self.tables.app.name} has no class {quoted(text)}.",
                near_text(text, names),
            )
        return text

    def enum(self, value: Any, name: str, where: str) -> str:
        rows = self.tables.enums[name]
        text = self.text(value, where)
        found = enumerator(text, rows)
        if found is None:
            names = [row[0] for row in rows]
            raise InvalidParameterError(
                f"{where}: {quoted(text)} is no {name}.", near_text(text, names)
            )
        return found

    def reference(self, value: Any, name: str, where: str) -> Value:
        text = self.text(value, where)
        if is_path(text):
            path = full_path(text, self.home, where)
            if has_folders(self.tables):
                return RefValue(folder_reference(path, self.home, self.tables, item=self.item))
            return PathValue(path)
        found = parse_reference(text, self.tables)
        return insertion(found).value if name == "location specifier" else found.value

    def mapping(self, value: Any, where: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise _wrong(value, "an object", where)
        return value

    def field_of(self, record: str, fields: Mapping[str, Property]) -> Callable[[str], Property]:
        def find(name: str) -> Property:
            row = fields.get(fold(name))
            if row is None:
                known = near_text(name, [field.term for field in fields.values()])
                raise InvalidParameterError(f"{quoted(name)} is no field of {record}.", known)
            return row

        return find

    def any_field(self, name: str) -> Property | None:
        wanted = fold(name)
        groups = [row.properties for row in self.tables.classes.values()]
        groups += [row.properties for row in self.tables.records.values()]
        for group in groups:
            for prop in group:
                if wanted == fold(prop.term):
                    # Another class may type the same term otherwise: only the name is sure.
                    return prop._replace(type="any")
        return None

    def record(
        self, value: Mapping[str, Any], find: Callable[[str], Property | None], depth: int
    ) -> RecordValue:
        fields: dict[str, Value] = {}
        for name, part in value.items():
            row = find(name)
            key = row.jxa if row is not None else camel(name)
            if not key or key == "__proto__":
                raise InvalidParameterError(f"{quoted(name)} is no name of a field.")
            kinds = parse_type(row.type) if row is not None else parse_type("any")
            fields[key] = self.union(part, kinds, name, depth + 1)
        return RecordValue(tuple(fields.items()))

    def anything(self, value: Any, where: str, depth: int) -> Value:
        if value is None or isinstance(value, str | bool):
            return value
        if isinstance(value, int | float):
            return self.number(value, "number", where)
        if isinstance(value, list | tuple):
            return tuple(
                self.union(part, parse_type("any"), f"{where}[{n}]", depth + 1)
                for n, part in enumerate(value)
            )
        return self.record(self.mapping(value, where), self.any_field, depth)


def insertion(found: Reference) -> Reference:
    """Return the place to insert at: a bare collection means its end."""
    if found.selectable and isinstance(found.steps[-1], Every):
        return found.then(Boundary("end"), found.classes)
    return found


def _wrong(value: Any, wanted: str, where: str) -> InvalidParameterError:
    return InvalidParameterError(f"{where} wants {wanted}, not {quoted(str(value))}.")
