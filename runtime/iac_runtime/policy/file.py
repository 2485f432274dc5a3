"""Reading policy.toml: every key is known, every value has its type, every error its line.

A file that is not right is an error, never a policy that lets more through than was meant.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

from iac_base.errors import SetupError, near_text, nearest, quoted
from iac_base.files import IrregularFileError, TooLargeError, config_file, read_bounded
from iac_base.positions import Document, TextError, read_toml
from iac_base.positions import Path as Where
from iac_base.words import fold
from iac_runtime.policy.blocklist import BUILT_IN, FIXED
from iac_runtime.policy.effects import VERBS
from iac_runtime.policy.escalation import RULES
from iac_runtime.policy.matching import LevelRule, Match, Matcher, Wanted
from iac_runtime.policy.model import APPROVERS, BUNDLE_GLOB, PRESETS, Policy
from iac_runtime.tool import LEVELS, Level

MAX_SIZE: Final = 1_000_000
"""Bytes."""


def policy_path(chosen: Path | None = None) -> Path:
    """Return where the policy file is looked for; it need not be there.

    `chosen` (`--policy`), else the user's own (`folders.config_file`).
    """
    return config_file() if chosen is None else chosen


def load_policy(chosen: Path | None = None) -> Policy:
    """Return the policy of this user; without a file, what holds by default.

    Raises:
        SetupError: The chosen file is not there, the file cannot be read, others can write to it,
            or it is not right; one line with the place and the way out.
    """
    path = policy_path(chosen)
    try:
        text, status = read_bounded(path, MAX_SIZE)
        if status.st_uid not in (os.geteuid(), 0):
            raise SetupError(f"{path} belongs to another user and is not read; own it.")
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise SetupError(f"{path} can be written by others and is not read; chmod go-w it.")
    except FileNotFoundError:
        if chosen is not None or path.is_symlink():
            raise SetupError(f"{path} is not there; make it with: iac-mcp policy edit") from None
        return Policy()
    except IrregularFileError:
        raise SetupError(f"{path} is no file; put your policy there, or move it away.") from None
    except TooLargeError:
        raise SetupError(
            f"{path} is larger than {MAX_SIZE} bytes; no policy is that long."
        ) from None
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        return parse_policy(text.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise SetupError(f"{path} line {line}: this is no UTF-8; save it as UTF-8.") from None


def parse_policy(text: str, name: str = "policy.toml") -> Policy:
    """Return the policy that a TOML text says; `name` is the file's, for messages.

    Raises:
        SetupError: It is not right; one line with the line, and the nearest known word.
    """
    try:
        document = read_toml(text)
    except TextError as error:
        raise SetupError(f"{name} line {error.line or 1}: {error.reason}.") from None
    return _Reader(document, name).policy()


class _Reader:
    """Reads one document; remembers it and its name for the errors."""

    def __init__(self, document: Document, name: str) -> None:
        self._document = document
        self._name = name

    def policy(self) -> Policy:
        data: Mapping[str, Any] = self._document.value
        lines = tuple((key, self._document.line((key,))) for key in data)
        return Policy(path=self._name, lines=lines, **self.table((), data, _KEYS))

    def _wrong(self, where: Where, message: str) -> NoReturn:
        raise SetupError(f"{self._name} line {self._document.line(where)}: {message}")

    def table(self, where: Where, value: Any, keys: "_Keys") -> dict[str, Any]:
        """Return what a table says, by the field that each of its keys is for."""
        if not isinstance(value, Mapping):
            self._wrong(where, f"{where[-1]} wants a table.")
        for key in value:
            if key not in keys:
                hint = near_text(key, sorted(keys))
                self._wrong((*where, key), f"there is no key {quoted(key)}. {hint}")
        found: dict[str, Any] = {}
        for key, part in value.items():
            field, read = keys[key]
            said = read(self, (*where, key), part)
            found.update({field: said} if field else said)
        return found

    def _word(self, where: Where, value: Any, known: Iterable[str], message: str) -> str:
        """Return a word that is among those that are known; `message` says that it is not."""
        if not isinstance(value, str) or value not in known:
            word = str(value)
            self._wrong(where, f"{message.format(quoted(word))} {near_text(word, known)}")
        return value

    def preset(self, where: Where, value: Any) -> str:
        return self._word(where, value, PRESETS, "there is no preset {}.")

    def switch(self, where: Where, value: Any) -> bool:
        if not isinstance(value, bool):
            self._wrong(where, f"{where[-1]} wants true or false.")
        return value

    def number(self, where: Where, value: Any) -> float:
        right = isinstance(value, int | float) and not isinstance(value, bool)
        if not right or not 0 < value < 1e6:
            self._wrong(where, f"{where[-1]} wants a number above 0 and below 1,000,000.")
        return float(value)

    def sentence(self, where: Where, value: Any) -> str:
        if not isinstance(value, str):
            self._wrong(where, f"{where[-1]} wants a text.")
        return " ".join(value.split())

    def texts(self, where: Where, value: Any) -> tuple[str, ...]:
        """Return a text or a list of texts as a tuple."""
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(x, str) and x for x in found):
            self._wrong(where, f"{where[-1]} wants a text, or a list of texts.")
        return tuple(found)

    def some(self, where: Where, value: Any) -> tuple[str, ...]:
        """Return a text or a list of texts; a rule of none would speak of every call."""
        found = self.texts(where, value)
        if not found:
            self._wrong(where, f"{where[-1]} is empty; give a text, or leave it out.")
        return found

    def approvers(self, where: Where, value: Any) -> tuple[str, ...]:
        words = self.texts(where, value)
        return tuple(
            self._word(where, word, APPROVERS, "nobody called {} can ask.") for word in words
        )

    def bundles(self, where: Where, value: Any) -> tuple[str, ...]:
        found = self.texts(where, value)
        for entry in found:
            if not BUNDLE_GLOB.match(entry):
                self._wrong(where, f"{quoted(entry)} is no bundle id, as in com.apple.Notes.")
        return found

    def removed(self, where: Where, value: Any) -> tuple[str, ...]:
        """Return entries to take off the blocklist, as the list spells them."""
        known = {row.casefold(): row for row in BUILT_IN}
        fixed = {row.casefold() for row in FIXED}
        entries = self.texts(where, value)
        for entry in entries:
            if entry.casefold() in fixed:
                self._wrong(where, f"{quoted(entry)} stays on the blocklist; take it out of here.")
            if entry.casefold() not in known:
                near = ", ".join(nearest(entry, BUILT_IN) or sorted(BUILT_IN)[:3])
                self._wrong(where, f"{quoted(entry)} is not on the blocklist. Nearest: {near}.")
        return tuple(known[entry.casefold()] for entry in entries)

    def level(self, where: Where, value: Any) -> Level:
        for level in LEVELS:
            if isinstance(value, str) and value.upper() == level:
                return level
        hint = near_text(str(value), LEVELS)
        return self._wrong(where, f"there is no level {quoted(str(value))}. {hint}")

    def levels(self, where: Where, value: Any) -> tuple[Level, ...]:
        return tuple(self.level(where, entry) for entry in self.some(where, value))

    def accepted(self, where: Where, value: Any) -> tuple[str, ...]:
        known = [rule.name for rule in RULES if rule.to != "deny"]
        names = self.texts(where, value)
        return tuple(self._word(where, name, known, "no such rule: {}.") for name in names)

    def argument(self, where: Where, value: Any) -> tuple[tuple[str, Wanted], ...]:
        if not isinstance(value, Mapping) or not value:
            self._wrong(where, 'argument wants a table, as in { to = "*/Archive" }.')
        return tuple(
            (".".join(keys), self._values((*where, *keys), part))
            for keys, part in _leaves(value, ())
        )

    def matcher(self, where: Where, value: Any) -> Matcher:
        return Matcher(**self.table(where, value, _MATCHER))

    def objects(self, where: Where, value: Any) -> Matcher:
        return Matcher(**self.table(where, value, _RANGE))

    def bound(self, where: Where, value: Any) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or value != value:
            self._wrong(where, f"{where[-1]} wants a number.")
        return value

    def folders(self, where: Where, value: Any) -> tuple[str, ...]:
        found = self.some(where, value)
        for entry in found:
            if not entry.startswith("/") and entry != "~" and not entry.startswith("~/"):
                self._wrong(where, f"{quoted(entry)} is no folder; begin it with / or ~/.")
        return found

    def hours(self, where: Where, value: Any) -> tuple[int, int]:
        found = _HOURS.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            self._wrong(where, 'hours wants from and to, as in "08:00-18:00".')
        begin, begin_minute, end, end_minute = map(int, found.groups())
        return begin * 60 + begin_minute, end * 60 + end_minute

    def days(self, where: Where, value: Any) -> tuple[int, ...]:
        words = self.some(where, value)
        return tuple(
            _DAYS.index(self._word(where, word, _DAYS, "there is no day {}.")) for word in words
        )

    def section(self, where: Where, value: Any) -> tuple[Match, ...]:
        """Return what `[only]` or `[folders]` refuses."""
        row = self.table(where, value, _SECTIONS[str(where[0])])
        if not row.keys() - {"why"}:
            wanted = " or ".join(key for key in _SECTIONS[str(where[0])] if key != "why")
            self._wrong(where, f"{where[0]} says nothing; give it {wanted}.")
        return (self._refusal(where, row),)

    def never(self, where: Where, value: Any) -> tuple[Match, ...]:
        """Return what `[never]` refuses, a row for each verb."""
        row = self.table(where, value, _NEVER)
        why = row.pop("why", "")
        return tuple(
            self._refusal((*where, verb), {"verbs": (verb,), "why": why})
            for verb, holds in row.items()
            if holds
        )

    def _refusal(self, where: Where, row: dict[str, Any]) -> Match:
        line = self._document.line(where)
        return Match(**row, source=f"{self._name} line {line}", lines=self._lines(where, row))

    def _lines(self, where: Where, row: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
        """Return the lines of the parts of a rule; of `argument` each argument's own."""
        found = [(key, self._document.line((*where, key))) for key in row if key != "argument"]
        for key, _ in row.get("argument", ()):
            spot = (*where, "argument", *key.split("."))
            found.append((f"argument.{key}", self._document.line(spot)))
        return tuple(found)

    def _values(self, where: Where, value: Any) -> Wanted:
        if isinstance(value, Mapping):
            return self.matcher(where, value)
        if isinstance(value, bool):
            return ("true" if value else "false",)
        if isinstance(value, int | float):
            return (str(value),)
        return ("",) if value == "" else self.some(where, value)

    def matches(self, where: Where, value: Any) -> tuple[Match, ...]:
        return tuple(Match(**row) for row in self._rows(where, value, _MATCH))

    def rules(self, where: Where, value: Any) -> tuple[LevelRule, ...]:
        return tuple(
            LevelRule(level=row.pop("level"), accept=row.pop("accept", ()), match=Match(**row))
            for row in self._rows(where, value, _RULE)
        )

    def _rows(self, where: Where, value: Any, keys: "_Keys") -> list[dict[str, Any]]:
        """Return the fields of each row of a list of tables, checked to mean some calls only."""
        kind = str(where[0])
        if not isinstance(value, list) or not all(isinstance(row, Mapping) for row in value):
            self._wrong(where, f"write each {kind} under a line of its own: [[{kind}]]")
        found: list[dict[str, Any]] = []
        for at, part in enumerate(value):
            spot = (*where, at)
            row = self.table(spot, part, keys)
            parts = {"app", "tool", "argument", *(() if kind == "rule" else ("level",))}
            if kind in ("deny", "ask"):
                parts |= _CONDITIONS.keys()
            if not row.keys() & parts:
                says = f"this {kind} would hold for every call; give app, tool or argument."
                self._wrong(spot, says)
            if kind in ("deny", "ask") and "only" in row:
                self._wrong((*spot, "only"), f"only belongs to allow and rule, not to {kind}.")
            if kind == "rule" and "level" not in row:
                self._wrong(spot, f"the rule sets no level. Known: {', '.join(LEVELS)}.")
            if kind == "allow" and "DANGEROUS" in row.get("level", ()):
                says = "DANGEROUS calls always require approval; [[rule]] can set another level."
                self._wrong((*spot, "level"), says)
            source = f"{self._name} line {self._document.line(spot)}"
            found.append({**row, "source": source, "lines": self._lines(spot, row)})
        return found


