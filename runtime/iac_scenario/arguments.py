"""The arguments of Claude's own tools, and one line about arguments that do not fit a schema.

Expressions are searched with a deadline, those of schemas too: a pattern may come from anybody, and
some take longer than anybody waits. `regex` is used for that, as `re` has no deadline and RE2 no
lookaround; it reads Rust's spelling (`(?<name>...)`, `[[:digit:]]`, `\\z`) besides.
"""

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

BUILT_IN: Final[Mapping[str, Mapping[str, Any]]] = json.loads(
    Path(__file__).with_name("claude_tools.json").read_text(encoding="utf-8")
)
"""Name to JSON schema, as Claude Code lists them."""

READERS: Final = frozenset(
    ("Read", "Glob", "Grep", "TodoWrite", "AskUserQuestion", "EnterPlanMode")
)
"""Those that change nothing but the session."""


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
        said = f"{pattern!r} took too long: more than {PATTERN_SECONDS} s on one text."
        raise ValueError(said) from None


@lru_cache(maxsize=1)
def _validator_class() -> Any:
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend

    def check_pattern(
        validator: Any, wanted: str, value: Any, _schema: Any
    ) -> Iterator[ValidationError]:
        if validator.is_type(value, "string") and not search_pattern(wanted, value):
            yield ValidationError(f"{value!r} does not match {wanted!r}")

    return extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, {"pattern": check_pattern}
    )


@lru_cache(maxsize=64)
def schema_validator(schema: str) -> Any:
    """Return the compiled form of a JSON schema that is given as JSON."""
    return _validator_class()(json.loads(schema))


def schema_violation(validator: Any, arguments: Any) -> str:
    """Return the first thing that does not fit a compiled schema, or nothing."""
    from jsonschema.exceptions import best_match

    try:
        if validator.is_valid(arguments):
            return ""
        error = best_match(validator.iter_errors(arguments))
    except ValueError as fault:
        return f"the arguments cannot be compared with the schema: {fault}"
    if error is None:
        return ""
    where = error.json_path.removeprefix("$").removeprefix(".")
    return f"the arguments do not fit: {f'{where}: ' if where else ''}{error.message}"
