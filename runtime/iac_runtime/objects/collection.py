"""Collections: the elements of an object, all or filtered, by position, name or id."""

from collections.abc import Iterator, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    NamedTuple,
    Self,
    TypeAlias,
    TypeVar,
    overload,
)

from iac_runtime.objects.base import (
    Object,
    PropertyValue,
    Specifier,
    object_named,
    python_row,
    to_argument,
    unread,
)
from iac_runtime.objects.conditions import Condition, Criterion
from iac_runtime.objects.rows import Rows

T = TypeVar("T", bound=Object)

_FIRST: Final = 100
_GROWTH: Final = 10
"""Objects that an iteration asks for at first, and by how much more each time after."""


class _ItemRange(NamedTuple):
    """Which of the elements are meant: those that pass `where`, from `start` up to `stop`."""

    where: dict[str, Any] | None = None
    start: int = 0
    stop: int | None = None

    @property
    def limit(self) -> int | None:
        """How many there are at most."""
        return None if self.stop is None else max(self.stop - self.start, 0)


class Items(Specifier, Generic[T]):
    """The elements of one class that an object contains; nothing is sent until they are read."""

    __slots__ = ("_base", "_name", "_of", "_part", "_term")

    _base: str
    _of: str
    _name: str
    _term: str
    _part: _ItemRange

    def __init__(self, of: str, name: str, term: str, part: _ItemRange = _ItemRange()) -> None:  # noqa: B008
        text = Specifier(of)._child_reference(name)
        if part.where is not None:
            text += f".whose({self._literal(term, part.where)})"
        stop = "" if part.stop is None else part.stop
        cut = f"[{part.start}:{stop}]" if part.start or part.stop is not None else ""
        super().__init__(text + cut)
        rows = (("_of", of), ("_name", name), ("_term", term), ("_part", part), ("_base", text))
        for key, value in rows:
            object.__setattr__(self, key, value)

    if not TYPE_CHECKING:

        def __class_getitem__(cls, item: object) -> type[Self]:
            # `class Notes(Items[Note])` costs a start no more than a plain class.
            return cls

    @overload
    def __getitem__(self, key: int | str) -> T: ...
    @overload
    def __getitem__(self, key: "slice[Any, Any, Any]") -> Self: ...
    @overload
    def __getitem__(self, key: Condition[T]) -> Self: ...
    def __getitem__(self, key: "int | str | slice[Any, Any, Any] | Condition[T]") -> T | Self:
        if isinstance(key, Condition):
            return self._with_part(_combine_filters(self._require_whole("filter").where, key.where))
        if isinstance(key, slice):
            return self._with_slice(key)
        if isinstance(key, str):
            return self._single_item(f"[{_quoted_text(key)}]")
        if isinstance(key, bool):
            raise TypeError(
                "This is not a condition on a property; start it with `its` or with the class"
            )
        if isinstance(key, Specifier | Criterion):
            raise unread(key)
        part = self._part
        if key < 0 and part.stop is not None:
            raise _invalid_use("A slice has no negative positions; count from 0.")
        if part.stop is not None and key >= part.stop - part.start:
            raise IndexError(f"{self!r} has no position {key}")
        return self._single_item(f"[{key if key < 0 else part.start + key}]")

    def by_id(self, ident: str | int, /) -> T:
        """Return the one with this id."""
        self._require_whole("by_id")
        if isinstance(ident, Specifier | Criterion):
            raise unread(ident)
        return self._single_item(
            f".byId({_quoted_text(ident) if isinstance(ident, str) else ident})"
        )

    @property
    def first(self) -> T:
        """The first one."""
        return self[0]

    @property
    def last(self) -> T:
        """The last one."""
        return self[-1]

    def count(self) -> int:
        """Ask how many there are."""
        part = self._part
        found: int = self._home.function("count")(**self._list_arguments())
        end = found if part.stop is None else min(found, part.stop)
        return max(end - part.start, 0)

    def get(self) -> list[T]:
        """Return the objects that are there now, each by its id where the app has ids."""
        return list(self._objects_of(self._list_rows([], self._part.start, self._part.limit)))

    def __iter__(self) -> Iterator[T]:
        """Yield the objects, asked for in batches; each is named by its id where it has one."""
        size, part = _FIRST, self._part
        at = part.start
        while part.stop is None or at < part.stop:
            wanted = size if part.stop is None else min(size, part.stop - at)
            rows = self._list_rows([], at, wanted)
            yield from self._objects_of(rows)
            if len(rows) < wanted:
                return
            at, size = at + wanted, size * _GROWTH

    def _select(
        self,
        *names: str,
        order: Sequence[str] = (),
        limit: int | None = None,
        offset: int = 0,
    ) -> Rows[T, Any]:
        """Read some properties of all of them: one event a property, whatever their number.

        Args:
            names: What to read; name and id where nothing is named.
            order: What to sort by, `-name` for descending.
            limit: The most rows.
            offset: Rows to skip before them.
        """

        names, order = to_argument(names), to_argument(order)
        held = self._item_class
        known = self._home.members(held)
        start, most = self._part.start + offset, self._part.limit
        if most is not None:
            most = max(most - offset, 0)
            limit = most if limit is None else min(limit, most)
        columns = [_javascript_name(name, known) for name in names] or None
        by = ["-" * one.startswith("-") + _javascript_name(one.lstrip("-"), known) for one in order]
        found = self._list_rows(columns, start, limit, by)
        objects = list(self._objects_of(found))
        rows = []
        for one in found:
            cells = python_row(held, {key: value for key, value in one.items() if key != "ref"})
            rows.append({name: cells[name] for name in names} if names else cells)
        return Rows(rows, objects)

    def _make(self, **values: Any) -> T:
        """Make one there, with these properties; return it."""

        home, held = self._home, self._item_class
        self._require_whole("make")
        known = home.members(held)
        properties = {
            known[key]: to_argument(value) for key, value in values.items() if key in known
        }
        more = {key: to_argument(value) for key, value in values.items() if key not in known}
        if self._of:
            more["at"] = self._of
        text = home.function("make")(element=self._term, properties=properties or None, **more)
        return object_named(home, text)  # type: ignore[return-value]

    if not TYPE_CHECKING:
        # Each generated collection says which names and values these take.
        select, make = _select, _make

    def __bool__(self) -> bool:
        raise TypeError("Use .exists() or .count(), which ask the app.")

    def _repr_html_(self) -> str:
        from html import escape

        # Nothing is fetched that was not asked for: rows are shown by `select`.
        return f"<code>{escape(repr(self))}</code>"

    @property
    def _item_class(self) -> type[Object]:
        return self._home.class_of(self._term)

    def _single_item(self, key: str) -> T:
        item_class: Any = self._item_class(f"{self._base}{key}")
        return item_class  # type: ignore[no-any-return]

    def _with_part(
        self, where: dict[str, Any] | None, start: int = 0, stop: int | None = None
    ) -> Self:
        return type(self)(self._of, self._name, self._term, _ItemRange(where, start, stop))

    def _with_slice(self, key: "slice[Any, Any, Any]") -> Self:
        start, stop = key.start or 0, key.stop
        if key.step not in (None, 1) or start < 0 or (stop is not None and stop < 0):
            raise _invalid_use("A slice counts from 0 in steps of one, such as [20:40].")
        part = self._part
        ends = [one for one in (part.stop, None if stop is None else part.start + stop)
                if one is not None]  # fmt: skip
        return self._with_part(part.where, part.start + start, min(ends, default=None))

    def _literal(self, term: str, where: dict[str, Any]) -> str:
        """Return a filter of objects of the class `term` as it stands in a reference."""
        import json

        from iac_runtime.language.reader import AppReader
        from iac_runtime.tools.checking import to_json_types

        given = to_json_types(to_argument(where))
        if _names_objects(given):
            # As a text it will not be told from a text.
            AppReader(self._home.tables).read_filter(given, (term,))
        return json.dumps(given, ensure_ascii=False)

    def _require_whole(self, what: str) -> _ItemRange:
        if self._part.start or self._part.stop is not None:
            raise _invalid_use(f"A slice has no {what}; use it before the slice.")
        return self._part

    def _list_arguments(self) -> dict[str, Any]:
        where = self._part.where
        return {
            "element": self._term,
            "of": self._of or None,
            "where": where and to_argument(where),
        }

    def _list_rows(
        self,
        columns: list[str] | None,
        start: int,
        limit: int | None,
        order: Sequence[str] = (),
    ) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._home.function("list")(
            **self._list_arguments(),
            properties=columns,
            order=list(order) or None,
            offset=start or None,
            limit=limit,
        )
        return rows

    def _objects_of(self, rows: list[dict[str, Any]]) -> Iterator[T]:
        held: Any = self._item_class
        return (held(str(one["ref"])) for one in rows)


AnyObject: TypeAlias = (
    "Object | Items[Any] | PropertyValue[Object] | PropertyValue[Sequence[Object]]"
)
"""What a command takes where it takes any object; checkers know that text is none."""


def _names_objects(value: Any) -> bool:
    from iac_runtime.language.steps import ObjectText

    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return any(map(_names_objects, value))
    return isinstance(value, ObjectText)


def _combine_filters(one: dict[str, Any] | None, other: dict[str, Any]) -> dict[str, Any]:
    return other if one is None else {"and": [one, other]}


def _javascript_name(name: str, members: Mapping[str, str]) -> str:
    """Return the JavaScript name of a property."""
    if name not in members:
        from iac_base.errors import near_text, quote_text

        raise _invalid_use(f"{quote_text(name)} is not a property.", near_text(name, list(members)))
    return members[name]


def _quoted_text(text: str) -> str:
    from iac_base.text import text_literal

    return text_literal(text)


def _invalid_use(message: str, suggestion: str = "") -> Exception:
    from iac_base.errors import InvalidParameterError

    return InvalidParameterError(message, suggestion)
