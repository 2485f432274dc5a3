"""Naming: every name that is made from a term, and nothing else decides one.

JavaScript names follow the rule read from working scripts (docs/dictionaries.md, "Names in
JavaScript"); Apple has not published it. Python names are `[a-z][a-z0-9_]*`.
"""

import builtins
import keyword
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain, count

from iac_gen.model import source_identity
from iac_runtime.tool import INTENTS, shortcuts_file
from iac_runtime.types import TYPES

MAX_TOOL_NAME = 40
_LONGEST = 63
_PREFIX = 24
_KEPT = 3
_SMALL = frozenset("a an the of for to in on at by with from and or as using via into".split())
# What a long name says shortly.
_SHORTER = (
    "application=app applications=apps attributes=attrs authentication=auth authorization=auth"
    " configuration=config database=db description=info directory=folder document=doc"
    " documents=docs environment=env expression=expr function=func identifier=id image=pic"
    " information=info language=lang library=lib maximum=max message=msg messages=msgs"
    " minimum=min parameter=param parameters=params password=pass position=pos"
    " preferences=prefs properties=props property=prop reference=ref specification=spec"
    " statistics=stats synchronize=sync temporary=temp value=val values=vals"
)
_SHORT = {long: short for long, _, short in (pair.partition("=") for pair in _SHORTER.split())}
CONTRACT = (
    "App", "Class", "DateOrText", "DateTime", "Element", "Entity", "Enum", "Intent", "ListOf",
    "Param", "Property", "Record", "Ref", "Schema", "objects", "tool",
)  # fmt: skip
"""What a module imports from the contract, as far as it needs it."""


def words_of(annotations: Iterable[str]) -> frozenset[str]:
    """Return the names in annotations."""
    return frozenset(re.findall(r"[A-Za-z_]\w*", " ".join(annotations)))


def _builtins_in_templates() -> frozenset[str]:
    """Return the builtins that the templates of a module name in their own text."""
    names = ("module", "tool", "tables", "enumerations", "schemas")
    texts = (
        files("iac_templates").joinpath(f"{name}.py.jinja").read_text("utf-8") for name in names
    )
    own = re.sub(r"\{([{%#]).*?[}%#]\}", " ", "".join(texts), flags=re.DOTALL)
    return words_of([own]) & {*dir(builtins)}


# Names that a module's functions, aliases and parameters would take from the rest of it.
FUNCTION_RESERVED = (
    words_of(row.annotation for row in TYPES.values()) | _builtins_in_templates() | {*CONTRACT}
)
ALIAS_RESERVED = FUNCTION_RESERVED | {
    "Final", "Literal", "ClassName", "PropertyName", "None", "True", "False",
}  # fmt: skip
SELF_RESERVED = frozenset({"self"})
"""What a method and the values that an object is made with must not be given by name."""


def javascript_name(term: str) -> str:
    """Return the JavaScript name of a term: first word in lower case, the rest capitalised."""
    words = term.split()
    if not words:
        return ""
    return words[0].lower() + "".join(word[:1].upper() + word[1:] for word in words[1:])


def has_verified_name(term: str) -> bool:
    """Say whether `javascript_name` of a term follows from names that were seen in working scripts.

    Seen: words of letters and digits, the first in lower case (`unix id`), in capitals (`URL`),
    capitalised, or mixed but with more words behind it (`AirPlay device`). Not seen: a word
    alone of mixed case (`GetURL`), one that begins small and has capitals (`iCloud account`),
    any other character, a digit at the start. Only a Mac can confirm those.
    """
    words = term.split()
    if not words or term[:1].isdigit():
        return False
    if not all(word.isascii() and word.isalnum() for word in words):
        return False
    first = words[0]
    if first == first.lower() or first in (first.upper(), first.capitalize()):
        return True
    return len(words) > 1 and first[0].isupper()


def property_javascript_name(term: str, code: str, beside: Collection[str]) -> str:
    """Return the name of a property: `id`, which every object has, for an unseen name of its code.

    `beside` are the terms of its class, one of which may be called so.
    """
    if code == "ID  " and not has_verified_name(term) and "id" not in beside:
        return "id"
    return javascript_name(term)


def class_plural(name: str, declared: str) -> str:
    """Return the plural term of a class: as declared, else with an s (sdef(5))."""
    return declared or name + "s"


_PLURALS = {
    "child": "children", "person": "people", "criterion": "criteria", "datum": "data",
    "axis": "axes", "analysis": "analyses", "basis": "bases", "half": "halves", "text": "texts",
    "shelf": "shelves",
}  # fmt: skip
# Not counted, or many as they are.
_MASS = frozenset(
    "access all art artwork audio content css data everything feedback formatting help history"
    " html info information input javascript json mail math metadata money music output progress"
    " software speech status support text time video xml tracking preferences settings contents"
    " news options media properties bounds".split()
)


