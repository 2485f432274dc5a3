"""Unsupported: every term of a dictionary from which nothing was made, with the reason.

A term is bound when a tool, a parameter, or a row of `CLASSES`, `ENUMS` or `RECORDS` stands for
it; this reads the tables that `build_module` makes, so that it cannot say other than they do.
Access groups, `cocoa`, `documentation` and direct parameters are no terms.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from iac_gen import model
from iac_gen.build_tools import build_module
from iac_gen.ir import Module, ToolFunction
from iac_gen.naming import javascript_name
from iac_gen.object_api import EXISTS, build_object_api
from iac_gen.object_tools import OBJECT_EVENTS
from iac_gen.quirks import QuirkDecisions
from iac_gen.resolve import ResolvedDictionary, hook_reason, path_of_url
from iac_gen.text import clean_text
from iac_gen.types import AppTypes
from iac_runtime.types import TYPES


@dataclass(frozen=True, slots=True)
class UnsupportedTerm:
    """A term from which nothing was made; terms and codes exactly as written.

    `kind` is the word of sdef(5) (`command`, `event`, `parameter`, `class-extension`,
    `property`, `element`, `enumerator`, `value-type`, `synonym`, `responds-to`, `include`), or
    `item` for what was dropped while reading. `line` is 0 for what an include brought.
    """

    kind: str
    term: str
    owner: str
    code: str
    reason: str
    line: int

    def __str__(self) -> str:
        """Return it as one line of plain characters."""
        term = f" {self.term}" if self.term else ""
        code = f" {self.code!r}" if self.code else ""
        owner = f" of {self.owner}" if self.owner else ""
        return clean_text(" ".join(f"{self.kind}{term}{code}{owner}: {self.reason}".split()))


@dataclass(frozen=True, slots=True)
class _BoundTerms:
    """What was made, in the shape in which it is asked for."""

    types: AppTypes
    module: Module
    commands: dict[tuple[str, str], model.SdefCommand]
    merged: dict[str, model.SdefCommand]
    visible: set[tuple[str, str]]

    def tool_for(self, command: model.SdefCommand) -> ToolFunction | None:
        """Return the tool that stands for a command, as `build_module` decides it."""
        if command.hidden:
            return None
        op = OBJECT_EVENTS.get(command.code)
        for tool in self.module.tools:
            if tool.op == "command":
                if tool.event == command.code and tool.jxa == javascript_name(command.name):
                    return tool
            elif tool.op == op and self.merged.get(command.code) == command:
                return tool
        return None


def find_unsupported(
    resolved: ResolvedDictionary, diagnostics: Iterable[model.Diagnostic]
) -> list[UnsupportedTerm]:
    """Return the terms of `resolved` without a trace in the module made of it.

    `diagnostics` are those of reading and resolving; an error among them is an item that was
    dropped, of which no more than the message is known. First the terms of the file in its
    order, then those that includes brought. An element of an included class whose own class
    the include's filter left behind is in the diagnostics only.
    """
    made = _bind_terms(resolved)
    terms: list[UnsupportedTerm] = []
    own = list(resolved.source.dictionary.own_items())
    for item in own:
        terms += _unsupported_in_item(item, made)
    for item in _included_items(resolved, own):
        terms += (replace(one, line=0) for one in _unsupported_in_item(item, made))
    return [*terms, *_missing_in_objects(made.module), *_dropped_items(resolved, diagnostics)]


def _missing_in_objects(module: Module) -> Iterator[UnsupportedTerm]:
    """Yield what the tables and tools have and no class of the object layer reaches."""
    layer = build_object_api(module)
    typed = {one.term: one for one in layer.classes}
    called = {one.tool.function for one in layer.commands}
    called |= {one.tool.function for row in layer.classes for one in row.methods}
    for tool in module.tools:
        if tool.op == "command" and not tool.bind and tool.function not in called:
            if tool.event == EXISTS:
                continue
            reason = "no class has this command; call the function instead"
            yield UnsupportedTerm("command", tool.term, "", tool.event, reason, 0)
    for term, row in module.classes.items():
        if row.inherits in typed and typed[term].inherits != row.inherits:
            reason = "it inherits through too many classes; call the functions for what those have"
            yield UnsupportedTerm("class", term, "", row.code, reason, 0)
        lineage = {a.jxa for one in model.class_lineage(term, typed) for a in typed[one].attributes}
        for prop in row.properties:
            if prop.jxa not in lineage:
                reason = "another term of the class has the same name in Python"
                yield UnsupportedTerm("property", prop.term, term, prop.code, reason, 0)
        for element in row.elements:
            if module.classes[element.term].plural not in lineage:
                reason = "a property of the class has the same name in Python"
                yield UnsupportedTerm("element", element.term, term, "", reason, 0)


def _bind_terms(resolved: ResolvedDictionary) -> _BoundTerms:
    # Quirks decide levels and words, never whether a term is bound; hiding is in `resolved`.
    module, _ = build_module(resolved, QuirkDecisions(), "app")
    visible = [command for command in resolved.commands if not command.hidden]
    declared = resolved.source.dictionary.own_items()
    own = {(i.name, i.code) for i in declared if isinstance(i, model.SdefCommand) and not i.hidden}
    commands = {(command.name, command.code): command for command in resolved.commands}
    merged = {command.code: command for command in reversed(visible)}
    return _BoundTerms(AppTypes(resolved, {}), module, commands, merged, own)


def _included_items(
    resolved: ResolvedDictionary, own: Sequence[model.Declaration]
) -> Iterator[model.Declaration]:
    """Yield what stands in `resolved` and not in the file itself."""
    mine = {(type(item), item.name) for item in own}
    rows: Iterable[model.Declaration] = (
        *resolved.commands, *resolved.events, *resolved.enumerations, *resolved.records,
        *resolved.values,
    )  # fmt: skip
    yield from (item for item in rows if (type(item), item.name) not in mine)
    added = [item for item in own if isinstance(item, model.SdefClass) and item.extends]
    for row in resolved.classes:
        if (model.SdefClass, row.name) not in mine:
            yield _without_members(row, [one for one in added if one.extends in (row.name, row.id)])


def _without_members(
    row: model.SdefClass, extensions: Sequence[model.SdefClass]
) -> model.SdefClass:
    """Return a merged class without the members that the file's own extensions gave it."""

    def remaining_members(name: str) -> tuple[Any, ...]:
        theirs = [member for one in extensions for member in getattr(one, name)]
        return tuple(member for member in getattr(row, name) if member not in theirs)

    kept: dict[str, Any] = {
        name: remaining_members(name) for name in ("properties", "responds_to", "synonyms")
    }
    return replace(row, elements=(), **kept)


