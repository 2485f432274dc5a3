"""What a request holds, laid out for the rules: each value with its role, each object as a path.

One object has many spellings: a path with `..` in it, a reference by brackets or by `byName`, a
property in any case, one item or a list of one. A rule is held against what would be sent, so
that no spelling of the caller's gets a call out of one rule or into another.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from iac_base.text import escaped
from iac_runtime.language.request import Absent, Event
from iac_runtime.language.steps import (
    Boundary,
    ById,
    ByIndex,
    ByName,
    Compare,
    Every,
    Filter,
    Go,
    PathValue,
    RecordValue,
    RefValue,
    Step,
    Value,
    Whose,
)
from iac_runtime.language.text import steps_text, value_text
from iac_runtime.language.typespec import parse_type
from iac_runtime.policy.places import FILE_APPS, Files, Mac, from_file_url, path_of_steps
from iac_runtime.policy.taint import Taint
from iac_runtime.tool import Param
from iac_runtime.tools.tables import APPLICATION, Tables, fold

__all__ = [
    "MOVES",
    "CallValue",
    "CallView",
    "Items",
    "RuleContext",
    "requests",
    "selects_many",
    "sent_for",
    "several_in",
    "steps_in",
    "words_of",
]


class RuleContext(NamedTuple):
    """The file system, the texts of recent results, and the folders of this program.

    `own` are folders of this program: nothing may be written there, the state not even read.
    """

    files: Files = Mac()
    taint: Taint | None = None
    own: tuple[str, ...] = ()


MOVES: Final = frozenset({"coremove", "coreclon"})
"""Events that put what is there somewhere else too, or instead."""

_CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def words_of(name: str) -> str:
    """Return a name in lower-case words: `savingIn`, `saving_in` and `saving in` are one."""
    if not name.isascii():
        return escaped(name.casefold())
    return " ".join(word.lower() for word in _CAMEL.findall(name))


class CallValue(NamedTuple):
    """One value of a request.

    `name` is in words and empty for the direct parameter; `code` and `type` are those of the
    parameter, empty for a property; `owner` is the parameter that a field stands in, or `set`.
    """

    name: str
    code: str
    type: str
    value: Value
    owner: str = ""


_INTO_CODES: Final = frozenset({"insh", "kfil", "pfil", "fpth", "stof", "refn"})
_INTO_NAMES: Final = frozenset(
    {"as file", "at", "destination", "file", "in", "into", "saving in", "saving to", "to"}
)

_FILE_NAMES: Final = frozenset({"name", "displayed name", "file name"})


@dataclass(frozen=True)
class CallView:
    """A request as the rules look at it.

    Attributes:
        params: Those of the operation, by key.
        home: The user's home folder.
        several: The app's properties that hold several objects, by JXA name.
    """

    event: Event
    params: Mapping[str, Param]
    home: str
    several: frozenset[str] = frozenset()

    @cached_property
    def given(self) -> tuple[CallValue, ...]:
        """Every value of the request, records and lists opened."""
        return tuple(self._given())

    def _given(self) -> Iterator[CallValue]:
        rows = {fold(row.jxa or row.term): row for row in self.params.values() if row.code}
        direct = next((row for row in self.params.values() if row.code == "----"), None)
        for event in requests(self.event):
            if not isinstance(event.direct, Absent):
                yield from _open("", "----", direct.type if direct else "", event.direct)
            named = event.more if event.op == "set" else (*event.named, *event.more)
            for name, value in named:
                row = rows.get(fold(name))
                code, type = (row.code, row.type) if row else ("", "")
                yield from _open(words_of(row.term if row else name), code, type, value)
            if event.op == "set":
                for name, value in event.named:
                    yield from _open(words_of(name), "", "", value, owner="set")

    @cached_property
    def texts(self) -> tuple[tuple[CallValue, str], ...]:
        """Every text and path among the values."""
        found = []
        for row in self.given:
            if isinstance(row.value, str):
                found.append((row, row.value))
            elif isinstance(row.value, PathValue):
                found.append((row, row.value.path))
        return tuple(found)

    @cached_property
    def paths(self) -> tuple[tuple[CallValue, str], ...]:
        """Every file that the request names, as an absolute path, however it is named.

        A path, a text with the form of one, a `file:` URL, or Finder's steps to an item.
        """
        found: list[tuple[CallValue, str]] = []
        for row in self.given:
            path = self.path_of(row.value)
            if path is not None:
                found.append((row, path))
        for event in requests(self.event):
            path = self._steps_path(event.target)
            if path is not None:
                found.append((CallValue("", "----", "", RefValue(event.target)), path))
        return tuple(found)

    @cached_property
    def landings(self) -> tuple[str, ...]:
        """Every path at which something comes to lie that the request does not name as one.

        What is moved into a folder, made in one, or called otherwise where it is.
        """
        if self.event.op != "set" and self.event.code not in (*MOVES, "corecrel"):
            return ()
        folders = [path for row, path in self.paths if self.into(row)]
        sources = [path for row, path in self.paths if row.code == "----"]
        names = [str(row.value) for row, _ in self.texts if row.owner and row.name in _FILE_NAMES]
        if self.event.op == "set":
            folders = [path.rpartition("/")[0] for path in sources]
        elif self.event.code in MOVES:
            names += [path.rpartition("/")[2] for path in sources]
        return tuple(f"{folder}/{name.replace('/', ':')}" for folder in folders for name in names)

    @property
    def of_files(self) -> bool:
        """Say whether the app is one whose objects are files."""
        return self.event.app.casefold() in FILE_APPS

    def path_of(self, value: Value) -> str | None:
        """Return the absolute path of the file that a value names, or None if it names none."""
        if isinstance(value, PathValue):
            return value.path
        if isinstance(value, RefValue):
            return self._steps_path(value.steps)
        if isinstance(value, str):
            if value.startswith(("/", "~/")) and "\n" not in value:
                return self.home + value[1:] if value.startswith("~") else value
            return from_file_url(value)
        return None

    def _steps_path(self, steps: tuple[Step, ...]) -> str | None:
        return path_of_steps(steps, self.event.app, self.home)

    def into(self, row: CallValue) -> bool:
        """Say whether a value says where something is put."""
        return row.code in _INTO_CODES or (row.code != "----" and row.name in _INTO_NAMES)

    @property
    def made(self) -> str:
        """The class of what is made, in words; empty if nothing is."""
        if self.event.code != "corecrel":
            return ""
        return next((words_of(str(row.value)) for row in self.given if row.code == "kocl"), "")


def requests(event: Event) -> Iterator[Event]:
    """Yield a request, and those that it does in one call."""
    yield event
    for part in event.parts:
        yield from requests(part)


def _open(name: str, code: str, type: str, value: Value, owner: str = "") -> Iterator[CallValue]:
    if isinstance(value, RecordValue):
        for field, part in value.fields:
            yield from _open(words_of(field), "", "", part, owner=name or "record")
    elif isinstance(value, tuple):
        for part in value:
            yield from _open(name, code, type, part, owner)
    else:
        yield CallValue(name, code, type, value, owner)


_WHOLE: Final = frozenset({"entireContents"})
"""Finder's name of all that a folder holds, however deep; its dictionary does not say so."""