def is_plural(noun: str) -> bool:
    """Say whether a noun stands without an article: many of a thing, or what is not counted."""
    last = noun.rpartition(" ")[2]
    if " or " in noun:
        return True
    one = re.search(r"(ias|is|canvas|atlas)$", last, re.IGNORECASE)
    return last.lower() in _MASS or (not one and bool(re.search(r"[^su]s$", last, re.IGNORECASE)))


def plural_noun(noun: str) -> str:
    """Return the plural of a noun."""
    head, space, last = noun.rpartition(" ")
    if last in _PLURALS:
        many = _PLURALS[last]
    elif is_plural(noun):
        return noun
    elif re.search(r"[^aeiou]y$", last):
        many = f"{last[:-1]}ies"
    else:
        many = f"{last}es" if re.search(r"(s|x|z|ch|sh)$", last) else f"{last}s"
    return f"{head}{space}{many}"


def _to_ascii(text: str) -> str:
    """Return letters, marks and digits of any script in ASCII; other signs part words."""
    text = text.replace("&", " and ")
    if text.isascii():
        return text
    from anyascii import anyascii  # Few dictionaries have such names.

    spoken = ("L", "M", "N")
    kept = "".join(c if unicodedata.category(c)[0] in spoken or c.isascii() else " " for c in text)
    return anyascii(kept).strip()


def snake_case(term: str, *, humps: bool = True) -> str:
    """Return `term` in snake case, ASCII; may be empty.

    Humps split a term that is one word (`GetURL`), not words of several (`do JavaScript`).
    """
    text = _to_ascii(term)
    if humps and re.fullmatch(r"[A-Za-z0-9]+", text):
        text = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
        text = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", text)
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    if name[:1].isdigit():
        name = "n" + name
    return name[:_LONGEST].rstrip("_")


def app_key(name: str, bundle_id: str) -> str:
    """Return the module name and tool prefix of an app, from its name else its bundle id."""
    key = snake_case(name, humps=False) or snake_case(bundle_id.rpartition(".")[2], humps=False)
    key = (key or "app")[:20].rstrip("_")
    # The objects of the app `mail` stand in `mail_objects.py`, its intents in `mail_intents.py`.
    taken = keyword.iskeyword(key) or key.endswith(("_objects", INTENTS))
    return f"{key}_" if taken else key


def is_app_key(text: str) -> bool:
    """Say whether `text` can be the name of an app's module; what a file says may be anything."""
    return re.fullmatch(r"[a-z][a-z0-9_]{0,63}", text) is not None


def is_tool_name(text: str) -> bool:
    """Say whether `text` can be the MCP name of a tool."""
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,63}", text) is not None


def is_bundle_id(text: str) -> bool:
    """Say whether `text` is of the grammar of a bundle id."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]{0,254}", text) is not None


def function_name(term: str, code: str) -> str:
    """Return the Python function of a command; reserved words get an underscore."""
    name = snake_case(term) or f"event_{code.encode('mac_roman', 'replace').hex()}"
    return escaped(name, FUNCTION_RESERVED)


def parameter_key(term: str, code: str) -> str:
    """Return what Python calls a parameter; its JSON key has no underscore at the end."""
    return escaped(field_key(term, code), SELF_RESERVED)


def field_key(term: str, code: str) -> str:
    """Return the JSON key of a record's field; a key is no identifier, so keywords stay."""
    return snake_case(term) or f"code_{code.encode('mac_roman', 'replace').hex()}"


def escaped(name: str, reserved: Collection[str]) -> str:
    """Return `name`; one that is a keyword or taken gets an underscore, else a number."""
    taken = keyword.iskeyword(name) or name in reserved
    return unique_name(f"{name}_", reserved) if taken else name


def literal_alias(term: str) -> str:
    """Return the name of a `Literal` alias for an enumeration."""
    name = "".join(part[:1].upper() + part[1:] for part in snake_case(term, humps=False).split("_"))
    name = name or "Values"
    return escaped(name, ALIAS_RESERVED)


def unique_name(name: str, taken: Iterable[str]) -> str:
    """Return `name`, or with the first free number behind it."""
    used = set(taken)
    candidate, number = name, 2
    while candidate in used:
        candidate = f"{name.rstrip('_')[: _LONGEST - 4]}_{number}"
        number += 1
    return candidate


def clipped_name(name: str) -> str:
    """Return what a client may leave of a tool's name: its end, and of a long one the start.

    Clients put `mcp__<server>__` before it, at most 24 characters that leave 40 of 64, and some
    cut the whole to its first and last 30.
    """
    return name if len(name) <= 60 - _PREFIX else name[: 30 - _PREFIX] + name[-30:]