def _unsupported_in_item(item: model.Declaration, made: _BoundTerms) -> Iterator[UnsupportedTerm]:
    if isinstance(item, model.SdefCommand):
        yield from _unsupported_event(item) if item.event else _unsupported_command(item, made)
    elif isinstance(item, model.SdefClass):
        yield from _unsupported_in_class(item, made)
    elif isinstance(item, model.Enumeration):
        yield from _unsupported_enumerators(item, made)
    elif isinstance(item, model.RecordType):
        yield from _unsupported_members(item, item.name, made.module.records.get(item.name))
    else:
        yield from _unsupported_value_type(item, made)
    if not isinstance(item, model.RecordType):
        named = item.extends or item.name if isinstance(item, model.SdefClass) else item.name
        yield from _unsupported_synonyms(item.synonyms, named, "", item.line)


def _unsupported_event(item: model.SdefCommand) -> Iterator[UnsupportedTerm]:
    yield _unsupported_term(item, "", "the app sends it, and no client can call it")
    for one in item.parameters:
        reason = "it belongs to an event, which no client can call"
        yield _unsupported_term(one, item.name, reason)


def _unsupported_command(item: model.SdefCommand, made: _BoundTerms) -> Iterator[UnsupportedTerm]:
    merged = made.commands.get((item.name, item.code), item)
    tool = made.tool_for(merged)
    if tool is None:
        yield _unsupported_term(item, "", _no_tool_reason(merged, made))
    codes = {parameter.row.code for parameter in tool.parameters} if tool else set()
    for one in item.parameters:
        if one.code in codes:
            continue
        if tool is None:
            reason = "its command has no tool"
        elif one.hidden:
            reason = "it is hidden"
        else:
            reason = f"the object tool {tool.op} has no such parameter"
        yield _unsupported_term(one, item.name, reason)


