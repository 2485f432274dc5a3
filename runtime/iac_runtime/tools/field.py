"""The table of the field book: what real apps do when they are scripted, by app and by use.

`nox -s regen` writes it from the rows that the generator has (`generator/iac_gen/field`), an app a
line; `iac_gen.field` says what the keys and words mean.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

_FILE: Final = Path(__file__).with_name("field.jsonl")


def field_rows(app: str, use: str) -> list[Mapping[str, Any]]:
    """Return the rows that act as `use` for an app (a bundle id), those of every app first.

    Uses are postcondition, question, refusal, planner, profile and hint, and `undo`: what can be
    taken back.
    """
    return [row for key in dict.fromkeys(("", app)) for row in _read_app(key).get(use, ())]


@cache
def _read_app(app: str) -> Mapping[str, list[Mapping[str, Any]]]:
    start = f"[{json.dumps(app)}, "
    with _FILE.open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(start):
                found: dict[str, list[Mapping[str, Any]]] = json.loads(line)[1]
                return found
    return {}
