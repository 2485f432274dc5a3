"""Descriptions: what a tool, a parameter, a class and a property is, in words.

A sentence of a quirk or of words.toml stands where there is one. Else the app's own words stand
as they are, and where the app says nothing, its term is quoted: `Run the command 'trash' of
Journler on an entry.` Nothing is made from what a term might mean.

Foreign words lose what cannot be seen and what is too long, nothing else; a text that would speak
as the client, the server or the policy is left out whole, and the build says so.
"""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from textwrap import TextWrapper
from types import MappingProxyType
from typing import Final, NamedTuple

from iac_gen.ir import ToolFunction, ToolParameter
from iac_gen.merge import APPLICATION
from iac_gen.model import SdefClass, SdefCommand
from iac_gen.naming import is_plural, plural_noun
from iac_gen.resolve import ResolvedDictionary
from iac_gen.text import MAX_NAME, SourceText, clean_text, identifier, on_one_line, prose
from iac_gen.types import AppTypes, item_terms
from iac_runtime.tool import LEVELS, Class, Property
from iac_runtime.types import TYPES, type_alternatives

WIDTH: Final = 100
MAX_SUMMARY: Final = 256
MAX_PARAMETER: Final = 200
UNPROVEN: Final = " Declared, not verified."
"""Of an App Intent: no call of it was seen to work."""
_MAX_VALUES: Final = 60
_MAX_WORDS: Final = 4
_SHOWN_FIELDS: Final = 3
# Behind a word, which `E.g.` and `i.e.` are not.
_SENTENCE_END: Final = re.compile(r"[\w%)]{3}[\"')]?[.!?] |\u3002")

_TABLE: Final = tomllib.loads((files("iac_gen") / "words.toml").read_text(encoding="utf-8"))
PARAMETERS: Final[Mapping[str, str]] = _TABLE["parameters"]
"""The sentence of a parameter, by its Apple event code or its name."""
SHORTCUTS: Final[Mapping[str, str]] = _TABLE["shortcuts"]
"""The sentence of a parameter of a shortcut, by its name."""
_PROPERTIES: Final[Mapping[str, str]] = _TABLE["properties"]
_FORMS: Final[Mapping[str, str]] = _TABLE["forms"]
_CONSONANT: Final = re.compile(_TABLE["consonant"])
_VOWEL: Final = re.compile(_TABLE["vowel"])
_ARTICLES: Final = ("a ", "an ", "the ", "any ", "all ")


def with_article(noun: str) -> str:
    """Return a noun behind a or an, by its sound; bare where none fits."""
    if not noun or is_plural(noun) or noun.lower().startswith(_ARTICLES):
        return noun
    spoken = noun[0].lower() in "aeiou" and not _CONSONANT.search(noun)
    return f"an {noun}" if spoken or _VOWEL.search(noun) else f"a {noun}"


def join_with(word: str, words: Sequence[str]) -> str:
    """Return `a, b or c`, where `word` is or."""
    return f"{', '.join(words[:-1])} {word} {words[-1]}" if len(words) > 1 else "".join(words)


def capitalize_first(text: str) -> str:
    """Return `text` with a capital at its start; a word with capitals (`iTunes`) stays."""
    first = text.partition(" ")[0]
    return text[:1].upper() + text[1:] if first == first.lower() else text


def end_sentence(text: str) -> str:
    """Return `text` with a full stop, where nothing ends it."""
    return text if text.endswith((".", "!", "?", "…", ":", "。", "！", "？")) else f"{text}."


def truncate_words(text: str, limit: int) -> str:
    """Return at most `limit` characters of `text`: whole words, then dots."""
    if len(text) <= limit:
        return text
    return text[: limit - 3].rsplit(" ", 1)[0].rstrip(" ,.") + "..."


def whole_sentences(text: str, limit: int) -> str:
    """Return whole sentences of `text` that fit, where none does whole words and dots."""
    if len(text) <= limit:
        return text
    ends = [found.end() for found in _SENTENCE_END.finditer(text, 0, limit)]
    return text[: ends[-1]].rstrip() if ends else truncate_words(text, limit)


def safe_app_name(name: str) -> str:
    """Return an app's name as it may stand in a sentence of ours."""
    return truncate_words(on_one_line(name), MAX_NAME) or "the app"


def shown_term(term: str) -> str:
    """Return a term of a dictionary as it may stand in a sentence of ours."""
    return truncate_words(on_one_line(term), MAX_NAME)


_PLAINLY: Final = "a an the something new document copy file property".split()
_SAID_BY: Final = {
    "SAFE": ("reads",),
    "MODIFY": tuple(
        "changes something/may change something/makes a copy/makes something new"
        "/starts or ends something".split("/")
    ),
}
"""What a level says by itself."""


