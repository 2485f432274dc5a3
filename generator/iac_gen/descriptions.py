"""Descriptions: what a tool, a class and a property is, in our own words, made from structure.

The text is plain prose without quotes, colons or brackets, because the same words stand in a
docstring and in the listing. Examples of references stand in parameter descriptions only;
`example_arguments` are those of a whole call.
"""

import re
import textwrap
import tomllib
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple

from iac_gen.ir import ToolFunction, ToolParameter
from iac_gen.merge import APPLICATION
from iac_gen.model import SdefCommand, class_lineage
from iac_gen.phrases import (
    FORMS,
    KNOWN,
    PROPERTIES,
    VerbPhrase,
    capitalize_first,
    displayed_name,
    join_with_and,
    join_with_or,
    parameter_role,
    plural_noun,
    verb_phrase,
    whether_clause,
    whether_property,
    with_article,
    with_the,
)
from iac_gen.resolve import ResolvedDictionary
from iac_gen.text import (
    MAX_NAME,
    SourceText,
    clean_prose,
    clean_text,
    identifier,
    offered_values,
    prose,
)
from iac_gen.types import AppTypes, item_terms
from iac_runtime.tool import LEVELS, Class, Property
from iac_runtime.types import TYPES, type_alternatives

WIDTH: Final = 100
MAX_SUMMARY = 256
UNPROVEN: Final = " Declared, not verified."
"""Of an App Intent: no call of it was seen to work."""
MAX_PARAMETER = 120
MAX_SAID = 70
_MAX_VALUES = 60
_MAX_WORDS = 4
_SHOWN_FIELDS = 3
_NUMBERS: Final = frozenset({"integer", "number", "real"})
_PLAIN: Final = _NUMBERS | {"text", "any", "record", "boolean", "date"}
_PLAINLY: Final = "a an the something new document copy file property".split()
_SAID_BY: Final = {
    "SAFE": ("reads",),
    "MODIFY": tuple(
        "changes something/may change something/makes a copy/makes something new"
        "/starts or ends something".split("/")
    ),
}
"""What a level says by itself."""


def short_prose(text: str, limit: int = MAX_SUMMARY) -> str:
    """Return `text` as prose of at most `limit` characters, whole words."""
    return truncate_words(clean_prose(text), limit)


def truncate_words(text: str, limit: int) -> str:
    """Return at most `limit` characters of `text`: whole words, then dots."""
    if len(text) <= limit:
        return text
    return text[: limit - 3].rsplit(" ", 1)[0].rstrip(" ,.") + "..."


def with_level(text: str, level: str, reason: str, limit: int = MAX_SUMMARY) -> str:
    """Return a sentence with the level of its tool, and why, without what the sentence says.

    That it reads is what SAFE means, that it changes something what MODIFY means.
    """
    stems = {*map(_word_stem, [*re.findall("[a-z]+", text.lower()), *_PLAINLY])}
    verb = text.partition(" ")[0].lower()
    told = []
    for clause in reason.split(", "):
        first, *rest = clause.lower().split() or [""]
        repeats = first in (f"{verb}s", f"{verb}es") and stems.issuperset(map(_word_stem, rest))
        if not repeats and clause not in _SAID_BY.get(level, ()):
            told.append(clause)
    words = short_prose(f"{', '.join([level, *told])}.", 70)
    return f"{short_prose(text, limit).rstrip('.')}. {words}"


def safe_app_name(name: str) -> str:
    """Return an app's name as it may stand in a sentence of ours."""
    return short_prose(name, MAX_NAME) or "the app"


def describe_type(kind: str, types: AppTypes, own: Sequence[str] = ()) -> str:
    """Return a type in words: `a note or a folder`, `one or more tabs`.

    `own` are the classes that an object is of here; long unions are cut to `a value`.
    """
    one, many = _type_nouns(kind, types, own)
    if "value" in one or len(one) + len(many) > _MAX_WORDS:
        return "an object" if types.names_objects(kind) else "a value"
    if many and set(many) <= set(one):
        return f"one or more {join_with_or([plural_noun(noun) for noun in one])}"
    return join_with_or([*map(with_article, one), *map(plural_noun, many)])


