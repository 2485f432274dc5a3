"""Sample arguments for any tool, made from its module's tables as a stranger would make them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iac_base.words import fold_name
from iac_gen.discover import from_paths, load_includes
from iac_gen.pipeline import BuildInputs, build_folder
from iac_gen.quirks import known_apps, load_quirks
from iac_runtime.tool import Param, Spec
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.tables import APPLICATION, Tables
from iac_simulator import SentEvent

VALUES: dict[str, Any] = {
    "any": "sample", "boolean": True, "color": [1, 0.5, 0], "data": "sample",
    "date": "2026-03-01T09:30:00Z", "file": "/Users/me/Desktop/Todo.txt", "integer": 1,
    "number": 2.5, "point": [10, 20], "real": 1.5, "record": {},
    "rectangle": {"x": 0, "y": 0, "width": 100, "height": 50}, "text": "sample", "type": "file",
}  # fmt: skip


def route(tables: Tables, wanted: str | None) -> str:
    """Return a reference to an object of the class `wanted`, or to whatever comes first.

    Breadth first over elements and properties, so that the reference is as short as can be.
    """
    start = APPLICATION
    queue: list[tuple[str, str]] = [(start, "")]
    seen = {start}
    while queue:
        term, path = queue.pop(0)
        if path and (wanted is None or tables.is_descendant(term, wanted)):
            return path
        steps = [(e.term, f"{tables.classes[e.term].plural}[0]") for e in tables.elements(term)]
        steps += [(p.type, p.jxa) for p in tables.properties(term) if p.type in tables.classes]
        for target, step in steps:
            if target not in seen:
                seen.add(target)
                queue.append((target, f"{path}.{step}" if path else step))
    return APPLICATION


def contained(tables: Tables) -> tuple[str, str]:
    """Return a class and the reference of a container that holds objects of it."""
    for element in tables.elements(APPLICATION):
        return element.term, ""
    for term in tables.classes:
        for element in tables.elements(term):
            return element.term, route(tables, term)
    raise LookupError(tables.key)


def value(kind: str, tables: Tables) -> Any:
    """Return a value of the type string `kind`, its first alternative."""
    first = next((part for part in kind.split(" | ") if part != "missing value"), "any")
    if first.startswith("list of "):
        return [value(first.removeprefix("list of "), tables)]
    if first in tables.enums:
        return tables.enums[first][0][0]
    if first in tables.records:
        return {}
    if first in VALUES:
        return VALUES[first]
    if first in tables.classes:
        return route(tables, first)
    return route(tables, None)


def arguments(spec: Spec, schema: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    """Return the required arguments of a tool."""
    return {
        key: _argument(key, spec.params[key], spec, tables) for key in schema.get("required", ())
    }


def _argument(key: str, param: Param, spec: Spec, tables: Tables) -> Any:
    if param.type == "class":
        return contained(tables)[0]
    if spec.op == "set" and key == "properties":
        return {}
    return value(param.type, tables)


def complete(name: str, spec: Spec, given: dict[str, Any], tables: Tables) -> dict[str, Any]:
    """Return `given` with what makes an object tool meaningful: a container, a property to set."""
    if spec.bind:
        return given
    if spec.op in ("list", "count", "make") and (place := contained(tables)[1]):
        given["at" if spec.op == "make" else "of"] = place
    if spec.op == "set":
        reference, term, prop = settable(tables)
        given.update(target=reference, properties={prop: None})
        found = tables.find_property(term, prop)
        assert found is not None
        given["properties"][prop] = value(found.type, tables)
    if spec.op == "get":
        given["target"] = APPLICATION
        given["properties"] = (
            [next(p.term for p in tables.properties(APPLICATION))]
            if any(True for _ in tables.properties(APPLICATION))
            else None
        )
        if given["properties"] is None:
            del given["properties"]
            given["target"] = route(tables, None)
    return given


def settable(tables: Tables) -> tuple[str, str, str]:
    """Return a reference, its class and a text or number property of it that can be set."""
    simple = {"text", "boolean", "integer", "real"}
    for term in tables.classes:
        reference = route(tables, term)
        if reference == APPLICATION and fold_name(term) != APPLICATION:
            continue
        for prop in tables.properties(term):
            if prop.access != "r" and prop.type in simple:
                return reference, term, prop.term
    raise LookupError(tables.key)


def same_reads(called: list[SentEvent], shown: list[SentEvent], *, found: bool) -> bool:
    """Say whether a list reads of its items what its line reads.

    How many events it takes is decided on the way: columns, each item by its id, or of a few items
    without ids all `properties`; where nothing is `found` there is nothing to read. The ids name
    the rows, and the objects in which a list over several looks. What has no id and can lie in
    another of its kind is named by its path, for which the items themselves are read.
    """
    whole = {str(e.direct) for e in called}
    items = {one for one in whole if any(other.startswith(f"{one}.") for other in whole)}
    called = [e for e in called if str(e.direct) not in items]
    read, said = (
        {str(e.direct).rpartition(".")[2] for e in events if e.event == "coregetd"}
        for events in (called, shown)
    )
    more = {name for name in read - said if name.lower().endswith(("id", "identifier"))}
    # What a filter names is read where that is cheaper than the app's filter; the items themselves
    # where they can lie in each other.
    told = " ".join(str(event.direct) for event in shown)
    more |= {name for name in read - said if re.search(rf"\b{name}\b", told)}
    wanted = said <= read or "properties" in read or not found
    return read - more - {"properties"} <= said and wanted


def built(dictionaries: Path, folder: Path) -> Catalogue:
    """Return the tools of the dictionaries in a folder, built into `folder`."""
    given = BuildInputs(
        from_paths([dictionaries], known_apps()).sources, load_includes(), load_quirks()[0]
    )
    for name, text in build_folder(given)[0].items():
        (folder / name).write_text(text, encoding="utf-8")
    return Catalogue([folder])