def with_level(text: str, level: str, reason: str, limit: int = MAX_SUMMARY) -> str:
    """Return a sentence with the level of its tool, and why, without what the sentence says.

    That it reads is what SAFE means, that it changes something what MODIFY means. Of a long reason
    the first parts are said, each whole.
    """
    stems = {*map(_word_stem, [*re.findall("[a-z]+", text.lower()), *_PLAINLY])}
    verb = text.partition(" ")[0].lower()
    told = []
    for clause in reason.split(", "):
        first, *rest = clause.lower().split() or [""]
        repeats = first in (f"{verb}s", f"{verb}es") and stems.issuperset(map(_word_stem, rest))
        if clause and not repeats and clause not in _SAID_BY.get(level, ()):
            told.append(clause)
    while len(", ".join([level, *told])) >= 70 and told:
        told.pop()
    words = f"{', '.join([level, *told])}."
    return f"{end_sentence(whole_sentences(text, limit - len(words) - 2))} {words}"


def describe_type(kind: str, types: AppTypes, own: Sequence[str] = ()) -> str:
    """Return a type in words: `a note or a folder`, `one or more tabs`.

    `own` are the classes that an object is of here; long unions are cut to `a value`.
    """
    one, many = _type_nouns(kind, types, own)
    if "value" in one or len(one) + len(many) > _MAX_WORDS:
        return "an object" if types.names_objects(kind) else "a value"
    if many and set(many) <= set(one):
        return f"one or more {join_with('or', [plural_noun(noun) for noun in one])}"
    return join_with("or", [*map(with_article, one), *map(plural_noun, many)])


def _type_as_noun(kind: str, types: AppTypes, own: Sequence[str] = ()) -> str:
    """Return a type of objects as the noun behind `which`: `note or folder`, `tabs`."""
    one, many = _type_nouns(kind, types, own)
    if (not one and not many) or "value" in one or len({*one, *many}) > _MAX_WORDS:
        return "object"
    if "object" in (*one, *many):
        # A class beside it is one of them.
        return "objects" if many else "object"
    both = dict.fromkeys((*one, *many))
    return join_with("or", [*map(plural_noun, both)] if many else one)


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
        if len(values) <= _MAX_WORDS and sum(map(len, values)) <= _MAX_VALUES:
            return f"any of {join_with('or', values)}" if len(values) > 1 else "".join(values)
        return f"any of {len(values)} values"
    return part if 0 < len(part) <= MAX_NAME else "object"


def describe_value_form(kind: str, types: AppTypes, own: Sequence[str] = ()) -> str:
    """Return how a value of a type is written; may be empty."""
    bare = types.bare_terms(kind)
    if types.names_objects(kind):
        example = types.example_reference([*own, *bare])
        return f"such as {example}" if example else "by reference"
    if fields := [shown_term(name) for name in types.unlisted_fields(kind)[:_SHOWN_FIELDS]]:
        return f"such as {', '.join(fields[:-1])} and {fields[-1]}"
    return next((_FORMS[name] for name in TYPES if name in _FORMS and name in bare), "")


def responding_classes(command: SdefCommand, resolved: ResolvedDictionary) -> list[str]:
    """Return the classes that say they answer a command; none where they are many."""
    spellings = {command.name, command.id} - {""}
    rows = (row for row in resolved.classes if not row.hidden and row.name != APPLICATION)
    names = [row.name for row in rows if spellings & {*row.responds_to}]
    return names if len(names) <= 3 else []


def describe_command(
    command: SdefCommand,
    kinds: tuple[str, str],
    types: AppTypes,
    app: str,
    own: Sequence[str],
    theirs: str,
) -> str:
    """Return what a command does and what it answers.

    `kinds` are the types of what it is done to and of its answer, empty where there is none;
    `theirs` is what the app says. `app` is empty for what belongs to none.
    """
    direct, result = kinds
    text = capitalize_first(theirs)
    if not text:
        text = f"Run the command '{shown_term(command.name)}'{f' of {app}' * bool(app)}"
        if direct:
            takes_objects = types.names_objects(direct) or "file" in types.bare_terms(direct)
            how = "on" if takes_objects else "with"
            text += f" {how} {describe_type(direct, types, own)}"
    answer = describe_type(result, types) if result else ""
    if answer and answer != "a value" and "return" not in theirs.lower():
        text = f"{end_sentence(text)} Returns {answer}"
    return end_sentence(text)


