"""Calls as the page shows them: days, each client's run of calls, a timeline, bars."""

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.errors import SetupError
from iac_page.marks import AppMark, AppMarks
from iac_runtime.audit.reading import AuditEntry, AuditQuery, count_calls, find_calls
from iac_runtime.outcomes.history import KeptCall
from iac_runtime.tool import LEVELS

View = dict[str, Any]
PAGE: Final = 100
"""Calls on one page of the history."""

DAYS: Final = 30
_APART: Final = timedelta(minutes=30)
"""Calls of one client that lie further apart are two tasks."""

_ABOUT: Final = 90
_IDS: Final = re.compile(r'\.byId\("[^"]*"\)')
"""Parts of references that say nothing to a person."""

_NEAR: Final = 3.0
"""Seconds by which the end of a call in the audit and in the undo history may differ."""

_FORGIVING: Final = 1_000
"""Newest calls that are searched for words that are nearly right."""

_ALIKE: Final = 0.78
_RESULTS: Final = {
    "done": "done",
    "refused": "refused",
    "asked": "asked",
    "running": "running",
    "interrupted": "interrupted",
    "cancelled": "cancelled",
    "UNANSWERED": "unanswered",
}
"""What an audit says of a call -> the word of the page for it; all else failed."""


class CallLine(NamedTuple):
    """A call in one line: when (local), of which app, what in words, how it ended.

    `undo` is the number of the call in the undo history; 0 where it cannot be undone, and then
    `why` says why, where that is known.
    """

    entry: AuditEntry
    at: datetime
    app: AppMark
    says: str
    about: str
    state: str
    undo: int = 0
    why: str = ""


class CallRun(NamedTuple):
    """The calls of one client without a long break, the newest first."""

    client: str
    calls: Sequence[CallLine]


class CallDay(NamedTuple):
    """A local day, and what ran on it."""

    day: date
    runs: Sequence[CallRun]


class Lane(NamedTuple):
    """The calls of an app on a timeline: the place of each (0 to 100) and its level."""

    app: AppMark
    marks: Sequence[tuple[float, AuditEntry]]


class Bar(NamedTuple):
    """A bar of a chart: where it begins, how long it is (both 0 to 100), what it counts."""

    at: float
    size: float
    label: str
    calls: int


class LevelBar(NamedTuple):
    """A day's calls: of each level where its part begins, how tall it is, and what it counts."""

    at: float
    label: str
    parts: Sequence[tuple[str, float, float, int]]


def history_view(
    state: Path, asked: Mapping[str, str], marks: AppMarks, kept: Sequence[KeptCall]
) -> View:
    """Return the calls that fit what a form asks, the newest first, and their timeline."""
    query, words = read_query(asked, marks)
    found, near = search_audit(state, query, words)
    shown = found[:PAGE]
    older = {**asked, "before": shown[-1].seq} if len(found) >= PAGE else None
    lines = list(call_lines(shown, marks, kept))
    return {
        "days": list(group_calls(lines)),
        "lanes": list(timeline_lanes(lines)),
        "span": (lines[-1].at, lines[0].at) if lines else None,
        "asked": asked,
        "near": near,
        "older": older,
        "levels": LEVELS,
    }


def charts_view(state: Path, marks: AppMarks) -> View:
    """Return what was called by day and by app, over all calls of the last days."""
    counted = _call_counts(state)
    return {
        "bars": bars_by_day(counted),
        "most": bars_by_app(counted, marks),
        "total": sum(counted.values()),
    }


