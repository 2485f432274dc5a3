"""References of one app: an object, the value of a property. Nothing is sent until it is read.

What the classes of an app share is found by the name of their module: `mail_objects` stands beside
`mail`, which has the functions and the tables.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, cast

from iac_runtime.objects.conditions import Condition, Criterion
from iac_runtime.objects.rows import Color, Point, Rect
from iac_runtime.tool import Spec, spec_of

if TYPE_CHECKING:
    from iac_base.errors import ToolError
    from iac_runtime.tools.tables import Tables


__all__ = ["APPLICATION", "AppObjects", "home_of"]


__all__ = [
    "Object",
    "PropertyValue",
    "Readable",
    "Replaceable",
    "RwPropertyValue",
    "Specifier",
    "TextObject",
    "object_named",
    "python_row",
    "to_argument",
    "unread",
]


R = TypeVar("R")


T = TypeVar("T")


T_co = TypeVar("T_co", covariant=True)


T_contra = TypeVar("T_contra", contravariant=True)


class AppObjects:
    """What the generated classes of one app share. `objects` is term -> class, collection."""

    def __init__(self, name: str) -> None:
        here = sys.modules[name]
        self.name = name
        self.module = import_module(name.removesuffix(_SUFFIX))
        self.objects: Mapping[str, tuple[type[Object], type[Any] | None]] = here.OBJECTS
        self.fields: Mapping[str, str] = getattr(here, "FIELDS", {})
        self.terms = {cls: term for term, (cls, _) in self.objects.items()}
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
        from iac_base.words import fold_name

        return {fold_name(jxa): name for name, jxa in self.members(owner).items()}


class Specifier:
    """What names something in an app: its text is the reference that the app's tools take."""

    __slots__ = ("_ref",)

    def __init__(self, text: str = "") -> None:
        object.__setattr__(self, "_ref", text)

    _ref: str

    def _child_reference(self, name: str) -> str:
        """Return the text of the reference to what is called `name` in it."""
        if not name.isidentifier():
            from iac_base.text import text_literal

            return f"{self._ref}[{text_literal(name)}]"
        return f"{self._ref}.{name}" if self._ref else name

    def _command(self, name: str, /, **arguments: object) -> R:  # type: ignore[type-var]
        """Call a command of the app, and return its answer as its caller says it is."""
        found: R = self._answer(name, **arguments)
        return found

    def _answer(self, name: str, /, **arguments: object) -> Any:
        """Call a command of the app, and return its answer in the types of the layer."""

        home = self._home
        function = home.function(name)
        spec = cast(Spec, spec_of(function))
        given: dict[str, Any] = {}
        for key, value in arguments.items():
            row = spec.params[key.rstrip("_")]
            if value is self and row.code == "----":
                given[key] = str(self)
            elif isinstance(value, Criterion) and row.type == "property":
                given[key] = value._name
            elif value is not None:
                given[key] = to_argument(value)
        return convert_answer(home, function(**given), spec.result or "any")

    @property
    def _home(self) -> AppObjects:
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
            home.function("get")(target=[self._child_reference("class")])
        except ToolError as error:
            if error.type != "NOT_FOUND":
                raise
            return False
        return True

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"{name} cannot be assigned; change a property with .{name}.set(value)"
        )

    if not TYPE_CHECKING:
        # Checkers report that a property and a value are never equal as long as this is unseen.
        def __eq__(self, other: object) -> bool:
            if not isinstance(other, Specifier):
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
        from iac_base.text import text_literal
        from iac_runtime.language.reader import AppReader
        from iac_runtime.language.text import format_reference

        home = self._home
        root = f"Application({text_literal(home.module.APP.id)})"
        try:
            return format_reference(AppReader(home.tables).read_reference(self._ref).steps, root)
        except InvalidParameterError:
            return f"{root}.{self._ref}"


def unread(value: object) -> "ToolError":
    """Return the error for what names a value where the value itself is wanted."""
    from iac_base.errors import InvalidParameterError
    from iac_runtime.tools.checking import CALL_IT

    return InvalidParameterError(f"{value!r} names a value and is not one.", CALL_IT)