def describe_parameter(
    name: str, code: str, kind: str, types: AppTypes, own: Sequence[str] = ()
) -> str:
    """Return what a parameter is for, as far as its dictionary tells by structure alone."""
    if known := known_parameter(name, code):
        return known
    objects = types.names_objects(kind)
    if name:
        what = with_article(_type_as_noun(kind, types, own)) if objects else ""
        return f"Parameter '{shown_term(name)}', {what or describe_type(kind, types, own)}"
    if objects or "file" in types.bare_terms(kind):
        return f"Which {_type_as_noun(kind, types, own)}"
    return f"{capitalize_first(describe_type(kind, types, own))} that the command is given"


def known_parameter(name: str, code: str) -> str:
    """Return the sentence of a parameter that means the same in every app; empty for others."""
    return PARAMETERS.get(name.lower()) or PARAMETERS.get(code, "")


_EMPTY: Final = frozenset(
    "a an the of to for in on with by from or and one more it that this which what is be object"
    " objects command use value parameter should specified given".split()
)


def choose_words(ours: str, theirs: str) -> str:
    """Return what a parameter is for: in the app's words where they tell more than ours."""
    return capitalize_first(theirs) if _word_stems(theirs) - _word_stems(ours) else ours


def with_form(words: str, form: str, *, foreign: bool) -> str:
    """Return what a parameter is for, and how its value is written; behind `foreign` words in
    brackets, whatever they end with."""
    if not foreign or not form:
        return whole_sentences(f"{words}, {form}" if form else words, MAX_PARAMETER)
    behind = f" ({form})"
    return f"{whole_sentences(words, MAX_PARAMETER - len(behind)).rstrip('.')}{behind}"


def _word_stems(text: str) -> set[str]:
    """Return the words of a text that tell, without their endings."""
    return {*map(_word_stem, {*re.findall(r"\w+", text.lower())} - _EMPTY)}


def _word_stem(word: str) -> str:
    return re.sub("(ing|ed|es|s|e)$", "", word)


_COMMANDING: Final = re.compile("|".join(_TABLE["commanding"]), re.IGNORECASE)
_LEVEL: Final = re.compile(rf"\b({'|'.join(LEVELS)})\b")
_ROLES: Final = "|".join(_TABLE["roles"])
_ROLE_AT: Final = re.compile(rf"\b({_ROLES})\s*[:>\]|]", re.IGNORECASE)
_ROLE: Final = re.compile(rf"\b({_ROLES.upper()})\b")
# A value may be written so (`front_window`); only what is to be used is a tool.
_TOOL: Final = re.compile(
    r"\bmcp__|\b(use|using|call|calling|run|invoke|try|ask)\s+[a-z][a-z0-9]*_[a-z0-9_]+",
    re.IGNORECASE,
)
_OTHER_ALPHABETS: Final = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU")


class ScreenedDescription(NamedTuple):
    """An app's words, empty where they are left out; `reason` says why, or what is odd."""

    text: str
    reason: str = ""


def screen_description(text: str) -> ScreenedDescription:
    """Return what may be shown of an app's description: all of it, or nothing.

    A role that speaks, a word for a level, a tool to use, or a word in two alphabets drops the
    whole text. Words that command the reader are only told.
    """
    whole = clean_text(" ".join(text.split()))
    # Letters that only look different (full width, styled) are read as such.
    plain = clean_text(unicodedata.normalize("NFKC", whole))
    if reason := _drop_reason(plain):
        return ScreenedDescription("", reason)
    command = _COMMANDING.search(plain)
    return ScreenedDescription(whole, f"says {command[0].lower()} to its reader" if command else "")


def _drop_reason(text: str) -> str:
    if _ROLE_AT.search(text) or _ROLE.search(text):
        return "contains the name of a role in a conversation"
    if _LEVEL.search(text):
        return "contains a word for a level"
    if _TOOL.search(text):
        return "names a tool to use"
    return "has a word in two alphabets" if any(map(_mixes_alphabets, text.split())) else ""


def _mixes_alphabets(word: str) -> bool:
    if word.isascii() or not re.search(r"[A-Za-z]", word):
        return False
    return any(unicodedata.name(ch, "").startswith(_OTHER_ALPHABETS) for ch in word)


