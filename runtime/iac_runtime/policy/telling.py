"""A rule of a policy in words, as `iac-mcp policy show` and the page print it."""

from typing import Any, Final

from iac_runtime.policy.file import DAYS
from iac_runtime.policy.matching import Match, Matcher

_WORDS: Final = {
    "apps_other_than": "only apps",
    "writes_outside": "folders write",
    "verbs": "never",
}
_QUIET: Final = frozenset(("argument", "lines", "source", "why"))


def describe_rule(match: Match) -> str:
    """Return what a rule matches, in words."""
    usual = Match()._asdict()
    parts = match._asdict().items()
    said = [(key, part) for key, part in parts if part != usual[key] and key not in _QUIET]
    rows = (f"{_WORDS.get(key, key)} {_describe_value(key, part)}" for key, part in said)
    return ", ".join(
        [*rows, *(f"{key} = {_describe_value('', wanted)}" for key, wanted in match.argument)]
    )


def _describe_value(key: str, value: Any) -> str:
    if isinstance(value, Matcher):
        parts = value._asdict().items() - Matcher()._asdict().items()
        return " ".join(f"{name} {_describe_value(name, part)}" for name, part in sorted(parts))
    if key == "hours":
        return "-".join(f"{at // 60:02}:{at % 60:02}" for at in value)
    words = [DAYS[at] for at in value] if key == "days" else value
    return "|".join(words) if isinstance(value, tuple) else str(value).lower()
