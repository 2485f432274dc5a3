"""The arguments of Claude's own tools, and one line about arguments that do not fit a schema."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from iac_scenario.errors import CallError

_TEXT: Final = {"type": "string"}
_FLAG: Final = {"type": "boolean"}
_COUNT: Final = {"type": "integer", "minimum": 0}


def _object(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


BUILT_IN: Final[Mapping[str, Mapping[str, Any]]] = {
    "Bash": _object(
        ("command",), command=_TEXT, description=_TEXT, run_in_background=_FLAG,
        timeout={"type": "number", "exclusiveMinimum": 0, "maximum": 600_000},
    ),
    "Read": _object(("file_path",), file_path=_TEXT, offset=_COUNT, limit=_COUNT),
    "Write": _object(("file_path", "content"), file_path=_TEXT, content=_TEXT),
    "Edit": _object(
        ("file_path", "old_string", "new_string"),
        file_path=_TEXT, old_string=_TEXT, new_string=_TEXT, replace_all=_FLAG,
    ),
    "Glob": _object(("pattern",), pattern=_TEXT, path=_TEXT),
    "Grep": _object(
        ("pattern",), pattern=_TEXT, path=_TEXT, glob=_TEXT, type=_TEXT, multiline=_FLAG,
        output_mode={"enum": ["content", "files_with_matches", "count"]}, head_limit=_COUNT,
        **{"-i": _FLAG, "-n": _FLAG, "-A": _COUNT, "-B": _COUNT, "-C": _COUNT},
    ),
}  # fmt: skip
"""Name to JSON schema, as Claude Code lists them."""

READERS: Final = frozenset(("Read", "Glob", "Grep"))
"""Those that only read."""


@lru_cache(maxsize=64)
def validator_of(schema: str) -> Any:
    """Return the compiled form of a JSON schema that is given as JSON."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema))


def refuse_misfit(validator: Any, name: str, arguments: Any) -> None:
    """Raise ToolError with the first thing that does not fit a compiled schema."""
    if validator.is_valid(arguments):
        return
    from jsonschema.exceptions import best_match

    error = best_match(validator.iter_errors(arguments))
    where = error.json_path.removeprefix("$").removeprefix(".")
    place = f"{where}: " if where else ""
    raise CallError(f"{name}: the arguments do not fit: {place}{error.message}")
