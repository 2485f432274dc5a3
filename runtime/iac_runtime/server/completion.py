"""Completion: keys of apps, names of tools, what a recipe's argument is usually given."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

import mcp_types as types

from iac_runtime.catalogue import Catalogue
from iac_runtime.errors import IacError, nearest
from iac_runtime.levels import at_most
from iac_runtime.surface.guides import guide_names
from iac_runtime.surface.prompts import PROMPTS
from iac_runtime.surface.resources import TEMPLATES
from iac_runtime.tables import fold
from iac_runtime.tool import Level

__all__ = ["MOST", "completed", "completion_handler"]

MOST: Final = 100
"""Values of one answer, as the protocol limits them."""


def completed(begun: str, values: Iterable[str]) -> list[str]:
    """Return the values that begin like `begun`, then those that hold it, else the nearest."""
    known = sorted(set(values))
    wanted = fold(begun)
    if not wanted:
        return known
    first = [value for value in known if fold(value).startswith(wanted)]
    within = [value for value in known if wanted in fold(value) and value not in first]
    return [*first, *within] or nearest(begun, known)


def completion_handler(catalogue: Callable[[], Catalogue], *, read_only: bool) -> Any:
    """Return the handler of completion/complete; what it does not know has no values.

    Args:
        catalogue: Returns the tools as they are now.
        read_only: Leave out what can change something.
    """

    async def complete(_context: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
        name, begun = params.argument.name, params.argument.value
        values: Collection[str] = ()
        if isinstance(params.ref, types.PromptReference):
            values = _of_prompt(params.ref.name, name)
        else:
            try:
                values = _of_template(params.ref.uri, name, catalogue(), read_only=read_only)
            except IacError:
                # What is wrong with the tools is said where one is asked for.
                values = ()
        found = completed(begun, values)
        return types.CompleteResult(
            completion=types.Completion(
                values=found[:MOST], total=len(found), has_more=len(found) > MOST
            )
        )

    return complete


def _of_prompt(prompt: str, argument: str) -> Collection[str]:
    recipe = next((found for found in PROMPTS if found.name == prompt), None)
    if recipe is None:
        return ()
    if argument == recipe.guide:
        return guide_names()
    return next((row.values for row in recipe.arguments if row.name == argument), ())


def _of_template(
    uri: str, argument: str, catalogue: Catalogue, *, read_only: bool
) -> Collection[str]:
    known = {row["uriTemplate"]: row["name"] for row in TEMPLATES}
    kind = known.get(uri)
    if kind == "model" and argument == "key":
        return list(catalogue.apps)
    if kind == "tool" and argument == "name":
        from iac_runtime.surface.toolpages import known_names, reach

        most: Level = "SAFE" if read_only else "DANGEROUS"
        return [name for name in known_names(catalogue) if at_most(reach(catalogue, name), most)]
    if kind == "skill" and argument == "name":
        return guide_names()
    return ()