class Readable(Specifier, Generic[T_co]):
    """What `read` can read."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def __eq__(self, other: object) -> bool:
            if not isinstance(other, Specifier):
                raise TypeError(str(unread(self)))
            return super().__eq__(other)

    __hash__ = Specifier.__hash__

    def __bool__(self) -> bool:
        raise TypeError(str(unread(self)))

    @property
    def _is_single(self) -> bool:
        """Say whether its own reference reads it, alone or among others."""
        return True

    def _read_value(self) -> T_co:
        """Read it: one exchange."""
        raise NotImplementedError

    def _convert_answer(self, answer: Any) -> T_co:
        """Return the answer to a read in its type."""
        raise NotImplementedError


class PropertyValue(Readable[T_co]):
    """A property of an object: call it to read."""

    __slots__ = ("_name", "_owner")

    def __init__(self, owner: "Object", name: str) -> None:
        super().__init__(owner._child_reference(name))
        object.__setattr__(self, "_owner", owner)
        object.__setattr__(self, "_name", name)

    _owner: "Object"
    _name: str

    @property
    def _home(self) -> AppObjects:
        return home_of(type(self._owner))

    def _read_value(self) -> T_co:
        get = self._home.function("get")
        if self._is_single:
            return self._convert_answer(get(target=self._ref))
        rows = get(target=str(self._owner), properties=[self._name])
        return self._convert_answer(next(iter(rows.values())))

    def get(self) -> T_co:
        """Read it: one exchange."""
        return self._read_value()

    __call__ = get

    @property
    def _is_single(self) -> bool:
        from iac_runtime.language.terms import object_classes

        # Read by its own reference an object answers all that it has.
        return object_classes(self._declared_type(), self._home.tables) == ()

    def _convert_answer(self, answer: Any) -> T_co:
        return cast(T_co, convert_answer(self._home, answer, self._declared_type()))

    def _holds_objects(self) -> bool:
        """Say whether it is declared to hold objects, so that it names them."""
        from iac_runtime.language.terms import is_text
        from iac_runtime.types import parse_type, reading_of

        tables = self._home.tables
        return any(
            not is_text(kind.name, tables)
            if kind.name in tables.classes
            else reading_of(kind.name) in ("object", "insertion")
            for kind in parse_type(self._declared_type())
        )

    def _declared_type(self) -> str:
        home = self._home
        term = home.terms.get(type(self._owner), APPLICATION)
        row = home.tables.find_property(term, self._name)
        return row.type if row is not None else "any"


class RwPropertyValue(PropertyValue[T]):
    """A property that can be set."""

    __slots__ = ()

    def set(
        self, value: T, /, *, text_format: Literal["plain", "html", "markdown"] | None = None
    ) -> None:
        """Give the property another value; of a text that is kept as HTML say how it is written."""
        more = {"text_format": text_format} if text_format else {}
        _set_property(self._owner, self._name, value, **more)


class Object(Specifier):
    """An object of an app."""

    __slots__ = ()

    def get(self) -> Any:
        """Read all of its properties: a row by their names here."""

        found = self._home.function("get")(target=str(self))
        if not isinstance(found, dict):
            return convert_answer(self._home, found, "any")
        return python_row(type(self), found)


class TextObject(Object, Readable[str]):
    """Text with parts: words, paragraphs. Call it to read the text."""

    __slots__ = ()

    def _read_value(self) -> str:
        return self._convert_answer(self._home.function("get")(target=self._ref))

    def __call__(self) -> str:
        """Read the text."""
        return self._read_value()

    if not TYPE_CHECKING:
        # A class that inherits from one with a row says so of its `get`.
        get = __call__

    def _convert_answer(self, answer: Any) -> str:
        return cast(str, answer)


class Replaceable(Specifier, Generic[T_contra]):
    """What a property holds that can be set."""

    __slots__ = ("_place",)

    _place: tuple[Object, str]
    """The owner and the JavaScript name of the property."""

    def set(self, value: T_contra, /) -> None:
        """Put another object, or text, into the property."""
        _set_property(*self._place, value)


def _set_property(owner: Object, name: str, value: object, **more: str) -> None:

    given = {name: to_argument(value)}
    home_of(type(owner)).function("set")(target=str(owner), properties=given, **more)


_TUPLES: Final[Mapping[str, type[Any]]] = {"color": Color, "RGB color": Color, "point": Point}


def to_argument(value: Any) -> Any:
    """Return a value as the tools take it: an object as its reference, a rectangle by its sides.

    Raises:
        InvalidParameterError: It names a value and was not read.
    """
    if isinstance(value, Criterion | Condition) or (
        isinstance(value, PropertyValue) and not value._holds_objects()
    ):
        raise unread(value)
    if isinstance(value, Specifier):
        from iac_runtime.language.steps import ObjectText

        return ObjectText(value)
    if isinstance(value, Rect):
        return value._asdict()
    if isinstance(value, type) and issubclass(value, Object):
        return home_of(value).terms.get(value, value.__name__)
    if isinstance(value, list | tuple | set | frozenset):
        return [to_argument(part) for part in value]
    if isinstance(value, dict):
        return {to_argument(key): to_argument(part) for key, part in value.items()}
    return value


def convert_answer(home: AppObjects, value: Any, kind: str) -> Any:
    """Return an answer of the type `kind` (the grammar of `Param.type`) as Python has it."""
    if value is None or isinstance(value, bool | int | float):
        return value
    from iac_runtime.language.reader import RefText
    from iac_runtime.types import parse_type

    if isinstance(value, RefText):
        return object_named(home, value)
    kinds = parse_type(kind)
    if isinstance(value, str):
        from pathlib import Path

        files = any(_is_file(one.name) for one in kinds)
        return Path(value) if files and value.startswith("/") else value
    if isinstance(value, list):
        single = next((_TUPLES[one.name] for one in kinds if one.name in _TUPLES), None)
        if single and len(value) == len(single._fields) and not isinstance(value[0], list | dict):
            return single(*value)
        inner = " | ".join(one.name for one in kinds if one.many) or kind
        return [convert_answer(home, part, inner) for part in value]
    if isinstance(value, dict):
        return _convert_record(home, value, [one.name for one in kinds])
    return value


def _is_file(name: str) -> bool:
    from iac_runtime.types import find_type

    found = find_type(name)
    return found is not None and found.reading == "file"


def object_named(home: AppObjects, text: str) -> "Object":
    """Return the object that an answer names."""
    from iac_runtime.language.reader import AppReader

    reference = AppReader(home.tables, strict=False).read_reference(text)
    known = [term for term in reference.classes or () if term in home.objects]
    if not known:
        other: type[Object] = type("Object", (Object,), {"__module__": home.name})
        return other(text)
    return home.class_of(known[0])("" if known[0] == text == APPLICATION else text)


def _convert_record(home: AppObjects, value: dict[str, Any], names: list[str]) -> Any:
    if set(value) == {"x", "y", "width", "height"}:
        return Rect(**value)
    if set(value) == {"x", "y"}:
        return Point(**value)
    rows = [row for name in names if name in home.tables.records
            for row in home.tables.records[name].properties]  # fmt: skip
    kinds = {home.fields.get(row.jxa, row.jxa): row.type for row in rows}
    return {
        (name := home.fields.get(key, key)): convert_answer(home, part, kinds.get(name, "any"))
        for key, part in value.items()
    }


def python_row(owner: type[Object], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of an object by their Python names; `found` is by the dictionary's."""
    from iac_base.words import fold_name

    home = home_of(owner)
    names, term = home.python_names(owner), home.terms.get(owner, APPLICATION)
    result = {}
    for label, value in found.items():
        prop = home.tables.find_property(term, label)
        name = names.get(fold_name(label))
        if name is not None:
            result[name] = convert_answer(home, value, prop.type if prop is not None else "any")
    return result


_SUFFIX: Final = "_objects"


APPLICATION: Final = "application"


_homes: Final[dict[str, AppObjects]] = {}


def home_of(owner: type) -> AppObjects:
    """Return what the generated class `owner` shares with the other classes of its app."""
    app_objects = _homes.get(owner.__module__)
    if app_objects is None:
        app_objects = _homes[owner.__module__] = AppObjects(owner.__module__)
    return app_objects
