"""What a generated class is made of: a descriptor for each property and each kind of element.

On an object a property is a value to call, or the object that it holds; on the class it is a
field to compare in a filter.

Several values of apps are read in one exchange.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

from iac_runtime.objects.base import (
    AppObjects,
    Object,
    PropertyValue,
    Readable,
    Replaceable,
    RwPropertyValue,
    home_of,
)
from iac_runtime.objects.collection import Items
from iac_runtime.objects.conditions import Criterion

if TYPE_CHECKING:
    from iac_base.errors import ToolError


__all__ = ["read"]


__all__ = ["Elements", "One", "Prop", "RwOne", "RwProp", "RwTextOne", "TextOne", "type_names"]


C = TypeVar("C", bound=Items[Any])


O = TypeVar("O", bound=Object)  # noqa: E741


S = TypeVar("S", bound=Object)


T = TypeVar("T")


class _ClassMember:
    """A property or the elements of a class; `name` is the one that JavaScript has for it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Prop(_ClassMember, Generic[T]):
    """A property that can be read."""

    __slots__ = ()

    @overload
    def __get__(self, instance: None, owner: type[O]) -> Criterion[O, T]: ...
    @overload
    def __get__(self, instance: Object, owner: Any) -> PropertyValue[T]: ...
    def __get__(self, instance: Object | None, owner: Any) -> Criterion[Any, T] | PropertyValue[T]:
        return Criterion(self.name) if instance is None else PropertyValue(instance, self.name)


class RwProp(Prop[T]):
    """A property that can be read and set."""

    __slots__ = ()

    @overload
    def __get__(self, instance: None, owner: type[O]) -> Criterion[O, T]: ...
    @overload
    def __get__(self, instance: Object, owner: Any) -> RwPropertyValue[T]: ...
    def __get__(
        self, instance: Object | None, owner: Any
    ) -> Criterion[Any, T] | RwPropertyValue[T]:
        return Criterion(self.name) if instance is None else RwPropertyValue(instance, self.name)


class _Holder(_ClassMember, Generic[S]):
    """A property that holds an object of the class `term`."""

    __slots__ = ("term",)
    writes = False

    def __init__(self, name: str, term: str) -> None:
        super().__init__(name)
        self.term = term

    def held_object(self, instance: Object) -> S:
        """Return the object that the property of `instance` holds."""
        home = home_of(type(instance))
        kind = _settable_class(home, self.term) if self.writes else home.class_of(self.term)
        found: Any = kind(instance._child_reference(self.name))
        if self.writes:
            object.__setattr__(found, "_place", (instance, self.name))
        return found  # type: ignore[no-any-return]


_with_set: Final[dict[type[Object], type[Object]]] = {}


def _settable_class(home: AppObjects, term: str) -> type[Object]:
    """Return the class `term` for a property that can be set; it differs by `set` alone."""
    class_of = home.class_of(term)
    if class_of not in _with_set:
        made: type[Object] = type(
            class_of.__name__, (class_of, Replaceable), {"__module__": home.name}
        )
        home.terms[made] = term
        _with_set[class_of] = made
    return _with_set[class_of]


class One(_Holder[S]):
    """A property that holds an object."""

    __slots__ = ()

    @overload
    def __get__(self, instance: None, owner: type[O]) -> Criterion[O, Object]: ...
    @overload
    def __get__(self, instance: Object, owner: Any) -> S: ...
    def __get__(self, instance: Object | None, owner: Any) -> Criterion[Any, Object] | S:
        return Criterion(self.name) if instance is None else self.held_object(instance)


class RwOne(One[S]):
    """A property that holds an object and can be set to another."""

    __slots__ = ()
    writes = True


class TextOne(_Holder[S]):
    """A property that holds text with parts (words, paragraphs); in a filter it is its text."""

    __slots__ = ()

    @overload
    def __get__(self, instance: None, owner: type[O]) -> Criterion[O, str]: ...
    @overload
    def __get__(self, instance: Object, owner: Any) -> S: ...
    def __get__(self, instance: Object | None, owner: Any) -> Criterion[Any, str] | S:
        return Criterion(self.name) if instance is None else self.held_object(instance)


class RwTextOne(TextOne[S]):
    """Text with parts that can be replaced."""

    __slots__ = ()
    writes = True


class Elements(_ClassMember, Generic[C]):
    """The objects of the class `term` that an object contains."""

    __slots__ = ("term",)

    def __init__(self, name: str, term: str) -> None:
        super().__init__(name)
        self.term = term

    @overload
    def __get__(self, instance: None, owner: Any) -> "Elements[C]": ...
    @overload
    def __get__(self, instance: Object, owner: Any) -> C: ...
    def __get__(self, instance: Object | None, owner: Any) -> "Elements[C] | C":
        if instance is None:
            return self
        many = home_of(type(instance)).items_of(self.term)
        found: C = many(instance._ref, self.name, self.term)
        return found


def type_names(module: str, names: list[str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a generated module: names that only type checkers know.

    Rows and literals cost time to make and are never looked into; at run time they are `Any`.
    """

    def find_name(name: str) -> Any:
        if name in names:
            return Any
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return find_name


A = TypeVar("A")


B = TypeVar("B")


D = TypeVar("D")


E = TypeVar("E")


F = TypeVar("F")


_SAID: Final = ("type", "message", "suggestion")


@overload
def read(a: Readable[A], /) -> tuple[A]: ...


@overload
def read(a: Readable[A], b: Readable[B], /) -> tuple[A, B]: ...


@overload
def read(a: Readable[A], b: Readable[B], c: Readable[D], /) -> tuple[A, B, D]: ...


@overload
def read(
    a: Readable[A], b: Readable[B], c: Readable[D], d: Readable[E], /
) -> tuple[A, B, D, E]: ...


@overload
def read(
    a: Readable[A], b: Readable[B], c: Readable[D], d: Readable[E], e: Readable[F], /
) -> tuple[A, B, D, E, F]: ...


@overload
def read(*values: Readable[T]) -> tuple[T, ...]: ...


def read(*values: Readable[Any]) -> tuple[Any, ...]:
    """Read several values, up to 100 of an app in one exchange; of several apps one each.

    A property that can hold objects of several classes is read by itself.

    Raises:
        ToolError: One of them cannot be read; the first error is told.
    """
    found: dict[int, Any] = {}
    groups: dict[AppObjects, list[int]] = {}
    for place, value in enumerate(values):
        if value._is_single:
            groups.setdefault(value._home, []).append(place)
        else:
            found[place] = value._read_value()
    for home, places in groups.items():
        rows = home.function("get")(target=[values[place]._ref for place in places])
        for place, row in zip(places, rows, strict=True):
            if "error" in row:
                raise _row_error(row["error"])
            found[place] = values[place]._convert_answer(row["value"])
    return tuple(found[place] for place in range(len(values)))


def _row_error(facts: Mapping[str, Any]) -> "ToolError":
    """Return the error that a row of a read carries."""
    from iac_base.errors import ToolError

    more: dict[str, Any] = {key: value for key, value in facts.items() if key not in _SAID}
    return ToolError(facts["type"], facts["message"], facts.get("suggestion", ""), **more)