def type_as_noun(kind: str, types: AppTypes, own: Sequence[str] = ()) -> str:
    """Return a type as the noun behind `the`: `note or folder`, `tabs`."""
    one, many = _type_nouns(kind, types, own)
    if (not one and not many) or "value" in one or len({*one, *many}) > _MAX_WORDS:
        return "object" if types.names_objects(kind) else "value"
    if any(part in types.enums for part in types.bare_terms(kind)):
        return "value"
    if "object" in (*one, *many):
        # A class beside it is one of them.
        return "objects" if many else "object"
    both = dict.fromkeys((*one, *many))
    return join_with_or([*map(plural_noun, both)] if many else one)


def _type_nouns(kind: str, types: AppTypes, own: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the nouns of a type: what it may be, and what lists of it may hold."""
    nouns_of: tuple[dict[str, None], dict[str, None]] = ({}, {})
    for part in type_alternatives(kind):
        many = part.startswith("list of ")
        for item in item_terms(part):
            for noun in own if own and item == "specifier" else [_type_noun(item, types)]:
                nouns_of[many].setdefault(noun)
    # Plain text in front, wherever the dictionary has it.
    one, many_ = (sorted(nouns, key=lambda noun: noun != "text") for nouns in nouns_of)
    return one, many_


def _type_noun(part: str, types: AppTypes) -> str:
    if part in ("class", "type"):
        return "class"
    if part in TYPES:
        return re.sub("^(an?|any) ", "", TYPES[part].words)
    if part in types.enums:
        values = types.enumerators(part)
        if len(values) <= 4 and sum(map(len, values)) <= _MAX_VALUES:
            return f"any of {join_with_or(values)}" if len(values) > 1 else "".join(values)
        return f"any of {len(values)} values"
    return clean_prose(part) if 0 < len(part) <= MAX_NAME else "object"


def responding_classes(command: SdefCommand, resolved: ResolvedDictionary) -> list[str]:
    """Return the classes that say they answer a command; none where they are many."""
    spellings = {command.name, command.id} - {""}
    rows = (row for row in resolved.classes if not row.hidden and row.name != APPLICATION)
    names = [row.name for row in rows if spellings & {*row.responds_to}]
    return names if len(names) <= 3 else []


def command_verb(
    command: SdefCommand, direct: str, types: AppTypes, own: Sequence[str]
) -> VerbPhrase:
    """Return a command as a verb phrase."""
    term = short_prose(command.name, MAX_NAME)
    if not any(ch.isalpha() for ch in term):
        term = "send an event"
    noun = type_as_noun(direct, types, own) if direct else ""
    return verb_phrase(term, answers=command.result is not None, noun=noun)


def command_summary(
    verb: VerbPhrase, direct: str, result: str, types: AppTypes, app: str, own: Sequence[str] = ()
) -> str:
    """Return what a command does, to what, and what it answers; `app` may be empty."""
    thing = describe_type(direct, types, own) if direct else ""
    text = verb.with_object(thing, app, is_value=_is_value(direct, types))
    answer = describe_type(result, types) if result else ""
    if answer and answer != "a value" and not text.startswith("Return "):
        text += f". Returns {answer}"
    return f"{text}."


def _is_value(kind: str, types: AppTypes) -> bool:
    parts = types.bare_terms(kind)
    return any(part in types.enums or part in _PLAIN for part in parts)


def describe_parameter(
    name: str, code: str, kind: str, verb: VerbPhrase, types: AppTypes, own: Sequence[str] = ()
) -> str:
    """Return what a parameter is for, without the form of its value."""
    term = clean_prose(name)
    known = KNOWN.get(name.lower()) or KNOWN.get(code)
    if known:
        return known
    plain = _is_value(kind, types)
    thing = "What" if plain else f"Which {type_as_noun(kind, types, own)}"
    if not term:
        # The tool's own sentence has the verb.
        objects = types.names_objects(kind)
        purpose = thing if objects else f"{thing} to {verb.after_to(is_value=plain)}"
    elif set(type_alternatives(kind)) == {"boolean"}:
        purpose = whether_clause(term)
    else:
        bare = types.bare_terms(kind)
        named = any(part in types.enums or part in _NUMBERS for part in bare)
        purpose = parameter_role(
            term, "" if "file" in bare else thing, verb.without_object(), named=named
        )
    return truncate_words(purpose, MAX_SAID)


def describe_value_form(kind: str, types: AppTypes, own: Sequence[str] = ()) -> str:
    """Return how a value of a type is written, as the end of a sentence; may be empty."""
    bare = types.bare_terms(kind)
    if types.names_objects(kind):
        example = types.example_reference([*own, *bare])
        return f", such as {example}" if example else ", a reference"
    if fields := [
        short_prose(name, MAX_NAME) for name in types.unlisted_fields(kind)[:_SHOWN_FIELDS]
    ]:
        return f", such as {', '.join(fields[:-1])} and {fields[-1]}"
    return next((f", {FORMS[name]}" for name in TYPES if name in FORMS and name in bare), "")


MARK: Final = "App's own wording, "
_LEAST_ROOM: Final = 12
_EMPTY: Final = frozenset(
    "a an the of to for in on with by from or and one more it that this which what is be object"
    " objects command use value parameter should specified given".split()
)
MARK_ROOM: Final = len(f" {MARK}in brackets.")
_TABLE: Final = tomllib.loads((files("iac_gen") / "wording.toml").read_text(encoding="utf-8"))
_STRUCTURE: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), what) for what, pattern in _TABLE["structure"].items()
)
_COMMANDING: Final = re.compile("|".join(_TABLE["commanding"]), re.IGNORECASE)
_LEVEL: Final = re.compile(rf"\b({'|'.join(LEVELS)})\b")
_ROLES: Final = "|".join(_TABLE["roles"])
_ROLE_AT: Final = re.compile(rf"\b({_ROLES})\s*[:>\]|]", re.IGNORECASE)
# The reader of XML makes spaces of line breaks: in capitals a role word counts anywhere.
_ROLE_LINE: Final = re.compile(rf"[\W_]*({_ROLES})\b", re.IGNORECASE)
_ROLE: Final = re.compile(rf"\b({_ROLES.upper()})\b")
_TOOL: Final = re.compile(r"\b[a-z][a-z0-9]*_[a-z0-9_]+", re.IGNORECASE)
_OTHER_ALPHABETS: Final = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU")


class ScreenedDescription(NamedTuple):
    """An app's words as prose, None where they are dropped; `reason` says why, or what is odd."""

    text: str | None
    reason: str = ""


def screen_description(text: str, tools: Collection[str] = ()) -> ScreenedDescription:
    """Return what may be shown of an app's description.

    A URL, an address, a path, markup, encoded data, a role word at the start of a line, the
    name of a tool (`tools`, or anything that looks like one) drops the whole text. Words that
    command the reader are only told.
    """
    lines = [_fold_lookalikes(line) for line in text.splitlines()]
    whole = " ".join(" ".join(lines).split())
    if not whole:
        return ScreenedDescription(None)
    reason = _drop_reason(lines, whole, tools)
    if reason:
        return ScreenedDescription(None, reason)
    words = _kept_prose(whole)
    if not words:
        return ScreenedDescription(None, "contains no Latin letters")
    command = _COMMANDING.search(whole)
    return ScreenedDescription(words, f"says {command[0].lower()} to its reader" if command else "")


def _drop_reason(lines: list[str], whole: str, tools: Collection[str]) -> str:
    for pattern, what in _STRUCTURE:
        if pattern.search(whole):
            return f"contains {what}"
    if _ROLE_AT.search(whole) or _ROLE.search(whole):
        return "contains the name of a role in a conversation"
    if _LEVEL.search(whole):
        return "contains a word for a level"
    role = next((match for line in lines if (match := _ROLE_LINE.match(line))), None)
    if role:
        return f"has a line that begins with {role[1].lower()}"
    named = _TOOL.search(whole)
    if named or any(tool and tool in whole for tool in tools):
        return "contains the name of a tool"
    if any(_mixes_alphabets(word) for word in whole.split()):
        return "has a word in two alphabets"
    return ""


def _fold_lookalikes(text: str) -> str:
    """Return `text` clean, with letters that only look different (full width, styled) as such."""
    return clean_text(unicodedata.normalize("NFKC", clean_text(" ".join(text.split()))))


def _mixes_alphabets(word: str) -> bool:
    if word.isascii() or not re.search(r"[A-Za-z]", word):
        return False
    return any(unicodedata.name(ch, "").startswith(_OTHER_ALPHABETS) for ch in word)


def _kept_prose(text: str) -> str:
    """Return the words of `text`, empty where leaving the rest out would leave a torso."""
    letters = sum(ch.isalpha() for ch in unicodedata.normalize("NFKD", text))
    words = clean_prose(text)
    if 4 * sum(ch.isalpha() for ch in words) < 3 * letters:
        return ""
    words = re.sub(r"\s+([.,])", r"\1", words)
    words = re.sub(r"[.,]*\.[.,]*", ".", words)
    return words.strip(" .,-/&")


def with_app_words(ours: str, theirs: str | None, limit: int, *, brackets: bool = False) -> str:
    """Return our words, and behind them the app's, marked, in at most `limit` characters.

    `brackets` says that parameters hold words of the app in brackets: the one mark of a tool
    stands for them, too.
    """
    stop = "" if not ours or ours.endswith(".") else "."
    mark = f"{MARK}in brackets too, " if brackets else MARK
    before = f"{ours}{stop} {mark}".lstrip()
    room = limit - len(before) - 1
    if not theirs or room < _LEAST_ROOM:
        return f"{ours}{stop} {MARK}in brackets." if brackets else ours
    shown = _whole_sentences(theirs, room)
    return f"{before}{shown}" if shown.endswith(".") else f"{before}{shown}."


def with_brackets(ours: str, form: str, theirs: str | None, limit: int, verb: str = "") -> str:
    """Return what a parameter is for, and how it is written; the app's words are in brackets.

    Its tool says whose they are. They stand for ours; of the direct parameter of `verb` ours are
    kept, and theirs are left out where they say nothing else.
    """
    whole = truncate_words(f"{ours}{form}", limit)
    plain = short_prose(re.sub("[()]", "", theirs or ""), limit)
    keep = bool(verb)
    if not _word_stems(plain) - (_word_stems(f"{ours} {verb}") if keep else set()):
        return whole
    before = f"{whole} " if keep else ""
    room = limit - len(before) - 2 - len(form) * (not keep)
    if room < _LEAST_ROOM:
        return whole
    sentences = _whole_sentences(plain, room).rstrip(".")
    return f"{before}({sentences})" if keep else f"({capitalize_first(sentences)}){form}"


def _word_stems(text: str) -> set[str]:
    """Return the words of a text that tell, without their endings."""
    words = {*re.findall("[a-z]+", text.lower())} - _EMPTY
    return {_word_stem(word) for word in words}


def _word_stem(word: str) -> str:
    return re.sub("(ing|ed|es|s|e)$", "", word)


def _whole_sentences(text: str, limit: int) -> str:
    """Return whole sentences of `text` that fit, where none does whole words and dots."""
    if len(text) <= limit:
        return text
    end = text.rfind(". ", 0, limit)
    return text[: end + 1] if end > _LEAST_ROOM else short_prose(text, limit)


def tool_docstring(tool: ToolFunction, indent: int = 4) -> SourceText:
    """Return the docstring of a tool's function, quotes included, that stands at `indent`."""
    room, words = WIDTH - indent, f'"""{prose(tool.summary)}'
    arguments = [_argument_words(parameter) for parameter in tool.parameters]
    parts = {"Args:": arguments, "Returns:": [prose(capitalize_first(tool.returned))]}
    rest: list[str] = []
    for head, texts in parts.items():
        if any(texts):
            rest += ["", head]
            for text in texts:
                rest += textwrap.wrap(text, room, initial_indent=" " * 4, subsequent_indent=" " * 8)
    if not rest and len(words) + 3 <= room:
        return SourceText(f'{words}"""')
    # Black keeps the quotes of one line on it, where they stand beyond the edge.
    first = textwrap.wrap(words, room if rest else room - 3)
    lines = [*first, *rest, '"""']
    return SourceText("\n".join(f"{' ' * indent}{line}".rstrip() for line in lines).lstrip())


def _argument_words(parameter: ToolParameter) -> SourceText:
    if parameter.words:
        text = parameter.words
    elif parameter.description:
        text = parameter.description
    elif "enum" in parameter.schema:
        values = parameter.schema["enum"]
        text = f"One of {', '.join(values[:6])}{' and others' if len(values) > 6 else ''}"
    else:
        text = capitalize_first(parameter.row.type.replace(" | ", " or ") or "value")
    return SourceText(f"{identifier(parameter.key)}: {prose(text.rstrip('.'))}.")


_PLAIN_FORMS: Final = frozenset("true or false/a value/text/texts/an object/objects".split("/"))
_LOOSE: Final = ("any", "boolean | any", "any | boolean")
_ACCESS: Final = {"r": ", read only", "w": ", write only", "rw": ""}


def describe_terms(classes: Mapping[str, Class], types: AppTypes, app: str) -> dict[str, str]:
    """Return what each class is (`message`) and each of its properties (`message.subject`)."""
    sentences: dict[str, str] = {}
    holders: dict[str, list[str]] = {term: [] for term in classes}
    for name, row in classes.items():
        for term in {element.term for element in row.elements} & classes.keys():
            holders[term].append(name)
    for term, row in classes.items():
        sentences[term] = describe_class(term, row, holders[term], types, app)
        for prop in row.properties:
            sentences[f"{term}.{prop.term}"] = describe_property(prop, types)
    return sentences


def describe_class(term: str, row: Class, holders: list[str], types: AppTypes, app: str) -> str:
    """Return what a class is: where it is held, what kind it is of, and a reference to one."""
    name = _term_name(term) or "object"
    where = safe_app_name(app)
    if term == APPLICATION:
        return f"The app {where} itself."
    text = capitalize_first(with_article(name))
    # A note of Notes says one thing twice.
    if where.rstrip("s").lower() not in name.lower():
        text += f" of {where}"
    if row.inherits and row.inherits not in ("item", term):
        text += f", a kind of {_term_name(row.inherits)}"
    owners = [plural_noun(_term_name(one)) for one in holders if one != APPLICATION]
    if 0 < len(owners) <= 3:
        text += f", in {join_with_and(owners)}"
    example = types.example_reference([term])
    return f"{text}{f', such as {example}' if example else ''}."


def _term_name(term: str) -> str:
    return displayed_name(short_prose(term, MAX_NAME))


def describe_property(row: Property, types: AppTypes) -> str:
    """Return what a property is: its form, and whether it can be set."""
    known = PROPERTIES.get(row.code.strip()) or PROPERTIES.get(row.term)
    name = _term_name(row.term) or "value"
    if known:
        text = known
    elif row.type == "boolean" or (row.type in _LOOSE and name.endswith("ed")):
        text = whether_property(name)
    else:
        subject = name if name[-1].isdigit() else with_the(name)
        text = "".join((capitalize_first(subject), *_property_form(row.type, name, types)))
    return f"{text}{_ACCESS[row.access]}."


def _property_form(kind: str, name: str, types: AppTypes) -> Iterator[str]:
    words = describe_type(kind, types)
    noun = words.removeprefix("a ").removeprefix("an ")
    if words not in _PLAIN_FORMS and noun not in name and noun != "colour":
        yield f", {words}"
    if (
        not types.names_objects(kind)
        and len(types.bare_terms(kind)) <= 2
        and not types.unlisted_fields(kind)
    ):
        yield describe_value_form(kind, types)


_TEXTS = {"address": "ines@example.org", "url": "https://example.com"}
"""What is no text like any other: an app or the policy looks at it."""

_PLAIN_TYPES = ("text", "boolean", "integer", "real", "number")


def example_arguments(
    tool: ToolFunction, classes: Mapping[str, Class], types: AppTypes
) -> dict[str, Any]:
    """Return arguments that the app understands: what is required, and what it is about."""
    required = {
        p.key: (p.row.type == "text" and _TEXTS.get(p.key)) or _example_of_type(p.row.type, types)
        for p in tool.parameters
        if p.required
    }
    if tool.bind or tool.op in ("command", "get"):
        return required
    if tool.op == "set":
        target, row = _settable_property(classes, types)
        return {"target": target, "properties": {row.term: _example_of_type(row.type, types)}}
    shown = next(p.schema for p in tool.parameters if p.key == "element").get("enum", classes)
    term, holder = _class_and_holder(shown, classes, types)
    place = {"at" if tool.op == "make" else "of": holder} if holder else {}
    return {**required, "element": term, **place}


def _example_of_type(kind: str, types: AppTypes) -> Any:
    """Return a value of a type, of its first alternative."""
    part = next(iter(type_alternatives(kind)), "any")
    if part.startswith("list of "):
        return [_example_of_type(part.removeprefix("list of ").split("|")[0], types)]
    if part in types.enums:
        return (offered_values(types.enumerators(part)) or types.enumerators(part))[0]
    if types.json_schema(part) == {"type": "object"} or "properties" in types.json_schema(part):
        return TYPES[part].example if part in TYPES else {}
    if part in TYPES and TYPES[part].example is not None:
        return TYPES[part].example
    if part in ("class", "type"):
        return next(iter(types.classes), "document")
    if part == "point":
        return [0, 0]
    if part in ("text", "data"):
        return "example"
    return types.example_reference([part]) or types.example_reference(["specifier"]) or APPLICATION


def _class_and_holder(shown: Any, classes: Mapping[str, Class], types: AppTypes) -> tuple[str, str]:
    """Return a class, and the reference to what holds objects of it; empty for the app itself."""
    own = types.example_reference(["specifier"])
    rows = [(term, text) for term in shown if (text := types.example_reference([term]))]
    # It ends with an element of the class itself, not of one that inherits from it.
    rows = [row for row in rows if row[1].rpartition(".")[2] == f"{classes[row[0]].plural}[0]"]
    rows.sort(key=lambda row: (row[1] != own, row[1].count(".")))
    term, text = rows[0] if rows else (next(iter(shown)), "")
    return term, text.rpartition(".")[0]


def _settable_property(classes: Mapping[str, Class], types: AppTypes) -> tuple[str, Property]:
    """Return a reference, and a property of it that can be set; a plain one where there is."""
    choices: list[tuple[bool, bool, str, Property]] = []
    own = types.example_reference(["specifier"])
    for term in classes:
        text = APPLICATION if term == APPLICATION else types.example_reference([term])
        for prop in _all_properties(term, classes) if text else ():
            if prop.access != "r":
                odd = text.startswith("windows") or prop.type not in _PLAIN_TYPES
                choices.append((odd, text != own, text, prop))
    if not choices:
        rows = [p for row in classes.values() for p in row.properties if p.access != "r"]
        return APPLICATION, rows[0]
    _, _, target, chosen = min(choices, key=lambda row: row[:2])
    return target, chosen


def _all_properties(term: str, classes: Mapping[str, Class]) -> Iterator[Property]:
    """Yield the properties of a class, and of what it inherits from; an overridden one once."""
    terms: set[str] = set()
    for row in (classes[name] for name in class_lineage(term, classes)):
        yield from (prop for prop in row.properties if prop.term not in terms)
        terms |= {prop.term for prop in row.properties}
