"""Describe: what a tool does, in our own words, made from structure.

The text is plain prose without quotes, colons or brackets, because the same words stand in a
docstring and in the listing. Examples of references stand in parameter descriptions only.
"""

from collections.abc import Sequence

from iac_gen.doors import clean_prose
from iac_gen.model import Command
from iac_gen.naming import jxa, plural
from iac_gen.resolve import Resolved
from iac_gen.types import Types

__all__ = [
    "MAX_PARAMETER",
    "MAX_SUMMARY",
    "command_summary",
    "docstring_words",
    "kind_words",
    "parameter_words",
    "reference_example",
    "sentence",
]

MAX_SUMMARY = 256
MAX_PARAMETER = 120

_WORDS = {
    "any": "any value",
    "boolean": "true or false",
    "class": "a class",
    "color": "a colour",
    "data": "data",
    "date": "a date",
    "file": "a file",
    "integer": "a whole number",
    "location specifier": "a place",
    "number": "a number",
    "point": "a point",
    "property": "a property",
    "real": "a number",
    "record": "a record",
    "rectangle": "a rectangle",
    "specifier": "an object",
    "text": "text",
    "type": "a class name",
}


def _article(word: str) -> str:
    return f"an {word}" if word[:1].lower() in "aeio" else f"a {word}"


def sentence(text: str, limit: int = MAX_SUMMARY) -> str:
    """Return `text` as prose of at most `limit` characters, whole words."""
    clean = clean_prose(text)
    if len(clean) <= limit:
        return clean
    return clean[: limit - 4].rsplit(" ", 1)[0].rstrip(" ,.") + "..."


def kind_words(kind: str, types: Types) -> str:
    """Return a type in words: `a note or a folder`; long unions are cut to `a value`."""
    words: list[str] = []
    for part in types.alternatives(kind):
        word = _part_words(part, types)
        if word not in words:
            words.append(word)
    if not words or len(words) > 4:
        return "an object" if types.names_objects(kind) else "a value"
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _part_words(part: str, types: Types) -> str:
    if part.startswith("list of "):
        return f"a list of {_part_words(part.removeprefix('list of '), types)}"
    if part in _WORDS:
        return _WORDS[part]
    if part in types.enums:
        values = types.enumerators(part)
        if len(values) <= 4:
            return f"{', '.join(values[:-1])} or {values[-1]}" if len(values) > 1 else values[0]
        return f"one of {len(values)} values"
    return _article(part)


def command_summary(command: Command, direct: str, result: str, types: Types, app: str) -> str:
    """Return what a command does, to what, and what it answers."""
    name = command.name[:1].upper() + command.name[1:]
    text = f"{name} in {app}"
    if direct:
        words = kind_words(direct, types)
        text = (
            f"{name}, given {words}, in {app}"
            if _needs_given(direct)
            else f"{name} {words} in {app}"
        )
    if result:
        text += f". Returns {kind_words(result, types)}"
    return f"{text}."


def _needs_given(direct: str) -> bool:
    return any(part in ("text", "any", "record") for part in direct.split(" | "))


def reference_example(kind: str, resolved: Resolved, types: Types) -> str:
    """Return an example reference to an object of `kind`, or of anything in the app."""
    parts = [part.removeprefix("list of ") for part in types.alternatives(kind)]
    rows = {row.name: row for row in resolved.classes}
    application = rows.get("application")
    held = [e.type for e in application.elements if not e.hidden] if application else []
    for name in (*parts, *held):
        if name in rows and name in held:
            return f"{jxa(plural(name, rows[name].plural))}[0]"
    return f"{held[0]}s[0]" if held else "application"


def docstring_words(kind: str, types: Types) -> str:
    """Return a parameter in words where the schema's own words do not suit a docstring."""
    if types.names_objects(kind):
        return f"Reference to {kind_words(kind, types)}"
    words = kind_words(kind, types)
    return f"{words[:1].upper()}{words[1:]}"


def parameter_words(kind: str, example: str, types: Types) -> str:
    """Return what to pass; empty where the schema says it all."""
    parts: Sequence[str] = types.alternatives(kind)
    bare = {part.removeprefix("list of ") for part in parts}
    if types.names_objects(kind):
        return f"Reference such as {example}"
    if "file" in bare:
        return "Absolute path or ~"
    if "date" in bare:
        return "ISO 8601"
    if "color" in bare:
        return "Red, green, blue, each 0 to 1"
    if "type" in bare or "class" in bare:
        return "Class name"
    return ""
