"""Reading policy.toml: every key is known, every value has its type, every error its line.

A file that is not right is an error, never a policy that lets more through than was meant.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from iac_base.errors import SetupError, near_text, nearest, quoted
from iac_base.files import IrregularFileError, TooLargeError, config_file, read_bounded
from iac_base.positions import Document, TextError, read_toml
from iac_base.positions import Path as Where
from iac_runtime.policy.blocklist import BUILT_IN, FIXED
from iac_runtime.policy.escalation import RULES
from iac_runtime.policy.model import APPROVERS, PRESETS, LevelRule, Match, Policy
from iac_runtime.tool import LEVELS, Level

__all__ = ["load_policy", "parse_policy", "policy_path"]

MAX_SIZE: Final = 1_000_000
"""Bytes."""

_BUNDLE: Final = re.compile(r"[A-Za-z0-9*?][A-Za-z0-9.*?_-]*\Z")


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


_TOP: Final = (
    *("allow", "approvers", "ask", "blocklist", "deny", "launch", "limits", "preset"),
    *("rate_limit", "read_only", "reads", "rule", "secrets"),
)
_MATCH: Final = ("app", "tool", "level", "argument", "why")
_LIMITS: Final = {"reads": "reads_per_second", "dangerous": "dangerous_per_hour"}


class _Reader:
    """Reads one document; remembers it and its name for the errors."""

    def __init__(self, document: Document, name: str) -> None:
        self._document = document
        self._name = name

    def policy(self) -> Policy:
        data: Mapping[str, Any] = self._document.value
        self._known(data, (), _TOP)
        lines = tuple((key, self._document.line((key,))) for key in data)
        fields: dict[str, Any] = {"path": self._name, "lines": lines}
        for key, value in data.items():
            where = (key,)
            match key:
                case "allow" | "ask" | "deny":
                    rows = self._rows(where, value, _MATCH, key)
                    fields[key] = tuple(match for _, match in rows)
                case "approvers":
                    fields[key] = () if value == [] else self._approvers(where, value)
                case "blocklist":
                    fields.update(self._blocklist(where, value))
                case "launch":
                    fields[key] = self._bundles(where, value)
                case "limits":
                    table = self._table(where, value, _LIMITS)
                    for name, part in table.items():
                        fields[_LIMITS[name]] = self._number((*where, name), part)
                case "preset":
                    fields[key] = self._word(where, value, PRESETS, "there is no preset {}.")
                case "rate_limit":
                    fields[key] = self._number(where, value)
                case "read_only":
                    if not isinstance(value, bool):
                        self._wrong(where, "read_only wants true or false.")
                    fields[key] = value
                case "reads" | "secrets":
                    fields[key] = self._texts(where, value)
                case "rule":
                    fields["rules"] = self._rules(where, value)
        return Policy(**fields)

    def _wrong(self, where: Where, message: str) -> NoReturn:
        raise SetupError(f"{self._name} line {self._document.line(where)}: {message}")

    def _known(self, data: Mapping[str, Any], where: Where, keys: Iterable[str]) -> None:
        for key in data:
            if key not in keys:
                hint = near_text(key, sorted(keys))
                self._wrong((*where, key), f"there is no key {quoted(key)}. {hint}")

    def _word(self, where: Where, value: Any, known: Iterable[str], message: str) -> str:
        """Return a word that is among those that are known; `message` says that it is not."""
        if not isinstance(value, str) or value not in known:
            word = str(value)
            self._wrong(where, f"{message.format(quoted(word))} {near_text(word, known)}")
        return value

    def _number(self, where: Where, value: Any) -> float:
        right = isinstance(value, int | float) and not isinstance(value, bool)
        if not right or not 0 < value < 1e6:
            self._wrong(where, f"{where[-1]} wants a number above 0 and below 1,000,000.")
        return float(value)

    def _table(self, where: Where, value: Any, keys: Iterable[str]) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            self._wrong(where, f"{where[-1]} wants a table.")
        self._known(value, where, keys)
        return value

    def _texts(self, where: Where, value: Any) -> tuple[str, ...]:
        """Return a text or a list of texts as a tuple."""
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(x, str) and x for x in found):
            self._wrong(where, f"{where[-1]} wants a text, or a list of texts.")
        return tuple(found)

    def _some(self, where: Where, value: Any) -> tuple[str, ...]:
        """Return a text or a list of texts; a rule of none would speak of every call."""
        found = self._texts(where, value)
        if not found:
            self._wrong(where, f"{where[-1]} is empty; give a text, or leave it out.")
        return found

    def _approvers(self, where: Where, value: Any) -> tuple[str, ...]:
        words = self._texts(where, value)
        return tuple(
            self._word(where, word, APPROVERS, "nobody called {} can ask.") for word in words
        )

    def _bundles(self, where: Where, value: Any) -> tuple[str, ...]:
        found = self._texts(where, value)
        for entry in found:
            if not _BUNDLE.match(entry):
                self._wrong(where, f"{quoted(entry)} is no bundle id, as in com.apple.Notes.")
        return found

    def _blocklist(self, where: Where, value: Any) -> dict[str, Any]:
        table = self._table(where, value, ("add", "remove"))
        fields: dict[str, Any] = {}
        if "add" in table:
            fields["blocklist_add"] = self._bundles((*where, "add"), table["add"])
        if "remove" in table:
            spot = (*where, "remove")
            fields["blocklist_remove"] = tuple(
                self._removable(spot, entry) for entry in self._texts(spot, table["remove"])
            )
        return fields

    def _removable(self, where: Where, entry: str) -> str:
        known = {row.casefold(): row for row in BUILT_IN}
        if any(entry.casefold() == row.casefold() for row in FIXED):
            self._wrong(where, f"{quoted(entry)} stays on the blocklist; take it out of here.")
        if entry.casefold() not in known:
            near = ", ".join(nearest(entry, BUILT_IN) or sorted(BUILT_IN)[:3])
            self._wrong(where, f"{quoted(entry)} is not on the blocklist. Nearest: {near}.")
        return known[entry.casefold()]

    def _level(self, where: Where, value: Any) -> Level:
        for level in LEVELS:
            if isinstance(value, str) and value.upper() == level:
                return level
        hint = near_text(str(value), LEVELS)
        return self._wrong(where, f"there is no level {quoted(str(value))}. {hint}")

    def _argument(self, where: Where, value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
        if not isinstance(value, Mapping) or not value:
            self._wrong(where, 'argument wants a table, as in { to = "*/Archive" }.')
        return tuple(
            (".".join(keys), self._values((*where, *keys), part))
            for keys, part in _leaves(value, ())
        )

    def _values(self, where: Where, value: Any) -> tuple[str, ...]:
        if isinstance(value, bool):
            return ("true" if value else "false",)
        if isinstance(value, int | float):
            return (str(value),)
        return ("",) if value == "" else self._some(where, value)

    def _rules(self, where: Where, value: Any) -> tuple[LevelRule, ...]:
        rules: list[LevelRule] = []
        known = [rule.name for rule in RULES if rule.to != "deny"]
        for row, match in self._rows(where, value, (*_MATCH, "accept"), "rule"):
            spot = (*where, len(rules))
            if "level" not in row:
                self._wrong(spot, f"the rule sets no level. Known: {', '.join(LEVELS)}.")
            at = (*spot, "accept")
            accept = self._texts(at, row["accept"]) if "accept" in row else ()
            for name in accept:
                self._word(at, name, known, "no such rule: {}.")
            level = self._level((*spot, "level"), row["level"])
            rules.append(LevelRule(match._replace(level=()), level, accept))
        return tuple(rules)

    def _rows(
        self, where: Where, value: Any, keys: Sequence[str], kind: str
    ) -> list[tuple[Mapping[str, Any], Match]]:
        if not isinstance(value, list) or not all(isinstance(row, Mapping) for row in value):
            self._wrong(where, f"write each {kind} under a line of its own: [[{kind}]]")
        return [(row, self._match((*where, at), row, keys, kind)) for at, row in enumerate(value)]

    def _match(self, where: Where, row: Mapping[str, Any], keys: Sequence[str], kind: str) -> Match:
        self._known(row, where, keys)
        speaks = any(key in row for key in ("app", "tool", "argument"))
        if not speaks and (kind == "rule" or "level" not in row):
            self._wrong(
                where, f"this {kind} would hold for every call; give app, tool or argument."
            )
        at = (*where, "level")
        levels = self._some(at, row["level"]) if "level" in row else ()
        level = tuple(self._level(at, entry) for entry in levels)
        if kind == "allow" and "DANGEROUS" in level:
            self._wrong(
                at, "DANGEROUS calls always require approval; [[rule]] can set another level."
            )
        why = row.get("why", "")
        if not isinstance(why, str):
            self._wrong((*where, "why"), "why wants a text.")
        return Match(
            self._some((*where, "app"), row["app"]) if "app" in row else (),
            self._some((*where, "tool"), row["tool"]) if "tool" in row else (),
            level,
            self._argument((*where, "argument"), row["argument"]) if "argument" in row else (),
            f"{self._name} line {self._document.line(where)}",
            " ".join(why.split()),
        )


def _leaves(
    table: Mapping[str, Any], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, part in table.items():
        if isinstance(part, Mapping):
            yield from _leaves(part, (*above, key))
        else:
            yield (*above, key), part
