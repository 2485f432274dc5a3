"""Words of a policy that nothing here knows: apps, tools, arguments, properties, enumerators.

Such a rule still holds for what it names, should that come; as it stands it speaks of nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from iac_base.errors import near_text, quoted
from iac_base.words import fold
from iac_runtime.policy.blocklist import BUILT_IN, FIXED
from iac_runtime.policy.matching import Match, Matcher, like
from iac_runtime.policy.model import Policy
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import META_TOOLS, OWN_TOOLS
from iac_runtime.tools.shape import Schema, Tool
from iac_runtime.tools.tables import parameters

_FEW: Final = 12
"""Apps whose tables are read for the names of their properties; a rule on more is not looked at."""

_MATCHERS: Final = ("at_least", "at_most", "enumerator", "folder", "host", "path", "recipient")


def unknown_words(policy: Policy, catalogue: Catalogue, added: Mapping[str, Tool]) -> list[str]:
    """Return a line for each word of the rules that is not known, with the nearest that are.

    Raises:
        SetupError: The tools cannot be read.
    """
    known = _Known(catalogue, added)
    rules = (*policy.denied, *policy.ask, *policy.allow, *(row.match for row in policy.rules))
    found = [
        (dict(rule.lines).get(part, 0), says)
        for rule in rules
        for part, says in known.unknown(rule)
    ]
    return [f"{policy.path} line {line}: {says}" for line, says in sorted(found)]


class _Known:
    """What there is: looked up once, and only what a rule asks for."""

    def __init__(self, catalogue: Catalogue, added: Mapping[str, Tool]) -> None:
        self._catalogue = catalogue
        self._others = {**OWN_TOOLS, **META_TOOLS, **added}
        self._tools = {*catalogue.tools, *self._others}
        self._apps = [*BUILT_IN, *FIXED]
        for row in catalogue.apps.values():
            self._apps += [row.name, row.id, row.key]

    @cached_property
    def _schemas(self) -> Mapping[str, Schema]:
        """The schemas of arguments as the user sees them, by tool."""
        found = {row["name"]: row["inputSchema"] for row in self._catalogue.listing()}
        return {**found, **{name: tool.input for name, tool in self._others.items()}}

    def unknown(self, rule: Match) -> Iterator[tuple[str, str]]:
        """Yield the part of a rule that a word stands in, and what to say of the word."""
        for part in ("app", "others"):
            for glob in getattr(rule, part):
                if not like(self._apps, (glob,)) and not like((glob,), (*BUILT_IN, *FIXED)):
                    yield part, _says("app", glob, self._apps)
        for glob in rule.tool:
            if glob not in self._tools and not like(self._tools, (glob,)):
                yield "tool", _says("tool", glob, sorted(self._tools))
        scope = self._scope(rule) if rule.argument else []
        for key, wanted in rule.argument if scope else ():
            for says in self._argument(scope, key, wanted):
                yield f"argument.{key}", says

    def _scope(self, rule: Match) -> list[str]:
        """Return the tools that a rule can speak of."""
        found: Iterable[str] = self._tools
        if rule.tool:
            exact = {glob for glob in rule.tool if glob in self._tools}
            found = exact if len(exact) == len(rule.tool) else self._tools
            found = (name for name in found if name in exact or like((name,), rule.tool))
        rows = self._catalogue.tools
        if rule.app:
            known = (rows[name] for name in found if name in rows)
            found = [row.name for row in known if like((row.app.id, row.app.name), rule.app)]
        return sorted(found)

    def _argument(self, scope: Sequence[str], key: str, wanted: Any) -> Iterator[str]:
        first, *fields = key.split(".")
        seen: dict[str, Schema] = {}
        rows: list[Schema] = []
        for name in scope:
            for word, row in self._schemas[name].get("properties", {}).items():
                seen.setdefault(word, row)
                rows += [row] if fold(word) == fold(first) else []
        whose = scope[0] if len(scope) == 1 else "these tools"
        if not rows:
            if fold(first) not in self._bound(scope):
                yield _says("argument", first, list(seen), f" of {whose}")
            return
        if fields and not any(row.get("type", "object") == "object" for row in rows):
            yield _says("matcher", fields[0], _MATCHERS, f" for {first}")
            return
        names = list(wanted.properties) if isinstance(wanted, Matcher) else []
        names += fields[:1]
        known = self._properties(scope, rows) if names else []
        for name in names if known else ():
            if not like(map(fold, known), (fold(name) if "*" not in name else name,)):
                yield _says("property", name, known, f" in {first}")
        enums = [row.get("enum") or row.get("items", {}).get("enum") for row in rows]
        if fields or not all(enums):
            return
        words = wanted.enumerator if isinstance(wanted, Matcher) else wanted
        there = [str(word) for enum in enums for word in enum or ()]
        for word in words:
            if not like(map(fold, there), (word if "*" in word or "?" in word else fold(word),)):
                yield _says("enumerator", word, there, f" in {first}")

    def _bound(self, scope: Sequence[str]) -> set[str]:
        """Return the arguments of what stands behind recipes, as far as few apps are meant."""
        rows = [self._catalogue.tools[name] for name in scope if name in self._catalogue.tools]
        if len({row.app.key for row in rows}) > _FEW:
            return set()
        operations = (self._catalogue.operation(row.name) for row in rows)
        return {fold(key) for found in operations for key in parameters(found)}

    def _properties(self, scope: Sequence[str], rows: Sequence[Schema]) -> list[str]:
        """Return the names of properties that an argument can hold; none where not known."""
        apps = {self._catalogue.tools[name].app for name in scope if name in self._catalogue.tools}
        fixed = [name for row in rows for name in row.get("properties", {})]
        if fixed or not apps or len(apps) > _FEW:
            return fixed
        tables = map(self._catalogue.tables, apps)
        classes = (part for found in tables for part in found.classes.values())
        return list({row.term: None for part in classes for row in part.properties})


def _says(kind: str, word: str, known: Sequence[str], where: str = "") -> str:
    return f"there is no {kind} {quoted(word)}{where}. {near_text(word, known)}".rstrip()
