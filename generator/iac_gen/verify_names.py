"""Verify names: our JavaScript names against those that JXA's own reflection prints.

Reflection (`commandsOfClass`, `propertiesOfClass`, `elementsOfClass`, `parentOfClass`) is not
documented by Apple and shows no parameters. Whether it prints inherited names, and elements by
their plural, is not known: either is taken as right.
"""

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Any, Final, NamedTuple

from iac_base.words import fold_name
from iac_gen import model
from iac_gen.naming import class_plural, javascript_name
from iac_gen.resolve import ResolvedDictionary

# What JXA gives every object and every app, dictionary or not.
_COMMON_PROPERTIES: Final = frozenset({"class", "properties"})
_COMMON_COMMANDS: Final = frozenset(
    "activate close count delete duplicate exists get launch make move open print quit reopen run"
    " save set".split()
)


@dataclass(frozen=True, slots=True)
class SpelledName:
    """A term and the name that we give it; `other` is another name that would do as well."""

    term: str
    jxa: str
    other: str = ""
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class ClassNames:
    """The names of one class: its own, and in `inherited` those of the classes above it."""

    name: SpelledName
    parent: str
    properties: tuple[SpelledName, ...]
    elements: tuple[SpelledName, ...]
    inherited: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AskedNames:
    """The names of one app: what is asked about it."""

    app: str
    kind: str
    commands: tuple[SpelledName, ...]
    classes: tuple[ClassNames, ...]
    parameters: int = 0

    def count_names(self) -> int:
        """Return how many names reflection can be asked about."""
        rows = sum(1 + len(row.properties) + len(row.elements) for row in self.classes)
        return len(self.commands) + rows


class ReflectedClass(NamedTuple):
    """What reflection printed of one class; None for what it would not answer."""

    properties: tuple[str, ...] | None
    elements: tuple[str, ...] | None
    parent: str | None


class Reflection(NamedTuple):
    """What reflection printed of one app; `classes` by term."""

    commands: tuple[str, ...] | None
    classes: Mapping[str, ReflectedClass]


class NameDifference(NamedTuple):
    """A name that is not as we make it: `ours` is empty for one that only JXA has."""

    what: str
    term: str
    ours: str
    theirs: str

    def __str__(self) -> str:
        if not self.ours:
            return f"{self.what}: JXA has {self.theirs}, which belongs to no term"
        theirs_in_words = f"JXA has {self.theirs}" if self.theirs else "JXA has no such name"
        return f"{self.what} {self.term!r}: IAC has {self.ours}, {theirs_in_words}"


def collect_names(resolved: ResolvedDictionary) -> AskedNames:
    """Return every name of an app, hidden ones marked: reflection need not print those."""
    source = resolved.source
    named = {row.name: row for row in resolved.classes}
    return AskedNames(
        source.name if source.id.startswith("local.") else source.id,
        source.kind,
        _spelled_names(resolved.commands),
        tuple(_class_names(row, named) for row in resolved.classes),
        sum(len(row.parameters) for row in resolved.commands),
    )


def _class_names(row: model.SdefClass, named: Mapping[str, model.SdefClass]) -> ClassNames:
    above = [named[name] for name in model.class_lineage(row.name, named)][1:]
    members = (_spelled_names(row.properties), _element_names(row, named))
    inherited = {
        spelling
        for owner in above
        for name in (*_spelled_names(owner.properties), *_element_names(owner, named))
        for spelling in (name.jxa, name.other)
    }
    own = SpelledName(row.name, javascript_name(row.name), "", row.hidden)
    return ClassNames(own, javascript_name(row.inherits), *members, frozenset(inherited))


def _spelled_names(
    rows: Iterable[model.SdefCommand | model.SdefProperty],
) -> tuple[SpelledName, ...]:
    return tuple(SpelledName(row.name, javascript_name(row.name), "", row.hidden) for row in rows)


def _element_names(
    row: model.SdefClass, named: Mapping[str, model.SdefClass]
) -> tuple[SpelledName, ...]:
    rows = []
    for one in row.elements:
        plural = class_plural(one.type, named[one.type].plural if one.type in named else "")
        names = (javascript_name(plural), javascript_name(one.type))
        rows.append(SpelledName(one.type, *names, one.hidden))
    return tuple(rows)


