"""Lower a recipe: an object tool or a command with its arguments bound, as a tool of its own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from iac_gen import naming
from iac_gen.classify.judge import Verdict, highest
from iac_gen.classify.setters import made_with
from iac_gen.describe import (
    MAX_PARAMETER,
    capped,
    docstring_words,
    parameter_words,
    reference_example,
    sentence,
)
from iac_gen.hygiene import capped_enums
from iac_gen.ir import Parameter, Tool
from iac_gen.quirks import Recipe
from iac_gen.resolve import Resolved
from iac_gen.types import Types
from iac_runtime.tool import Class, Param

__all__ = ["lower_recipe"]


def lower_recipe(
    recipe: Recipe,
    tools: Sequence[Tool],
    resolved: Resolved,
    classes: Mapping[str, Class],
    types: Types,
    key: str,
) -> Tool | str:
    """Return the tool of `recipe`, or one line that says what is wrong with it."""
    base = next((tool for tool in tools if tool.function.rstrip("_") == recipe.tool), None)
    if base is None:
        return f"recipe {recipe.name} rests on {recipe.tool}, which is no tool of this app"
    known = {parameter.key: parameter for parameter in base.parameters}
    strange = recipe.bind.keys() - known.keys()
    if strange:
        return f"recipe {recipe.name} binds {sorted(strange)[0]}, which {recipe.tool} has not"
    named = set(_placeholders(recipe.bind))
    if named != recipe.params.keys():
        odd = sorted(named ^ recipe.params.keys())[0]
        return f"recipe {recipe.name} must both declare and bind {odd}"
    if recipe.name in {tool.function for tool in tools}:
        return f"recipe {recipe.name} has the name of a tool"
    verdict = _verdict(recipe, base, classes)
    result = recipe.result or base.result
    parameters = tuple(_parameter(recipe, name, resolved, types) for name in recipe.params)
    reason = sentence(f"{verdict.level}, {verdict.reason}.", 70)
    words = f"{sentence(recipe.doc, 180).rstrip('.')}. {reason}"
    declared = types.output(result) if recipe.result else None
    output = base.output if not recipe.result else declared and capped_enums(declared)
    return Tool(
        recipe.name,
        naming.tool_name(key, recipe.name),
        base.op,
        base.event,
        base.jxa,
        verdict.level,
        verdict.level,
        verdict.reason,
        parameters,
        1 if parameters and parameters[0].required else 0,
        result,
        types.annotation(recipe.result) if recipe.result else base.returns,
        base.returned if not recipe.result else "The answer.",
        output,
        words,
        recipe.bind,
    )


def _placeholders(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value.startswith("$"):
        yield value[1:]
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _placeholders(item)
    elif isinstance(value, list):
        for item in value:
            yield from _placeholders(item)


def _verdict(recipe: Recipe, base: Tool, classes: Mapping[str, Class]) -> Verdict:
    """Return the level that the bound arguments reach."""
    if base.op not in ("make", "set"):
        return Verdict(base.level, base.reason)
    found = [Verdict(base.level, base.reason)]
    row = classes.get(str(recipe.bind.get("element", "")))
    if row is not None:
        found.append(Verdict(row.make, "makes something new"))
    bound = recipe.bind.get("properties", {})
    owners = [row] if row is not None else list(classes.values())
    for owner in owners:
        found += [
            Verdict(
                made_with(prop.code, prop.level) if base.op == "make" else prop.level,
                f"sets {prop.term}",
            )
            for prop in owner.properties
            if prop.term in bound
        ]
    return highest(found)


def _parameter(recipe: Recipe, name: str, resolved: Resolved, types: Types) -> Parameter:
    kind, words = recipe.params[name]
    return Parameter(
        name,
        Param("", "", kind),
        name not in recipe.optional,
        capped_enums(types.schema(kind)),
        types.annotation(kind),
        capped(
            words or parameter_words(kind, reference_example(kind, resolved, types), types),
            MAX_PARAMETER,
        ),
        words or docstring_words(kind, types),
    )
