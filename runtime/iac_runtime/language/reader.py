"""Reading what a caller writes: references, filters (`where` and `whose` are one language), values.

`{"read status": false}`, `{"subject": {"contains": "x"}}`, `{"or": [{…}, {…}]}`; several keys mean
and. A key is a property, or a way to one (`container.name`). JXA's spellings (`_contains`, `_and`,
`_match`) are taken too. JXA has no `_notEquals`, so `!=` becomes `_not`; its `_and` and `_or` want
two tests, so one alone stands for itself (JXA release notes 10.10, "Filtering arrays").

A filter stands in a reference, a value in a filter, a reference in a value: here they meet.

What an app answered becomes plain values in the words of its dictionary.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, lru_cache
from pathlib import PurePosixPath
from typing import Any, Final

from iac_base import text as cleaning
from iac_base.errors import InvalidParameterError, quote_text
from iac_base.words import fold_name
from iac_runtime.language.references import (
    PathKind,
    Reference,
    application_reference,
    folder_reference,
    full_path,
    has_folders,
    is_path,
    resolve_parts,
    resolve_steps,
)
from iac_runtime.language.steps import (
    Boundary,
    ById,
    ByIndex,
    ByName,
    Compare,
    Filter,
    Join,
    Operator,
    PropertyStep,
    RecordValue,
    Step,
    Value,
    Whose,
)
from iac_runtime.language.syntax import (
    MAX_DEPTH,
    ItemPath,
    NamePart,
    Part,
    read_syntax,
)
from iac_runtime.language.terms import find_properties, known_properties
from iac_runtime.language.text import format_reference
from iac_runtime.language.values import ValueReader
from iac_runtime.tool import Property
from iac_runtime.tools.tables import APPLICATION, Tables

_OPERATOR_SPELLINGS: Final[Mapping[Operator, str]] = {
    "=": "= == === equals equal equalto is eq on",
    ">": "> greaterthan gt morethan above after",
    ">=": ">= => ≥ greaterthanequals greaterthanorequal greaterthanorequalto gte ge atleast min"
    " since from onorafter",
    "<": "< lessthan lt below under before",
    "<=": "<= =< ≤ lessthanequals lessthanorequal lessthanorequalto lte le atmost max until"
    " onorbefore",
    "_contains": "contains contain includes icontains has",
    "_beginsWith": "beginswith startswith beginwith startwith",
    "_endsWith": "endswith endwith",
}
_OPERATORS: Final[Mapping[str, Operator]] = {
    word: operator for operator, words in _OPERATOR_SPELLINGS.items() for word in words.split()
}
_UNEQUAL: Final = "!= <> ≠ !== ne neq notequals notequal isnot isnotequalto doesnotequal".split()
_NOT: Final = ("doesnot", "isnot", "not", "n")
_IN: Final = ("in", "isin", "oneof", "anyof")
_KNOWN: Final = (
    *("=", "!=", ">", ">=", "<", "<=", "contains", "begins with", "ends with", "in"),
    *("not contains", "not in"),
)
_JOINS: Final = ("and", "or", "not")

_MAX_NESTING: Final = 4
"""References inside the filters of references."""


@dataclass(frozen=True, slots=True)
class AppReader:
    """Reads for one app.

    Attributes:
        home: The user's home folder, for `~`; empty where files cannot be meant.
        strict: Names must be declared; an app's own answer may name what its dictionary lacks.
    """

    tables: Tables
    home: str = ""
    strict: bool = True
    _nesting: int = 0

    def read_reference(self, text: str) -> Reference:
        """Return the reference that `text` stands for; empty text is the application.

        Raises:
            InvalidParameterError: The text is no reference, or a name in it is unknown.
        """
        if self._nesting > _MAX_NESTING:
            raise InvalidParameterError(
                f"The references in filters are nested deeper than {_MAX_NESTING} levels."
            )
        inner = replace(self, _nesting=self._nesting + 1)
        written = read_syntax(text)
        if self.strict:
            self._check_application(written.application)
        return resolve_parts(
            application_reference(self.tables),
            written.parts,
            self.tables,
            inner.read_filter,
            strict=self.strict,
        )

    def follow_properties(self, begin: Reference, way: str) -> Reference:
        """Return where the names of properties, joined by dots, lead from an object."""
        parts = tuple(NamePart(name) for name in way.split("."))
        return resolve_parts(begin, parts, self.tables, self.read_filter, strict=self.strict)

    def _check_application(self, name: str) -> None:
        """Refuse a reference that names another app: here it would mean something else."""
        key, app = self.tables.key, self.tables.app
        called = PurePosixPath(name).stem if is_path(name) else name
        if name and fold_name(called) not in (
            fold_name(key),
            fold_name(app.id),
            fold_name(app.name),
        ):
            raise InvalidParameterError(
                f"The reference belongs to {quote_text(name)}, and this call goes to {app.name}.",
                "Leave out the application, or call a tool of that app.",
            )

    def read_object(self, text: str | None, last: PathKind = "folder") -> Reference:
        """Return the object that a reference, or where files are objects a path, names.

        Raises:
            InvalidParameterError: As `reference`.
        """
        text = text or ""
        if not (is_path(text) and has_folders(self.tables)):
            return self.read_reference(text)
        steps = folder_reference(full_path(text, self.home), self.home, self.tables, last)
        return resolve_steps(steps, self.tables)

    def read_filter(self, raw: Any, classes: tuple[str, ...] | None) -> Filter:
        """Return the filter that `raw` describes, over objects of `classes` (None: not known).

        Raises:
            InvalidParameterError: A name, an operator or a value is wrong; the nearest names are
                given.
        """
        return self._read_conditions(raw, classes, 0)

    def read_value(
        self,
        value: Any,
        kind: str,
        where: str = "value",
        *,
        last: PathKind = "folder",
        direct: bool = False,
    ) -> Value:
        """Return `value` as a tagged value; see `ValueReader.value`."""
        return self._value_reader(last).read_value(value, kind, where, direct=direct)

    def read_record(
        self, value: Mapping[str, Any], find: Callable[[str], Property | None]
    ) -> RecordValue:
        """Return a record; `find` gives the field of a name, or None to take it as it is."""
        return self._value_reader("item").read_record(value, find)

    def _value_reader(self, last: PathKind) -> ValueReader:
        return ValueReader(self.tables, self.home, self.read_reference, last)

    def _read_conditions(self, raw: Any, classes: tuple[str, ...] | None, depth: int) -> Filter:
        if not isinstance(raw, Mapping) or not raw:
            raise InvalidParameterError(
                "A filter must be an object with at least one property, not"
                f" {quote_text(str(raw))}.",
                'For example {"name": "x"} or {"name": {"contains": "x"}}.',
            )
        if depth > MAX_DEPTH:
            raise InvalidParameterError(f"The filter is nested deeper than {MAX_DEPTH} levels.")
        tests: list[Filter] = []
        for key, value in raw.items():
            word = fold_name(str(key))
            if word in _JOINS and isinstance(value, list | tuple | Mapping):
                parts = [value] if isinstance(value, Mapping) else value
                inner = tuple(self._read_conditions(part, classes, depth + 1) for part in parts)
                tests.append(_join_tests(word, inner))
            elif str(key) == "_match":
                way, asked = _parse_match(value)
                tests.append(
                    self._read_comparisons(self._resolve_key_path(way, classes, depth), asked)
                )
            else:
                way = self._parse_key_path(str(key), classes)
                tests.append(
                    self._read_comparisons(self._resolve_key_path(way, classes, depth), value)
                )
        return _join_tests("and", tuple(tests))

    def _parse_key_path(self, key: str, classes: tuple[str, ...] | None) -> tuple[Part, ...]:
        """Return the parts that a key names: one property, or a way to one from the item."""
        if find_properties(classes, key, self.tables) or not ("." in key or "[" in key):
            return (NamePart(key),)
        return read_syntax(key).parts

    def _resolve_key_path(
        self, way: tuple[Part, ...], classes: tuple[str, ...] | None, depth: int
    ) -> Reference:
        """Return what a test looks at, as a reference that begins at the item."""
        if classes is not None and len(way) == 1 and isinstance(way[0], NamePart):
            known_properties(classes, way[0].name, self.tables)
        return resolve_parts(
            Reference((), classes),
            way,
            self.tables,
            lambda raw, inner: self._read_conditions(raw, inner, depth + 1),
        )

    def _read_comparisons(self, found: Reference, value: Any) -> Filter:
        if isinstance(value, Mapping) and value and not ("x" in value and "y" in value):
            tests = (self._read_comparison(found, str(op), item) for op, item in value.items())
            return _join_tests("and", tuple(tests))
        return self._read_comparison(found, "=", value)

    def _read_comparison(self, found: Reference, word: str, value: Any) -> Filter:
        key = fold_name(word) or word
        if key in _UNEQUAL:
            return Join("not", (self._read_comparison(found, "=", value),))
        if key in _IN:
            if not isinstance(value, list | tuple) or not value:
                raise InvalidParameterError(f'"{word}" in a filter must be a list of values.')
            return _join_tests(
                "or", tuple(self._read_comparison(found, "=", part) for part in value)
            )
        plain = next((key.removeprefix(no) for no in _NOT if key.startswith(no)), "")
        if plain in _OPERATORS or plain in _IN:
            return Join("not", (self._read_comparison(found, plain, value),))
        operator = _OPERATORS.get(key)
        if operator is None:
            raise InvalidParameterError(
                f"{quote_text(word)} is not a comparison for a filter.",
                f"Write one of: {', '.join(_KNOWN)}.",
                said=word,
                known=_KNOWN,
            )
        last = found.steps[-1]
        if isinstance(last, Boundary):
            raise InvalidParameterError(
                f"{found.text} is a place to insert at, so it cannot be compared."
            )
        kind = found.prop.type if found.prop is not None else "any"
        if operator in ("_contains", "_beginsWith", "_endsWith"):
            kind = "text" if isinstance(value, str) else "any"
        where = last.name if isinstance(last, PropertyStep) else found.text
        return Compare(found.steps, operator, self.read_value(value, kind, where, last="item"))


def _join_tests(word: str, tests: tuple[Filter, ...]) -> Filter:
    if not tests:
        raise InvalidParameterError(f'"{word}" in a filter contains no condition.')
    if word == "not":
        return Join("not", tests)
    if len(tests) == 1:
        return tests[0]
    return Join("and" if word == "and" else "or", tests)


def _parse_match(value: Any) -> tuple[tuple[Part, ...], Any]:
    if isinstance(value, list) and len(value) == 2:
        way, asked = value
        if isinstance(way, ItemPath) and way.parts:
            return way.parts, asked
    raise InvalidParameterError("_match must be [ObjectSpecifier().property, value].")


@cache
def read_known_reference(text: str, tables: Tables) -> Reference:
    """Return a reference of a table of facts about an app; names may be unknown here."""
    return AppReader(tables, strict=False).read_reference(text)


_PREFIX: Final = re.compile(r'Application(?:\("(?:[^"\\]|\\.)*"\)|\.currentApplication\(\))\.?')


class DateText(str):
    """A moment: ISO 8601 in local time, with the offset."""

    __slots__ = ()


class RefText(str):
    """A result that is an object specifier; as a text it is the reference."""

    __slots__ = ()


def answer_to_python(value: Any, tables: Tables, terms: Mapping[str, str]) -> Any:
    """Return a value of the harness in Python's and JSON's types; `terms` are keys of records."""
    if isinstance(value, list):
        return [answer_to_python(part, tables, terms) for part in value]
    if not isinstance(value, dict):
        return value
    if "ref" in value:
        return reference_text(canonical_reference(value["ref"], value.get("id"), tables))
    if "record" in value:
        return {
            terms.get(key, key): answer_to_python(part, tables, terms)
            for key, part in value["record"]
        }
    if "opaque" in value:
        return dict(value["opaque"])
    if "cut" in value:
        return {"truncated": value["cut"]}
    return value.get("path") or _local_moment(value.get("date"))


def _local_moment(iso: str | None) -> DateText | None:
    """Return a moment in local time; at the ends of the calendar, where there is none, in UTC."""
    if iso is None:
        return None
    moment = datetime.fromisoformat(iso)
    with suppress(ValueError, OverflowError, OSError):
        moment = moment.astimezone()
    return DateText(moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds"))


def reference_text(text: str) -> RefText:
    """Return the text of a reference as a result."""
    return RefText(cleaning.escape_hidden(text))


def specifier_text(steps: tuple[Step, ...]) -> RefText:
    """Return steps as a result; no steps are the application."""
    return reference_text(format_reference(steps) or APPLICATION)


def canonical_reference(shown: str, ident: str | int | None, tables: Tables) -> str:
    """Return the canonical text of a display string, by id where the id is known."""
    steps = read_shown_reference(shown, ident, tables)
    return _PREFIX.sub("", shown, count=1) if steps is None else Reference(steps).text


@lru_cache(maxsize=1024)
def read_shown_reference(
    shown: str, ident: str | int | None, tables: Tables
) -> tuple[Step, ...] | None:
    """Return the steps of a display string, by id where the id is known; None for no reference."""
    try:
        reference = AppReader(tables, strict=False).read_reference(_PREFIX.sub("", shown, count=1))
    except InvalidParameterError:
        return None
    steps = reference.steps
    if ident is not None and steps and isinstance(steps[-1], ByIndex | ByName):
        return (*without_filter(steps[:-1]), ById(ident))
    return steps


def without_filter(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return a collection without its filter: an id needs none."""
    return steps[:-1] if steps and isinstance(steps[-1], Whose) else steps
