"""The contract: what a generated module imports, and all that it imports.

A generated module is a table of an app (`CLASSES`, `ENUMS`, `RECORDS`), one function per tool
under `tool`, and the schemas. The gate, the references, the simulator and `iac-gen show` read
these tables and nothing else. This module imports nothing of ours and no dataclasses, because
every start of the server pays for it.
"""

# The built-in list under a name that no tool takes. An alias made by assignment loses its
# type parameter under pyright.
from builtins import list as ListOf  # noqa: N812
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    Literal,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
)

__all__ = [
    "LEVELS",
    "Access",
    "App",
    "Class",
    "DateOrText",
    "DateTime",
    "Dispatch",
    "Element",
    "Entity",
    "Enum",
    "Intent",
    "Kind",
    "Level",
    "ListOf",
    "Op",
    "Param",
    "Property",
    "Record",
    "Ref",
    "Schema",
    "Spec",
    "Toolset",
    "at_most",
    "highest",
    "install",
    "limits",
    "objects",
    "spec_of",
    "tool",
    "tool_prefix",
    "user_tools",
]

Level = Literal["SAFE", "MODIFY", "DANGEROUS"]
"""What a call may do: read, change, or what cannot be taken back. Ordered as written."""

LEVELS: Final[tuple[Level, ...]] = ("SAFE", "MODIFY", "DANGEROUS")


def highest(levels: Iterable[Level]) -> Level:
    """Return the highest of some levels; SAFE for none."""
    return LEVELS[max((LEVELS.index(level) for level in levels), default=0)]


@cache
def level_to_call(level: Level, *, acts: bool) -> Level:
    """Return the level of the door to a call: one that acts is no read, though it runs unasked."""
    return "MODIFY" if acts and level == "SAFE" else level


@cache
def at_most(level: Level, limit: Level) -> bool:
    """Say whether `level` is no higher than `limit`."""
    return LEVELS.index(level) <= LEVELS.index(limit)


Access = Literal["r", "w", "rw"]
Kind = Literal["application", "addition", "intents"]
Op = Literal["command", "get", "set", "list", "count", "make"]
"""How a tool talks to the app: its own command, or one of the five object tools."""

Ref: TypeAlias = str
"""An object specifier as JXA prints it, without the application: `windows[0].tabs["Docs"]`."""

if TYPE_CHECKING:
    from datetime import datetime

    DateTime: TypeAlias = datetime
    """A date as Python is answered it: aware, in the zone of the Mac."""

    DateOrText: TypeAlias = datetime | str
    """A date as it is given: of Python, or in ISO 8601."""

    Name = TypeVar("Name", bound=str)

    class EntityId(str, Generic[Name]):
        """An entity of the class that `Name` names."""

    Entity: TypeAlias = str | EntityId[Name]
    """An entity of an App Intent, by its id or by a query that one alone matches."""
else:
    # What only checkers ask is not loaded at a start.
    DateTime = DateOrText = str

    class Entity(str):
        """The same as a name that takes the name of a class."""

        def __class_getitem__(cls, _name):
            return str


Enum: TypeAlias = tuple[tuple[str, str], ...]
"""Rows of (enumerator, four-character code)."""

P = ParamSpec("P")
R = TypeVar("R")


class Property(NamedTuple):
    """A property of a class, or a field of a record: `jxa` is its name in JavaScript."""

    term: str
    code: str
    jxa: str
    type: str
    access: Access
    level: Level


class Element(NamedTuple):
    """The class `term` whose objects the owner contains."""

    term: str
    access: Access


class Class(NamedTuple):
    """A class with its own rows; inherited ones are found by following `inherits`.

    `jxa` names the class as a value (`outgoingMessage`), `plural` its collection
    (`outgoingMessages`). `make` and `delete` are the levels of making and deleting one.
    `synonyms` are other names that the dictionary gives it.
    """

    code: str
    jxa: str
    plural: str
    inherits: str | None
    make: Level
    delete: Level
    properties: tuple[Property, ...] = ()
    elements: tuple[Element, ...] = ()
    synonyms: tuple[str, ...] = ()


class Record(NamedTuple):
    """A record type and its fields."""

    code: str
    properties: tuple[Property, ...] = ()


class Param(NamedTuple):
    """A parameter: `code` is `----` for the direct one and empty for what is no event parameter.

    `type` is written in one grammar: `text`, `file`, `list of note`, `text | file`.
    `jxa` is empty where it equals `term`.
    """

    term: str
    code: str
    type: str
    jxa: str = ""


class Intent(NamedTuple):
    """What is known of an App Intent beside its parameters.

    `type` is its Swift type, `calls` what a call needs: plain values, an entity of the app, or a
    value of a type that nobody knows. `opens` says that the app comes to the front. `proof` is how
    far it was seen to work: declared only, imported as a shortcut, ran, or read back.
    """

    type: str = ""
    calls: Literal["simple", "entity", "unsupported"] = "simple"
    opens: bool = False
    proof: Literal["declared", "imported", "ran", "read back"] = "declared"


class Schema(NamedTuple):
    """The JSON schemas of a tool as JSON text: its arguments, and its structured answer if any.

    Text, because a start reads the schemas of the few tools that are called.
    """

    input: str
    output: str = ""


class Spec(NamedTuple):
    """What `tool` says about a function; read with `spec_of`. See there for what each means."""

    event: str
    level: Level
    ceiling: Level
    params: Mapping[str, Param]
    op: Op
    jxa: str
    result: str
    bind: Mapping[str, Any]
    example: Mapping[str, Any] = {}
    intent: Intent | None = None
    plan: Callable[..., Any] | None = None
    answer: Any = None
    words: str = ""
    timeout: float | None = None
    open_world: bool = False
    always: bool = False
    large: bool = False


