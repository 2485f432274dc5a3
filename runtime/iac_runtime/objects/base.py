"""References of one app: an object, and the value of a property. Nothing is sent until it is read.

What an app's classes share, its functions and tables, is found by the name of their module:
`mail_objects` stands beside `mail`.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast, overload

from iac_runtime.tool import Spec, spec_of

if TYPE_CHECKING:
    from iac_base.errors import ToolError
    from iac_runtime.tools.tables import Tables

__all__ = [
    "Home",
    "Object",
    "Readable",
    "Reference",
    "RwValue",
    "Settable",
    "TextObject",
    "Value",
    "home_of",
    "read",
]

A = TypeVar("A")
B = TypeVar("B")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")
G = TypeVar("G")
R = TypeVar("R")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)

_SUFFIX: Final = "_objects"
APPLICATION: Final = "application"
_SAID: Final = ("type", "message", "suggestion")


class Home:
    """What the generated classes of one app share. `objects` is term -> class, collection."""

    def __init__(self, name: str) -> None:
        here = sys.modules[name]
        self.name = name
        self.module = import_module(name.removesuffix(_SUFFIX))
        self.objects: Mapping[str, tuple[type[Object], type[Any] | None]] = here.OBJECTS
        self.fields: Mapping[str, str] = getattr(here, "FIELDS", {})
        self.terms = {cls: term for term, (cls, _) in self.objects.items()}
        self._settable: dict[str, type[Object]] = {}
        self._members: dict[type[Object], dict[str, str]] = {}

    @property
    def tables(self) -> "Tables":
        """The `Tables` of the app."""
        from iac_runtime.tools.catalogue import module_tables

        return module_tables(self.module)

    def function(self, name: str) -> Callable[..., Any]:
        """Return a tool's function.

        Raises:
            InvalidParameterError: The app has none of that name.
        """
        found: Callable[..., Any] | None = getattr(self.module, name, None)
        if found is None or spec_of(found) is None:
            from iac_base.errors import InvalidParameterError

            raise InvalidParameterError(f"{self.module.APP.name} has no command {name}.")
        return found

    def class_of(self, term: str) -> "type[Object]":
        return self.objects[term][0]

    def items_of(self, term: str) -> type[Any]:
        found = self.objects[term][1]
        assert found is not None
        return found

    def settable(self, term: str) -> "type[Object]":
        """Return the class `term` for a property that can be set; it differs by `set` alone."""
        if term not in self._settable:
            held = self.class_of(term)
            made = type(held.__name__, (held, Settable), {"__module__": self.name})
            self.terms[made] = term
            self._settable[term] = made
        return self._settable[term]

    def members(self, owner: "type[Object]") -> Mapping[str, str]:
        """Return Python name -> JavaScript name of the properties and elements of a class."""
        if owner not in self._members:
            rows: dict[str, str] = {}
            for cls in reversed(owner.__mro__):
                named = ((name, getattr(row, "name", None)) for name, row in vars(cls).items())
                rows |= {name: jxa for name, jxa in named if isinstance(jxa, str)}
            self._members[owner] = rows
        return self._members[owner]

    def python_names(self, owner: "type[Object]") -> Mapping[str, str]:
        """Return folded name -> Python name of the properties of a class."""
        from iac_base.words import fold

        return {fold(jxa): name for name, jxa in self.members(owner).items()}

    def object(self, text: str) -> "Object":
        """Return the object that an answer names."""
        from iac_runtime.language.reader import AppReader

        found = AppReader(self.tables, strict=False).reference(text)
        known = [term for term in found.classes or () if term in self.objects]
        if not known:
            other: type[Object] = type("Object", (Object,), {"__module__": self.name})
            return other(text)
        return self.class_of(known[0])("" if known[0] == text == APPLICATION else text)

    def made(self, value: Any, kind: str) -> Any:
        """Return a result as the types of the layer: objects, paths, colours, rectangles."""
        from iac_runtime.objects.values import made

        return made(self, value, kind)


_homes: Final[dict[str, Home]] = {}


def home_of(owner: type) -> Home:
    """Return what the generated class `owner` shares with the other classes of its app."""
    found = _homes.get(owner.__module__)
    if found is None:
        found = _homes[owner.__module__] = Home(owner.__module__)
    return found


class Reference:
    """What names something in an app: its text is the reference that the app's tools take."""

    __slots__ = ("_ref",)

    def __init__(self, text: str = "") -> None:
        object.__setattr__(self, "_ref", text)

    _ref: str

    def _child(self, name: str) -> str:
        """Return the text of the reference to what is called `name` in it."""
        if not name.isidentifier():
            from iac_base.words import text_literal

            return f"{self._ref}[{text_literal(name)}]"
        return f"{self._ref}.{name}" if self._ref else name

    def _command(self, name: str, /, **arguments: object) -> R:  # type: ignore[type-var]
        """Call a command of the app, and return its answer as its caller says it is."""
        found: R = self._answer(name, **arguments)
        return found

    def _answer(self, name: str, /, **arguments: object) -> Any:
        """Call a command of the app, and return its answer in the types of the layer."""
        from iac_runtime.objects.values import sent

        home = self._home
        function = home.function(name)
        spec = cast(Spec, spec_of(function))
        given = {key: sent(value) for key, value in arguments.items() if value is not None}
        return home.made(function(**given), spec.result or "any")

    @property
    def _home(self) -> Home:
        return home_of(type(self))

    def exists(self) -> bool:
        """Ask the app whether there is such a thing now."""
        from iac_base.errors import ToolError

        home = self._home
        function = getattr(home.module, "exists", None)
        spec = spec_of(function) if function else None
        try:
            if function is not None and spec is not None and spec.event == "coredoex":
                return bool(function(self._ref or APPLICATION))
            home.function("get")(target=[self._child("class")])
        except ToolError as error:
            if error.type != "NOT_FOUND":
                raise
            return False
        return True

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name} is no variable; a property is changed by .{name}.set(value)")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reference):
            return NotImplemented
        return self._home is other._home and self._ref == other._ref

    def __hash__(self) -> int:
        return hash(self._ref)

    def __str__(self) -> str:
        """Return the reference as the tools take it."""
        return self._ref or APPLICATION

    def __repr__(self) -> str:
        """Return the line of JavaScript that names it."""
        from iac_base.errors import InvalidParameterError
        from iac_base.words import text_literal
        from iac_runtime.language.reader import AppReader
        from iac_runtime.language.text import steps_text

        home = self._home
        root = f"Application({text_literal(home.module.APP.id)})"
        try:
            return steps_text(AppReader(home.tables).reference(self._ref).steps, root)
        except InvalidParameterError:
            return f"{root}.{self._ref}"


