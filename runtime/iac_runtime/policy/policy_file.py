"""Reading policy.toml: every key is known, every value has its type, every error its line.

A file that is not right is an error, never a policy that lets more through than was meant. A word
that nothing here knows (an app, a tool, an argument, a property, an enumerator) is told: such a
rule still holds for what it names, should that come; as it stands it speaks of nothing.
"""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

from iac_base.errors import SetupError, near_text, nearest_names, quote_text
from iac_base.files import IrregularFileError, TooLargeError, config_file, read_bounded
from iac_base.positions import Path as Where
from iac_base.positions import PositionedDocument, TextError, read_toml
from iac_base.words import fold_name
from iac_runtime.policy.escalation import RULES
from iac_runtime.policy.facts import VERBS
from iac_runtime.policy.places import BUILT_IN, FIXED
from iac_runtime.policy.rules import DAYS, LevelRule, Match, Matcher, WantedValue, matches_any_glob
from iac_runtime.policy.settings import APPROVERS, BUNDLE_GLOB, PRESETS, Policy
from iac_runtime.tool import LEVELS, Level
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import META_TOOLS, OWN_TOOLS
from iac_runtime.tools.shape import Schema, Tool
from iac_runtime.tools.tables import parameters_of


class TableReader:
    """Reads one document; remembers it and its name for the errors.

    Args:
        text: The TOML text.
        name: The file's, for messages.

    Raises:
        SetupError: It is no TOML, as every method does where a value is not right; one line.
    """

    def __init__(self, text: str, name: str) -> None:
        try:
            self.document: PositionedDocument = read_toml(text)
        except TextError as error:
            raise SetupError(f"{name} line {error.line or 1}: {error.reason}.") from None
        self.name = name

    def raise_error(self, where: Where, message: str) -> NoReturn:
        """Raise what is wrong, with the line of its place."""
        raise SetupError(f"{self.name} line {self.document.line_of(where)}: {message}")

    def read_table(self, where: Where, value: Any, keys: "TableKeys") -> dict[str, Any]:
        """Return what a table says, by the field that each of its keys is for."""
        if not isinstance(value, Mapping):
            self.raise_error(where, f"{where[-1]} must be a table.")
        for key in value:
            if key not in keys:
                hint = near_text(key, sorted(keys))
                self.raise_error((*where, key), f"there is no key {quote_text(key)}. {hint}")
        found: dict[str, Any] = {}
        for key, part in value.items():
            field, read = keys[key]
            said = read(self, (*where, key), part)
            found.update({field: said} if field else said)
        return found

    def read_word(self, where: Where, value: Any, known: Iterable[str], message: str) -> str:
        """Return a word that is among those that are known; `message` says that it is not."""
        if not isinstance(value, str) or value not in known:
            word = str(value)
            self.raise_error(where, f"{message.format(quote_text(word))} {near_text(word, known)}")
        return value

    def read_boolean(self, where: Where, value: Any) -> bool:
        """Return true or false."""
        if not isinstance(value, bool):
            self.raise_error(where, f"{where[-1]} must be true or false.")
        return value

    def read_single_line(self, where: Where, value: Any) -> str:
        """Return a text as one line."""
        if not isinstance(value, str):
            self.raise_error(where, f"{where[-1]} must be a text.")
        return " ".join(value.split())

    def read_texts(self, where: Where, value: Any) -> tuple[str, ...]:
        """Return a text or a list of texts as a tuple."""
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(x, str) and x for x in found):
            self.raise_error(where, f"{where[-1]} must be a text or a list of texts.")
        return tuple(found)

    def read_nonempty_texts(self, where: Where, value: Any) -> tuple[str, ...]:
        """Return a text or a list of texts; a rule of none would speak of every call."""
        found = self.read_texts(where, value)
        if not found:
            self.raise_error(where, f"{where[-1]} is empty; give it a text, or leave it out.")
        return found


TableKeys: TypeAlias = Mapping[str, tuple[str, Callable[[Any, Where, Any], Any]]]
"""Key -> the field that it is for (empty for a table of several), and what reads its value: a
method of the reader."""


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
    return _PolicyReader(text, name).read_policy()


