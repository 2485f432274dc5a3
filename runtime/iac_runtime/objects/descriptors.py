"""What a generated class is made of: a descriptor for each property and each kind of element.

On an object a property is a value to call, or the object that it holds; on the class it is a
field to compare in a filter.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from iac_runtime.objects.base import Object, RwValue, Value, home_of
from iac_runtime.objects.collection import Items
from iac_runtime.objects.conditions import Field

__all__ = ["Elements", "One", "Prop", "RwOne", "RwProp", "RwTextOne", "TextOne", "type_names"]

C = TypeVar("C", bound=Items[Any])
O = TypeVar("O", bound=Object)  # noqa: E741
S = TypeVar("S", bound=Object)
T = TypeVar("T")


class Member:
    """A property or the elements of a class; `name` is the one that JavaScript has for it."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


class Prop(Member, Generic[T]):
    """A property that can be read."""

    __slots__ = ()

    @overload
    def __get__(self, instance: None, owner: type[O]) -> Field[O, T]: ...
    @overload
    def __get__(self, instance: Object, owner: Any) -> Value[T]: ...
    def __get__(self, instance: Object | None, owner: Any) -> Field[Any, T] | Value[T]:
        return Field(self.name) if instance is None else Value(instance, self.name)


class RwProp(Prop[T]):
    """A property that can be read and set."""

    __slots__ = ()

    @overload
    def __get__(self, instance: None, owner: type[O]) -> Field[O, T]: ...
    @overload
    def __get__(self, instance: Object, owner: Any) -> RwValue[T]: ...
    def __get__(self, instance: Object | None, owner: Any) -> Field[Any, T] | RwValue[T]:
        return Field(self.name) if instance is None else RwValue(instance, self.name)


class _Holder(Member, Generic[S]):
    """A property that holds an object of the class `term`."""

    __slots__ = ("term",)
    writes = False

    def __init__(self, name: str, term: str) -> None:
        super().__init__(name)
        self.term = term

    def held(self, instance: Object) -> S:
        """Return the object that the property of `instance` holds."""
        home = home_of(type(instance))
        kind = home.settable(self.term) if self.writes else home.class_of(self.term)
        found: Any = kind(instance._child(self.name))
        if self.writes:
            object.__setattr__(found, "_place", (instance, self.name))
        return found  # type: ignore[no-any-return]


class One(_Holder[S]):
    """A property that holds an object."""

    __slots__ = ()

    @overload
    def __get__(self, instance: None, owner: type[O]) -> Field[O, Object]: ...
    @overload
    def __get__(self, instance: Object, owner: Any) -> S: ...
    def __get__(self, instance: Object | None, owner: Any) -> Field[Any, Object] | S:
        return Field(self.name) if instance is None else self.held(instance)


class RwOne(One[S]):
    """A property that holds an object and can be set to another."""

    __slots__ = ()
    writes = True


class TextOne(_Holder[S]):
    """A property that holds text with parts (words, paragraphs); in a filter it is its text."""

    __slots__ = ()

    @overload
    def __get__(self, instance: None, owner: type[O]) -> Field[O, str]: ...
    @overload
    def __get__(self, instance: Object, owner: Any) -> S: ...
    def __get__(self, instance: Object | None, owner: Any) -> Field[Any, str] | S:
        return Field(self.name) if instance is None else self.held(instance)


class RwTextOne(TextOne[S]):
    """Text with parts that can be replaced."""

    __slots__ = ()
    writes = True


class Elements(Member, Generic[C]):
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

    def find(name: str) -> Any:
        if name in names:
            return Any
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return find
