"""Whether a value is the one that is meant: by a pattern, a schema, or where parts of it change.

Expressions are searched with a deadline, those of schemas too: a pattern may come from anybody, and
some take longer than anybody waits. `regex` is used for that, as `re` has no deadline and RE2 no
lookaround; it reads Rust's spelling (`(?<name>...)`, `[[:digit:]]`, `\\z`) besides.

In texts, `<uuid>`, `<timestamp>`, `<path>`, `<hex>`, `<number>` and `<any>` stand for what changes.
"""

import json
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

BUILT_IN: Final[Mapping[str, Mapping[str, Any]]] = json.loads(
    Path(__file__).with_name("claude_tools.json").read_text(encoding="utf-8")
)
"""Name to JSON schema, as Claude Code lists them."""

READERS: Final = frozenset("Read Glob Grep TodoWrite AskUserQuestion EnterPlanMode".split())
"""Those that change nothing but the session."""


VARIABLE: Final = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")

LIBRARIES: Final = ("jsonpath", "regex")
"""What the extra `scenario` has beside a program: imported when a scenario needs them."""

PATTERN_SECONDS: Final = 2
"""How long one expression may take on one text."""


def search_pattern(pattern: str, text: str) -> Any:
    """Return where an expression is found, or None. Raises ValueError for none, and a slow one."""
    import regex

    try:
        return regex.search(pattern, text, timeout=PATTERN_SECONDS)
    except regex.error as error:
        raise ValueError(f"is not a regular expression: {error}.") from None
    except TimeoutError:
        reason = f"{pattern!r} took too long: more than {PATTERN_SECONDS} s on one text."
        raise ValueError(reason) from None


@lru_cache(maxsize=1)
def _validator_class() -> Any:
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    def check_pattern(
        validator: Any, wanted: str, value: Any, _schema: Any
    ) -> Iterator[ValidationError]:
        if validator.is_type(value, "string") and not search_pattern(wanted, value):
            yield ValidationError(f"{value!r} does not match {wanted!r}")

    own = {"pattern": check_pattern}
    return extend(Draft202012Validator, own)  # type: ignore[no-untyped-call]


@lru_cache(maxsize=64)
def schema_validator(schema: str) -> Any:
    """Return the compiled form of a JSON schema that is given as JSON."""
    return _validator_class()(json.loads(schema))


def schema_violation(validator: Any, value: Any, fails: str = "the arguments do not fit") -> str:
    """Return the first thing that does not fit a compiled schema, or nothing."""
    from jsonschema.exceptions import best_match

    try:
        if validator.is_valid(value):
            return ""
        error = best_match(validator.iter_errors(value))
    except ValueError as fault:
        return f"{fails}, for they cannot be compared with the schema: {fault}"
    if error is None:
        return ""
    where = error.json_path.removeprefix("$").removeprefix(".")
    return f"{fails}: {f'{where}: ' if where else ''}{error.message}"


_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?", re.ASCII)
_NOTHING: Final = re.compile(r"(?!)")
_IN_TEXT: Final = {
    "boolean": re.compile("true|false"), "integer": _NUMBER, "number": _NUMBER,
}  # fmt: skip
"""The type of an argument to the texts that the client takes for one."""


def fitting_input(schema: Mapping[str, Any], given: Any) -> Any:
    """Return arguments as the client takes them.

    A number or a truth value may be a text, and a number out of bounds is as good as none.
    """
    if not isinstance(given, Mapping):
        return given
    fitting = {}
    for key, value in given.items():
        form = schema.get("properties", {}).get(key, {})
        if isinstance(value, str) and _IN_TEXT.get(form.get("type"), _NOTHING).fullmatch(value):
            value = json.loads(value)
        if isinstance(value, int | float):
            least, above = form.get("minimum", -math.inf), form.get("exclusiveMinimum", -math.inf)
            if not (value >= least and above < value < math.inf):
                continue
        fitting[key] = value
    for key, form in schema.get("properties", {}).items():
        if "default" in form:
            fitting.setdefault(key, form["default"])
    return fitting


