"""Build tools: a resolved dictionary becomes the intermediate representation of a module.

Names are decided in `naming`, types in `types`, levels in `classify`; this puts them together.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from iac_gen import descriptions, example_arguments, model, naming, object_tools
from iac_gen.classify import (
    LevelJudgment,
    LevelVerdict,
    highest_verdict,
    judge_command,
    judge_delete,
    judge_make,
    judge_setter,
)
from iac_gen.descriptions import join_with, shown_term
from iac_gen.ir import Module, ToolFunction, ToolParameter
from iac_gen.model import Diagnostic, SdefCommand, Severity
from iac_gen.naming import class_plural, javascript_name, plural_noun
from iac_gen.quirks import QuirkDecisions
from iac_gen.resolve import ResolvedDictionary, hook_reason
from iac_gen.text import MAX_ENUMERATOR, MAX_NAME, clean_text
from iac_gen.types import AppTypes
from iac_runtime.tool import (
    App,
    Class,
    Element,
    Enum,
    Intent,
    Param,
    Property,
    Record,
    tool_prefix,
)


def _class_row(
    row: model.SdefClass, resolved: ResolvedDictionary, types: AppTypes, decisions: QuirkDecisions
) -> Class:
    names = javascript_name(row.name), javascript_name(class_plural(row.name, row.plural))
    levels = judge_make(row, resolved).level, judge_delete(row).level
    properties = tuple(_property_rows(row, types, decisions))
    elements = tuple(Element(element.type, element.access) for element in row.elements)
    synonyms = tuple(word.name for word in row.synonyms if word.name)
    return Class(row.code, *names, row.inherits or None, *levels, properties, elements, synonyms)


def _property_rows(
    owner: model.SdefClass, types: AppTypes, decisions: QuirkDecisions
) -> Iterable[Property]:
    for row in owner.properties:
        level = _setter_judgment(owner, row, decisions).level
        quirk = decisions.values_for("property", (owner.name, row.name))
        kind = quirk.get("type") or types.type_string(row.types)
        name = naming.property_javascript_name(
            row.name, row.code, {one.name for one in owner.properties}
        )
        yield Property(row.name, row.code, name, kind, row.access, level)


def _setter_judgment(
    owner: model.SdefClass, row: model.SdefProperty, decisions: QuirkDecisions
) -> LevelJudgment:
    quirk = decisions.level_for("property", (owner.name, row.name))
    return replace(judge_setter(owner, row), quirk=quirk)


def table_judgments(
    resolved: ResolvedDictionary, decisions: QuirkDecisions
) -> dict[str, Mapping[str, LevelJudgment]]:
    """Return why the rows of the tables of classes and records have their levels."""
    judgments: dict[str, Mapping[str, LevelJudgment]] = {}
    for row in (*_record_owners(resolved), *resolved.classes):
        for prop in row.properties:
            judgments[f"{row.name}.{prop.name}"] = {"set": _setter_judgment(row, prop, decisions)}
    for row in resolved.classes:
        judgments[row.name] = {"make": judge_make(row, resolved), "delete": judge_delete(row)}
    return judgments


def enum_table(resolved: ResolvedDictionary) -> dict[str, Enum]:
    """Return every enumeration: rows of (enumerator, code), hidden ones too."""
    return {
        row.name: tuple((value.name, value.code) for value in row.enumerators)
        for row in resolved.enumerations
    }


def record_table(
    resolved: ResolvedDictionary, types: AppTypes, decisions: QuirkDecisions
) -> dict[str, Record]:
    """Return every record type with its fields."""
    return {
        owner.name: Record(owner.code, tuple(_property_rows(owner, types, decisions)))
        for owner in _record_owners(resolved)
    }


def _record_owners(resolved: ResolvedDictionary) -> list[model.SdefClass]:
    return [model.SdefClass(r.name, r.code, properties=r.properties) for r in resolved.records]


def build_module(
    resolved: ResolvedDictionary, decisions: QuirkDecisions, key: str, *, wording: bool = False
) -> tuple[Module, list[Diagnostic]]:
    """Return the module of `resolved` under `key`, and a note for each type it had to guess.

    With `wording`, the app's own descriptions stand where no sentence is ours; without, no text
    of the dictionary but its terms is in the module.
    """
    aliases = _enumeration_aliases(resolved)
    types = AppTypes(resolved, aliases)
    # Hidden ones too: references run through them.
    classes = {row.name: _class_row(row, resolved, types, decisions) for row in resolved.classes}
    builder = _ToolBuilder(resolved, decisions, types, classes, wording)
    merged = object_tools.merged_commands(resolved)
    for tool in object_tools.object_tools(resolved, classes, types):
        builder.add_object_tool(tool, merged.get(tool.op))
    ops = {tool.op for tool in builder.tools}
    hooks = resolved.source.kind != "intents"
    for command in resolved.commands:
        if command.hidden or object_tools.OBJECT_EVENTS.get(command.code) in ops:
            continue
        if hooks and (reason := hook_reason(command)):
            text = f"command {command.name} gets no tool: {reason}"
            place = resolved.source.dictionary.file
            builder.found.append(Diagnostic(place, command.line, "hook", text, "note"))
            continue
        builder.add_command(command)
    diagnostics = [*builder.found, *_long_name_notes(resolved)]
    for recipe in decisions.recipes:
        tool_or_fault = object_tools.build_recipe_tool(recipe, builder.tools, classes, types)
        if isinstance(tool_or_fault, str):
            place = f"quirks for {resolved.source.name}"
            diagnostics.append(Diagnostic(place, recipe.line, "recipe", tool_or_fault, "error"))
        else:
            builder.tools.append(tool_or_fault)
    written = [object_tools.with_text_format(tool, classes) for tool in builder.tools]
    # All at once: a client may cut names, and none may become another's by it.
    wanted = [f"{tool_prefix(key)}{tool.function.rstrip('_')}" for tool in written]
    names = naming.distinct_names(wanted)
    tools = tuple(
        replace(
            tool,
            name=name,
            example=example_arguments.example_arguments(tool, classes, types, resolved.source.id),
        )
        for tool, name in zip(written, names, strict=True)
    )
    file = resolved.source.dictionary.file
    for name in sorted(types.unknown):
        text = f"type {name} is declared nowhere; any value goes"
        diagnostics.append(Diagnostic(file, 0, "unknown-type", text, "note"))
    hidden = {row.name for row in resolved.classes if row.hidden}
    module = Module(
        key,
        App(resolved.source.id, resolved.source.name, resolved.source.kind),
        resolved.source.version,
        resolved.source.dictionary.digest,
        classes,
        enum_table(resolved),
        record_table(resolved, types, decisions),
        tuple((alias, name, tuple(types.enumerators(name))) for name, alias in aliases.items()),
        tuple(sorted(name for name in classes if name not in hidden)),
        tuple(sorted(object_tools.visible_properties(resolved))),
        tools,
        table_judgments(resolved, decisions),
        {row.name: row.code for row in resolved.enumerations},
        descriptions.describe_terms(
            classes, resolved.classes, types, resolved.source.name, builder.app_words
        ),
    )
    return module, diagnostics


def _long_name_notes(resolved: ResolvedDictionary) -> Iterator[Diagnostic]:
    """Say which values and classes no schema offers, because their names are too long."""
    file = resolved.source.dictionary.file
    for row in resolved.enumerations:
        count = sum(len(clean_text(value.name)) > MAX_ENUMERATOR for value in row.enumerators)
        if count:
            what = f"enumeration {shown_term(row.name)} has values"
            rest = f"more than {MAX_ENUMERATOR} characters; {count} left out of schemas"
            yield Diagnostic(file, row.line, "long", f"{what} of {rest}", "note")
    for item in resolved.classes:
        if len(clean_text(item.name)) > MAX_NAME:
            what = f"class {shown_term(item.name)} has a name"
            rest = f"more than {MAX_NAME} characters; no schema offers it"
            yield Diagnostic(file, item.line, "long", f"{what} of {rest}", "note")


_STARTS: Final[Mapping[str, tuple[LevelVerdict, ...]]] = dict.fromkeys(
    ("miscactv", "aevtrapp"), (LevelVerdict("MODIFY", "starts the app"),)
)
"""What events that show an app need where it does not run."""


def _enumeration_aliases(resolved: ResolvedDictionary) -> dict[str, str]:
    """Return enumeration -> alias for the enumerations that annotations may name."""
    aliases: dict[str, str] = {}
    for name in (row.name for row in resolved.enumerations if row.enumerators):
        aliases[name] = naming.unique_name(naming.literal_alias(name), aliases.values())
    return aliases


@dataclass(slots=True)
class _ToolBuilder:
    """Collects the tools of one module; no two share a function."""

    resolved: ResolvedDictionary
    decisions: QuirkDecisions
    types: AppTypes
    classes: Mapping[str, Class]
    wording: bool
    tools: list[ToolFunction] = field(default_factory=list)
    found: list[Diagnostic] = field(default_factory=list)

    def _unique_function(self, wanted: str) -> str:
        return naming.unique_name(wanted, {tool.function for tool in self.tools})

    def app_words(self, text: str, what: str = "", line: int = 0) -> str:
        """Return the app's words where they are wanted and may be shown; else it is told why."""
        if not self.wording or not text:
            return ""
        theirs = descriptions.screen_description(text)
        if theirs.reason and what:
            fate = "kept" if theirs.text else "left out"
            message = f"the app's words for {what} are {fate}, the text {theirs.reason}"
            level: Severity = "note" if theirs.text else "warning"
            file = self.resolved.source.dictionary.file
            self.found.append(Diagnostic(file, line, "wording", message, level))
        return theirs.text

    def add_object_tool(self, tool: ToolFunction, command: SdefCommand | None) -> None:
        parameters = list(tool.parameters)
        for extra in object_tools.extra_parameters(command) if command else ():
            parameters.append(self.build_parameter(extra, {p.key for p in parameters}, tool.op))
        if command:
            parameters = self._add_quirk_words(parameters, command)
        function = self._unique_function(tool.op)
        verdict = LevelVerdict(tool.level, tool.reason, f"event code {tool.event}")
        self.tools.append(
            replace(
                tool,
                function=function,
                jxa=tool.op,
                parameters=tuple(parameters),
                judged=LevelJudgment((verdict,)),
            )
        )

    def add_command(self, command: SdefCommand) -> None:
        function = self._unique_function(naming.function_name(command.name, command.code))
        parameters = self.build_parameters(command, function)
        result = self.types.type_string(command.result) if command.result is not None else ""
        judged = self.judge_with_quirk(command, [parameter.row.type for parameter in parameters])
        doc = self.decisions.values_for("command", command.name).get("doc")
        direct = parameters[0].row.type if command.direct is not None else ""
        app = descriptions.safe_app_name(self.resolved.source.name)
        facts = command.intent
        own = descriptions.responding_classes(command, self.resolved)
        place = "" if self.resolved.source.kind == "addition" else app
        things = join_with("or", [plural_noun(term) for term in own] or ["documents", "windows"])
        theirs = (
            "" if doc else self.app_words(*_told(command, f"command {shown_term(command.name)}"))
        )
        summary = (
            doc.replace("{app}", app).replace("{things}", things)
            if doc
            else descriptions.describe_command(
                command, (direct, result), self.types, place, own, theirs
            )
        )
        unproven = descriptions.UNPROVEN if facts else ""
        room = descriptions.MAX_SUMMARY - len(unproven)
        # What words alone let suppose of the app's command is no fact to tell.
        reason = judged.reason if doc or judged.verdict.source != "words" else ""
        summary = descriptions.with_level(summary, judged.level, reason, room) + unproven
        copies = object_tools.copy_levels(command, self.classes)
        self.tools.append(
            ToolFunction(
                function,
                "command",
                command.code,
                judged.level,
                highest_verdict((judged.verdict, *copies, *_STARTS.get(command.code, ()))).level,
                judged.reason,
                summary,
                tuple(parameters),
                result,
                self.types.result_annotation(result) if result else "None",
                f"The answer, {descriptions.describe_type(result, self.types)}." if result else "",
                self.types.output_schema(result) if result else None,
                1 if command.direct is not None else 0,
                function.rstrip("_") if facts else naming.javascript_name(command.name),
                command.name,
                judged=judged,
                app_words=bool(theirs) or any(p.app_words for p in parameters),
                intent=Intent(facts.type, facts.calls, facts.opens) if facts else None,
            )
        )

    def judge_with_quirk(self, command: SdefCommand, kinds: Iterable[str]) -> LevelJudgment:
        judged = judge_command(command, self.resolved, kinds)
        return replace(judged, quirk=self.decisions.level_for("command", command.name))

    def build_parameters(self, command: SdefCommand, function: str) -> list[ToolParameter]:
        """Return the parameters in the order of the signature: the direct one first."""
        parameters: list[ToolParameter] = []
        shown = [p for p in command.parameters if not p.hidden]
        keys = {naming.parameter_key(p.name, p.code) for p in shown}
        decided = self.decisions.values_for("command", command.name)
        own = descriptions.responding_classes(command, self.resolved)
        if command.direct is not None:
            key = naming.unique_name(decided.get("direct", "target"), keys)
            # Where a quirk says what a command does, the app's own words add nothing.
            direct = replace(command.direct, description="") if "doc" in decided else command.direct
            parameters.append(self.build_parameter(direct, set(), function, key, own))
        for parameter in shown:
            taken = {p.key for p in parameters}
            parameters.append(self.build_parameter(parameter, taken, function))
        return self._add_quirk_words(parameters, command)

    def _add_quirk_words(
        self, parameters: list[ToolParameter], command: SdefCommand
    ) -> list[ToolParameter]:
        """Return parameters with the words that quirks give them."""
        words = self.decisions.values_for("command", command.name).get("params", {})
        return [
            replace(p, description=words[p.key], words=words[p.key]) if p.key in words else p
            for p in parameters
        ]

    def build_parameter(
        self,
        row: model.SdefParameter,
        taken: set[str],
        function: str,
        key: str = "",
        own: Sequence[str] = (),
    ) -> ToolParameter:
        wanted = key or naming.parameter_key(row.name, row.code)
        # In the body the parameter would hide the function that the call names.
        wanted = naming.escaped(wanted, {function})
        kind = self.types.type_string(row.types)
        if not row.name and function == "exists" and kind == "any":
            kind = "specifier"
        elif not row.name and kind == "specifier":
            # Dictionaries say one object; every app that was looked at takes a list too.
            kind = "specifier | list of specifier"
        name = naming.javascript_name(row.name)
        purpose = descriptions.describe_parameter(row.name, row.code, kind, self.types, own)
        form = descriptions.describe_value_form(kind, self.types, own)
        what = f"parameter {shown_term(row.name)}" if row.name else "the direct parameter"
        certain = descriptions.known_parameter(row.name, row.code)
        theirs = "" if certain else self.app_words(*_told(row, f"{what} of {function}"))
        words = descriptions.choose_words(purpose, theirs)
        foreign = words != purpose
        own_name = name == row.name or self.resolved.source.kind == "intents"
        return ToolParameter(
            # Two that an underscore tells apart would be one in JSON.
            naming.unique_name(wanted, {*taken, *(f"{one}_" for one in taken), function}),
            Param(row.name, row.code, kind, "" if own_name else name),
            not row.optional,
            {**self.types.json_schema(kind), **self.types.stated_keywords(row, kind)},
            self.types.parameter_annotation(kind),
            descriptions.with_form(words, form, foreign=foreign),
            words,
            foreign,
        )


def _told(row: SdefCommand | model.SdefParameter, what: str) -> tuple[str, str, int]:
    """Return what a dictionary says of a row, and what a finding about it names."""
    return row.description, what, row.line
