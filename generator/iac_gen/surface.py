"""Surface: what of an app somebody reviewed, a row a thing, known by its codes.

An app's update may call a thing by another name and mean the same: the Apple event carries codes.
So a level is held for the codes: of an event, of class and property, of enumeration and enumerator.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from iac_gen.ir import Module, ToolFunction, level_span
from iac_runtime.tool import LEVELS, Level, Property, at_most, highest

FACTS: Final[Mapping[str, tuple[str, ...]]] = {
    "class": ("parent",),
    "property": ("type", "access"),
    "field": ("type", "access"),
    "element": ("access",),
}
"""Kind -> what `Row.facts` hold; a tool's are the result, the parameters and what is bound."""


class SurfaceRow(NamedTuple):
    """A thing: its codes, the levels of what can be done with it, and JSON-ready facts.

    A class has the levels of making and deleting, a property that of setting where it can be set,
    a tool level and ceiling. Without codes a thing is known by its name.
    """

    codes: tuple[str, ...]
    levels: tuple[Level, ...] = ()
    facts: tuple[Any, ...] = ()


Surface: TypeAlias = Mapping[str, SurfaceRow]
"""`property mail.message.subject`, kind and full name -> row."""


AcceptedLevels: TypeAlias = Mapping[str, tuple[Level, ...]]
"""The full name of a tool, a class or a property -> the levels that it may have at least: those of
the tool's level and ceiling, of making and deleting; one where both are the same."""


class LevelFall(NamedTuple):
    """A thing whose level is lower than the reviewed one; `name` is what accepts it."""

    name: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.name} fell from {self.before} to {self.after}"


def identifying_event(tool: ToolFunction) -> str:
    """Return the event by which a tool is known under any name; empty for no command."""
    return tool.event if tool.op == "command" and not tool.bind else ""


def call_facts(tool: ToolFunction) -> tuple[Any, ...]:
    """Return the facts of a tool: what its calls are made of, words aside."""
    params = {p.key: [p.row.code, p.row.type] for p in tool.parameters}
    return (tool.result, params, dict(tool.bind))


def term_rows(module: Module) -> dict[str, SurfaceRow]:
    """Return the rows of everything in the tables of a module."""
    key, found = module.key, dict[str, SurfaceRow]()
    for name, row in module.classes.items():
        found[f"class {key}.{name}"] = SurfaceRow(
            (row.code,), (row.make, row.delete), (row.inherits,)
        )
        found.update(_property_rows(f"property {key}.{name}", row.code, row.properties))
        for element in row.elements:
            codes = (row.code, module.classes[element.term].code)
            found[f"element {key}.{name}.{element.term}"] = SurfaceRow(codes, (), (element.access,))
    for name, record in module.records.items():
        found[f"record {key}.{name}"] = SurfaceRow((record.code,))
        found.update(_property_rows(f"field {key}.{name}", record.code, record.properties))
    for name, values in module.enums.items():
        code = module.enum_codes[name]
        found[f"enumeration {key}.{name}"] = SurfaceRow((code,))
        for term, value in values:
            found[f"enumerator {key}.{name}.{term}"] = SurfaceRow((code, value))
    return found


def _property_rows(
    owner: str, code: str, properties: tuple[Property, ...]
) -> Iterator[tuple[str, SurfaceRow]]:
    for row in properties:
        levels = () if row.access == "r" else (row.level,)
        yield f"{owner}.{row.term}", SurfaceRow((code, row.code), levels, (row.type, row.access))


def names_by_codes(surface: Surface) -> Mapping[tuple[str, ...], list[str]]:
    """Return kind and codes -> names, of what has codes."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, row in sorted(surface.items()):
        if row.codes:
            found[name.partition(" ")[0], *row.codes].append(name)
    return found


def find_level_falls(
    old: Surface, new: Surface, accepted: AcceptedLevels = MappingProxyType({})
) -> list[LevelFall]:
    """Return what is lower in `new` than in `old`, and than what a team accepted, by name.

    What has the same name and codes is compared with itself. What is new in one of them is
    compared with everything that had the name or the codes.
    """
    coded = names_by_codes(old)
    found = []
    for name, row in sorted(new.items()):
        kind, _, shown = name.partition(" ")
        was = [old[name]] if name in old else []
        if not was or was[0].codes != row.codes:
            was += [old[one] for one in coded.get((kind, *row.codes), ())]
        before: tuple[Level, ...] = tuple(
            highest(one.levels[place] for one in was if len(one.levels) > place)
            for place in range(len(row.levels))
        )
        least = accepted.get(shown) or before
        least = (least[:1] + least[-1:])[: len(before)]
        pairs = zip(before, least, row.levels, strict=True)
        if any(not (at_most(was, level) or at_most(low, level)) for was, low, level in pairs):
            found.append(
                LevelFall(shown, levels_in_words(kind, before), levels_in_words(kind, row.levels))
            )
    return found


def levels_in_words(kind: str, levels: tuple[Level, ...]) -> str:
    """Return the levels of a thing in words, empty where it has none."""
    if kind == "class":
        return f"make {levels[0]}, delete {levels[1]}"
    return level_span(levels[0], levels[-1]) if levels else ""


def read_row(value: Any) -> SurfaceRow:
    """Return the row that was written as `value`.

    Raises:
        KeyError, TypeError, ValueError: It is none.
    """
    codes, levels, facts = value
    held: tuple[Level, ...] = tuple(read_level(one) for one in levels)
    return SurfaceRow(tuple(map(str, codes)), held, tuple(facts))


def read_call_facts(value: Any) -> tuple[Any, ...]:
    """Return the facts of a tool that were written as `value`; none where there are none."""
    if not value:
        return ()
    result, params, bound = value
    return (result, {key: [code, kind] for key, (code, kind) in params.items()}, dict(bound))


def read_level(text: str) -> Level:
    """Return the level that `text` names, or raise KeyError."""
    if text not in LEVELS:
        raise KeyError(text)
    return text