_UUID: Final = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_TIME: Final = (
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?"
    r"|\d\d:\d\d:\d\d(?:[.,]\d+)?"
)
_FORMS: Final = {
    "uuid": _UUID,
    "timestamp": _TIME,
    "path": r"(?:/|~/|[A-Za-z]:\\)[^\s\"'<>|]*",
    "hex": r"[0-9a-fA-F]+",
    "number": r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?",
    "any": r".*?",
}
_PLACEHOLDER: Final = re.compile(rf"<({'|'.join(_FORMS)})>")
_CHANGING: Final = re.compile(
    rf"(?P<uuid>\b{_UUID}\b)"
    rf"|(?P<timestamp>\b\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,]*(?: ?(?:Z|UTC|[+-]\d\d:?\d\d)\b)?"
    r"|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b)"
    r"|(?P<path>(?<![\w/])/(?:tmp|var/folders|private/tmp|private/var)/[^\s\"'<>|]*)"
    r"|(?P<hex>\b(?=[a-fA-F]*\d)[0-9a-fA-F]{16,}\b)"
    r"|(?P<number>\b\d{10,}(?:\.\d+)?\b|\b\d+(?:\.\d+)?(?=\ ?(?:ms|seconds)\b))"
)
"""What will be another text next time."""


def matches_placeholders(want: Any, got: Any) -> bool:
    """Compare as `is_json_equal` does, with placeholders in the texts that are wanted."""
    if isinstance(want, str) and _PLACEHOLDER.search(want):
        text = got if isinstance(got, str) else json.dumps(got, ensure_ascii=False, default=str)
        return _placeholder_pattern(want).fullmatch(text) is not None
    return is_json_equal(want, got, matches_placeholders)


def matches_subset(want: Any, got: Any) -> bool:
    """Compare as `matches_placeholders` does, where tables may have more than is wanted."""
    if isinstance(want, dict) and isinstance(got, dict):
        return want.keys() <= got.keys() and all(matches_subset(want[k], got[k]) for k in want)
    return matches_placeholders(want, got)


def is_json_equal(want: Any, got: Any, inside: Callable[[Any, Any], bool] | None = None) -> bool:
    """Compare as JSON does: true is not 1, and 1 is 1.0; what they hold by `inside`, if given."""
    inside = inside or is_json_equal
    if isinstance(want, bool) or isinstance(got, bool):
        return want is got
    if isinstance(want, dict) and isinstance(got, dict):
        return want.keys() == got.keys() and all(inside(want[key], got[key]) for key in want)
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(map(inside, want, got))
    return bool(want == got)


def map_leaves(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value with `change` made to all that is no list and no table."""
    if isinstance(value, list):
        return [map_leaves(item, change) for item in value]
    if isinstance(value, dict):
        return {key: map_leaves(item, change) for key, item in value.items()}
    return change(value)


def generalize_value(value: Any) -> Any:
    """Return a value with a placeholder for each part of its texts that changes."""
    return map_leaves(value, _generalize_text)


def _generalize_text(leaf: Any) -> Any:
    if not isinstance(leaf, str):
        return leaf
    return _CHANGING.sub(lambda match: f"<{match.lastgroup}>", leaf)


@lru_cache(maxsize=256)
def _placeholder_pattern(text: str) -> re.Pattern[str]:
    pieces = _PLACEHOLDER.split(text)
    # A text may hold the placeholder itself, word for word.
    pieces[1::2] = [f"(?:{_FORMS[name]}|<{name}>)" for name in pieces[1::2]]
    pieces[::2] = map(re.escape, pieces[::2])
    return re.compile("".join(pieces), re.DOTALL)


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def replace_variables(value: Any, places: Mapping[str, Any]) -> Any:
    """Return a value with `${NAME}` replaced in its texts, for the given names only.

    A text that is nothing but `${NAME}` becomes the value itself; within others it stands as text.
    Where nothing is replaced, the same value comes back.
    """
    if isinstance(value, str):
        if "${" not in value:
            return value
        if (whole := VARIABLE.fullmatch(value)) is not None:
            return places.get(whole[1], value)
        return VARIABLE.sub(lambda match: _value_text(places.get(match[1], match[0])), value)
    if isinstance(value, list):
        items = [replace_variables(item, places) for item in value]
        return value if all(map(operator.is_, items, value)) else items
    if isinstance(value, dict):
        table = {key: replace_variables(item, places) for key, item in value.items()}
        return value if all(map(operator.is_, table.values(), value.values())) else table
    return value
