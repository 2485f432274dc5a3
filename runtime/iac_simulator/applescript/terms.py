"""The words of AppleScript: of the language, and of an app by its tables."""

import re
from functools import lru_cache
from itertools import starmap
from typing import Final

from iac_runtime.language.applescript_expressions import ScriptTerm, Terms
from iac_runtime.tool import Param
from iac_runtime.tools.tables import Tables
from iac_simulator.applescript.values import UNITS
from iac_simulator.events import STANDARD_COMMANDS, command_named

_CAMEL: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^A-Z]+")

_CLASSES: Final = (
    "text|string|Unicode text|integer|real|number|list|record|boolean|date|class|constant|item"
    "|character|word|paragraph|text item|alias|file|POSIX file|reference|anything|data"
    "|RGB color|application"
).split("|")
_PROPERTIES: Final = (
    "length|reverse|rest|contents|name|id|version|running|class|quoted form|POSIX path|year|month"
    "|day|weekday|time|hours|minutes|seconds|date string|time string|short date string"
    "|text item delimiters|AppleScript's text item delimiters|frontmost|parent"
).split("|")
_CONSTANTS: Final = (
    "January|February|March|April|May|June|July|August|September|October|November|December"
    "|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|yes|no|ask|pi|return|tab|space"
    "|linefeed|quote|AppleScript|case|weeks|days"
).split("|")
_CODES: Final = {
    code: name
    for row in (
        "integer long|real doub|text TEXT|text utxt|text ctxt|list list|record reco|boolean bool"
        "|date ldt|class type|constant enum|item cobj|character cha|word cwor|paragraph cpar"
        "|alias alis|file furl|reference obj|anything ****|application capp|name pnam|id ID"
        "|text utf8|isot isot"
    ).split("|")
    for name, code in [row.rsplit(" ", 1)]
}
_COMMANDS: Final = {
    "get": (), "count": ("each",), "exists": (), "log": (), "run": (), "activate": (),
    "launch": (), "quit": ("saving",), "delay": (), "current date": (),
    "offset": ("of", "in"), "round": ("rounding",), "beep": (),
    "random number": ("from", "to", "with seed"),
}  # fmt: skip


def spell_words(name: str) -> str:
    """Return a JXA name as a dictionary spells it: `withProperties`, with properties."""
    return " ".join(_CAMEL.findall(name)).casefold()


def _raw(code: str) -> str:
    return f"«class {code}»"


def spell_label(key: str, param: Param) -> str:
    """Return the label of a parameter: as the dictionary has it, or by its JXA name."""
    return param.term.casefold() if " " in param.term else spell_words(key)


def _collect(rows: list[tuple[str, ScriptTerm]]) -> Terms:
    words: dict[str, tuple[ScriptTerm, ...]] = {}
    for spelling, term in rows:
        key = " ".join(spelling.casefold().split())
        words[key] = (*words.get(key, ()), term)
    return Terms(words, max((len(key.split()) for key in words), default=1))


@lru_cache(maxsize=1)
def language_terms() -> Terms:
    """Return the words of the language itself, and of Standard Additions that it reckons."""
    rows = [(name, ScriptTerm("class", name)) for name in _CLASSES]
    rows += [
        (f"{name}s", ScriptTerm("class", name, plural=True)) for name in _CLASSES if name != "class"
    ]
    rows += [(name, ScriptTerm("class", name)) for name in UNITS]
    rows += [(_raw(code), ScriptTerm("class", name)) for code, name in _CODES.items()]
    rows += [(name, ScriptTerm("property", name)) for name in _PROPERTIES]
    rows += [(name, ScriptTerm("constant", name)) for name in _CONSTANTS]
    rows += [
        (name, ScriptTerm("command", name, labels=labels)) for name, labels in _COMMANDS.items()
    ]
    return _collect(rows)


@lru_cache(maxsize=128)
def app_terms(tables: Tables) -> Terms:
    """Return the words of an app, as AppleScript finds them."""
    rows: list[tuple[str, ScriptTerm]] = []
    real = tables.app.kind == "application"
    commands = dict.fromkeys(STANDARD_COMMANDS) if real else {}
    spellings = {name: spell_words(name) for name in commands}
    for function, spec in tables.tools.items():
        if spec.op == "command" and not spec.bind:
            spellings[spec.jxa] = function.rstrip("_").replace("_", " ")
    for name, spelling in spellings.items():
        command = command_named(tables, name)
        if command is not None and name not in ("get", "set", "count"):
            labels = tuple(starmap(spell_label, command.params.items()))
            codes = tuple(_raw(row.code).casefold() for row in command.params.values())
            sent = ScriptTerm("command", name, labels=labels, codes=codes)
            rows += [(spelling, sent), (f"«event {command.event}»", sent)]
    for term, row in tables.classes.items():
        names = (term, *row.synonyms, _raw(row.code))
        rows += [(name, ScriptTerm("class", term)) for name in names]
        prefix, last = term.rpartition(" ")[0], row.plural
        if prefix:
            last = last[len(prefix.replace(" ", "")) :]
        rows.append((f"{prefix} {last}", ScriptTerm("class", term, plural=True)))
        rows += [
            (name, ScriptTerm("property", prop.term))
            for prop in row.properties
            for name in (prop.term, _raw(prop.code))
        ]
    for record in tables.records.values():
        rows += [(prop.term, ScriptTerm("property", prop.term)) for prop in record.properties]
    for enum in tables.enums.values():
        rows += [
            (spelling, ScriptTerm("constant", name))
            for name, code in enum
            for spelling in (name, f"«constant ****{code}»")
        ]
    return _collect(rows)


@lru_cache(maxsize=128)
def property_names(tables: Tables) -> dict[str, str]:
    """Return the JXA names of an app's properties by their terms."""
    rows = [prop for row in tables.classes.values() for prop in row.properties]
    rows += [prop for record in tables.records.values() for prop in record.properties]
    return {prop.term.casefold(): prop.jxa for prop in rows}