class Readable(Reference, Generic[T_co]):
    """What `read` can read."""

    __slots__ = ()

    @property
    def _single(self) -> bool:
        """Say whether its own reference reads it, alone or among others."""
        return True

    def _read(self) -> T_co:
        """Read it: one exchange."""
        raise NotImplementedError

    def _taken(self, answer: Any) -> T_co:
        """Return the answer to a read in its type."""
        raise NotImplementedError


class Value(Readable[T_co]):
    """A property of an object: call it to read."""

    __slots__ = ("_name", "_owner")

    def __init__(self, owner: "Object", name: str) -> None:
        super().__init__(owner._child(name))
        object.__setattr__(self, "_owner", owner)
        object.__setattr__(self, "_name", name)

    _owner: "Object"
    _name: str

    @property
    def _home(self) -> Home:
        return home_of(type(self._owner))

    def _read(self) -> T_co:
        get = self._home.function("get")
        if self._single:
            return self._taken(get(target=self._ref))
        rows = get(target=str(self._owner), properties=[self._name])
        return self._taken(next(iter(rows.values())))

    def get(self) -> T_co:
        """Read it: one exchange."""
        return self._read()

    __call__ = get

    @property
    def _single(self) -> bool:
        from iac_runtime.language.terms import object_classes

        # Read by its own reference an object answers all that it has.
        return object_classes(self._kind(), self._home.tables) == ()

    def _taken(self, answer: Any) -> T_co:
        return cast(T_co, self._home.made(answer, self._kind()))

    def _kind(self) -> str:
        home = self._home
        term = home.terms.get(type(self._owner), APPLICATION)
        row = home.tables.find_property(term, self._name)
        return row.type if row is not None else "any"


class RwValue(Value[T]):
    """A property that can be set."""

    __slots__ = ()

    def set(self, value: T, /) -> None:
        """Give the property another value."""
        _set(self._owner, self._name, value)


class Object(Reference):
    """An object of an app."""

    __slots__ = ()

    def get(self) -> Any:
        """Read all of its properties: a row by their names here."""
        from iac_runtime.objects.values import row

        found = self._home.function("get")(target=str(self))
        if not isinstance(found, dict):
            return self._home.made(found, "any")
        return row(type(self), found)


class TextObject(Object, Readable[str]):
    """Text with parts: words, paragraphs. Call it to read the text."""

    __slots__ = ()

    def _read(self) -> str:
        return self._taken(self._home.function("get")(target=self._ref))

    def __call__(self) -> str:
        """Read the text."""
        return self._read()

    if not TYPE_CHECKING:
        # A class that inherits from one with a row says so of its `get`.
        get = __call__

    def _taken(self, answer: Any) -> str:
        return cast(str, answer)


class Settable(Reference, Generic[T_contra]):
    """What a property holds that can be set."""

    __slots__ = ("_place",)

    _place: tuple[Object, str]
    """The owner and the JavaScript name of the property."""

    def set(self, value: T_contra, /) -> None:
        """Put another object, or text, into the property."""
        _set(*self._place, value)


def _set(owner: Object, name: str, value: object) -> None:
    from iac_runtime.objects.values import sent

    home_of(type(owner)).function("set")(target=str(owner), properties={name: sent(value)})


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
def read(
    a: Readable[A], b: Readable[B], c: Readable[D], d: Readable[E], e: Readable[F],
    f: Readable[G], /,
) -> tuple[A, B, D, E, F, G]: ...  # fmt: skip
@overload
def read(*values: Readable[T]) -> tuple[T, ...]: ...
def read(*values: Readable[Any]) -> tuple[Any, ...]:
    """Read several values, up to 100 of an app in one exchange; of several apps one each.

    A property that can hold objects of several classes is read by itself.

    Raises:
        ToolError: One of them cannot be read; the first error is told.
    """
    found: dict[int, Any] = {}
    groups: dict[Home, list[int]] = {}
    for place, value in enumerate(values):
        if value._single:
            groups.setdefault(value._home, []).append(place)
        else:
            found[place] = value._read()
    for home, places in groups.items():
        rows = home.function("get")(target=[values[place]._ref for place in places])
        for place, row in zip(places, rows, strict=True):
            if "error" in row:
                raise _error(row["error"])
            found[place] = values[place]._taken(row["value"])
    return tuple(found[place] for place in range(len(values)))


def _error(facts: Mapping[str, Any]) -> "ToolError":
    """Return the error that a row of a read carries."""
    from iac_base.errors import ToolError

    more: dict[str, Any] = {key: value for key, value in facts.items() if key not in _SAID}
    return ToolError(facts["type"], facts["message"], facts.get("suggestion", ""), **more)
