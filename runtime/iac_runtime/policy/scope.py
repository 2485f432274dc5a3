"""What an "always" covers: the app, the command, and the kind of its arguments.

The kind of an argument is what tells one use of a command from another without naming one object:
the class of what is made, the class and the properties of what is set, the parameters that are
given, the suffix of a file, the host of an address.
"""

from typing import NamedTuple
from urllib.parse import urlsplit

from iac_runtime.cleaning import escaped
from iac_runtime.language.steps import (
    DateValue,
    Every,
    Go,
    PathValue,
    RecordValue,
    RefValue,
    Step,
    Value,
)
from iac_runtime.policy.facts import Facts
from iac_runtime.policy.sight import words_of
from iac_runtime.request import Absent, Event

__all__ = ["Scope", "scope_of"]


class Scope(NamedTuple):
    """What is remembered: the app, the event with its command, and the kind, all compared whole."""

    app: str
    command: str
    kind: str

    def says(self, app_name: str) -> str:
        """Return the scope in words, as in `Notes: set name of notes`."""
        return f"{app_name}: {self.kind}"


def scope_of(facts: Facts) -> Scope | None:
    """Return the scope of a call, or None for one that sends nothing."""
    event = facts.event
    if event is None:
        return None
    command = f"{event.op} {event.code} {event.command}".strip()
    return Scope(facts.app_id, command, _kind(event, facts.tool))


def _kind(event: Event, tool: str) -> str:
    names = sorted({words_of(name) for name, _ in event.named})
    if event.op == "set":
        return f"set {', '.join(names)} of {_thing(event.target)}"
    if event.code == "corecrel":
        made = next((value for name, value in event.named if name == "new"), "")
        return f"make {words_of(str(made))}{_with(event)}"
    verb = words_of(event.command) or event.op
    direct = "" if isinstance(event.direct, Absent) else f" {_value(event.direct)}"
    return f"{verb}{direct}{_with(event)} ({tool})"


def _with(event: Event) -> str:
    parts = []
    for name, value in sorted(event.named):
        if name == "new":
            continue
        if isinstance(value, RecordValue):
            fields = ", ".join(sorted(words_of(field) for field, _ in value.fields))
            parts.append(f"{words_of(name).removeprefix('with ')} {{{fields}}}")
        else:
            parts.append(f"{words_of(name)} {_value(value)}")
    return f" with {'; '.join(parts)}" if parts else ""


def _value(value: Value) -> str:
    match value:
        case RefValue(steps):
            return _thing(steps)
        case PathValue(path):
            name = path.rpartition("/")[2]
            return escaped(f"file .{name.rpartition('.')[2].lower()}") if "." in name else "file"
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case DateValue():
            return "date"
        case RecordValue():
            return "record"
        case tuple():
            return f"list of {', '.join(sorted({_value(part) for part in value}))}"
        case None:
            return "nothing"
    return "number"


def _text(text: str) -> str:
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return "text"
    if not (parts.scheme and parts.netloc):
        return "text"
    return escaped(f"{parts.scheme}://{parts.netloc.lower()}")


def _thing(steps: tuple[Step, ...]) -> str:
    """Return the names on the way to an object, without which one it is."""
    names = [words_of(step.name) for step in steps if isinstance(step, Go | Every)]
    return " ".join(names) or "the app"
