"""Reading policy.toml: every key is known, every value has its type, every error its line.

A file that is not right is an error, never a policy that lets more through than was meant.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from iac_base.errors import SetupError, near_text, nearest, quoted
from iac_base.files import IrregularFileError, TooLargeError, config_file, read_bounded
from iac_base.positions import Path as Where
from iac_base.words import fold
from iac_runtime.policy.blocklist import BUILT_IN, FIXED
from iac_runtime.policy.effects import VERBS
from iac_runtime.policy.escalation import RULES
from iac_runtime.policy.matching import LevelRule, Match, Matcher, Wanted
from iac_runtime.policy.model import APPROVERS, BUNDLE_GLOB, PRESETS, Policy
from iac_runtime.policy.reading import Keys, TableReader
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
            raise SetupError(
                f"{path} belongs to another user, so it is not read; make yourself its owner."
            )
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise SetupError(
                f"{path} can be written by other users, so it is not read; run chmod go-w on it."
            )
    except FileNotFoundError:
        if chosen is not None or path.is_symlink():
            raise SetupError(
                f"{path} does not exist; create it with: iac-mcp policy edit"
            ) from None
        return Policy()
    except IrregularFileError:
        raise SetupError(f"{path} is not a file; put your policy there, or move it away.") from None
    except TooLargeError:
        raise SetupError(
            f"{path} is larger than {MAX_SIZE} bytes, which is too long for a policy."
        ) from None
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        return parse_policy(text.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise SetupError(f"{path} line {line}: this is not UTF-8; save it as UTF-8.") from None


def parse_policy(text: str, name: str = "policy.toml") -> Policy:
    """Return the policy that a TOML text says; `name` is the file's, for messages.

    Raises:
        SetupError: It is not right; one line with the line, and the nearest known word.
    """
    return _Reader(text, name).policy()


class _Reader(TableReader):
    """Reads a policy."""

    def policy(self) -> Policy:
        data: Mapping[str, Any] = self.document.value
        lines = tuple((key, self.document.line((key,))) for key in data)
        return Policy(path=self.name, lines=lines, **self.table((), data, _KEYS))

    def preset(self, where: Where, value: Any) -> str:
        return self.word(where, value, PRESETS, "there is no preset {}.")

    def on(self, where: Where, value: Any) -> bool:
        """Return whether something is on: `true`, `false`, "on" or "off"."""
        if isinstance(value, bool):
            return value
        return self.word(where, value, ("on", "off"), "it must be on or off, not {}.") == "on"

    def number(self, where: Where, value: Any) -> float:
        right = isinstance(value, int | float) and not isinstance(value, bool)
        if not right or not 0 < value < 1e6:
            self.wrong(where, f"{where[-1]} must be a number above 0 and below 1,000,000.")
        return float(value)

    def limits(self, where: Where, value: Any) -> dict[str, Any]:
        """Return the limits; of one in an earlier version's spelling it is said how it is now."""
        for old, per in _OLD_LIMITS.items():
            if isinstance(value, Mapping) and old in value:
                now = f"{old}_per_second"
                number = self.number((*where, old), value[old]) / per
                says = f"{old} is now called {now}: write {now} = {number:.3g}."
                self.wrong((*where, old), says)
        return self.table(where, value, _LIMITS)

    def approvers(self, where: Where, value: Any) -> tuple[str, ...]:
        words = self.texts(where, value)
        return tuple(
            self.word(where, word, APPROVERS, "there is no approver {}.") for word in words
        )

    def bundles(self, where: Where, value: Any) -> tuple[str, ...]:
        found = self.texts(where, value)
        for entry in found:
            if not BUNDLE_GLOB.match(entry):
                self.wrong(where, f"{quoted(entry)} is not a bundle id, such as com.apple.Notes.")
        return found

    def removed(self, where: Where, value: Any) -> tuple[str, ...]:
        """Return entries to take off the blocklist, as the list spells them."""
        known = {row.casefold(): row for row in BUILT_IN}
        fixed = {row.casefold() for row in FIXED}
        entries = self.texts(where, value)
        for entry in entries:
            if entry.casefold() in fixed:
                self.wrong(
                    where,
                    f"{quoted(entry)} cannot be removed from the blocklist; delete it from this"
                    " list.",
                )
            if entry.casefold() not in known:
                near = ", ".join(nearest(entry, BUILT_IN) or sorted(BUILT_IN)[:3])
                self.wrong(where, f"{quoted(entry)} is not on the blocklist. Nearest: {near}.")
        return tuple(known[entry.casefold()] for entry in entries)

    def level(self, where: Where, value: Any) -> Level:
        for level in LEVELS:
            if isinstance(value, str) and value.upper() == level:
                return level
        hint = near_text(str(value), LEVELS)
        return self.wrong(where, f"there is no level {quoted(str(value))}. {hint}")

    def levels(self, where: Where, value: Any) -> tuple[Level, ...]:
        return tuple(self.level(where, entry) for entry in self.some(where, value))

    def accepted(self, where: Where, value: Any) -> tuple[str, ...]:
        known = [rule.name for rule in RULES if rule.to != "deny"]
        names = self.texts(where, value)
        return tuple(self.word(where, name, known, "no such rule: {}.") for name in names)

    def argument(self, where: Where, value: Any) -> tuple[tuple[str, Wanted], ...]:
        if not isinstance(value, Mapping) or not value:
            self.wrong(where, 'argument must be a table, such as { to = "*/Archive" }.')
        return tuple(
            (".".join(keys), self._values((*where, *keys), part))
            for keys, part in _leaves(value, ())
        )

    def matcher(self, where: Where, value: Any, *, count: bool = False) -> Matcher:
        found = self.table(where, value, _RANGE if count else _MATCHER)
        if not found:
            self.wrong(where, f"{where[-1]} is empty; give it a value.")
        return Matcher(**found)

    def objects(self, where: Where, value: Any) -> Matcher:
        return self.matcher(where, value, count=True)

    def bound(self, where: Where, value: Any) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or value != value:
            self.wrong(where, f"{where[-1]} must be a number.")
        return value

    def folders(self, where: Where, value: Any) -> tuple[str, ...]:
        found = self.some(where, value)
        for entry in found:
            if not entry.startswith("/") and entry != "~" and not entry.startswith("~/"):
                self.wrong(where, f"{quoted(entry)} is not a folder; start it with / or ~/.")
        return found

    def hours(self, where: Where, value: Any) -> tuple[int, int]:
        found = _HOURS.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            self.wrong(where, 'hours must be from and to, such as "08:00-18:00".')
        begin, begin_minute, end, end_minute = map(int, found.groups())
        return begin * 60 + begin_minute, end * 60 + end_minute

    def days(self, where: Where, value: Any) -> tuple[int, ...]:
        words = self.some(where, value)
        return tuple(
            DAYS.index(self.word(where, word, DAYS, "there is no day {}.")) for word in words
        )

    def section(self, where: Where, value: Any) -> tuple[Match, ...]:
        """Return what `[only]` or `[folders]` refuses."""
        keys = _SECTIONS[str(where[0])]
        row = self.table(where, value, keys)
        if not row.keys() - {"why"}:
            wanted = " or ".join(key for key in keys if key != "why")
            self.wrong(where, f"{where[0]} is empty; give it {wanted}.")
        lines = tuple((keys[key][0], self.document.line((*where, key))) for key in value)
        return (Match(**row, source=self._source(where), lines=lines),)

    def never(self, where: Where, value: Any) -> tuple[Match, ...]:
        """Return what `[never]` refuses, a row for each verb."""
        row = self.table(where, value, _NEVER)
        why = row.pop("why", "")
        return tuple(
            Match(verbs=(verb,), why=why, source=self._source((*where, verb)))
            for verb in VERBS
            if row.get(verb)
        )

    def _source(self, where: Where) -> str:
        return f"{self.name} line {self.document.line(where)}"

    def _lines(self, where: Where, row: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
        """Return the lines of the parts of a rule; of `argument` each argument's own."""
        found = [(key, self.document.line((*where, key))) for key in row if key != "argument"]
        for key, _ in row.get("argument", ()):
            spot = (*where, "argument", *key.split("."))
            found.append((f"argument.{key}", self.document.line(spot)))
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

    def _rows(self, where: Where, value: Any, keys: Keys) -> list[dict[str, Any]]:
        """Return the fields of each row of a list of tables, checked to mean some calls only."""
        kind = str(where[0])
        if not isinstance(value, list) or not all(isinstance(row, Mapping) for row in value):
            self.wrong(where, f"write each {kind} under a separate line: [[{kind}]]")
        found: list[dict[str, Any]] = []
        for at, part in enumerate(value):
            spot = (*where, at)
            row = self.table(spot, part, keys)
            parts = {"app", "tool", "argument", *(() if kind == "rule" else ("level",))}
            if kind in ("deny", "ask"):
                parts |= _CONDITIONS.keys()
            if not row.keys() & parts:
                says = f"this {kind} would match every call; give app, tool or argument."
                self.wrong(spot, says)
            if kind in ("deny", "ask") and "only" in row:
                self.wrong(
                    (*spot, "only"), f"the key `only` can be used in allow and rule, not in {kind}."
                )
            if kind == "rule" and "level" not in row:
                self.wrong(spot, f"the rule has no level. Give one of: {', '.join(LEVELS)}.")
            if kind == "allow" and "DANGEROUS" in row.get("level", ()):
                says = "DANGEROUS calls always require approval; [[rule]] can set another level."
                self.wrong((*spot, "level"), says)
            found.append({**row, "source": self._source(spot), "lines": self._lines(spot, row)})
        return found


def _leaves(
    table: Mapping[str, Any], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the keys of each value; a table of matchers is a value."""
    for key, part in table.items():
        # What a record calls path, host or recipient is a field of it.
        known = {"property"} if not above and fold(key) in _RECORDS else _MATCHER.keys()
        if isinstance(part, Mapping) and not part.keys() <= known:
            yield from _leaves(part, (*above, key))
        else:
            yield (*above, key), part


_RECORDS: Final = frozenset({"properties", "withproperties", "where"})
"""Arguments that are objects with fields of any name."""

_HOURS: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d) *- *([01]\d|2[0-3]):([0-5]\d)")
DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_RANGE: Final[Keys] = {
    "at_least": ("at_least", _Reader.bound),
    "at_most": ("at_most", _Reader.bound),
}
_MATCHER: Final[Keys] = {
    **_RANGE,
    "enumerator": ("enumerator", _Reader.some),
    "folder": ("folder", _Reader.folders),
    "host": ("host", _Reader.some),
    "path": ("path", _Reader.some),
    "property": ("properties", _Reader.some),
    "recipient": ("recipient", _Reader.some),
}
_CONDITIONS: Final[Keys] = {
    "client": ("client", _Reader.some),
    "days": ("days", _Reader.days),
    "hours": ("hours", _Reader.hours),
    "objects": ("objects", _Reader.objects),
    "sends_to": ("sends_to", _Reader.some),
    "server": ("server", _Reader.some),
    "tainted": ("tainted", _Reader.switch),
    "undoable": ("undoable", _Reader.switch),
}
_WHY: Final[Keys] = {"why": ("why", _Reader.sentence)}
_MATCH: Final[Keys] = {
    "app": ("app", _Reader.some),
    "tool": ("tool", _Reader.some),
    "level": ("level", _Reader.levels),
    "argument": ("argument", _Reader.argument),
    "only": ("only", _Reader.switch),
    **_CONDITIONS,
    **_WHY,
}
_SECTIONS: Final[Mapping[str, Keys]] = {
    "only": {"apps": ("others", _Reader.some), **_WHY},
    "folders": {"write": ("outside", _Reader.folders), **_WHY},
}
_NEVER: Final[Keys] = {
    **{verb: (verb, _Reader.switch) for verb in VERBS if verb not in ("read", "view", "unknown")},
    **_WHY,
}
_RULE: Final[Keys] = {
    **_MATCH,
    "level": ("level", _Reader.level),
    "accept": ("accept", _Reader.accepted),
}
_LIMITS: Final[Keys] = {
    "reads_per_second": ("reads_per_second", _Reader.number),
    "dangerous_per_second": ("dangerous_per_second", _Reader.number),
}
_OLD_LIMITS: Final = {"reads": 1, "dangerous": 3600}
"""Limits as they were written, and the seconds that each was counted in."""
_BLOCKLIST: Final[Keys] = {
    "add": ("blocklist_add", _Reader.bundles),
    "remove": ("blocklist_remove", _Reader.removed),
}
_HTTP: Final[Keys] = {
    "url": ("url", _Reader.sentence),
    "issuer": ("issuer", _Reader.sentence),
    "jwks": ("jwks", _Reader.sentence),
    "introspection": ("introspection", _Reader.sentence),
    "introspection_client": ("introspection_client", _Reader.sentence),
    "introspection_secret_file": ("introspection_secret_file", _Reader.sentence),
    "origins": ("origins", _Reader.texts),
    "proxies": ("proxies", _Reader.texts),
    "clients_ask": ("clients_ask", _Reader.switch),
}
_KEYS: Final[Keys] = {
    "allow": ("allow", _Reader.matches),
    "approvers": ("approvers", _Reader.approvers),
    "ask": ("ask", _Reader.matches),
    "blocklist": ("", lambda reader, where, value: reader.table(where, value, _BLOCKLIST)),
    "confirm": ("confirm", _Reader.on),
    "deny": ("deny", _Reader.matches),
    "folders": ("folders", _Reader.section),
    "http": ("http", lambda reader, *where: tuple(reader.table(*where, _HTTP).items())),
    "launch": ("launch", _Reader.bundles),
    "limits": ("", _Reader.limits),
    "never": ("never", _Reader.never),
    "only": ("only", _Reader.section),
    "preset": ("preset", _Reader.preset),
    "rate_limit": ("rate_limit", _Reader.number),
    "read_only": ("read_only", _Reader.switch),
    "reads": ("reads", _Reader.texts),
    "rule": ("rules", _Reader.rules),
    "secrets": ("secrets", _Reader.texts),
    "undo": ("undo", _Reader.on),
}