class _PolicyReader(TableReader):
    """Reads a policy."""

    def read_policy(self) -> Policy:
        data: Mapping[str, Any] = self.document.value
        lines = tuple((key, self.document.line_of((key,))) for key in data)
        return Policy(path=self.name, lines=lines, **self.read_table((), data, _KEYS))

    def read_preset(self, where: Where, value: Any) -> str:
        return self.read_word(where, value, PRESETS, "there is no preset {}.")

    def read_on_off(self, where: Where, value: Any) -> bool:
        """Return whether something is on: `true`, `false`, "on" or "off"."""
        if isinstance(value, bool):
            return value
        return self.read_word(where, value, ("on", "off"), "it must be on or off, not {}.") == "on"

    def read_number(self, where: Where, value: Any) -> float:
        right = isinstance(value, int | float) and not isinstance(value, bool)
        if not right or not 0 < value < 1e6:
            self.raise_error(where, f"{where[-1]} must be a number above 0 and below 1,000,000.")
        return float(value)

    def read_limits(self, where: Where, value: Any) -> dict[str, Any]:
        """Return the limits; of one in an earlier version's spelling it is said how it is now."""
        for old, per in _OLD_LIMITS.items():
            if isinstance(value, Mapping) and old in value:
                now = f"{old}_per_second"
                number = self.read_number((*where, old), value[old]) / per
                says = f"{old} is now called {now}: write {now} = {number:.3g}."
                self.raise_error((*where, old), says)
        return self.read_table(where, value, _LIMITS)

    def read_approvers(self, where: Where, value: Any) -> tuple[str, ...]:
        words = self.read_texts(where, value)
        return tuple(
            self.read_word(where, word, APPROVERS, "there is no approver {}.") for word in words
        )

    def read_bundle_ids(self, where: Where, value: Any) -> tuple[str, ...]:
        found = self.read_texts(where, value)
        for entry in found:
            if not BUNDLE_GLOB.match(entry):
                self.raise_error(
                    where, f"{quote_text(entry)} is not a bundle id, such as com.apple.Notes."
                )
        return found

    def read_blocklist_removals(self, where: Where, value: Any) -> tuple[str, ...]:
        """Return entries to take off the blocklist, as the list spells them."""
        known = {row.casefold(): row for row in BUILT_IN}
        fixed = {row.casefold() for row in FIXED}
        entries = self.read_texts(where, value)
        for entry in entries:
            if entry.casefold() in fixed:
                self.raise_error(
                    where,
                    f"{quote_text(entry)} cannot be removed from the blocklist; delete it from this"
                    " list.",
                )
            if entry.casefold() not in known:
                near = ", ".join(nearest_names(entry, BUILT_IN) or sorted(BUILT_IN)[:3])
                self.raise_error(
                    where, f"{quote_text(entry)} is not on the blocklist. Nearest: {near}."
                )
        return tuple(known[entry.casefold()] for entry in entries)

    def read_level(self, where: Where, value: Any) -> Level:
        for level in LEVELS:
            if isinstance(value, str) and value.upper() == level:
                return level
        hint = near_text(str(value), LEVELS)
        return self.raise_error(where, f"there is no level {quote_text(str(value))}. {hint}")

    def read_levels(self, where: Where, value: Any) -> tuple[Level, ...]:
        return tuple(
            self.read_level(where, entry) for entry in self.read_nonempty_texts(where, value)
        )

    def read_accepted_rules(self, where: Where, value: Any) -> tuple[str, ...]:
        known = [rule.name for rule in RULES if rule.to != "deny"]
        names = self.read_texts(where, value)
        return tuple(self.read_word(where, name, known, "no such rule: {}.") for name in names)

    def read_argument(self, where: Where, value: Any) -> tuple[tuple[str, WantedValue], ...]:
        if not isinstance(value, Mapping) or not value:
            self.raise_error(where, 'argument must be a table, such as { to = "*/Archive" }.')
        return tuple(
            (".".join(keys), self._wanted_value((*where, *keys), part))
            for keys, part in _argument_leaves(value, ())
        )

    def read_matcher(self, where: Where, value: Any, *, count: bool = False) -> Matcher:
        found = self.read_table(where, value, _RANGE if count else _MATCHER)
        if not found:
            self.raise_error(where, f"{where[-1]} is empty; give it a value.")
        return Matcher(**found)

    def read_object_range(self, where: Where, value: Any) -> Matcher:
        return self.read_matcher(where, value, count=True)

    def read_range_bound(self, where: Where, value: Any) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or value != value:
            self.raise_error(where, f"{where[-1]} must be a number.")
        return value

    def read_folders(self, where: Where, value: Any) -> tuple[str, ...]:
        found = self.read_nonempty_texts(where, value)
        for entry in found:
            if not entry.startswith("/") and entry != "~" and not entry.startswith("~/"):
                self.raise_error(
                    where, f"{quote_text(entry)} is not a folder; start it with / or ~/."
                )
        return found

    def read_hours(self, where: Where, value: Any) -> tuple[int, int]:
        found = _HOURS.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            self.raise_error(where, 'hours must be from and to, such as "08:00-18:00".')
        begin, begin_minute, end, end_minute = map(int, found.groups())
        return begin * 60 + begin_minute, end * 60 + end_minute

    def read_days(self, where: Where, value: Any) -> tuple[int, ...]:
        words = self.read_nonempty_texts(where, value)
        return tuple(
            DAYS.index(self.read_word(where, word, DAYS, "there is no day {}.")) for word in words
        )

    def read_section(self, where: Where, value: Any) -> tuple[Match, ...]:
        """Return what `[only]` or `[folders]` refuses."""
        keys = _SECTIONS[str(where[0])]
        row = self.read_table(where, value, keys)
        if not row.keys() - {"why"}:
            wanted = " or ".join(key for key in keys if key != "why")
            self.raise_error(where, f"{where[0]} is empty; give it {wanted}.")
        lines = tuple((keys[key][0], self.document.line_of((*where, key))) for key in value)
        return (Match(**row, source=self._source_of(where), lines=lines),)

    def read_never(self, where: Where, value: Any) -> tuple[Match, ...]:
        """Return what `[never]` refuses, a row for each verb."""
        row = self.read_table(where, value, _NEVER)
        why = row.pop("why", "")
        return tuple(
            Match(verbs=(verb,), why=why, source=self._source_of((*where, verb)))
            for verb in VERBS
            if row.get(verb)
        )

    def _source_of(self, where: Where) -> str:
        return f"{self.name} line {self.document.line_of(where)}"

    def _part_lines(self, where: Where, row: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
        """Return the lines of the parts of a rule; of `argument` each argument's own."""
        found = [(key, self.document.line_of((*where, key))) for key in row if key != "argument"]
        for key, _ in row.get("argument", ()):
            spot = (*where, "argument", *key.split("."))
            found.append((f"argument.{key}", self.document.line_of(spot)))
        return tuple(found)

    def _wanted_value(self, where: Where, value: Any) -> WantedValue:
        if isinstance(value, Mapping):
            return self.read_matcher(where, value)
        if isinstance(value, bool):
            return ("true" if value else "false",)
        if isinstance(value, int | float):
            return (str(value),)
        return ("",) if value == "" else self.read_nonempty_texts(where, value)

    def read_matches(self, where: Where, value: Any) -> tuple[Match, ...]:
        return tuple(Match(**row) for row in self._read_rows(where, value, _MATCH))

    def read_level_rules(self, where: Where, value: Any) -> tuple[LevelRule, ...]:
        return tuple(
            LevelRule(level=row.pop("level"), accept=row.pop("accept", ()), match=Match(**row))
            for row in self._read_rows(where, value, _RULE)
        )

    def _read_rows(self, where: Where, value: Any, keys: TableKeys) -> list[dict[str, Any]]:
        """Return the fields of each row of a list of tables, checked to mean some calls only."""
        kind = str(where[0])
        if not isinstance(value, list) or not all(isinstance(row, Mapping) for row in value):
            self.raise_error(where, f"write each {kind} under a separate line: [[{kind}]]")
        found: list[dict[str, Any]] = []
        for at, part in enumerate(value):
            spot = (*where, at)
            row = self.read_table(spot, part, keys)
            parts = {"app", "tool", "argument", *(() if kind == "rule" else ("level",))}
            if kind in ("deny", "ask"):
                parts |= _CONDITIONS.keys()
            if not row.keys() & parts:
                says = f"this {kind} would match every call; give app, tool or argument."
                self.raise_error(spot, says)
            if kind in ("deny", "ask") and "only" in row:
                self.raise_error(
                    (*spot, "only"), f"the key `only` can be used in allow and rule, not in {kind}."
                )
            if kind == "rule" and "level" not in row:
                self.raise_error(spot, f"the rule has no level. Give one of: {', '.join(LEVELS)}.")
            if kind == "allow" and "DANGEROUS" in row.get("level", ()):
                says = "DANGEROUS calls always require approval; [[rule]] can set another level."
                self.raise_error((*spot, "level"), says)
            found.append(
                {**row, "source": self._source_of(spot), "lines": self._part_lines(spot, row)}
            )
        return found


def _argument_leaves(
    table: Mapping[str, Any], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the keys of each value; a table of matchers is a value."""
    for key, part in table.items():
        # What a record calls path, host or recipient is a field of it.
        known = {"property"} if not above and fold_name(key) in _RECORDS else _MATCHER.keys()
        if isinstance(part, Mapping) and not part.keys() <= known:
            yield from _argument_leaves(part, (*above, key))
        else:
            yield (*above, key), part


_RECORDS: Final = frozenset({"properties", "withproperties", "where"})
"""Arguments that are objects with fields of any name."""

_HOURS: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d) *- *([01]\d|2[0-3]):([0-5]\d)")

_RANGE: Final[TableKeys] = {
    "at_least": ("at_least", _PolicyReader.read_range_bound),
    "at_most": ("at_most", _PolicyReader.read_range_bound),
}
_MATCHER: Final[TableKeys] = {
    **_RANGE,
    "enumerator": ("enumerator", _PolicyReader.read_nonempty_texts),
    "folder": ("folder", _PolicyReader.read_folders),
    "host": ("host", _PolicyReader.read_nonempty_texts),
    "path": ("path", _PolicyReader.read_nonempty_texts),
    "property": ("properties", _PolicyReader.read_nonempty_texts),
    "recipient": ("recipient", _PolicyReader.read_nonempty_texts),
}
_CONDITIONS: Final[TableKeys] = {
    "client": ("client", _PolicyReader.read_nonempty_texts),
    "days": ("days", _PolicyReader.read_days),
    "hours": ("hours", _PolicyReader.read_hours),
    "objects": ("objects", _PolicyReader.read_object_range),
    "sends_to": ("sends_to", _PolicyReader.read_nonempty_texts),
    "server": ("server", _PolicyReader.read_nonempty_texts),
    "tainted": ("tainted", _PolicyReader.read_boolean),
    "undoable": ("undoable", _PolicyReader.read_boolean),
}
_WHY: Final[TableKeys] = {"why": ("why", _PolicyReader.read_single_line)}
_MATCH: Final[TableKeys] = {
    "app": ("app", _PolicyReader.read_nonempty_texts),
    "tool": ("tool", _PolicyReader.read_nonempty_texts),
    "level": ("level", _PolicyReader.read_levels),
    "argument": ("argument", _PolicyReader.read_argument),
    "only": ("only", _PolicyReader.read_boolean),
    **_CONDITIONS,
    **_WHY,
}
_SECTIONS: Final[Mapping[str, TableKeys]] = {
    "only": {"apps": ("apps_other_than", _PolicyReader.read_nonempty_texts), **_WHY},
    "folders": {"write": ("writes_outside", _PolicyReader.read_folders), **_WHY},
}
_NEVER: Final[TableKeys] = {
    **{
        verb: (verb, _PolicyReader.read_boolean)
        for verb in VERBS
        if verb not in ("read", "view", "unknown")
    },
    **_WHY,
}
_RULE: Final[TableKeys] = {
    **_MATCH,
    "level": ("level", _PolicyReader.read_level),
    "accept": ("accept", _PolicyReader.read_accepted_rules),
}
_LIMITS: Final[TableKeys] = {
    "reads_per_second": ("reads_per_second", _PolicyReader.read_number),
    "dangerous_per_second": ("dangerous_per_second", _PolicyReader.read_number),
}
_OLD_LIMITS: Final = {"reads": 1, "dangerous": 3600}
"""Limits as they were written, and the seconds that each was counted in."""
_BLOCKLIST: Final[TableKeys] = {
    "add": ("blocklist_add", _PolicyReader.read_bundle_ids),
    "remove": ("blocklist_remove", _PolicyReader.read_blocklist_removals),
}
_HTTP: Final[TableKeys] = {
    "url": ("url", _PolicyReader.read_single_line),
    "issuer": ("issuer", _PolicyReader.read_single_line),
    "jwks": ("jwks", _PolicyReader.read_single_line),
    "introspection": ("introspection", _PolicyReader.read_single_line),
    "introspection_client": ("introspection_client", _PolicyReader.read_single_line),
    "introspection_secret_file": ("introspection_secret_file", _PolicyReader.read_single_line),
    "origins": ("origins", _PolicyReader.read_texts),
    "proxies": ("proxies", _PolicyReader.read_texts),
    "clients_ask": ("clients_ask", _PolicyReader.read_boolean),
}
_KEYS: Final[TableKeys] = {
    "allow": ("allow", _PolicyReader.read_matches),
    "approvers": ("approvers", _PolicyReader.read_approvers),
    "ask": ("ask", _PolicyReader.read_matches),
    "blocklist": ("", lambda reader, where, value: reader.read_table(where, value, _BLOCKLIST)),
    "confirm": ("confirm", _PolicyReader.read_on_off),
    "deny": ("deny", _PolicyReader.read_matches),
    "folders": ("folders", _PolicyReader.read_section),
    "http": ("http", lambda reader, *where: tuple(reader.read_table(*where, _HTTP).items())),
    "launch": ("launch", _PolicyReader.read_bundle_ids),
    "limits": ("", _PolicyReader.read_limits),
    "never": ("never", _PolicyReader.read_never),
    "only": ("only", _PolicyReader.read_section),
    "preset": ("preset", _PolicyReader.read_preset),
    "rate_limit": ("rate_limit", _PolicyReader.read_number),
    "read_only": ("read_only", _PolicyReader.read_boolean),
    "reads": ("reads", _PolicyReader.read_texts),
    "rule": ("rules", _PolicyReader.read_level_rules),
    "secrets": ("secrets", _PolicyReader.read_texts),
    "undo": ("undo", _PolicyReader.read_on_off),
}


_FEW: Final = 12
"""Apps whose tables are read for the names of their properties; a rule on more is not looked at."""

_MATCHERS: Final = ("at_least", "at_most", "enumerator", "folder", "host", "path", "recipient")


def unknown_words(policy: Policy, catalogue: Catalogue, added: Mapping[str, Tool]) -> list[str]:
    """Return a line for each word of the rules that is not known, with the nearest that are.

    Raises:
        SetupError: The tools cannot be read.
    """
    known = _KnownWords(catalogue, added)
    rules = (*policy.all_denials, *policy.ask, *policy.allow, *(row.match for row in policy.rules))
    found = [
        (dict(rule.lines).get(part, 0), says)
        for rule in rules
        for part, says in known.find_unknown_words(rule)
    ]
    return [f"{policy.path} line {line}: {says}" for line, says in sorted(found)]


class _KnownWords:
    """What there is: looked up once, and only what a rule asks for."""

    def __init__(self, catalogue: Catalogue, added: Mapping[str, Tool]) -> None:
        self._catalogue = catalogue
        self._others = {**OWN_TOOLS, **META_TOOLS, **added}
        self._tools = {*catalogue.tools, *self._others}
        self._apps = [*BUILT_IN, *FIXED]
        for row in catalogue.apps.values():
            self._apps += [row.name, row.id, row.key]

    @cached_property
    def _tool_schemas(self) -> Mapping[str, Schema]:
        """The schemas of arguments as the user sees them, by tool."""
        found = {row["name"]: row["inputSchema"] for row in self._catalogue.read_listing()}
        return {**found, **{name: tool.input for name, tool in self._others.items()}}

    def find_unknown_words(self, rule: Match) -> Iterator[tuple[str, str]]:
        """Yield the part of a rule that a word stands in, and what to say of the word."""
        for part in ("app", "apps_other_than"):
            for glob in getattr(rule, part):
                if not matches_any_glob(self._apps, (glob,)) and not matches_any_glob(
                    (glob,), (*BUILT_IN, *FIXED)
                ):
                    yield part, _unknown_word_message("app", glob, self._apps)
        for glob in rule.tool:
            if glob not in self._tools and not matches_any_glob(self._tools, (glob,)):
                yield "tool", _unknown_word_message("tool", glob, sorted(self._tools))
        scope = self._matching_tools(rule) if rule.argument else []
        for key, wanted in rule.argument if scope else ():
            for says in self._unknown_in_argument(scope, key, wanted):
                yield f"argument.{key}", says

    def _matching_tools(self, rule: Match) -> list[str]:
        """Return the tools that a rule can speak of."""
        found: Iterable[str] = self._tools
        if rule.tool:
            exact = {glob for glob in rule.tool if glob in self._tools}
            found = exact if len(exact) == len(rule.tool) else self._tools
            found = (
                name for name in found if name in exact or matches_any_glob((name,), rule.tool)
            )
        rows = self._catalogue.tools
        if rule.app:
            known = (rows[name] for name in found if name in rows)
            found = [
                row.name for row in known if matches_any_glob((row.app.id, row.app.name), rule.app)
            ]
        return sorted(found)

    def _unknown_in_argument(self, scope: Sequence[str], key: str, wanted: Any) -> Iterator[str]:
        first, *fields = key.split(".")
        seen: dict[str, Schema] = {}
        rows: list[Schema] = []
        for name in scope:
            for word, row in self._tool_schemas[name].get("properties", {}).items():
                seen.setdefault(word, row)
                rows += [row] if fold_name(word) == fold_name(first) else []
        whose = scope[0] if len(scope) == 1 else "these tools"
        if not rows:
            if fold_name(first) not in self._bound_arguments(scope):
                yield _unknown_word_message("argument", first, list(seen), f" of {whose}")
            return
        if fields and not any(row.get("type", "object") == "object" for row in rows):
            yield _unknown_word_message("matcher", fields[0], _MATCHERS, f" for {first}")
            return
        names = list(wanted.properties) if isinstance(wanted, Matcher) else []
        names += fields[:1]
        known = self._known_properties(scope, rows) if names else []
        for name in names if known else ():
            if not matches_any_glob(
                map(fold_name, known), (fold_name(name) if "*" not in name else name,)
            ):
                yield _unknown_word_message("property", name, known, f" in {first}")
        enums = [row.get("enum") or row.get("items", {}).get("enum") for row in rows]
        if fields or not all(enums):
            return
        words = wanted.enumerator if isinstance(wanted, Matcher) else wanted
        there = [str(word) for enum in enums for word in enum or ()]
        for word in words:
            if not matches_any_glob(
                map(fold_name, there), (word if "*" in word or "?" in word else fold_name(word),)
            ):
                yield _unknown_word_message("enumerator", word, there, f" in {first}")

    def _bound_arguments(self, scope: Sequence[str]) -> set[str]:
        """Return the arguments of what stands behind recipes, as far as few apps are meant."""
        rows = [self._catalogue.tools[name] for name in scope if name in self._catalogue.tools]
        if len({row.app.key for row in rows}) > _FEW:
            return set()
        operations = (self._catalogue.load_operation(row.name) for row in rows)
        return {fold_name(key) for found in operations for key in parameters_of(found)}

    def _known_properties(self, scope: Sequence[str], rows: Sequence[Schema]) -> list[str]:
        """Return the names of properties that an argument can hold; none where not known."""
        apps = {self._catalogue.tools[name].app for name in scope if name in self._catalogue.tools}
        fixed = [name for row in rows for name in row.get("properties", {})]
        if fixed or not apps or len(apps) > _FEW:
            return fixed
        tables = map(self._catalogue.load_tables, apps)
        classes = (part for found in tables for part in found.classes.values())
        return list({row.term: None for part in classes for row in part.properties})


def _unknown_word_message(kind: str, word: str, known: Sequence[str], where: str = "") -> str:
    return f"there is no {kind} {quote_text(word)}{where}. {near_text(word, known)}".rstrip()