class Toolset(NamedTuple):
    """What a package adds, under the name of its entry point in the group `iac.toolsets`.

    `nox -s regen` writes the tools into one file, which a server reads: it imports a package only
    when a tool of it is called. Functions are named as `module:function`.

    Attributes:
        modules: Those whose functions under `tool` are the tools.
        order: The names that lead a listing; those that are not named follow.
        added: A function that returns the tools that this user's files add.
        offers: One that returns what is offered for a request beside tools.
        guides: One that returns guides of apps by their names; `is_for` says whether an app is
            meant.
    """

    modules: tuple[str, ...]
    order: tuple[str, ...] = ()
    added: str = ""
    offers: str = ""
    guides: str = ""


class App(NamedTuple):
    """The app of a module: bundle id and name."""

    id: str
    name: str
    kind: Kind = "application"

    def call(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:  # noqa: ARG002
        """Call the tool `function` stands for; typed as that function.

        Raises:
            iac_base.errors.ToolError: The call was refused or failed; it carries the facts.
        """
        if _dispatch is None:
            raise RuntimeError("import iac_runtime before you call a tool")
        return _dispatch(function, kwargs)  # type: ignore[no-any-return]


class Dispatch(Protocol):
    """How the runtime carries out `App.call`."""

    def __call__(self, function: Callable[..., Any], arguments: Mapping[str, Any], /) -> Any: ...


_NOTHING: Final[Mapping[str, Any]] = {}
_SPEC: Final = "__iac_tool__"
_dispatch: Dispatch | None = None
_user_tools: Callable[[], Sequence[str]] | None = None


def tool(
    *,
    level: Level,
    event: str = "",
    params: Mapping[str, Param] = _NOTHING,
    ceiling: Level | None = None,
    op: Op = "command",
    jxa: str = "",
    result: str = "",
    bind: Mapping[str, Any] = _NOTHING,
    example: Mapping[str, Any] = _NOTHING,
    intent: Intent | None = None,
    plan: Callable[..., Any] | None = None,
    answer: Any = None,
    words: str = "",
    timeout: float | None = None,
    open_world: bool = False,
    always: bool = False,
    large: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function as a tool and return it unchanged.

    Its signature says what arguments the tool takes, its docstring what a client is told.

    Args:
        level: The least that any call needs.
        event: The eight characters of class and id of the Apple event that is sent; empty for a
            tool that no dictionary declares, as for `params`.
        params: Schema key -> parameter, in the order of the signature.
        ceiling: The most that arguments can reach; `level` where it is left out.
        op: `command`, or the object tool that is meant.
        jxa: The command's name in JavaScript; the function's own where it is left out.
        result: The type of the answer in the grammar of `Param.type`; empty for none declared.
        bind: For a recipe: the arguments of `op` that are fixed; a value `"$name"` stands for
            the parameter `name`, and is left out where that one is.
        example: Arguments of a call.
        intent: Of an App Intent, whose identifier is then the `event`.
        plan: Of a tool that no dictionary declares, the function that plans a call
            (`tools.shape.Perform`); None for one that the server answers by itself.
        answer: The type of such a tool's structured answer, a TypedDict; None for none.
        words: What people say for it beside its description: the search finds it by them.
        timeout, open_world, always, large: As `tools.shape.Tool` has them.
    """

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        name = jxa or function.__name__.rstrip("_")
        sent = (event, level, ceiling or level, params, op, name, result, bind, example, intent)
        listed = (plan, answer, words, timeout, open_world, always, large)
        setattr(function, _SPEC, Spec(*sent, *listed))
        return function

    return mark


def spec_of(function: Callable[..., Any]) -> Spec | None:
    """Return what `tool` said about `function`, or None for a function that is not a tool."""
    spec: Spec | None = getattr(function, _SPEC, None)
    return spec


def limits(**keywords: float) -> tuple[tuple[str, float], ...]:
    """Return keywords of JSON Schema for an `Annotated` type: `limits(minimum=1, maximum=50)`.

    A text beside them is the description; for an argument, the docstring's stands as well.
    """
    return tuple(keywords.items())


INTENTS: Final = "_intents"
"""The end of the key of an app's intents, which stand beside its dictionary's module."""


CALL: Final = "iac-call"
"""The key under which the input of a shortcut has what its answer begins with: no parameter's."""


def shortcuts_file(key: str) -> str:
    """Return the file of the shortcuts of an app's intents."""
    return f"{key}.plist"


def tool_prefix(key: str) -> str:
    """Return what the tools of an app's module begin with: `notes_intent_` for `notes_intents`."""
    return f"{key[:-1] if key.endswith(INTENTS) else key}_"


def objects(module: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a generated module: its typed objects, imported when asked for.

    They stand beside it in `<module>_objects`; a server never asks.
    """

    def find(name: str) -> Any:
        if name[:1] == "_":
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        from importlib import import_module

        try:
            return getattr(import_module(f"{module}_objects"), name)
        except (AttributeError, ModuleNotFoundError):
            raise AttributeError(f"module {module!r} has no attribute {name!r}") from None

    return find


def install(dispatch: Dispatch, user_folders: Callable[[], Sequence[str]]) -> None:
    """Set how calls are carried out and where the user's own modules lie (`iac_runtime` does)."""
    global _dispatch, _user_tools
    _dispatch, _user_tools = dispatch, user_folders


def user_tools() -> list[str]:
    """Return the folders of the user's own generated modules, safe ones only."""
    return list(_user_tools()) if _user_tools else []
