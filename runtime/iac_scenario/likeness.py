"""Whether a value is the one that is meant, where parts of it change from run to run.

In texts, `<uuid>`, `<timestamp>`, `<path>`, `<hex>`, `<number>` and `<any>` stand for what changes.
"""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

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
        return want.keys() <= got.keys() and all(
            matches_subset(want[key], got[key]) for key in want
        )
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
    return _CHANGING.sub(lambda found: f"<{found.lastgroup}>", leaf)


@lru_cache(maxsize=256)
def _placeholder_pattern(text: str) -> re.Pattern[str]:
    pieces = _PLACEHOLDER.split(text)
    # A text may hold the placeholder itself, word for word.
    pieces[1::2] = [f"(?:{_FORMS[name]}|<{name}>)" for name in pieces[1::2]]
    pieces[::2] = map(re.escape, pieces[::2])
    return re.compile("".join(pieces), re.DOTALL)