def distinct_names(names: Sequence[str], taken: Collection[str] = ()) -> list[str]:
    """Return `names` made unique and at most 40 long, in order, also after clients cut them.

    No two of the answer and of `taken` are alike, nor is their `clipped_name` form. A name that is
    fine stays; the first of equals does; the others are cut at a word and numbered.
    """
    used = {clipped_name(name) for name in taken}
    # A name that is made must not take that of one that comes later.
    wanted = {clipped_name(name) for name in names if len(name) <= MAX_TOOL_NAME}
    distinct = []
    for name in names:
        own = len(name) <= MAX_TOOL_NAME
        forms = (name,) if own else _short_forms(name)
        numbers = (_with_number(forms[0], number) for number in count(2))
        free = (
            one
            for one in chain(forms, numbers)
            if clipped_name(one) not in used
            and (clipped_name(one) not in wanted or (own and one == name))
        )
        distinct.append(next(free))
        used.add(clipped_name(distinct[-1]))
    return distinct


def _short_forms(name: str) -> tuple[str, ...]:
    """Return what a long name may become, best first: the first that is free is taken.

    Small words go, long words are shortened, then inner words go, or the end, or ends of words.
    """
    words = [name.split("_")[0], *(w for w in name.split("_")[1:] if w not in _SMALL)]
    for place in range(len(words) - 1, 0, -1):
        if len("_".join(words)) <= MAX_TOOL_NAME:
            break
        words[place] = _SHORT.get(words[place], words[place])
    whole, inner = "_".join(words), list(words)
    # The end tells a tool from its neighbours, and the start its app and its verb.
    while len("_".join(inner)) > MAX_TOOL_NAME and len(inner) > _KEPT:
        del inner[-2]
    ends = ["_".join([words[0], *(word[:size] for word in words[1:])]) for size in (6, 5, 4, 3)]
    made = _cut_words("_".join(inner), MAX_TOOL_NAME), _cut_words(whole, MAX_TOOL_NAME)
    return (*made, *(_cut_words(one, MAX_TOOL_NAME) for one in ends if len(one) <= MAX_TOOL_NAME))


def _with_number(name: str, number: int) -> str:
    tail = f"_{number}"
    return f"{_cut_words(name, MAX_TOOL_NAME - len(tail))}{tail}"


def _cut_words(name: str, size: int) -> str:
    """Return at most `size` characters of `name`, whole words where that leaves half of it."""
    if len(name) <= size:
        return name.rstrip("_")
    head, _, _ = name[: size + 1].rpartition("_")
    return (head if len(head) > size // 2 else name[:size]).rstrip("_")


@dataclass(frozen=True, slots=True)
class KeyClaim:
    """An app that wants a key. `digest` tells copies of one version apart; its `intents` are a
    source of their own."""

    name: str
    id: str
    version: str = ""
    digest: str = ""
    intents: bool = False


@dataclass(frozen=True, slots=True)
class BoundKey:
    """What `tools.lock` says of an identity."""

    key: str
    version: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class AppIdentity:
    """An app's key and what it is bound to: the bundle id; a further copy adds its version."""

    key: str
    identity: str


def assign_keys(claims: Sequence[KeyClaim], bound: Mapping[str, BoundKey]) -> list[AppIdentity]:
    """Return an identity a claim, in their order; `bound` maps identities to their keys."""
    names = _claim_identities(claims, bound)
    taken = {row.key for row in bound.values()}
    keys = {index: bound[name].key for index, name in names.items() if name in bound}

    def rank_claim(index: int) -> tuple[bool, str]:
        # Nobody else takes the key of an Apple app; the order of files on a disk decides nothing.
        return not claims[index].id.lower().startswith("com.apple."), names[index]

    for index in sorted(names, key=rank_claim):
        if index not in keys:
            wanted = app_key(claims[index].name, claims[index].id)
            key = unique_name(f"{wanted}{INTENTS}" if claims[index].intents else wanted, taken)
            taken.add(key)
            keys[index] = key
    return [AppIdentity(keys[index], names[index]) for index in range(len(claims))]


def _claim_identities(claims: Sequence[KeyClaim], bound: Mapping[str, BoundKey]) -> dict[int, str]:
    """Return the identity of each claim: one of several copies keeps the bare bundle id."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for index, claim in enumerate(claims):
        identity = source_identity(claim.id, "intents" if claim.intents else "application")
        groups[identity].append(index)
    names: dict[int, str] = {}
    for identifier, group in groups.items():
        known = bound.get(identifier, BoundKey(""))

        def rank(index: int, known: BoundKey = known) -> tuple[bool, bool, str, str]:
            claim = claims[index]
            other = (claim.digest != known.digest, claim.version != known.version)
            return (*other, claim.version, claim.digest)

        first, *others = sorted(group, key=rank)
        names[first] = identifier
        for index in others:
            wanted = f"{identifier}@{claims[index].version}"
            names[index] = unique_name(wanted, names.values())
    return names


def objects_module(key: str) -> str:
    """Return the name of the module that holds the objects of the app `key`."""
    return f"{key}_objects"


def app_modules(key: str) -> tuple[str, str, str]:
    """Return the files of an app: its tools, its objects, and of intents their shortcuts."""
    return f"{key}.py", f"{objects_module(key)}.py", shortcuts_file(key)