def read_query(asked: Mapping[str, str], marks: AppMarks) -> tuple[AuditQuery, str]:
    """Return what a search asks: names of apps, levels and days among its words, and the others."""
    names = ("app", "tool", "client", "level", "result", "decision", "since", "until")
    given: dict[str, Any] = {name: asked.get(name, "").strip() for name in names}
    if given["app"] and (row := marks.find_row(given["app"])):
        given["app"] = row.id
    before, rest = asked.get("before", ""), []
    for word in asked.get("q", "").split():
        row = marks.find_row(word)
        if row is not None and not given["app"]:
            given["app"] = row.id
        elif word.upper() in LEVELS and not given["level"]:
            given["level"] = word.upper()
        elif (day := _day_of(word)) and not given["since"]:
            given |= {"since": utc_text(day), "until": utc_text(day + timedelta(days=1))}
        else:
            rest.append(word)
    for name in ("since", "until"):
        if re.fullmatch(r"\d{4}-\d\d-\d\d", given[name]):
            given[name] = utc_text(datetime.fromisoformat(given[name]))
    return AuditQuery(**given, before=int(before) if before.isdecimal() else 0), " ".join(rest)


def _day_of(word: str) -> datetime | None:
    today = datetime.combine(date.today(), datetime.min.time())
    back = {"today": 0, "yesterday": 1}.get(word.casefold())
    return None if back is None else today - timedelta(days=back)


def utc_text(local: datetime) -> str:
    """Return a local time as the audit writes times."""
    return local.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def search_audit(state: Path, query: AuditQuery, words: str) -> tuple[list[AuditEntry], bool]:
    """Return the calls that fit, the newest first, and whether only nearly: no word was exact."""
    found = read_audit(state, replace(query, text=words), PAGE)
    if found or not words:
        return found, False
    wanted = words.casefold().split()
    near = (one for one in read_audit(state, query, _FORGIVING) if _is_like(one, wanted))
    return list(near)[:PAGE], True


def _is_like(entry: AuditEntry, wanted: Iterable[str]) -> bool:
    text = f"{entry.tool} {entry.client} {entry.app} {json.dumps(entry.arguments)} {entry.line}"
    words = list(dict.fromkeys(re.findall(r"[^\W_]+", text.casefold())))
    return all(difflib.get_close_matches(word, words, 1, _ALIKE) for word in wanted)


def read_audit(state: Path, query: AuditQuery, limit: int) -> list[AuditEntry]:
    """Return the calls of the audit that fit, the newest first; none where it cannot be read."""
    try:
        return find_calls(state, query, limit)[::-1]
    except SetupError:
        return []


def find_call(state: Path, seq: int) -> AuditEntry | None:
    """Return one call with its whole story."""
    entries = read_audit(state, AuditQuery(seq=seq), 1)
    if entries and entries[0].story:
        entries = read_audit(state, AuditQuery(text=entries[0].story), 1) or entries
    return entries[0] if entries else None


def call_lines(
    entries: Iterable[AuditEntry], marks: AppMarks, kept: Sequence[KeptCall] = ()
) -> Iterator[CallLine]:
    """Yield calls in a line each, with how each is undone."""
    left = list(kept)
    for one in entries:
        at = datetime.fromisoformat(one.time).astimezone()
        mark = marks.find(one.app)
        says = one.tool.removeprefix(f"{mark.key}_" if mark.key else "").replace("_", " ")
        state = _RESULTS.get(one.result, "failed")
        ended = at.timestamp() + (one.ms or 0) / 1000
        same = (row for row in left if row.tool == one.tool and row.client == one.client)
        row = next((row for row in same if abs(row.at - ended) < _NEAR), None)
        undo, why = 0, ""
        if row is not None and state == "done":
            left.remove(row)
            undo = row.id if row.is_undoable else 0
            state = "undone" if row.undone else state
            why = "" if undo or row.undone else row.inverse.says.removeprefix("No: ")
        yield CallLine(
            one, at, mark, says.capitalize(), about_text(one.arguments), state, undo, why
        )


def about_text(arguments: object) -> str:
    """Return the values of some arguments as one short text."""
    texts = [_IDS.sub("", text) for text in _leaf_texts(arguments) if text]
    said = ", ".join(dict.fromkeys(texts))
    return f"{said[:_ABOUT].rstrip()}…" if len(said) > _ABOUT else said