def compare_names(names: AskedNames, reflection: Reflection) -> list[NameDifference]:
    """Return what reflection says otherwise, commands first, classes in the dictionary's order."""
    commands = reflection.commands
    differences = [*_name_differences("command", names.commands, commands, _COMMON_COMMANDS)]
    for row in names.classes:
        printed = reflection.classes.get(row.name.term)
        if printed is not None:
            differences += _class_differences(row, printed)
    return differences


def _class_differences(row: ClassNames, printed: ReflectedClass) -> Iterator[NameDifference]:
    term = row.name.term
    expected = [name for name in (*row.properties, *row.elements) if not name.hidden]
    if expected and not printed.properties and not printed.elements:
        if not row.name.hidden:
            yield NameDifference("class", term, row.name.jxa, "")
        return
    if printed.parent and row.parent and printed.parent != row.parent:
        yield NameDifference(f"parent of {term}", row.parent, row.parent, printed.parent)
    common = row.inherited | _COMMON_PROPERTIES
    yield from _name_differences(f"property of {term}", row.properties, printed.properties, common)
    yield from _name_differences(
        f"element of {term}", row.elements, printed.elements, row.inherited
    )


def _name_differences(
    what: str, ours: Iterable[SpelledName], theirs: tuple[str, ...] | None, common: frozenset[str]
) -> Iterator[NameDifference]:
    if theirs is None:
        return
    ours = list(ours)
    printed = set(theirs)
    known = {spelling for name in ours for spelling in (name.jxa, name.other)} | common
    only_theirs = {fold_name(name): name for name in theirs if name not in known}
    for name in ours:
        if printed & {name.jxa, name.other}:
            continue
        like = only_theirs.pop(fold_name(name.jxa), "")
        if like or not (name.hidden or name.jxa in common):
            yield NameDifference(what, name.term, name.jxa, like)
    for extra in only_theirs.values():
        yield NameDifference(what, "", "", extra)


_SECONDS: Final = 60


class ReflectionError(Exception):
    """An app's names cannot be had; the text is one line."""


class NoReflectionError(ReflectionError):
    """There is nothing that reflection would say of it."""


def run_reflection(
    names: AskedNames,
    program: Sequence[str],
    seconds: float = _SECONDS,
    environment: Mapping[str, str] | None = None,
) -> Reflection:
    """Return what reflection prints of the app and of each of its classes.

    Args:
        program: The osascript to run, with its first arguments if it needs any.
        seconds: After which it is killed.
        environment: Variables for it beside our own.

    Raises:
        ReflectionError: It cannot be started, fails, hangs, or answers something else.
        NoReflectionError: It answers that it has no names at all.
    """
    request = {
        "app": names.app,
        "kind": names.kind,
        "classes": [[row.name.jxa, row.name.term] for row in names.classes],
    }
    with as_file(files("iac_gen") / "reflection.js") as script:
        try:
            done = subprocess.run(
                [*program, "-l", "JavaScript", str(script)],
                input=json.dumps(request).encode(),
                capture_output=True,
                timeout=seconds,
                check=False,
                env={**os.environ, **(environment or {})},
            )
        except subprocess.TimeoutExpired:
            raise ReflectionError(f"{program[0]} did not end within {seconds:g} seconds") from None
        except OSError as error:
            raise ReflectionError(f"{program[0]} cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        errors = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = errors[-1] if errors else f"status {done.returncode}"
        raise ReflectionError(f"{program[0]} failed: {reason}")
    return _read_reflection(done.stdout, names)


def _read_reflection(stdout: bytes, names: AskedNames) -> Reflection:
    try:
        answer = json.loads(stdout)
        rows = answer["classes"]
        if len(rows) != len(names.classes):
            raise ValueError("a different number of classes")
        printed = {}
        for owner, row in zip(names.classes, rows, strict=True):
            both = _optional_texts(row["properties"]), _optional_texts(row["elements"])
            printed[owner.name.term] = ReflectedClass(*both, _optional_text(row["parent"]))
        commands = _optional_texts(answer["commands"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ReflectionError("the output does not come from IAC's script") from None
    if commands is None and not any(row.properties or row.elements for row in printed.values()):
        raise NoReflectionError(
            "JavaScript shows no names for it, or the dictionary could not be loaded"
        )
    return Reflection(commands, printed)


def _optional_texts(value: Any) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError("not a list of names")
    return tuple(value)


def _optional_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise ValueError("no name")
