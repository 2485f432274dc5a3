"""Words of a policy that nothing here knows: apps, tools, arguments, properties, enumerators.

Such a rule still holds for what it names, should that come; as it stands it speaks of nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from iac_base.errors import near_text, quote_text
from iac_base.words import fold_name
from iac_runtime.policy.blocklist import BUILT_IN, FIXED
from iac_runtime.policy.matching import Match, Matcher, matches_any_glob
from iac_runtime.policy.model import Policy
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import META_TOOLS, OWN_TOOLS
from iac_runtime.tools.shape import Schema, Tool
from iac_runtime.tools.tables import parameters_of

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
