"""Reading policy.toml: every key is known, every value has its type, every error its line.

A file that is not right is an error, never a policy that lets more through than was meant. A word
that nothing here knows (an app, a tool, an argument, a property, an enumerator) is told: such a
rule still holds for what it names, should that come; as it stands it speaks of nothing.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from iac_base.errors import SetupError, near_text, nearest_names, quote_text
from iac_base.files import IrregularFileError, TooLargeError, config_file, read_bounded
from iac_base.positions import Path as Where
from iac_base.words import fold_name
from iac_runtime.policy.documents import TableKeys, table_keys
from iac_runtime.policy.escalation import RULES
from iac_runtime.policy.facts import READ_VERBS, VERBS
from iac_runtime.policy.places import BUILT_IN, FIXED
from iac_runtime.policy.rules import (
    CONDITIONS,
    MATCHER,
    LevelRule,
    Match,
    Matcher,
    RuleReader,
    matches_any_glob,
)
from iac_runtime.policy.settings import APPROVERS, BUNDLE_GLOB, PRESETS, Policy
from iac_runtime.tool import LEVELS
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import META_TOOLS, OWN_TOOLS
from iac_runtime.tools.shape import Schema, Tool
from iac_runtime.tools.tables import parameters_of

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

    def refuse(says: str) -> SetupError:
        return SetupError(f"{path} {says}")

    try:
        text, status = read_bounded(path, MAX_SIZE)
    except FileNotFoundError:
        if chosen is None and not path.is_symlink():
            return Policy()
        raise refuse("does not exist; create it with: iac-mcp policy edit") from None
    except IrregularFileError:
        raise refuse("is not a file; put your policy there, or move it away.") from None
    except TooLargeError:
        raise refuse(f"is larger than {MAX_SIZE} bytes, which is too long for a policy.") from None
    except OSError as error:
        raise refuse(f"cannot be read: {error.strerror}.") from error
    if status.st_uid not in (os.geteuid(), 0):
        raise refuse("belongs to another user, so it is not read; make yourself its owner.")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise refuse("can be written by other users, so it is not read; run chmod go-w on it.")
    try:
        return parse_policy(text.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise refuse(f"line {line}: this is not UTF-8; save it as UTF-8.") from None


def parse_policy(text: str, name: str = "policy.toml") -> Policy:
    """Return the policy that a TOML text says; `name` is the file's, for messages.

    Raises:
        SetupError: It is not right; one line with the line, and the nearest known word.
    """
    return _PolicyReader(text, name).read_policy()


class _PolicyReader(RuleReader):
    """Reads a policy."""

    def read_policy(self) -> Policy:
        data: Mapping[str, Any] = self.document.value
        lines = tuple((key, self.document.line_of((key,))) for key in data)
        return Policy(path=self.name, lines=lines, **self.read_table((), data, _KEYS))

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

    def read_bundle_ids(self, where: Where, value: Any) -> tuple[str, ...]:
        entries = self.read_texts(where, value)
        for entry in entries:
            if not BUNDLE_GLOB.match(entry):
                says = f"{quote_text(entry)} is not a bundle id, such as com.apple.Notes."
                self.raise_error(where, says)
        return entries

    def read_blocklist_removals(self, where: Where, value: Any) -> tuple[str, ...]:
        """Return entries to take off the blocklist, as the list spells them."""
        known = {row.casefold(): row for row in BUILT_IN}
        fixed = {row.casefold() for row in FIXED}
        entries = self.read_texts(where, value)
        for entry in entries:
            said, key = quote_text(entry), entry.casefold()
            if key in fixed:
                says = f"{said} cannot be removed from the blocklist; delete it from this list."
                self.raise_error(where, says)
            if key not in known:
                near = ", ".join(nearest_names(entry, BUILT_IN) or sorted(BUILT_IN)[:3])
                self.raise_error(where, f"{said} is not on the blocklist. Nearest: {near}.")
        return tuple(known[entry.casefold()] for entry in entries)

    def read_accepted_rules(self, where: Where, value: Any) -> tuple[str, ...]:
        known = [rule.name for rule in RULES if rule.to != "deny"]
        return self.read_words(where, value, known, "no such rule: {}.")

    def read_section(self, where: Where, value: Any) -> tuple[Match, ...]:
        """Return what `[only]` or `[folders]` refuses."""
        keys = _SECTIONS[str(where[0])]
        row = self.read_table(where, value, keys)
        if not row.keys() - {"why"}:
            self.raise_error(where, f"{where[0]} is empty; give it {next(iter(keys))}.")
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
        keys = [key for key in row if key != "argument"]
        keys += [f"argument.{key}" for key, _ in row.get("argument", ())]
        return tuple((key, self.document.line_of((*where, *key.split(".")))) for key in keys)

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
        strict = kind in ("deny", "ask")
        parts = _MATCH.keys() - {"only", "why"} if strict else {"app", "tool", "argument"}
        rows: list[dict[str, Any]] = []
        for at, part in enumerate(value):
            spot = (*where, at)
            row = self.read_table(spot, part, keys)
            if not row.keys() & parts and not (kind == "allow" and "level" in row):
                says = f"this {kind} would match every call; give app, tool or argument."
                self.raise_error(spot, says)
            if strict and "only" in row:
                self.raise_error(
                    (*spot, "only"), f"the key `only` can be used in allow and rule, not in {kind}."
                )
            if kind == "rule" and "level" not in row:
                self.raise_error(spot, f"the rule has no level. Give one of: {', '.join(LEVELS)}.")
            if kind == "allow" and "DANGEROUS" in row.get("level", ()):
                says = "DANGEROUS calls always require approval; [[rule]] can set another level."
                self.raise_error((*spot, "level"), says)
            lines = self._part_lines(spot, row)
            rows.append({**row, "source": self._source_of(spot), "lines": lines})
        return rows


_WHY: Final = table_keys("why", RuleReader.read_single_line)
_MATCH: Final[TableKeys] = {
    **{name: (name, row.read) for name, row in CONDITIONS.items() if not row.section},
    **_WHY,
}
_SECTIONS: Final[Mapping[str, TableKeys]] = {
    section: {key: (field, row.read), **_WHY}
    for field, row in CONDITIONS.items()
    for section, _, key in (row.section.partition(" "),)
    if key
}
_RULE: Final[TableKeys] = {
    **_MATCH,
    "level": ("level", RuleReader.read_level),
    "accept": ("accept", _PolicyReader.read_accepted_rules),
}
_NEVER: Final[TableKeys] = {
    **table_keys(" ".join({*VERBS} - {*READ_VERBS, "unknown"}), CONDITIONS["verbs"].read),
    **_WHY,
}
_LIMITS: Final = table_keys("reads_per_second dangerous_per_second", _PolicyReader.read_number)
_OLD_LIMITS: Final = {"reads": 1, "dangerous": 3600}
"""Limits as they were written, and the seconds that each was counted in."""
_BLOCKLIST: Final[TableKeys] = {
    "add": ("blocklist_add", _PolicyReader.read_bundle_ids),
    "remove": ("blocklist_remove", _PolicyReader.read_blocklist_removals),
}
_HTTP: Final[TableKeys] = {
    **table_keys(
        "url issuer jwks introspection introspection_client introspection_secret_file",
        _PolicyReader.read_single_line,
    ),
    **table_keys("hosts origins proxies", _PolicyReader.read_texts),
    **table_keys("clients_ask", _PolicyReader.read_boolean),
}
_APPROVER: Final = "there is no approver {}."
_PRESET: Final = "there is no preset {}."
_KEYS: Final[TableKeys] = {
    **table_keys("allow ask deny", _PolicyReader.read_matches),
    **table_keys("confirm undo", _PolicyReader.read_on_off),
    **table_keys("folders only", _PolicyReader.read_section),
    **table_keys("never", _PolicyReader.read_never),
    **table_keys("rate_limit", _PolicyReader.read_number),
    **table_keys("read_only", _PolicyReader.read_boolean),
    **table_keys("reads secrets", _PolicyReader.read_texts),
    **table_keys("launch", _PolicyReader.read_bundle_ids),
    "approvers": ("approvers", lambda reader, *at: reader.read_words(*at, APPROVERS, _APPROVER)),
    "blocklist": ("", lambda reader, *at: reader.read_table(*at, _BLOCKLIST)),
    "http": ("http", lambda reader, *at: tuple(reader.read_table(*at, _HTTP).items())),
    "limits": ("", _PolicyReader.read_limits),
    "preset": ("preset", lambda reader, *at: reader.read_word(*at, PRESETS, _PRESET)),
    "rule": ("rules", _PolicyReader.read_level_rules),
}


_FEW: Final = 12
"""Apps whose tables are read for the names of their properties; a rule on more is not looked at."""

_MATCHERS: Final = sorted(MATCHER.keys() - {"property"})


def unknown_words(policy: Policy, catalogue: Catalogue, added: Mapping[str, Tool]) -> list[str]:
    """Return a line for each word of the rules that is not known, with the nearest that are.

    Raises:
        SetupError: The tools cannot be read.
    """
    known = _KnownWords(catalogue, added)
    rules = (*policy.all_denials, *policy.ask, *policy.allow, *(row.match for row in policy.rules))
    unknown = sorted(
        (dict(rule.lines).get(part, 0), says)
        for rule in rules
        for part, says in known.find_unknown_words(rule)
    )
    return [f"{policy.path} line {line}: {says}" for line, says in unknown]


class _KnownWords:
    """What there is: looked up once, and only what a rule asks for."""

    def __init__(self, catalogue: Catalogue, added: Mapping[str, Tool]) -> None:
        self._catalogue = catalogue
        self._others = {**OWN_TOOLS, **META_TOOLS, **added}
        self._tools = {*catalogue.tools, *self._others}
        self._blocked = (*BUILT_IN, *FIXED)
        rows = catalogue.apps.values()
        self._apps = [*self._blocked, *(x for row in rows for x in (row.name, row.id, row.key))]

    @cached_property
    def _tool_schemas(self) -> Mapping[str, Schema]:
        """The schemas of arguments as the user sees them, by tool."""
        others = {name: tool.input for name, tool in self._others.items()}
        listed = self._catalogue.read_listing()
        return {row["name"]: row["inputSchema"] for row in listed} | others

    def find_unknown_words(self, rule: Match) -> Iterator[tuple[str, str]]:
        """Yield the part of a rule that a word stands in, and what to say of the word."""
        for part in ("app", "apps_other_than"):
            for glob in getattr(rule, part):
                known = matches_any_glob(self._apps, (glob,))
                if not known and not matches_any_glob((glob,), self._blocked):
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
        names = self._tools.intersection(rule.tool) if rule.tool else self._tools
        if not names.issuperset(rule.tool):
            names = names | {name for name in self._tools if matches_any_glob((name,), rule.tool)}
        if rule.app:
            rows = [self._catalogue.tools[name] for name in names if name in self._catalogue.tools]
            fitting = (
                row for row in rows if matches_any_glob((row.app.id, row.app.name), rule.app)
            )
            names = {row.name for row in fitting}
        return sorted(names)

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
            glob = name if "*" in name else fold_name(name)
            if not matches_any_glob(map(fold_name, known), (glob,)):
                yield _unknown_word_message("property", name, known, f" in {first}")
        enums = [row.get("enum") or row.get("items", {}).get("enum") for row in rows]
        if fields or not all(enums):
            return
        words = wanted.enumerator if isinstance(wanted, Matcher) else wanted
        there = [str(word) for enum in enums for word in enum or ()]
        for word in words:
            glob = word if "*" in word or "?" in word else fold_name(word)
            if not matches_any_glob(map(fold_name, there), (glob,)):
                yield _unknown_word_message("enumerator", word, there, f" in {first}")

    def _bound_arguments(self, scope: Sequence[str]) -> set[str]:
        """Return the arguments of what stands behind recipes, as far as few apps are meant."""
        rows = [self._catalogue.tools[name] for name in scope if name in self._catalogue.tools]
        if len({row.app.key for row in rows}) > _FEW:
            return set()
        operations = (self._catalogue.load_operation(row.name) for row in rows)
        return {fold_name(key) for operation in operations for key in parameters_of(operation)}

    def _known_properties(self, scope: Sequence[str], rows: Sequence[Schema]) -> list[str]:
        """Return the names of properties that an argument can hold; none where not known."""
        apps = {self._catalogue.tools[name].app for name in scope if name in self._catalogue.tools}
        fixed = [name for row in rows for name in row.get("properties", {})]
        if fixed or not apps or len(apps) > _FEW:
            return fixed
        tables = map(self._catalogue.load_tables, apps)
        classes = (part for table in tables for part in table.classes.values())
        return list({row.term: None for part in classes for row in part.properties})


def _unknown_word_message(kind: str, word: str, known: Sequence[str], where: str = "") -> str:
    return f"there is no {kind} {quote_text(word)}{where}. {near_text(word, known)}".rstrip()