def _no_tool_reason(command: model.SdefCommand, made: _BoundTerms) -> str:
    op = OBJECT_EVENTS.get(command.code)
    if command.hidden:
        if command.intent is not None and command.intent.left_out:
            return command.intent.left_out
        if (command.name, command.code) in made.visible:
            return "a quirk hides it"
        sent = any(tool.op == op for tool in made.module.tools)
        return f"it is hidden; the object tool {op} does the same" if sent else "it is hidden"
    if reason := hook_reason(command):
        return f"{reason}, and no client can call it"
    other = made.merged.get(command.code, command)
    return f"the object tool {op} does the same as {other.name} (same event)"


def _unsupported_term(one: model.Described, owner: str, reason: str) -> UnsupportedTerm:
    """Return a term with a code under the word of sdef(5) for its kind."""
    event = isinstance(one, model.SdefCommand) and one.event
    kind = "event" if event else model.KINDS[type(one)].replace(" ", "-")  # type: ignore[index]
    return UnsupportedTerm(kind, one.name, owner, one.code, reason, one.line)


def _unsupported_in_class(item: model.SdefClass, made: _BoundTerms) -> Iterator[UnsupportedTerm]:
    written = item.extends or item.name
    name = made.types.class_named(written)
    row = made.module.classes.get(name)
    yield from _unsupported_members(item, written, row)
    elements = {element.term for element in row.elements} if row else set()
    for element in item.elements:
        if made.types.class_named(element.type) not in elements:
            reason = "its class is declared nowhere"
            yield UnsupportedTerm("element", element.type, written, "", reason, element.line)
    for verb in item.responds_to:
        reason = "a tool accepts any object; the app decides which objects it can use"
        yield UnsupportedTerm("responds-to", verb, written, "", reason, item.line)


def _unsupported_members(
    item: model.SdefClass | model.RecordType, owner: str, row: object
) -> Iterator[UnsupportedTerm]:
    terms = {prop.term for prop in getattr(row, "properties", ())}
    for prop in item.properties:
        if prop.name not in terms:
            yield _unsupported_term(prop, owner, "its owner is declared nowhere")
        yield from _unsupported_synonyms(prop.synonyms, prop.name, owner, prop.line)


def _unsupported_enumerators(
    item: model.Enumeration, made: _BoundTerms
) -> Iterator[UnsupportedTerm]:
    shown = {
        value for _, name, values in made.module.aliases if name == item.name for value in values
    }
    for value in item.enumerators:
        if value.hidden and value.name not in shown:
            reason = "it is hidden; no tool offers it, but a result may contain it"
            yield _unsupported_term(value, item.name, reason)
        yield from _unsupported_synonyms(value.synonyms, value.name, item.name, value.line)


def _unsupported_value_type(item: model.ValueType, made: _BoundTerms) -> Iterator[UnsupportedTerm]:
    meaning = made.types.type_string((model.TypeRef(item.name),))
    if meaning in made.types.records:
        reason = "as a type, the name means the record type"
    elif meaning in made.types.enums:
        reason = "as a type, the name means the enumeration"
    elif meaning in made.types.classes and meaning not in TYPES:
        reason = "as a type, the name means the class"
    elif meaning != "any" or item.name == "any":
        return
    else:
        reason = "IAC does not know the type of this code, so any value is accepted"
    yield _unsupported_term(item, "", reason)


def _unsupported_synonyms(
    synonyms: tuple[model.Synonym, ...], term: str, owner: str, line: int
) -> Iterator[UnsupportedTerm]:
    whole = f"{term} of {owner}" if owner else term
    for one in synonyms:
        own_code = " with a code of its own" if one.code else ""
        what = f"name{own_code}" if one.name else "code"
        reason = f"it is a second {what}; the tools use the first one"
        yield UnsupportedTerm("synonym", one.name, whole, one.code, reason, line)


def _dropped_items(
    resolved: ResolvedDictionary, diagnostics: Iterable[model.Diagnostic]
) -> Iterator[UnsupportedTerm]:
    dictionary = resolved.source.dictionary
    parts = (*dictionary.suites, *dictionary.declared_items())
    includes = {one.line: path_of_url(one.href) for one in parts if isinstance(one, model.Include)}
    for diagnostic in diagnostics:
        if diagnostic.file != dictionary.file:
            continue  # A fault of a quirk file, say.
        if diagnostic.code == "include":
            path = includes.get(diagnostic.line, "")
            reason = diagnostic.message.removeprefix(f"{path} ")
            yield UnsupportedTerm("include", path, "", "", reason, diagnostic.line)
        elif diagnostic.level == "error":
            yield UnsupportedTerm("item", "", "", "", diagnostic.message, diagnostic.line)
