"""References: an example of one for each class, by the shortest way from the application."""

import re
from collections import Counter
from collections.abc import Iterator
from heapq import heappop, heappush

from iac_gen.merge import APPLICATION
from iac_gen.model import Find, SdefClass
from iac_gen.naming import class_plural, javascript_name
from iac_gen.resolve import ResolvedDictionary
from iac_runtime.types import TYPES

# What an example may be made of: names are foreign text, and this stands in a sentence of ours.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9]{0,39}")
_DEEPEST = 4
_RICH = 9
_STANDARD = ("document", "window", "item")
_WINDOW = 2
"""What a way through a window costs more: somebody means the document that is shown in it."""


def example_references(resolved: ResolvedDictionary, class_named: Find) -> dict[str, str]:
    """Return class -> an example: `inbox.messages[0]`; `specifier` -> one of what the app holds.

    An element ends an example rather than a property, and a class that nothing holds has that
    of a class that inherits from it. A class that cannot be reached has none.
    """
    rows = {row.name: row for row in resolved.classes}
    ends: dict[str, tuple[int, int, str]] = {}
    done: set[str] = set()
    heap: list[tuple[int, int, int, str, str]] = [(0, 0, 0, APPLICATION, "")]
    count = 0
    while heap:
        cost, _, _, name, text = heappop(heap)
        if name in done or name not in rows or text.count(".") >= _DEEPEST:
            continue
        done.add(name)
        for step, kind, price in _reference_steps(name, rows, class_named):
            count += 1
            whole = f"{text}.{step}".lstrip(".")
            end = (cost + max(price, 2) + (price == 1), len(whole), whole)
            if kind not in ends or end[:2] < ends[kind][:2]:
                ends[kind] = end
            through = price + _WINDOW * ("window" in _class_lineage(kind, rows))
            heappush(heap, (cost + through, len(whole), count, kind, whole))
    found = {name: text for name, (_, _, text) in ends.items()}
    weights = Counter(_mentioned_classes(resolved, class_named))
    plain = [name for name in ends if name not in _STANDARD and ends[name][2].count(".") < 2]
    # What others inherit from is nothing that somebody would name.
    general = {row.inherits for row in rows.values()}

    def example_rank(name: str) -> float:
        cost = ends[name][0]
        held = [prop for one in _class_lineage(name, rows) for prop in rows[one].properties]
        told = weights[name] + min(len(held), _RICH) / 6
        fixed = all(prop.access == "r" for prop in held)
        poor = (name in general) + 2 * (name == "window") + fixed
        return cost - 2 * told + _RICH * poor

    held = [name for name in plain if ends[name][2].endswith("]")]
    held = held or [name for name in ends if ends[name][2].endswith("]")]
    best = sorted(held or plain or ends, key=example_rank)
    for heir in sorted(ends, key=example_rank):
        for name in _class_lineage(heir, rows):
            found.setdefault(name, found[heir])
    found["specifier"] = found[best[0]] if best else ""
    holders = [name for name in best if best[0] in {e.type for e in rows[name].elements}]
    place = found["specifier"].rpartition(".")[0]
    found["location specifier"] = place or (found[holders[0]] if holders else APPLICATION)
    return found


def _mentioned_classes(resolved: ResolvedDictionary, class_named: Find) -> Iterator[str]:
    """Yield each class as often as something of the app is about it."""
    for row in resolved.classes:
        if not row.hidden:
            yield from (element.type for element in row.elements if not element.hidden)
            yield from (row.name for _ in row.responds_to)
    for command in resolved.commands:
        if not command.hidden:
            direct = command.direct.types if command.direct else ()
            named = [ref for row in command.parameters for ref in row.types]
            yield from (class_named(ref.name) for ref in (*direct, *direct, *named))


def _class_lineage(name: str, rows: dict[str, SdefClass]) -> Iterator[str]:
    """Yield a class and what it inherits from."""
    seen: set[str] = set()
    while name in rows and name not in seen:
        yield name
        seen.add(name)
        name = rows[name].inherits


def _reference_steps(
    name: str, rows: dict[str, SdefClass], class_named: Find
) -> Iterator[tuple[str, str, int]]:
    """Yield (step, class, price) of what an object of a class holds; a property is cheaper."""
    for one in _class_lineage(name, rows):
        for element in rows[one].elements:
            row = rows.get(element.type)
            step = (
                javascript_name(class_plural(row.name, row.plural))
                if row and not element.hidden
                else ""
            )
            if row and _PLAIN.fullmatch(step):
                yield f"{step}[0]", row.name, 2
        for prop in rows[one].properties:
            kinds = [class_named(ref.name) for ref in prop.types if not ref.list]
            plain = (
                _PLAIN.fullmatch(javascript_name(prop.name))
                and not prop.hidden
                and prop.access != "w"
            )
            if (
                plain
                and len(kinds) == len(prop.types) == 1
                and kinds[0] in rows.keys() - TYPES.keys()
            ):
                yield javascript_name(prop.name), kinds[0], 1