_by_app: dict[int, tuple[Tables, frozenset[str]]] = {}


def several_in(tables: Tables | None) -> frozenset[str]:
    """Return the properties of an app that hold several of its objects, by JXA name; read once."""
    if tables is None:
        return frozenset()
    # The tables are kept with their id, so that it means no others.
    found = _by_app.get(id(tables))
    if found is None:
        kinds: dict[str, bool] = {}
        for part in tables.classes.values():
            for row in part.properties:
                held = [kind.name for kind in parse_type(row.type) if kind.many]
                many = any(name == "specifier" or tables.find_class(name) for name in held)
                kinds[row.jxa] = kinds.get(row.jxa, True) and many
        names = frozenset(name for name, many in kinds.items() if many) | _WHOLE
        found = _by_app[id(tables)] = (tables, names)
    return found[1]


def selects_many(steps: tuple[Step, ...], several: frozenset[str] = frozenset()) -> bool:
    """Say whether a specifier means several objects.

    A whole collection, what a filter finds, or one of the properties `several`.
    """
    for at, step in enumerate(steps):
        if isinstance(step, Whose) or (isinstance(step, Go) and step.name in several):
            return True
        if isinstance(step, Every):
            after = steps[at + 1] if at + 1 < len(steps) else None
            if not isinstance(after, ByIndex | ByName | ById | Boundary | Whose):
                return True
    return False


