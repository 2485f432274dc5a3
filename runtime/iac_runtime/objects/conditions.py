"""Conditions of filters, written as Python: `Message.read_status == False`, `its.size > 1000`.

Both compile to the `where` of the object tools.
"""

from collections.abc import Iterable
from typing import Any, Final, Generic, TypeVar, overload

__all__ = ["Condition", "Criterion", "Its", "NotComparable", "its"]

O_contra = TypeVar("O_contra", contravariant=True)
O = TypeVar("O")  # noqa: E741
T = TypeVar("T")


class Condition(Generic[O_contra]):
    """A test of the objects of a class; `where` is the filter that it means."""

    __slots__ = ("where",)

    def __init__(self, where: dict[str, Any]) -> None:
        self.where = where

    def __and__(self, other: "Condition[O]") -> "Condition[O]":
        return Condition({"and": [self.where, other.where]})

    def __or__(self, other: "Condition[O]") -> "Condition[O]":
        return Condition({"or": [self.where, other.where]})

    def __invert__(self) -> "Condition[O_contra]":
        return Condition({"not": [self.where]})

    def __bool__(self) -> bool:
        raise TypeError("The app evaluates the condition, so combine conditions with &, | and ~.")

    def __repr__(self) -> str:
        return f"Condition({self.where!r})"


class NotComparable:
    """What comparing a property with a value of another type gives; no collection takes it."""


class Criterion(Generic[O, T]):
    """A property of a class, `Message.subject`, to be compared in a filter."""

    __slots__ = ("_name",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        self._name = name

    def _make_condition(self, operator: str, value: Any) -> Condition[O]:
        return Condition({self._name: {operator: value}})

    @overload  # type: ignore[override]
    def __eq__(  # pyright: ignore[reportOverlappingOverload]
        self, other: T | None
    ) -> Condition[O]: ...
    @overload
    def __eq__(self, other: object) -> NotComparable: ...
    def __eq__(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, other: object
    ) -> Condition[O] | NotComparable:
        return Condition({self._name: other})

    @overload  # type: ignore[override]
    def __ne__(  # pyright: ignore[reportOverlappingOverload]
        self, other: T | None
    ) -> Condition[O]: ...
    @overload
    def __ne__(self, other: object) -> NotComparable: ...
    def __ne__(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, other: object
    ) -> Condition[O] | NotComparable:
        return self._make_condition("!=", other)

    def __lt__(self, other: T) -> Condition[O]:
        return self._make_condition("<", other)

    def __le__(self, other: T) -> Condition[O]:
        return self._make_condition("<=", other)

    def __gt__(self, other: T) -> Condition[O]:
        return self._make_condition(">", other)

    def __ge__(self, other: T) -> Condition[O]:
        return self._make_condition(">=", other)

    @overload
    def contains(self: "Criterion[O, str]", other: str) -> Condition[O]: ...
    @overload
    def contains(self: "Criterion[O, list[E]]", other: "E") -> Condition[O]: ...
    def contains(self, other: Any) -> Condition[O]:
        """Test whether a text has these characters in it, or a list this item."""
        return self._make_condition("contains", other)

    def startswith(self: "Criterion[O, str]", other: str) -> Condition[O]:
        """Test how a text begins."""
        return self._make_condition("begins with", other)

    def endswith(self: "Criterion[O, str]", other: str) -> Condition[O]:
        """Test how a text ends."""
        return self._make_condition("ends with", other)

    def in_(self, values: Iterable[T]) -> Condition[O]:
        """Test whether the value is one of these."""
        return self._make_condition("in", list(values))

    def __repr__(self) -> str:
        return f"Criterion({self._name!r})"


E = TypeVar("E")


class Its(Criterion[Any, Any]):
    """A property of whatever is filtered, without types: `its.read_status`, `its.mailbox.name`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> "Its":
        if name.startswith("__"):
            raise AttributeError(name)
        # As JavaScript has it, so that one filter is one text.
        first, *rest = name.rstrip("_").split("_")
        name = first + "".join(word.capitalize() for word in rest)
        return Its(f"{self._name}.{name}" if self._name else name)


its: Final = Its("")
"""What a filter looks at, for the terminal: `inbox.messages[its.read_status == False]`."""