def describe_terms(
    classes: Mapping[str, Class],
    rows: Sequence[SdefClass],
    types: AppTypes,
    app: str,
    app_words: Callable[[str], str],
) -> dict[str, str]:
    """Return what each class is (`message`) and each of its properties (`message.subject`).

    `app_words` returns what may be shown of a description of the dictionary.
    """
    said: dict[str, str] = {}
    for owner in rows:
        said[owner.name] = app_words(owner.description)
        said |= {f"{owner.name}.{p.name}": app_words(p.description) for p in owner.properties}
    sentences: dict[str, str] = {}
    holders: dict[str, list[str]] = {term: [] for term in classes}
    for name, row in classes.items():
        for term in {element.term for element in row.elements} & classes.keys():
            holders[term].append(name)
    for term, row in classes.items():
        words = said.get(term, "")
        sentences[term] = (
            end_sentence(capitalize_first(words))
            if words and term != APPLICATION
            else _describe_class(term, row, holders[term], types, app)
        )
        for prop in row.properties:
            words = said.get(f"{term}.{prop.term}", "")
            sentences[f"{term}.{prop.term}"] = describe_property(prop, types, words)
    return sentences


def _describe_class(term: str, row: Class, holders: list[str], types: AppTypes, app: str) -> str:
    """Return what a class is: where it is held, what kind it is of, and a reference to one."""
    name, where = shown_term(term) or "object", safe_app_name(app)
    if term == APPLICATION:
        return f"The app {where} itself."
    text = capitalize_first(with_article(name))
    # A note of Notes says one thing twice.
    if where.rstrip("s").lower() not in name.lower():
        text += f" of {where}"
    if row.inherits and row.inherits not in ("item", term):
        text += f", a kind of {shown_term(row.inherits)}"
    owners = [plural_noun(shown_term(one)) for one in holders if one != APPLICATION]
    if 0 < len(owners) <= 3:
        text += f", in {join_with('and', owners)}"
    example = types.example_reference([term])
    return f"{text}{f', such as {example}' if example else ''}."


_QUALITY: Final = re.compile("[a-z]+(ed|able|ible)")
_PLAIN_FORMS: Final = frozenset("true or false/a value/text/texts/an object/objects".split("/"))
_ACCESS: Final = {"r": ", read only", "w": ", write only", "rw": ""}


def describe_property(row: Property, types: AppTypes, theirs: str = "") -> str:
    """Return what a property is: its form, and whether it can be set."""
    known = _PROPERTIES.get(row.code.strip()) or _PROPERTIES.get(row.term)
    name = shown_term(row.term) or "value"
    access = _ACCESS[row.access]
    if known:
        return f"{known}{access}."
    if theirs:
        text = end_sentence(capitalize_first(theirs))
        return f"{text} {access[2:].capitalize()}." if access else text
    if row.type == "boolean" and _QUALITY.fullmatch(name):
        return f"Whether it is {name}{access}."
    if row.type == "boolean":
        return f"Whether '{name}' is true{access}."
    words = describe_type(row.type, types)
    text = f"The property '{name}'"
    if words not in _PLAIN_FORMS:
        text += f", {words}"
    return f"{text}{access}."


def tool_docstring(tool: ToolFunction, indent: int = 4) -> SourceText:
    """Return the docstring of a tool's function, quotes included, that stands at `indent`."""
    arguments = [
        SourceText(f"{identifier(p.name)}: {prose(end_sentence(_argument_words(p)))}")
        for p in tool.parameters
    ]
    returned = [prose(capitalize_first(tool.returned))] if tool.returned else []
    return docstring(tool.summary, indent, {"Args:": arguments, "Returns:": returned})


def docstring(
    sentence: str, indent: int = 4, parts: Mapping[str, Sequence[SourceText]] = MappingProxyType({})
) -> SourceText:
    """Return a docstring, quotes included, that stands at `indent`; `parts` follow by their head.

    No word is cut at the end of a line, which would put a space into it.
    """
    room, words = WIDTH - indent, f'"""{prose(sentence)}'
    wrap = TextWrapper(room, break_long_words=False, break_on_hyphens=False)
    rest: list[str] = []
    for head, texts in parts.items():
        wrap.initial_indent, wrap.subsequent_indent = " " * 4, " " * 8
        rest += ["", head] if texts else []
        rest += (line for text in texts for line in wrap.wrap(text))
    if not rest and len(words) + 3 <= room:
        return SourceText(f'{words}"""')
    wrap.initial_indent = wrap.subsequent_indent = ""
    # Black keeps the quotes of one line on it, where they stand beyond the edge.
    wrap.width = room if rest else room - 3
    lines = [*wrap.wrap(words), *rest, '"""']
    return SourceText("\n".join(f"{' ' * indent}{line}".rstrip() for line in lines).lstrip())


def _argument_words(parameter: ToolParameter) -> str:
    if parameter.words or parameter.description:
        return parameter.words or parameter.description
    if "enum" in parameter.schema:
        values = parameter.schema["enum"]
        return f"One of {', '.join(values[:6])}{' and others' if len(values) > 6 else ''}"
    return capitalize_first(parameter.row.type.replace(" | ", " or ") or "value")
