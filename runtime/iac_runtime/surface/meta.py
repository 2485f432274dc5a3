"""The tools that find and call the others: what `find_tools` answers, and through which door."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from iac_runtime.catalogue import Catalogue
from iac_runtime.checking import check_arguments
from iac_runtime.entries import META_ENTRIES
from iac_runtime.errors import InvalidParameterError, quoted
from iac_runtime.gate import DOORS
from iac_runtime.plans import Call
from iac_runtime.tool import Level

if TYPE_CHECKING:
    from iac_runtime.search import Hit, Index

__all__ = ["MOST", "Finder", "through_door"]

MOST: Final[Mapping[str, Level]] = {door: level for level, door in DOORS.items()}
"""The door's name -> the highest level that it takes."""


def through_door(call: Call) -> Call:
    """Return the call that a call of a door stands for; any other is returned as it is.

    Raises:
        ToolError: The door's own arguments are wrong.
    """
    most = MOST.get(call.tool)
    if most is None:
        return call
    given = check_arguments(call.arguments, META_ENTRIES[call.tool]["inputSchema"])
    name = given["name"]
    if name in META_ENTRIES:
        raise InvalidParameterError(
            f"{call.tool} does not call {quoted(name)}.", f"Call {name} itself."
        )
    return call._replace(tool=name, arguments=given.get("arguments") or {}, most=most)


class Finder:
    """Answers `find_tools` over a catalogue; the index is made on first need, in a thread.

    Args:
        catalogue: Returns the tools as they are now.
        read_only: Leave out what can change something.
    """

    def __init__(self, catalogue: Callable[[], Catalogue], *, read_only: bool) -> None:
        self._catalogue = catalogue
        self._read_only = read_only
        self._made: tuple[Catalogue, Index] | None = None

    def warm(self) -> None:
        """Begin to make the index."""
        self._index()

    def find(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return `{"tools": [{name, purpose, level, ceiling, call_with, schema, example}]}`.

        Raises:
            ToolError: An argument is wrong.
            SetupError: The tools cannot be read.
        """
        from iac_runtime.surface.toolpages import any_page, reach

        given = check_arguments(arguments, META_ENTRIES["find_tools"]["inputSchema"])
        level: Level | None = "SAFE" if self._read_only else given.get("level")
        catalogue, index = self._index()
        limit = given.get("limit", 5)
        # Of those that can do no more than read there are enough among four times as many.
        hits = index.find(
            given["query"],
            app=given.get("app"),
            level=level,
            limit=limit * 4 if self._read_only else limit,
        )
        if self._read_only:
            hits = [hit for hit in hits if reach(catalogue, hit.tool) == "SAFE"][:limit]
        found = [self._row(any_page(catalogue, hit), hit) for hit in hits]
        note = _note(catalogue, given.get("app"), found=bool(found))
        return {"tools": found, "note": note} if note else {"tools": found}

    def _index(self) -> "tuple[Catalogue, Index]":
        from iac_runtime.search import Index
        from iac_runtime.surface.toolpages import beside

        catalogue = self._catalogue()
        if self._made is None or self._made[0] is not catalogue:
            self._made = (catalogue, Index.open(catalogue, beside))
        return self._made

    def _row(self, page: Any, hit: "Hit") -> dict[str, Any]:
        reach = page.level if page.level == page.ceiling else f"{page.level} to {page.ceiling}"
        row = {
            "name": page.tool,
            "purpose": page.purpose,
            "level": reach,
            "call_with": DOORS[page.level],
            "schema": page.schema,
            "example": page.example,
        }
        if hit.element:
            row["about"] = " ".join((hit.element, *hit.properties))
        return row


def _note(catalogue: Catalogue, app: str | None, *, found: bool) -> str:
    """Return what is to be said beside the tools that were found; empty where nothing is."""
    if app is not None and catalogue.find_app(app) is None:
        others = " These work with any app." if found else ""
        return f"There are no tools of {quoted(app)}; list_apps names the apps there are.{others}"
    return "" if found else "Nothing fits; say it in other words, or look at list_apps."
