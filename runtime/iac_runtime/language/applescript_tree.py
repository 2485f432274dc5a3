"""The syntax tree of an AppleScript.

Sources: AppleScript Language Guide, "Expressions", "Reference Forms", "Control Statements
Reference", "Handler Reference".
"""

from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a script; `start` is its place in the text, in characters."""

    start: int


@dataclass(frozen=True, slots=True)
class Value(Node):
    """A text, a number, or a constant of the language: True, False, None for missing value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name of the script's own, as compared; `me`, `it` and `result` too."""

    name: str


@dataclass(frozen=True, slots=True)
class TermName(Node):
    """A word of a dictionary or of the language that is no command."""

    use: Literal["property", "class", "constant"]
    term: str


@dataclass(frozen=True, slots=True)
class Application(Node):
    """`application "Notes"`; `name` may be reckoned."""

    name: Node


@dataclass(frozen=True, slots=True)
class Element(Node):
    """An element form: the class, how it is picked, by what, and of which container.

    `form`: every, index, name, id, range, some, middle, whose, before, after. Of `whose`,
    `keys` has the test, and `within` what it filters.
    """

    term: str
    form: str
    keys: tuple[Node, ...] = ()
    within: Node | None = None


@dataclass(frozen=True, slots=True)
class Member(Node):
    """A property of something: `name of x`, `x's name`; `within` is None for what is told."""

    name: Node
    within: Node | None


@dataclass(frozen=True, slots=True)
class Place(Node):
    """An insertion place: beginning, end, before or after something."""

    where: str
    within: Node | None


@dataclass(frozen=True, slots=True)
class ListOf(Node):
    """A list."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class RecordOf(Node):
    """A record."""

    fields: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Operation(Node):
    """An operator and its operands; `as` has the type as the second."""

    operator: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Grouped(Node):
    """What stands in parentheses: its value is taken."""

    inner: Node


@dataclass(frozen=True, slots=True)
class ReferenceTo(Node):
    """`a reference to x`."""

    target: Node


@dataclass(frozen=True, slots=True)
class HandlerCall(Node):
    """A call of a handler: by place (`labels` is empty) or with labels."""

    name: str
    arguments: tuple[Node, ...]
    labels: tuple[str, ...] = ()
    owner: Node | None = None


@dataclass(frozen=True, slots=True)
class CommandCall(Node):
    """A command of a dictionary, with its direct parameter and the others by their labels."""

    term: str
    direct: Node | None
    parameters: tuple[tuple[str, Node], ...] = ()


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """`set` and `copy`."""

    target: Node
    value: Node
    copies: bool = False


@dataclass(frozen=True, slots=True)
class Evaluate(Node):
    """An expression as a statement."""

    value: Node


@dataclass(frozen=True, slots=True)
class Tell(Node):
    """`tell x … end tell`."""

    target: Node
    body: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class If(Node):
    """Conditions with what they lead to; the last may be None, for `else`."""

    branches: tuple[tuple[Node | None, tuple[Node, ...]], ...]


@dataclass(frozen=True, slots=True)
class Repeat(Node):
    """A loop. `form`: ever, times, while, until, from, in."""

    form: str
    body: tuple[Node, ...]
    variable: str = ""
    values: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Try(Node):
    """`try … on error`; `names` are the variables by their labels, "" for the message."""

    body: tuple[Node, ...]
    handler: tuple[Node, ...] = ()
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Raise(Node):
    """`error`."""

    message: Node | None
    parameters: tuple[tuple[str, Node], ...] = ()


@dataclass(frozen=True, slots=True)
class Leave(Node):
    """`return`, `exit` (of a loop) and `continue` of one."""

    way: Literal["return", "exit"]
    value: Node | None = None


@dataclass(frozen=True, slots=True)
class Within(Node):
    """A block that changes how what is in it runs: `with timeout`, `considering`, `ignoring`."""

    kind: str
    words: tuple[str, ...]
    body: tuple[Node, ...]
    value: Node | None = None


@dataclass(frozen=True, slots=True)
class Declare(Node):
    """`global`, `local`, or `property` with its first value."""

    kind: str
    names: tuple[str, ...]
    value: Node | None = None


@dataclass(frozen=True, slots=True)
class Handler(Node):
    """A handler: a pattern for each parameter, and their labels where it has some."""

    name: str
    parameters: tuple[Node, ...]
    labels: tuple[str, ...]
    body: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Script(Node):
    """A script, or a script object with a name."""

    name: str
    body: tuple[Node, ...]
    handlers: dict[str, Handler] = field(default_factory=dict)
