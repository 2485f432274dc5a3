"""The syntax tree of an AppleScript.

Sources: AppleScript Language Guide, "Expressions", "Reference Forms", "Control Statements
ObjectReference", "Handler ObjectReference".
"""

from dataclasses import dataclass, field, replace
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class SyntaxNode:
    """A part of a script; `start` is its place in the text, in characters."""

    start: int


@dataclass(frozen=True, slots=True)
class Value(SyntaxNode):
    """A text, a number, or a constant of the language: True, False, None for missing value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Name(SyntaxNode):
    """A name of the script's own, as compared; `me`, `it` and `result` too."""

    name: str


@dataclass(frozen=True, slots=True)
class TermName(SyntaxNode):
    """A word of a dictionary or of the language that is no command."""

    use: Literal["property", "class", "constant"]
    term: str


@dataclass(frozen=True, slots=True)
class Application(SyntaxNode):
    """`application "Notes"`; `name` may be reckoned."""

    name: SyntaxNode


@dataclass(frozen=True, slots=True)
class ElementForm(SyntaxNode):
    """An element form: the class, how it is picked, by what, and of which container.

    `form`: every, index, name, id, range, some, middle, whose, before, after. Of `whose`,
    `keys` has the test, and `within` what it filters.
    """

    term: str
    form: str
    keys: tuple[SyntaxNode, ...] = ()
    within: SyntaxNode | None = None


@dataclass(frozen=True, slots=True)
class Member(SyntaxNode):
    """A property of something: `name of x`, `x's name`; `within` is None for what is told."""

    name: SyntaxNode
    within: SyntaxNode | None


@dataclass(frozen=True, slots=True)
class Place(SyntaxNode):
    """An insertion place: beginning, end, before or after something."""

    where: str
    within: SyntaxNode | None


@dataclass(frozen=True, slots=True)
class ListOf(SyntaxNode):
    """A list."""

    items: tuple[SyntaxNode, ...]


@dataclass(frozen=True, slots=True)
class RecordOf(SyntaxNode):
    """A record."""

    fields: tuple[tuple[str, SyntaxNode], ...]


@dataclass(frozen=True, slots=True)
class OperatorForm(SyntaxNode):
    """An operator and its operands; `as` has the type as the second."""

    operator: str
    operands: tuple[SyntaxNode, ...]


@dataclass(frozen=True, slots=True)
class Grouped(SyntaxNode):
    """What stands in parentheses: its value is taken."""

    inner: SyntaxNode


@dataclass(frozen=True, slots=True)
class ReferenceTo(SyntaxNode):
    """`a reference to x`."""

    target: SyntaxNode


@dataclass(frozen=True, slots=True)
class HandlerCall(SyntaxNode):
    """A call of a handler: by place (`labels` is empty) or with labels.

    `continues` is true for `continue`, which calls the handler of the parent.
    """

    name: str
    arguments: tuple[SyntaxNode, ...]
    labels: tuple[str, ...] = ()
    owner: SyntaxNode | None = None
    continues: bool = False


@dataclass(frozen=True, slots=True)
class CommandCall(SyntaxNode):
    """A command of a dictionary, with its direct parameter and the others by their labels."""

    term: str
    direct: SyntaxNode | None
    parameters: tuple[tuple[str, SyntaxNode], ...] = ()


@dataclass(frozen=True, slots=True)
class Assign(SyntaxNode):
    """`set` and `copy`."""

    target: SyntaxNode
    value: SyntaxNode
    copies: bool = False


@dataclass(frozen=True, slots=True)
class Evaluate(SyntaxNode):
    """An expression as a statement."""

    value: SyntaxNode


@dataclass(frozen=True, slots=True)
class Tell(SyntaxNode):
    """`tell x … end tell`."""

    target: SyntaxNode
    body: tuple[SyntaxNode, ...]


@dataclass(frozen=True, slots=True)
class If(SyntaxNode):
    """Conditions with what they lead to; the last may be None, for `else`."""

    branches: tuple[tuple[SyntaxNode | None, tuple[SyntaxNode, ...]], ...]


@dataclass(frozen=True, slots=True)
class Repeat(SyntaxNode):
    """A loop. `form`: ever, times, while, until, from, in."""

    form: str
    body: tuple[SyntaxNode, ...]
    variable: str = ""
    values: tuple[SyntaxNode, ...] = ()


@dataclass(frozen=True, slots=True)
class Try(SyntaxNode):
    """`try … on error`; `names` are the variables by their labels, "" for the message.

    `number` is the only error that the handler is for, None for any.
    """

    body: tuple[SyntaxNode, ...]
    handler: tuple[SyntaxNode, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Raise(SyntaxNode):
    """`error`."""

    message: SyntaxNode | None
    parameters: tuple[tuple[str, SyntaxNode], ...] = ()


@dataclass(frozen=True, slots=True)
class Leave(SyntaxNode):
    """`return`, `exit` (of a loop) and `continue` of one."""

    way: Literal["return", "exit"]
    value: SyntaxNode | None = None


@dataclass(frozen=True, slots=True)
class Within(SyntaxNode):
    """A block that changes how what is in it runs: `with timeout`, `considering`, `ignoring`."""

    kind: str
    words: tuple[str, ...]
    body: tuple[SyntaxNode, ...]
    value: SyntaxNode | None = None


@dataclass(frozen=True, slots=True)
class Declare(SyntaxNode):
    """`global`, `local`, or `property` with its first value."""

    kind: str
    names: tuple[str, ...]
    value: SyntaxNode | None = None


@dataclass(frozen=True, slots=True)
class Handler(SyntaxNode):
    """A handler: a pattern for each parameter, and their labels where it has some.

    `defaults` are what the parameters without a value are, by their labels.
    """

    name: str
    parameters: tuple[SyntaxNode, ...]
    labels: tuple[str, ...]
    body: tuple[SyntaxNode, ...]
    defaults: dict[str, SyntaxNode] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Script(SyntaxNode):
    """A script, or a script object with a name."""

    name: str
    body: tuple[SyntaxNode, ...]
    handlers: dict[str, Handler] = field(default_factory=dict)


def find_application(target: SyntaxNode) -> str | None:
    """Return the name of the app that a reference is in, if it is written down."""
    while isinstance(target, Member | ElementForm | Grouped | Place):
        inner = target.inner if isinstance(target, Grouped) else target.within
        if inner is None:
            return None
        target = inner
    if isinstance(target, Application) and isinstance(target.name, Value):
        return str(target.name.value)
    return None


def takes_container(value: SyntaxNode) -> bool:
    """Say whether `of` behind an expression gives it a container."""
    if isinstance(value, ListOf):
        return bool(value.items) and all(map(takes_container, value.items))
    return isinstance(
        value,
        Member | ElementForm | Name | TermName | Place | HandlerCall,
    )


def with_container(value: SyntaxNode, container: SyntaxNode) -> SyntaxNode:
    """Return a reference with its outermost container: `name of note 1` with `of folder 2`."""
    if isinstance(value, Member | ElementForm | Place):
        inner = container
        if value.within is not None:
            inner = with_container(value.within, container)
        return replace(value, within=inner)
    if isinstance(value, ListOf):
        return replace(value, items=tuple(with_container(item, container) for item in value.items))
    if isinstance(value, HandlerCall):
        return replace(value, owner=container)
    return Member(value.start, value, container)
