"""Naming: every name that is made from a term, and nothing else decides one.

JavaScript names follow the rule read from working scripts (docs/dictionaries.md, "Names in
JavaScript"); Apple has not published it. Python names are `[a-z][a-z0-9_]*`.
"""

import hashlib
import keyword
import re
import unicodedata
from collections.abc import Iterable

__all__ = [
    "FUNCTION_RESERVED",
    "MAX_TOOL_NAME",
    "alias",
    "app_key",
    "function_name",
    "jxa",
    "parameter_key",
    "plural",
    "snake",
    "tool_name",
    "unique",
]

MAX_TOOL_NAME = 40
_LONGEST = 63
# Names that a module's functions would take away from its annotations and tables.
FUNCTION_RESERVED = frozenset({"tool", "str", "int", "float", "bool"})
_ALIAS_RESERVED = frozenset(
    "Any App Class Element Enum Final ListOf Literal Mapping Param Property Record Ref Schema"
    " ClassName PropertyName None True False".split()
)


def jxa(term: str) -> str:
    """Return the JavaScript name of a term: first word in lower case, the rest capitalised."""
    words = term.split()
    if not words:
        return ""
    return words[0].lower() + "".join(word[:1].upper() + word[1:] for word in words[1:])


def plural(name: str, declared: str) -> str:
    """Return the plural term of a class: as declared, else with an s (sdef(5))."""
    return declared or name + "s"


def _ascii(text: str) -> str:
    text = text.replace("&", " and ").replace("ß", "ss").replace("ƒ", "f")
    plain = unicodedata.normalize("NFKD", text)
    return plain.encode("ascii", "ignore").decode("ascii")


def snake(term: str, *, humps: bool = True) -> str:
    """Return `term` in snake case, ASCII; may be empty.

    Humps split a term that is one word (`GetURL`), not words of several (`do JavaScript`).
    """
    text = _ascii(term)
    if humps and re.fullmatch(r"[A-Za-z0-9]+", text):
        text = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
        text = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", text)
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
    if name[:1].isdigit():
        name = "n" + name
    return name[:_LONGEST].rstrip("_")


def app_key(name: str, bundle_id: str) -> str:
    """Return the module name and tool prefix of an app, from its name else its bundle id."""
    key = snake(name, humps=False) or snake(bundle_id.rpartition(".")[2], humps=False) or "app"
    return key[:20].rstrip("_") + "_" if keyword.iskeyword(key) else key[:20].rstrip("_")


def function_name(term: str, code: str) -> str:
    """Return the Python function of a command; reserved words get an underscore."""
    name = snake(term) or f"event_{code.encode('mac_roman', 'replace').hex()}"
    return _escaped(name, FUNCTION_RESERVED)


def parameter_key(term: str, code: str) -> str:
    """Return the Python parameter and JSON key of a parameter."""
    return _escaped(snake(term) or f"code_{code.encode('mac_roman', 'replace').hex()}", frozenset())


def _escaped(name: str, reserved: frozenset[str]) -> str:
    return name + "_" if keyword.iskeyword(name) or name in reserved else name


def alias(term: str) -> str:
    """Return the name of a `Literal` alias for an enumeration."""
    name = "".join(part[:1].upper() + part[1:] for part in snake(term, humps=False).split("_"))
    name = name or "Values"
    return name + "_" if name in _ALIAS_RESERVED else name


def unique(name: str, taken: Iterable[str]) -> str:
    """Return `name`, or with the first free number behind it."""
    used = set(taken)
    candidate, number = name, 2
    while candidate in used:
        candidate = f"{name.rstrip('_')[: _LONGEST - 4]}_{number}"
        number += 1
    return candidate


def tool_name(key: str, function: str) -> str:
    """Return the MCP name of a tool, at most 40 characters.

    A longer one is cut at a word and told apart by four hex digits of its own hash.
    """
    full = f"{key}_{function.rstrip('_')}"
    if len(full) <= MAX_TOOL_NAME:
        return full
    mark = hashlib.sha256(full.encode()).hexdigest()[:4]
    cut = full[: MAX_TOOL_NAME - 5]
    head, _, _ = cut.rpartition("_")
    return f"{head if len(head) > len(key) else cut.rstrip('_')}_{mark}"