def _leaf_texts(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for part in value.values():
            yield from _leaf_texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _leaf_texts(part)
    elif isinstance(value, bool):
        yield "yes" if value else "no"
    elif value is not None:
        yield " ".join(str(value).split())


def group_calls(lines: Sequence[CallLine]) -> Iterator[CallDay]:
    """Yield the days of some calls, with each client's runs of calls."""
    for day, calls in groupby(lines, key=lambda one: one.at.date()):
        runs: list[list[CallLine]] = []
        for one in calls:
            last = runs[-1][-1] if runs else None
            near = last is not None and last.at - one.at < _APART
            if last is not None and near and last.entry.client == one.entry.client:
                runs[-1].append(one)
            else:
                runs.append([one])
        yield CallDay(day, [CallRun(run[0].entry.client, run) for run in runs])


def timeline_lanes(lines: Sequence[CallLine]) -> Iterator[Lane]:
    """Yield apps with their calls on a timeline from the first of these calls to the last."""
    if not lines:
        return
    times = [one.at.timestamp() for one in lines]
    first, span = min(times), (max(times) - min(times)) or 1.0
    drawn: dict[AppMark, list[tuple[float, AuditEntry]]] = {}
    for one, at in zip(lines, times, strict=True):
        drawn.setdefault(one.app, []).append(((at - first) / span * 99, one.entry))
    for app, placed in sorted(drawn.items(), key=lambda row: -len(row[1])):
        yield Lane(app, placed)


def bars_by_day(counted: Mapping[tuple[str, str], int]) -> list[Bar]:
    """Return a bar for each of the last days, the oldest first."""
    today = datetime.now(UTC).date()
    sums = {today - timedelta(days=DAYS - 1 - at): 0 for at in range(DAYS)}
    for (day, _), number in counted.items():
        at = date.fromisoformat(day)
        if at in sums:
            sums[at] += number
    most, width = max(sums.values(), default=0) or 1, 100 / DAYS
    rows = enumerate(sums.items())
    return [Bar(at * width, 100 * n / most, day.isoformat(), n) for at, (day, n) in rows]


def bars_by_level(counted: Mapping[str, Mapping[str, int]]) -> list[LevelBar]:
    """Return a bar of levels for each of the last days; none where nothing was called."""
    days = [bar.label for bar in bars_by_day({})]
    most = max((sum(row.values()) for row in counted.values()), default=0)
    bars = []
    for at, day in enumerate(days if most else ()):
        top, parts = 100.0, []
        for level in LEVELS:
            number = counted.get(day, {}).get(level, 0)
            size = 100 * number / most
            top -= size
            parts.append((level, top, size, number))
        bars.append(LevelBar(at * 100 / DAYS, day, parts))
    return bars


def is_recent(moment: datetime) -> bool:
    """Say whether a moment lies within the last day."""
    return datetime.now(UTC) - moment < timedelta(days=1)


def bars_by_app(
    counted: Mapping[tuple[str, str], int], marks: AppMarks
) -> list[tuple[AppMark, Bar]]:
    """Return a bar for each of the apps that were called most."""
    sums: dict[AppMark, int] = {}
    for (_, app), number in counted.items():
        mark = marks.find(app)
        sums[mark] = sums.get(mark, 0) + number
    top = sorted(sums.items(), key=lambda one: -one[1])[:8]
    most = top[0][1] if top else 1
    return [(mark, Bar(0, 100 * number / most, mark.name, number)) for mark, number in top]


def _call_counts(state: Path) -> Mapping[tuple[str, str], int]:
    try:
        return count_calls(state, days_ago(DAYS))
    except SetupError:
        return {}


def days_ago(days: int) -> str:
    """Return the day so many days ago, as the audit writes it."""
    return (datetime.now(UTC) - timedelta(days=days)).date().isoformat()


def day_words(day: date, texts: Mapping[str, str]) -> str:
    """Return a day as people say it."""
    back = (date.today() - day).days
    known = {0: "today", 1: "yesterday"}.get(back)
    return (
        texts[known]
        if known
        else f"{day:%A}, {day.day} {day:%B}" + ("" if back < 300 else f" {day:%Y}")
    )


Now: Callable[[], float] = datetime.now().timestamp