def steps_in(event: Event) -> Iterator[tuple[Step, ...]]:
    """Yield every object specifier of a request, those inside filters and records too."""
    for one in requests(event):
        if one.target:
            yield one.target
            yield from _inside(one.target)
        if not isinstance(one.direct, Absent):
            yield from _value_steps(one.direct)
        for _, value in (*one.named, *one.more):
            yield from _value_steps(value)


def _value_steps(value: Value) -> Iterator[tuple[Step, ...]]:
    if isinstance(value, RefValue):
        yield value.steps
        yield from _inside(value.steps)
    elif isinstance(value, RecordValue):
        for _, part in value.fields:
            yield from _value_steps(part)
    elif isinstance(value, tuple):
        for part in value:
            yield from _value_steps(part)


def _inside(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    for step in steps:
        if isinstance(step, Whose):
            yield from _filter_steps(step.filter)


def _filter_steps(test: Filter) -> Iterator[tuple[Step, ...]]:
    if isinstance(test, Compare):
        yield test.path
        yield from _value_steps(test.value)
    else:
        for part in test.tests:
            yield from _filter_steps(part)


Items: TypeAlias = tuple[tuple[str, ...], ...]
"""An entry for each item of a value (one, if it is no list): the texts that all mean this item."""


def sent_for(key: str, view: CallView, params: Mapping[str, Param]) -> Items | None:
    """Return what would be sent for the argument `key`; None for one that is not sent as such.

    `properties.name` reaches into an object.
    """
    first, *fields = key.split(".")
    name = next((param for param in params if fold(param) == fold(first)), None)
    value = None if name is None else _value(params[name], name, view)
    for field in fields:
        value = _field(value, field)
    if value is None:
        return None
    found = value if isinstance(value, tuple) else (value,)
    return tuple(_forms(item, view) for item in found)


def _value(row: Param, key: str, view: CallView) -> Value:
    event = view.event
    if row.code == "----" and event.op == "command":
        return None if isinstance(event.direct, Absent) else event.direct
    if row.code == "----" and event.parts:
        return tuple(RefValue(part.target) for part in event.parts)
    if row.code == "----":
        return RefValue(_holder(view) if key == "of" else event.target)
    if key == "properties" and event.op == "set":
        return RecordValue(event.named)
    wanted = fold(row.jxa or row.term)
    named = (*event.named, *event.more)
    return next((value for name, value in named if wanted and fold(name) == wanted), None)


def _holder(view: CallView) -> tuple[Step, ...]:
    """Return the steps to what holds the collection that is listed or counted."""
    steps = view.event.target
    while steps and isinstance(steps[-1], Whose):
        steps = steps[:-1]
    return steps[:-1] if steps and isinstance(steps[-1], Every) else steps


def _field(value: Value, name: str) -> Value:
    if not isinstance(value, RecordValue):
        return None
    return next((part for field, part in value.fields if fold(field) == fold(name)), None)


def _forms(value: Value, view: CallView) -> tuple[str, ...]:
    forms: list[str] = []
    if isinstance(value, RefValue):
        forms.append(steps_text(value.steps) or APPLICATION)
    elif isinstance(value, str):
        forms.append(value)
    elif not isinstance(value, PathValue):
        forms.append(json.dumps(value) if isinstance(value, int | float) else value_text(value))
    path = view.path_of(value)
    if path is not None and not isinstance(value, str):
        forms.append(path)
        if view.home and (path == view.home or path.startswith(view.home + "/")):
            forms.append("~" + path[len(view.home) :])
    return tuple(forms)