def _leaves(
    table: Mapping[str, Any], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the keys of each value; a table of matchers is a value."""
    for key, part in table.items():
        names: Iterable[str] = part if isinstance(part, Mapping) else ()
        # What a record calls path, host or recipient is a field of it.
        known = ("property",) if not above and fold(key) in _RECORDS else _MATCHER
        if isinstance(part, Mapping) and not (names and all(name in known for name in names)):
            yield from _leaves(part, (*above, key))
        else:
            yield (*above, key), part


_RECORDS: Final = frozenset({"properties", "withproperties", "where"})
"""Arguments that are objects with fields of any name."""

_HOURS: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d) *- *([01]\d|2[0-4]):([0-5]\d)")
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_Keys: TypeAlias = Mapping[str, tuple[str, Callable[[_Reader, Where, Any], Any]]]
"""Key -> the field that it is for (empty for a table of several), and what reads its value."""

_RANGE: Final[_Keys] = {
    "at_least": ("at_least", _Reader.bound),
    "at_most": ("at_most", _Reader.bound),
}
_MATCHER: Final[_Keys] = {
    **_RANGE,
    "enumerator": ("enumerator", _Reader.some),
    "folder": ("folder", _Reader.folders),
    "host": ("host", _Reader.some),
    "path": ("path", _Reader.some),
    "property": ("properties", _Reader.some),
    "recipient": ("recipient", _Reader.some),
}
_CONDITIONS: Final[_Keys] = {
    "client": ("client", _Reader.some),
    "days": ("days", _Reader.days),
    "hours": ("hours", _Reader.hours),
    "objects": ("objects", _Reader.objects),
    "sends_to": ("sends_to", _Reader.some),
    "tainted": ("tainted", _Reader.switch),
}
_WHY: Final[_Keys] = {"why": ("why", _Reader.sentence)}
_MATCH: Final[_Keys] = {
    "app": ("app", _Reader.some),
    "tool": ("tool", _Reader.some),
    "level": ("level", _Reader.levels),
    "argument": ("argument", _Reader.argument),
    "only": ("only", _Reader.switch),
    **_CONDITIONS,
    **_WHY,
}
_SECTIONS: Final[Mapping[str, _Keys]] = {
    "only": {"apps": ("others", _Reader.some), **_WHY},
    "folders": {"write": ("outside", _Reader.folders), **_WHY},
}
_NEVER: Final[_Keys] = {
    **{verb: (verb, _Reader.switch) for verb in VERBS if verb not in ("read", "view", "unknown")},
    **_WHY,
}
_RULE: Final[_Keys] = {
    **_MATCH,
    "level": ("level", _Reader.level),
    "accept": ("accept", _Reader.accepted),
}
_LIMITS: Final[_Keys] = {
    "reads": ("reads_per_second", _Reader.number),
    "dangerous": ("dangerous_per_hour", _Reader.number),
}
_BLOCKLIST: Final[_Keys] = {
    "add": ("blocklist_add", _Reader.bundles),
    "remove": ("blocklist_remove", _Reader.removed),
}
_KEYS: Final[_Keys] = {
    "allow": ("allow", _Reader.matches),
    "approvers": ("approvers", _Reader.approvers),
    "ask": ("ask", _Reader.matches),
    "blocklist": ("", lambda reader, where, value: reader.table(where, value, _BLOCKLIST)),
    "deny": ("deny", _Reader.matches),
    "folders": ("folders", _Reader.section),
    "launch": ("launch", _Reader.bundles),
    "limits": ("", lambda reader, where, value: reader.table(where, value, _LIMITS)),
    "never": ("never", _Reader.never),
    "only": ("only", _Reader.section),
    "preset": ("preset", _Reader.preset),
    "rate_limit": ("rate_limit", _Reader.number),
    "read_only": ("read_only", _Reader.switch),
    "reads": ("reads", _Reader.texts),
    "rule": ("rules", _Reader.rules),
    "secrets": ("secrets", _Reader.texts),
}
