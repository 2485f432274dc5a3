"""Changes: what an update of an app means for those who use its tools, by how dangerous it is.

A change is a fact about a tool or a term: what a reviewer asks first is whether less is asked
of a caller, whether a name does something else, and whether calls break. The texts of apps stand
in code spans where Markdown is written, and escaped in commands of a workflow: they mention
nobody and link nowhere.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from iac_gen import output
from iac_gen.text import clean_text
from iac_runtime.tool import at_most

Danger: TypeAlias = Literal["weaker", "other", "breaks", "more", "stricter", "words"]
"""What a change may do to those who rely on the tools, the most dangerous first."""

Format: TypeAlias = Literal["text", "markdown", "github"]

_TITLES: Final[Mapping[Danger, str]] = {
    "weaker": "Asks less of a caller",
    "other": "Does something else under the same name",
    "breaks": "Breaks calls",
    "more": "Can do more",
    "stricter": "Asks more of a caller",
    "words": "Words and versions",
}
_WARNED: Final = frozenset({"weaker", "other", "breaks"})
_ANNOTATIONS: Final = 10
"""Warnings, and notices, that GitHub shows of one step."""


class Change(NamedTuple):
    """A line about an app; `tool` is the name of a tool that it is about, if any."""

    danger: Danger
    app: str
    text: str
    tool: str = ""

    def __str__(self) -> str:
        return clean_text(f"{self.app}: {self.text}")


_Said: TypeAlias = Iterator[tuple[Danger, str]]


def describe_changes(
    old: Mapping[str, output.AppFiles], new: Mapping[str, output.AppFiles]
) -> list[Change]:
    """Return every change, the most dangerous first; empty where a reviewer has nothing to see."""
    changes: list[Change] = []
    for key in sorted(old.keys() | new.keys()):
        if key not in old:
            changes.append(Change("more", key, f"new app, {len(new[key].tools)} tools"))
        elif key not in new:
            changes.append(Change("breaks", key, f"app gone, {len(old[key].tools)} tools with it"))
        else:
            changes += _app_changes(key, old[key], new[key])
    return sort_changes(changes)


def sort_changes(changes: Iterable[Change]) -> list[Change]:
    """Return changes, the most dangerous first, else in their order."""
    order = get_args(Danger)
    return sorted(changes, key=lambda one: order.index(one.danger))


def summary_line(changes: Sequence[Change]) -> str:
    """Return one line about all of them."""
    apps = len({one.app for one in changes})
    counts: Counter[Danger] = Counter(one.danger for one in changes)
    told = (f"{_TITLES[danger].lower()}: {n}" for danger, n in counts.items())
    return f"{'1 app changes' if apps == 1 else f'{apps} apps change'}; {', '.join(told)}"


def changes_as_text(changes: Sequence[Change]) -> Iterator[str]:
    """Yield lines for a terminal; none where nothing changed."""
    if changes:
        yield summary_line(changes)
    for danger, lines in group_changes(changes).items():
        yield f"\n{_TITLES[danger]}"
        yield from (f"  {line}" for line in lines)


def changes_as_markdown(changes: Sequence[Change]) -> Iterator[str]:
    """Yield the lines of a comment on a pull request."""
    yield f"**{summary_line(changes)}**" if changes else "**The tools do not change.**"
    for danger, lines in group_changes(changes).items():
        items = [f"- {_code_span(line)}" for line in lines]
        if danger in _WARNED:
            yield from ("", f"### {_TITLES[danger]}", "", *items)
        else:
            title = f"<summary>{_TITLES[danger]}: {len(lines)}</summary>"
            yield from ("", f"<details>{title}", "", *items, "", "</details>")


def changes_as_annotations(
    changes: Sequence[Change], place: Callable[[Change], tuple[str, int]]
) -> Iterator[str]:
    """Yield workflow commands of GitHub Actions: the most dangerous changes, and the sum.

    `place` returns the file of a change and the line of it, 0 where that is not known.
    Source: GitHub Docs, "Workflow commands for GitHub Actions", setting a warning message.
    """
    room = {"warning": _ANNOTATIONS, "notice": _ANNOTATIONS - 1}
    for one in changes:
        kind = "warning" if one.danger in _WARNED else "notice"
        room[kind] -= 1
        if room[kind] >= 0:
            file, line = place(one)
            at = f"file={_escape_command(file, ':,')}" + (f",line={line}" if line else "")
            yield f"::{kind} {at},title={_TITLES[one.danger]}::{_escape_command(str(one))}"
    if changes:
        yield f"::notice title=iac-gen::{_escape_command(summary_line(changes))}"


def group_changes(changes: Sequence[Change]) -> dict[Danger, list[str]]:
    """Return the lines by danger, as they are ordered."""
    groups: dict[Danger, list[str]] = {}
    for one in changes:
        groups.setdefault(one.danger, []).append(str(one))
    return groups


def _code_span(text: str) -> str:
    runs = re.findall(r"`+", text)
    fence = "`" * (max(map(len, runs), default=0) + 1)
    return f"{fence} {text} {fence}" if runs else f"`{text}`"


def _escape_command(text: str, marks: str = "") -> str:
    return re.sub(rf"[%\r\n{marks}]", lambda mark: f"%{ord(mark[0]):02X}", text)


def changed_levels(
    old: Mapping[str, output.AppFiles], new: Mapping[str, output.AppFiles]
) -> Mapping[str, list[tuple[str, str, str]]]:
    """Return app -> thing, levels before and after, where they differ; empty for none."""
    changes: dict[str, list[tuple[str, str, str]]] = {}
    for key in sorted(old.keys() & new.keys()):
        before, after = old[key].reviewed_surface(), new[key].reviewed_surface()
        former = _former_names(before, after)
        gone = {name: name for name in before.keys() - former.values()}
        for name, was in sorted({**dict.fromkeys(after, ""), **former, **gone}.items()):
            kind = name.partition(" ")[0]
            one, other = (
                output.levels_in_words(kind, rows[at].levels) if at in rows else ""
                for rows, at in ((before, was), (after, name))
            )
            if one != other:
                changes.setdefault(key, []).append((_thing_title(name), one, other))
    return changes


def _app_changes(key: str, old: output.AppFiles, new: output.AppFiles) -> Iterator[Change]:
    if old.row["id"] != new.row["id"]:
        yield Change("other", key, f"another app: {old.row['id']} became {new.row['id']}")
    if old.version != new.version:
        text = f"version {old.version or 'unknown'} became {new.version or 'unknown'}"
        yield Change("words", key, text)
    elif old.row["digest"] != new.row["digest"]:
        yield Change("words", key, "the dictionary changed")
    before, after = old.reviewed_surface(), new.reviewed_surface()
    known = old.terms is not None and new.terms is not None
    former = _former_names(before, after)
    owners = [(_full_name(was), _full_name(name)) for name, was in former.items() if name != was]
    for name in sorted(after):
        kind, title = name.partition(" ")[0], _thing_title(name)
        if kind != "tool" and not known:
            continue
        if name not in former:
            span = output.levels_in_words(kind, after[name].levels)
            tool = title if kind == "tool" else ""
            yield Change("more", key, f"{title} added{f' ({span})' if span else ''}", tool)
            continue
        was = former[name]
        said: list[tuple[Danger, str]] = []
        if _is_renamed(was, name, owners):
            former_title = _thing_title(was).removeprefix(f"{kind} ")
            said.append(("breaks", f"renamed from {former_title}"))
        said += _row_changes(kind, before[was], after[name])
        if kind == "tool":
            one, other = old.lines[_full_name(was)], new.lines[_full_name(name)]
            said += _listed_changes(json.loads(one), json.loads(other))
        tool = title if kind == "tool" else ""
        yield from (Change(danger, key, f"{title}: {line}", tool) for danger, line in said)
    for name in sorted(before.keys() - former.values()):
        if known or name.startswith("tool "):
            title = _thing_title(name)
            tool = title if name.startswith("tool ") else ""
            yield Change("breaks", key, f"{title} removed", tool)


def _thing_title(name: str) -> str:
    """Return how a line names a thing: a tool by its name, a term without its app."""
    kind, _, shown = name.partition(" ")
    return shown if kind == "tool" else f"{kind} {shown.partition('.')[2]}"


def _former_names(old: output.Surface, new: output.Surface) -> dict[str, str]:
    """Return name -> former name: the same, else one that is gone and had the codes."""
    gone = output.names_by_codes({name: row for name, row in old.items() if name not in new})
    former = {name: name for name in new if name in old}
    for name in sorted(new.keys() - old.keys()):
        if names := gone.get((name.partition(" ")[0], *new[name].codes)):
            former[name] = names.pop(0)
    return former


def _is_renamed(was: str, name: str, owners: Sequence[tuple[str, str]]) -> bool:
    """Say whether a thing has another name, and not only what it belongs to."""
    one, other = _full_name(was), _full_name(name)
    return one != other and not any(
        one.startswith(f"{old}.") and other == new + one.removeprefix(old) for old, new in owners
    )


def _full_name(name: str) -> str:
    return name.partition(" ")[2]


_LEVELS: Final[Mapping[str, tuple[str, ...]]] = {
    "tool": ("level", "ceiling"),
    "class": ("level of making", "level of deleting"),
}


def _row_changes(kind: str, old: output.SurfaceRow, new: output.SurfaceRow) -> _Said:
    if old.codes != new.codes and old.codes and new.codes:
        what = "sends another event" if kind == "tool" else "has another code"
        yield "other", f"{what}: {'/'.join(new.codes)} instead of {'/'.join(old.codes)}"
    for word, before, after in zip(
        _LEVELS.get(kind, ("level",)), old.levels, new.levels, strict=False
    ):
        if before != after:
            span = f"from {before} to {after}"
            if at_most(after, before):
                yield "weaker", f"{word} lowered {span}"
            else:
                yield "stricter", f"{word} raised {span}"
    if new.levels and not old.levels:
        yield "more", f"can now be set, {output.levels_in_words(kind, new.levels)}"
    if kind == "tool" and old.facts and new.facts:
        yield from _call_changes(old.facts, new.facts)
        return
    for word, one, other in zip(output.FACTS.get(kind, ()), old.facts, new.facts, strict=False):
        if one != other:
            grown = word == "access" and {*one} < {*other}
            text = f"{word} changed from {one or 'none'} to {other or 'none'}"
            yield "more" if grown else "breaks", text


def _call_changes(old: Sequence[Any], new: Sequence[Any]) -> _Said:
    (result, params, bound), (result_now, params_now, bound_now) = old, new
    for key in params_now:
        if key not in params:
            continue
        (code, kind), (code_now, kind_now) = params[key], params_now[key]
        if code != code_now:
            text = f"sent as {code_now or 'nothing'} instead of {code or 'nothing'}"
            yield "other", f"parameter {key}: {text}"
        if kind != kind_now:
            yield "breaks", f"parameter {key}: type changed from {kind} to {kind_now}"
    if result != result_now:
        yield "breaks", f"result changed from {result or 'none'} to {result_now or 'none'}"
    if bound != bound_now:
        yield "other", "other arguments are bound"


def _listed_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> _Said:
    """Yield what changed in the entry of a listing: parameters, and the words."""
    yield from _parameter_changes(old["inputSchema"], new["inputSchema"])
    if old["description"] != new["description"]:
        yield "words", f"described as {new['description']!r}"
    if _search_words(old) != _search_words(new):
        yield "words", "search words changed"


def _search_words(entry: Mapping[str, Any]) -> Any:
    return entry.get("_meta", {}).get(output.SEARCH_WORDS)


def _parameter_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> _Said:
    one, other = old["properties"], new["properties"]
    for key in one:
        if key not in other:
            yield "breaks", f"parameter {key} removed"
    for key in other:
        required = key in new.get("required", ())
        if key not in one:
            added = f"parameter {key} added{', required' if required else ''}"
            yield "breaks" if required else "more", added
            continue
        if required != (key in old.get("required", ())):
            now = f"parameter {key} is now {'required' if required else 'optional'}"
            yield "breaks" if required else "more", now
        before, after = (schema[key].get("enum", ()) for schema in (one, other))
        if come := [value for value in after if value not in before]:
            yield "more", f"parameter {key}: takes also {', '.join(come)}"
        if gone := [value for value in before if value not in after]:
            yield "breaks", f"parameter {key}: no longer takes {', '.join(gone)}"
        if one[key].get("description") != other[key].get("description"):
            yield "words", f"parameter {key}: described otherwise"
