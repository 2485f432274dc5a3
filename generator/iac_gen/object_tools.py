"""Object tools: get, list, count, make and set over an app's own classes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from iac_gen.classify import LevelJudgment, LevelVerdict, level_when_made
from iac_gen.descriptions import (
    MAX_PARAMETER,
    SHORTCUTS,
    describe_parameter,
    describe_value_form,
    safe_app_name,
    shown_term,
    truncate_words,
    with_form,
    with_level,
)
from iac_gen.ir import ToolFunction, ToolParameter, level_span
from iac_gen.merge import APPLICATION
from iac_gen.model import SdefCommand
from iac_gen.quirks import Recipe
from iac_gen.resolve import ResolvedDictionary
from iac_gen.text import MAX_NAME, offered_values
from iac_gen.types import AppTypes
from iac_runtime.tool import LEVELS, Class, Level, Op, Param
from iac_runtime.types import HTML_TEXT

OBJECT_EVENTS: Final[Mapping[str, Op]] = {
    "coregetd": "get", "corecnte": "count", "corecrel": "make", "coresetd": "set",
}  # fmt: skip
"""A command with one of these events is the object tool of that verb, never a second one."""


def merged_commands(resolved: ResolvedDictionary) -> dict[Op, SdefCommand]:
    """Return the command that is the object tool of each verb; the first of several."""
    return {
        OBJECT_EVENTS[command.code]: command
        for command in reversed(resolved.commands)
        if command.code in OBJECT_EVENTS and not command.hidden
    }


_ENUM_LIMIT = 30
_STRING: Final = {"type": "string"}
_FROM_ZERO: Final = {"type": "integer", "minimum": 0}
# Parameter codes that the object tools carry themselves.
_OWN_CODES: Final = frozenset({"----", "kocl", "insh", "prdt"})


def object_tools(
    resolved: ResolvedDictionary, classes: Mapping[str, Class], types: AppTypes
) -> list[ToolFunction]:
    """Return the object tools that the dictionary allows, in the order of the module."""
    if not any(row.properties or row.elements for row in classes.values()):
        return []
    if resolved.source.kind != "application":
        return []
    app = safe_app_name(resolved.source.name)
    merged = merged_commands(resolved)
    parts = _SharedParameters(
        resolved, classes, types.example_reference(["specifier"]) or APPLICATION
    )
    reads: tuple[Level, Level, str] = ("SAFE", "SAFE", "reads")
    tools = [
        ToolFunction(
            "get", "get", "coregetd", *reads,
            f"Read objects of {app}: all properties, or those that are named. SAFE.",
            (parts.target_parameter(several=True), parts.property_list_parameter(), _RAW, _TIMEOUT),
            "any", "Any", "The value, or the properties by name.", types.read_schema("get"),
        )
    ]  # fmt: skip
    if parts.elements:
        tools.append(
            ToolFunction(
                "list", "list", "coregetd", *reads,
                f"List objects of one class in {app}, filtered, with the named"
                " properties and references. SAFE.",
                (parts.element_parameter(), _OF, _WHERE, parts.property_list_parameter(), *_PAGE,
                 _DETAIL, _RAW, _TIMEOUT),
                "list of record", "ListOf[Mapping[str, Any]]",
                "One row for each object, with its reference as ref.", types.read_schema("list"),
            )
        )  # fmt: skip
        tools.append(
            ToolFunction(
                "count", "count", "corecnte", *reads,
                f"Count objects of one class in {app}, filtered. SAFE.",
                (parts.element_parameter("each", "kocl"), _OF, _WHERE, _TIMEOUT),
                "integer", "int", "The number of objects.", types.output_schema("integer", "count"),
            )
        )  # fmt: skip
    if "make" in merged and parts.elements:
        made: list[Level] = [row.make for row in classes.values()]
        given: list[Level] = [p.level for row in classes.values() for p in row.properties]
        level = min(made, key=LEVELS.index)
        tools.append(
            ToolFunction(
                "make", "make", "corecrel", level, max((*made, *given), key=LEVELS.index),
                "makes something new",
                f"Make an object of one class in {app}. Returns its reference. {level}.",
                (parts.element_parameter("new", "kocl"), parts.properties_parameter(False), _AT,
                 _TIMEOUT),
                "specifier", "Ref", "Reference to what it made.", types.output_schema("specifier"),
            )
        )  # fmt: skip
    settable: list[Level] = [
        p.level for row in classes.values() for p in row.properties if p.access != "r"
    ]
    if settable:
        level = min(settable, key=LEVELS.index)
        ceiling = max(settable, key=LEVELS.index)
        levels = level_span(level, ceiling)
        tools.append(
            ToolFunction(
                "set", "set", "coresetd", level, ceiling, "each property has its level",
                f"Change properties of an object of {app}. {levels}, by property.",
                (parts.target_parameter(), parts.properties_parameter(True), _TIMEOUT),
            )
        )  # fmt: skip
    return tools


def visible_properties(resolved: ResolvedDictionary) -> set[str]:
    """Return the names of the properties that no class hides."""
    shown = (row for row in resolved.classes if not row.hidden)
    return {prop.name for row in shown for prop in row.properties if not prop.hidden}


def extra_parameters(command: SdefCommand) -> list[Any]:
    """Return the declared parameters of a merged command that the object tool lacks."""
    own = _OWN_CODES | ({"data"} if OBJECT_EVENTS[command.code] == "set" else set())
    return [p for p in command.parameters if p.code not in own and not p.hidden]


def copy_levels(command: SdefCommand, classes: Mapping[str, Class]) -> list[LevelVerdict]:
    """Return what a command that copies can need: to copy is to make, with the values given."""
    if command.code != "coreclon":
        return []
    verdicts = [LevelVerdict(row.make, "makes something new") for row in classes.values()]
    if any(parameter.code == "prdt" for parameter in command.parameters):
        rows = (prop for row in classes.values() for prop in row.properties if prop.access != "r")
        verdicts += [LevelVerdict(prop.level, "changes a property") for prop in rows]
    return verdicts


_OF = ToolParameter(
    "of", Param("", "----", "specifier"), False, _STRING, "Ref",
    "Where to look; the whole app if left out",
)  # fmt: skip
_AT = ToolParameter(
    "at", Param("at", "insh", "location specifier"), False, _STRING, "Ref",
    "Where to make it; the app chooses if left out",
)  # fmt: skip
_WHERE = ToolParameter(
    "where", Param("", "", "filter"), False, {"type": "object"}, "Mapping[str, Any]",
    "Filter, such as {name: x} or {size: {>=: 9}}: =, !=, <, <=, >, >=, contains, begins with, ends"
    " with, in, not",
    "Conditions by property name, which must all match",
)  # fmt: skip
_PAGE = (
    ToolParameter(
        "order", Param("", "", "list of property"), False, {"type": "array", "items": _STRING},
        "ListOf[str]", "Properties to sort by; - before a name reverses its order",
    ),
    ToolParameter(
        "limit", Param("", "", "integer"), False, _FROM_ZERO, "int",
        "The most rows; all if left out",
    ),
    ToolParameter(
        "offset", Param("", "", "integer"), False, {**_FROM_ZERO, "default": 0}, "int",
        "Rows to skip",
    ),
    ToolParameter(
        "cursor", Param("", "", "text"), False, _STRING, "str",
        "The cursor from the last result's note",
    ),
)  # fmt: skip
_RAW = ToolParameter(
    "raw", Param("", "", "boolean"), False, {"type": "boolean"}, "bool",
    "Keep hidden characters in texts",
)  # fmt: skip
_DETAIL = ToolParameter(
    "detail", Param("", "", "text"), False, {"type": "string", "enum": ["concise", "full"]}, "str",
    "full: references, seconds and empty values too",
)  # fmt: skip
_TIMEOUT = ToolParameter(
    "timeout", Param("", "", "number"), False, {"type": "number"}, "float",
    "Seconds that the call may take",
)  # fmt: skip


class _SharedParameters:
    """The parameters that the object tools share, for one app."""

    def __init__(
        self, resolved: ResolvedDictionary, classes: Mapping[str, Class], example: str
    ) -> None:
        self._example = example
        self._hidden = {row.name for row in resolved.classes if row.hidden}
        # The aliases exist only where there is something for them to list.
        self._class_name = "ClassName" if classes.keys() - self._hidden else "str"
        self._property_name = "PropertyName" if visible_properties(resolved) else "str"
        self._offered = {e.type for row in resolved.classes for e in row.elements if not e.hidden}
        contained = {element.term for row in classes.values() for element in row.elements}
        self.elements = [name for name in classes if name in contained and name != APPLICATION]

    def target_parameter(self, *, several: bool = False) -> ToolParameter:
        text = f"Which object{'s' * several}"
        shown = f"{text}, such as {self._example}"
        row = Param("", "----", "specifier")
        if not several:
            return ToolParameter("target", row, True, _STRING, "Ref", shown, text)
        schema = {"anyOf": [_STRING, {"type": "array", "items": _STRING}]}
        return ToolParameter("target", row, True, schema, "Ref | ListOf[Ref]", shown, text)

    def element_parameter(self, term: str = "", code: str = "") -> ToolParameter:
        offered = self._offered - self._hidden
        visible = [name for name in self.elements if name in offered] or self.elements
        # A longer name is still in the class table; a model is not offered it.
        shown = offered_values(visible, MAX_NAME)
        schema: dict[str, Any] = dict(_STRING)
        text = "Of which class"
        if shown and len(shown) <= _ENUM_LIMIT:
            schema["enum"] = shown
        else:
            examples = [shown_term(name) for name in shown[:3]]
            text = f"Class, such as {', '.join(examples)}" if examples else "Class name"
            text = truncate_words(text, MAX_PARAMETER)
        row = Param(term, code, "class")
        return ToolParameter("element", row, True, schema, self._class_name, text)

    def property_list_parameter(self) -> ToolParameter:
        row = Param("", "", "list of property")
        schema = {"type": "array", "items": _STRING}
        annotation = f"ListOf[{self._property_name}]"
        return ToolParameter("properties", row, False, schema, annotation, "Properties to read")

    def properties_parameter(self, required: bool) -> ToolParameter:
        row = (
            Param("", "data", "record")
            if required
            else Param("with properties", "prdt", "record", "withProperties")
        )
        schema = {"type": "object"}
        annotation = f"Mapping[{self._property_name}, Any]"
        return ToolParameter(
            "properties", row, required, schema, annotation, "Values by property name"
        )


def with_text_format(tool: ToolFunction, classes: Mapping[str, Class]) -> ToolFunction:
    """Return a tool with how its text is written, where it can write one that is kept as HTML."""
    terms = {p.term for row in classes.values() for p in row.properties if p.type == HTML_TEXT}
    if tool.bind:
        terms &= tool.bind.get("properties", {}).keys() if tool.op in ("make", "set") else set()
    elif not any(one.row.type == "record" for one in tool.parameters):
        return tool
    if not terms:
        return tool
    told = f"How {' and '.join(sorted(terms))} is written"
    schema = {**_STRING, "enum": ["plain", "html", "markdown"], "default": "plain"}
    written = ToolParameter(
        "text_format", Param("", "", "text"), False, schema,
        'Literal["plain", "html", "markdown"]', told,
    )  # fmt: skip
    return replace(tool, parameters=(*tool.parameters, written))


def build_recipe_tool(
    recipe: Recipe,
    tools: Sequence[ToolFunction],
    classes: Mapping[str, Class],
    types: AppTypes,
) -> ToolFunction | str:
    """Return the tool of `recipe`, or one line that says what is wrong with it."""
    base = next((tool for tool in tools if tool.function.rstrip("_") == recipe.tool), None)
    if base is None:
        return f"recipe {recipe.name} rests on {recipe.tool}, which is not a tool of this app"
    known = {parameter.key: parameter for parameter in base.parameters}
    strange = recipe.bind.keys() - known.keys()
    if strange:
        return f"recipe {recipe.name} binds {sorted(strange)[0]}, which {recipe.tool} has not"
    named = set(_placeholder_names(recipe.bind))
    if named != recipe.params.keys():
        odd = sorted(named ^ recipe.params.keys())[0]
        return f"recipe {recipe.name} must both declare and bind {odd}"
    if recipe.name in {tool.function for tool in tools}:
        return f"recipe {recipe.name} has the name of a tool"
    judged = _recipe_judgment(recipe, base, classes)
    parameters = tuple(_recipe_parameter(recipe, name, types) for name in recipe.params)
    answer: dict[str, Any] = {}
    if recipe.result:
        answer["result"], answer["returned"] = recipe.result, "The answer."
        answer["returns"] = types.result_annotation(recipe.result)
        answer["output"] = types.output_schema(recipe.result, base.op)
    elif base.op in ("get", "list"):
        answer["output"] = _read_schema(recipe, base.op, types)
    return replace(
        base,
        function=recipe.name,
        level=judged.level,
        ceiling=judged.level,
        reason=judged.reason,
        judged=judged,
        summary=with_level(recipe.doc, judged.level, judged.reason),
        parameters=parameters,
        positional=1 if parameters and parameters[0].required else 0,
        term="",
        bind=recipe.bind,
        **answer,
    )


def _read_schema(recipe: Recipe, op: Op, types: AppTypes) -> dict[str, Any]:
    """Return the schema of what a recipe reads: with the properties that it always reads."""
    named = recipe.bind.get("properties", [])
    fixed = named if isinstance(named, list) and not any(_placeholder_names(named)) else []
    about = str(recipe.bind.get("element" if op == "list" else "target", ""))
    if about.startswith("$"):
        kinds = types.bare_terms(recipe.params[about[1:]][0])
    else:
        kinds = [about]
    return types.read_schema(op, fixed, kinds)


def _placeholder_names(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value.startswith("$"):
        # `$day+1` is the day after.
        yield value[1:].partition("+")[0]
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _placeholder_names(item)
    elif isinstance(value, list):
        for item in value:
            yield from _placeholder_names(item)


def _recipe_judgment(
    recipe: Recipe, base: ToolFunction, classes: Mapping[str, Class]
) -> LevelJudgment:
    """Return the level that the bound arguments reach, and why."""
    verdicts = [LevelVerdict(base.level, base.reason, f"tool {base.function}")]
    if base.op not in ("make", "set"):
        return LevelJudgment(tuple(verdicts))
    row = classes.get(str(recipe.bind.get("element", "")))
    if row is not None:
        verdicts.append(LevelVerdict(row.make, "makes something new", "class"))
    bound = recipe.bind.get("properties", {})
    owners = [row] if row is not None else list(classes.values())
    # What is bound first says what the recipe is for.
    for prop in (p for term in bound for one in owners for p in one.properties if p.term == term):
        level = level_when_made(prop.code, prop.level) if base.op == "make" else prop.level
        verdicts.append(LevelVerdict(level, f"sets {prop.term}", f"property code {prop.code}"))
    # To set needs what the properties need.
    return LevelJudgment(tuple(verdicts[1:] or verdicts if base.op == "set" else verdicts))


def _recipe_parameter(recipe: Recipe, name: str, types: AppTypes) -> ToolParameter:
    kind, doc = recipe.params[name]
    words = doc or _recipe_parameter_role(recipe, name, kind, types)
    # A day says how it is written, whatever else is said of it.
    told = doc and (kind != "date" or "such as" in doc)
    form = "" if told else describe_value_form(kind, types)
    bounds = zip(("minimum", "maximum"), recipe.ranges.get(name, ()), strict=False)
    return ToolParameter(
        name,
        Param("", "", kind),
        name not in recipe.optional,
        {**types.json_schema(kind), **dict(bounds)},
        types.parameter_annotation(kind),
        with_form(words, form, foreign=False),
        words,
    )


def _recipe_parameter_role(recipe: Recipe, name: str, kind: str, types: AppTypes) -> str:
    """Return what a parameter of a recipe is for, by where the recipe puts it."""
    place = next(
        (key for key in recipe.bind if name in _placeholder_names({key: recipe.bind[key]})), ""
    )
    shown = name.replace("_", " ")
    if place == "where" and name == "text":
        return "The words to look for"
    if name in SHORTCUTS:
        return SHORTCUTS[name]
    if place == "target":
        if recipe.tool == "set":
            return f"Which {shown}"
        return f"Which {shown}{' to read' if recipe.tool in ('get', 'list') else ''}"
    if place in ("of", "where"):
        return f"The {shown} to look in" if place == "of" else f"The {shown} to look for"
    if place in ("at", "to"):
        return f"The {shown} to put it in"
    if place == "properties" and kind == "boolean":
        return f"Whether to have it {shown}"
    if place == "properties":
        made = recipe.bind.get("element")
        return f"The {shown} of the new {made}" if made else f"The new {shown}"
    return describe_parameter(name, "", kind, types)
