"""The table of the field book: what real apps do when they are scripted, by app and by use.

`nox -s regen` writes ours from the rows of the generator (`generator/iac_gen/field`), an app a
line; `iac_gen.field` says what the keys and words mean. Rows that are a user's own lie beside the
tools that a build wrote with them and count like ours; one with the id of ours takes its place.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from iac_base.words import fold_name
from iac_runtime.tools.catalogue import READ_FOLDERS

_FILE: Final = Path(__file__).with_name("field.jsonl")


def field_rows(app: str, use: str) -> list[Mapping[str, Any]]:
    """Return the rows that act as `use` for an app (a bundle id), those of every app first.

    Uses are postcondition, question, refusal, planner, profile and hint, and `undo`: what can be
    taken back.
    """
    own = _own_tables()
    return [row for key in dict.fromkeys(("", app)) for row in _read_app(key, own).get(use, ())]


def find_gap_rows(app: str, line: str) -> list[Mapping[str, Any]]:
    """Return the rows that say that an answer to such a line may lack something, or mean little."""
    gaps = ("missing", "stale", "unscoped", "no-effect")
    return [
        row
        for row in field_rows(app, "postcondition")
        if "given" in row
        and row.get("play", {}).get("fault") in gaps
        and re.search(row["given"], line)
    ]


def gone_numbers(app: str) -> frozenset[int]:
    """Return the numbers by which the book says that an app answers for what is not there."""
    plays = (row.get("play", {}) for row in field_rows(app, "hint"))
    return frozenset(play["number"] for play in plays if play.get("needs") == "gone")


def is_doubted(app: str, verb: str, names: Iterable[str]) -> bool:
    """Say whether the book doubts a call that nobody is asked about: it may have no effect."""
    plays = (row.get("play", {}) for row in field_rows(app, "postcondition"))
    doubted = {
        play.get("property", "")
        for play in plays
        if play.get("fault") == "no-effect" and fold_name(play.get("verb", "")) == fold_name(verb)
    }
    return "" in doubted or any(name in doubted for name in names)


def profile_words() -> tuple[frozenset[str], frozenset[str]]:
    """Return the ids of all rows that are played, and the names of the variants among them."""
    with _FILE.open(encoding="utf-8") as lines:
        tables = [json.loads(line)[1] for line in lines]
    tables += [uses for path, _ in _own_tables() for uses in _read_own(path).values()]
    rows = [row for uses in tables for row in uses.get("profile", ())]
    return (
        frozenset(row["id"] for row in rows),
        frozenset(row["profile"] for row in rows if row.get("profile")),
    )


COSTS: Final = {
    "event": "event_ms",
    "id": "id_ms",
    "item": "item_ms",
    "column": "column_ms_per_1000",
    "whose": "whose_ms_per_1000",
}
"""What a planner weighs -> what of a row's cost says it (`iac_gen.field.COSTS`)."""


@cache
def read_costs(app: str, term: str) -> Mapping[str, Any]:
    """Return what reads of the objects of a class are said to take, in milliseconds.

    Of an event, of reaching one by `id`, of one `item` on its own, of a `column` of 1,000 and of a
    filter over 1,000 (`whose`); `heavy` has properties that take longer, each with that for one
    object, and `stalls` those that the app cannot filter by in time. What nobody measured is left
    out; of several figures the largest counts, and a column of one property is of that alone.
    """
    costs: dict[str, Any] = {}
    own: dict[str, dict[str, float]] = {}
    for row in field_rows(app, "planner"):
        about = [name for name in row["terms"] if term in name.split(".")]
        if not about or "cost" not in row or "profile" in row:
            continue
        names = [name.partition(".")[2] for name in about]
        names = [name for name in names if name not in ("", term)]
        cost = dict(row["cost"])
        if len(names) == len(about) and "column_ms_per_1000" in cost:
            cost["body_ms"] = cost.pop("column_ms_per_1000") / 1000
        for key, said in COSTS.items():
            if said in cost:
                costs[key] = max(costs.get(key, 0), cost[said])
        filtered = "whose" in row["terms"] and "stall_ms" in cost
        for key, said in (("heavy", "body_ms"), *([("stalls", "stall_ms")] if filtered else ())):
            if said in cost:
                own.setdefault(key, {}).update(dict.fromkeys(names, cost[said]))
    return {**costs, **{key: found for key, found in own.items() if found}}


def _own_tables() -> tuple[tuple[Path, int], ...]:
    """Return the files beside the tools that were read, each with the time of its last change."""
    paths = (folder / "field.json" for folder in READ_FOLDERS)
    return tuple((path, path.stat().st_mtime_ns) for path in paths if path.is_file())


def _read_own(path: Path) -> Mapping[str, Mapping[str, list[Mapping[str, Any]]]]:
    try:
        table: dict[str, Any] = json.loads(path.read_text("utf-8"))["field"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return table


@cache
def _read_app(app: str, own: tuple[tuple[Path, int], ...]) -> Mapping[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    start = f"[{json.dumps(app)}, "
    with _FILE.open(encoding="utf-8") as lines:
        found |= next((json.loads(line)[1] for line in lines if line.startswith(start)), {})
    for path, _ in own:
        for use, rows in _read_own(path).get(app, {}).items():
            ids = {row["id"] for row in rows}
            ours = (row for row in found.get(use, ()) if row["id"] not in ids)
            found[use] = [*rows, *ours]
    return found
