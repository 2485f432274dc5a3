"""Which calls a rule speaks of: its parts, each held against what a call does and would send.

A rule that loosens must fit all that a call holds, in the one form in which it is sure where that
leads; any other rule speaks of a call when some reading of some value fits.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple, TypeAlias

from iac_base.words import fold_name
from iac_runtime.policy.effects import lowercase_words
from iac_runtime.policy.facts import CallFacts, Verb, describe_undo
from iac_runtime.policy.places import (
    find_url_hosts,
    matches_host_globs,
    matches_recipient_globs,
    matches_url_glob,
    parse_url_glob,
)
from iac_runtime.tool import Level


class Matcher(NamedTuple):
    """What each item of a value must be; all that is given must hold, words are alternatives.

    Attributes:
        host: Globs over the host of a URL, label by label.
        folder: Folders that a path lies in, links followed.
        path: Globs over a path, folder by folder; `**` stands for any number of folders.
        recipient: Globs over an address, its host label by label, or a phone number.
        properties: Globs over the names of properties: the fields of a record, or a list of names.
        enumerator: Words of an enumeration, in any spelling.
        at_least, at_most: The range of a number.
    """

    host: tuple[str, ...] = ()
    folder: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    recipient: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    enumerator: tuple[str, ...] = ()
    at_least: float = float("-inf")
    at_most: float = float("inf")

    @property
    def has_range(self) -> bool:
        """Whether it must be a number."""
        return (self.at_least, self.at_most) != (float("-inf"), float("inf"))


WantedValue: TypeAlias = tuple[str, ...] | Matcher
"""Globs over a value (a text as it is, anything else as JSON), or a typed matcher."""


class Match(NamedTuple):
    """Which calls a rule speaks of; every part that is given must match.

    Attributes:
        app: Globs over bundle id and name; `finder` and `com.apple.*` both do. Of a call that
            reaches several apps (a script, a process of System Events) any of them.
        tool: Globs over the tool's name.
        level: The levels that the call may need.
        argument: Argument -> what its value must be. `properties.name` reaches into an object.
        source: Where the rule stands.
        why: The user's own words.
        only: Whether no argument may be given that `argument` does not name.
        client, server: Globs over the name of who calls, and of the server that it came by.
        hours: From and to, in minutes of the day; `to` may lie on the next day.
        days: 0 is Monday.
        tainted: Whether a value stood in an earlier result.
        objects: How many objects are changed: the range.
        undoable: Whether it is known that it can be undone.
        sends_to: Globs over the hosts and recipients that something goes to.
        verbs: What any effect does.
        others: Globs over apps; speaks of a call that reaches any other.
        outside: Folders; speaks of a call that writes elsewhere.
        lines: Part -> line of the policy, for messages.
    """

    app: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()
    level: tuple[Level, ...] = ()
    argument: tuple[tuple[str, WantedValue], ...] = ()
    source: str = ""
    why: str = ""
    only: bool = False
    client: tuple[str, ...] = ()
    server: tuple[str, ...] = ()
    hours: tuple[int, int] | None = None
    days: tuple[int, ...] = ()
    tainted: bool | None = None
    objects: Matcher | None = None
    undoable: bool | None = None
    sends_to: tuple[str, ...] = ()
    verbs: tuple[Verb, ...] = ()
    apps_other_than: tuple[str, ...] = ()
    writes_outside: tuple[str, ...] = ()
    lines: tuple[tuple[str, int], ...] = ()


class LevelRule(NamedTuple):
    """A user's own level for some calls.

    `accept` names rules of escalation that shall not raise the level of these calls.
    """

    match: Match
    level: Level
    accept: tuple[str, ...] = ()


def matches_call(match: Match, facts: CallFacts, level: Level, *, loosens: bool) -> bool:
    """Say whether a rule speaks of a call that needs `level`."""
    return not first_mismatch(match, facts, level, loosens=loosens)


def first_mismatch(match: Match, facts: CallFacts, level: Level, *, loosens: bool) -> str:
    """Return the first part of a rule that does not hold for a call; empty where all do."""
    if match.level and level not in match.level:
        return "level"
    if match.tool and not matches_any_glob((facts.tool,), match.tool):
        return "tool"
    if match.app and not _matches_apps(facts, match.app, loosens=loosens):
        return "app"
    for key, wanted in match.argument:
        if not _matches_argument(facts, key, wanted, loosens=loosens):
            return f"argument {key}"
    if loosens and (unnamed := _first_unnamed_argument(match, facts)):
        return f"argument {unnamed}, which the rule does not name"
    if loosens and could_match_unknown(match, facts) is not None:
        return "something that IAC cannot know about the call"
    if match.undoable is not None and match.undoable != describe_undo(facts, level).known:
        return "undoable"
    return _mismatched_condition(match, facts, loosens=loosens) or _mismatched_effect(
        match, facts, loosens=loosens
    )


def _mismatched_condition(match: Match, facts: CallFacts, *, loosens: bool) -> str:
    if match.client and not matches_any_glob((facts.client,), match.client):
        return "client"
    if match.server and not matches_any_glob((facts.server,), match.server):
        return "server"
    at = facts.at
    if at is None and loosens and (match.hours or match.days):
        return "hours"
    if at is not None and (match.hours or match.days):
        begin, end = match.hours or (0, 1440)
        now, day = at.tm_hour * 60 + at.tm_min, at.tm_wday
        if end <= begin and now < end:
            # The small hours belong to the day on which the span began.
            now, day = now + 1440, (day - 1) % 7
        if not begin <= now < (end if begin < end else end + 1440):
            return "hours"
        if match.days and day not in match.days:
            return "days"
    held = any(row.rule == "from-a-result" for row in facts.raised)
    if match.tainted is not None and match.tainted != held:
        return "tainted"
    span = match.objects or Matcher()
    return "" if span.at_least <= facts.object_count <= span.at_most else "objects"


def _mismatched_effect(match: Match, facts: CallFacts, *, loosens: bool) -> str:
    if match.sends_to:
        flows = [row for effect in facts.effects for row in effect.flow]
        places = [row.to for row in flows if row.kind in ("host", "recipient")]
        fits = (matches_recipient_globs(to, match.sends_to, loosens=loosens) for to in places)
        if not _all_or_any(fits, every=loosens):
            return "sends_to"
    if match.verbs and not any(effect.verb in match.verbs for effect in facts.effects):
        return "what the call does"
    known = (
        app and matches_any_glob((app, name), match.apps_other_than) for app, name in facts.apps
    )
    if match.apps_other_than and all(known):
        return "apps"
    known_files = (path for path in _written_paths(facts) if path != "?")
    if match.writes_outside and all(
        _is_inside_folders(path, match.writes_outside, facts) for path in known_files
    ):
        return "folders"
    return ""


def could_match_unknown(match: Match, facts: CallFacts) -> Match | None:
    """Return a rule without its parts on what a call does, where more may be done than is known.

    None where the rule has no such part, or all that it speaks of is known.
    """
    acts = [effect for effect in facts.effects if not effect.is_read_only]
    unsure = any(effect.doubt or effect.verb == "unknown" for effect in acts)
    # Of a script and of an interface it is not known what their texts are used for.
    unseen = bool(acts) and facts.event is None
    blind = unsure or unseen or any(effect.verb == "run" for effect in acts)
    nowhere = any(effect.verb == "send" and not effect.flow for effect in acts)
    hidden = (
        (match.app or match.apps_other_than) and facts.doubt,
        match.verbs and unsure,
        match.sends_to and (blind or nowhere),
        match.writes_outside and (blind or "?" in _written_paths(facts)),
        (match.objects or match.tainted is not None) and unseen,
    )
    if not any(hidden):
        return None
    return match._replace(
        app=(),
        apps_other_than=(),
        verbs=(),
        sends_to=(),
        writes_outside=(),
        objects=None,
        tainted=None,
    )


def _written_paths(facts: CallFacts) -> list[str]:
    """Return the files that a call writes, as far as known; `?` for one that is not."""
    found = [row.to for effect in facts.effects for row in effect.flow if row.kind == "file"]
    return found + [path for effect in facts.effects for path in effect.files]


def _matches_apps(facts: CallFacts, globs: tuple[str, ...], *, loosens: bool) -> bool:
    """Say whether a rule about apps speaks of a call.

    What loosens speaks of a call only if all that it reaches is known and meant; what does not,
    speaks of any app reached.
    """
    if not loosens:
        return any(matches_any_glob(app, globs) for app in facts.apps)
    known = bool(facts.apps) and not facts.doubt
    return known and all(app and matches_any_glob((app, name), globs) for app, name in facts.apps)


def matches_any_glob(texts: Iterable[str], globs: Iterable[str]) -> bool:
    """Say whether any of the texts fits any of the globs, without case."""
    folded = [text.casefold() for text in texts if text]
    # References hold brackets, so only * and ? stand for others.
    plain = [glob.casefold().replace("[", "[[]") for glob in globs]
    return any(fnmatchcase(text, glob) for glob in plain for text in folded)


def _matches_argument(facts: CallFacts, key: str, wanted: WantedValue, *, loosens: bool) -> bool:
    # A recipe's own arguments count beside those that it is bound to.
    given = [
        row for row in (_given_value(facts.arguments, key), _given_value(facts.given, key)) if row
    ]
    if isinstance(wanted, Matcher) and wanted.properties:
        if not _matches_property_names(given, wanted.properties, loosens=loosens):
            return False
        wanted = wanted._replace(properties=())
        if wanted == Matcher():
            return True
    sent = facts.sent(key)
    if sent is None and loosens:
        sent = tuple((text,) for (value,) in given for text in _item_texts(value))
    elif sent is None or not loosens:
        whole = (
            tuple(dict.fromkeys((_text_form(value), *_item_texts(value)))) for (value,) in given
        )
        sent = (*(sent or ()), *whole)
    return _all_or_any(
        (_matches_item(forms, wanted, facts, loosens=loosens) for forms in sent), every=loosens
    )


def _all_or_any(fits: Iterable[bool], *, every: bool) -> bool:
    """Say whether `every` one of some items fits, or any; of none neither."""
    found = list(fits)
    return bool(found) and (all(found) if every else any(found))


def _matches_item(
    forms: tuple[str, ...], wanted: WantedValue, facts: CallFacts, *, loosens: bool
) -> bool:
    """Say whether an item fits; `forms` are the texts that all mean it."""
    if not isinstance(wanted, Matcher):
        if "" in forms and "" in wanted:
            return True
        urls = [glob for glob in wanted if parse_url_glob(glob)]
        plain = [glob for glob in wanted if glob not in urls] if loosens else wanted
        return matches_any_glob(forms, plain) or any(
            matches_url_glob(text, glob) for glob in urls for text in forms
        )
    tests: list[Iterable[bool]] = []
    if wanted.host:
        hosts = (find_url_hosts(text, sure=loosens) for text in forms)
        tests.append(matches_host_globs(host, wanted.host) for found in hosts for host in found)
    if wanted.recipient:
        tests.append(
            matches_recipient_globs(text, wanted.recipient, loosens=loosens) for text in forms
        )
    if wanted.enumerator:
        words = {fold_name(word) for word in wanted.enumerator}
        tests.append(fold_name(text) in words for text in forms)
    if wanted.has_range:
        tests.append(wanted.at_least <= _parse_number(text) <= wanted.at_most for text in forms)
    paths = [text for text in forms if _is_path(text)]
    if wanted.folder:
        tests.append(
            _is_inside_folders(path, wanted.folder, facts, every=loosens) for path in paths
        )
    if wanted.path:
        tests.append(_matches_path_globs(path, wanted.path, facts, every=loosens) for path in paths)
    return all(_all_or_any(test, every=loosens) for test in tests)


def _is_path(text: str) -> bool:
    return text.startswith(("/", "~/")) or text == "~" or text.lower().startswith("file:")


def _parse_number(text: str) -> float:
    """Return the number that a text is; nan, which is in no range, where it is none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _is_inside_folders(
    path: str, folders: Iterable[str], facts: CallFacts, *, every: bool = True
) -> bool:
    """Say whether a path lies in one of the folders, in `every` place it may mean or any."""
    roots = [root.rstrip("/") for folder in folders for root in facts.places(folder)]
    places = facts.places(path)
    inside = (any((place + "/").startswith(root + "/") for root in roots) for place in places)
    return _all_or_any(inside, every=every)


def _matches_path_globs(path: str, globs: Iterable[str], facts: CallFacts, *, every: bool) -> bool:
    wholes = (glob if _is_path(glob) else f"/**/{glob}" for glob in globs)
    split = [form.split("/") for whole in wholes for form in facts.places(whole)]
    places = (place.split("/") for place in facts.places(path))
    return _all_or_any(
        (any(_matches_path_steps(place, glob) for glob in split) for place in places), every=every
    )


def _matches_path_steps(steps: list[str], globs: list[str]) -> bool:
    """Say whether a path fits a glob, step by step; `**` stands for any number of steps."""
    reached = {0}
    for glob in (glob.replace("[", "[[]") for glob in globs):
        if glob == "**" and reached:
            reached = set(range(min(reached), len(steps) + 1))
        else:
            there = (at for at in reached if at < len(steps))
            reached = {at + 1 for at in there if fnmatchcase(steps[at], glob)}
    return len(steps) in reached


def _matches_property_names(
    given: Iterable[tuple[Any]], globs: tuple[str, ...], *, loosens: bool
) -> bool:
    """Say whether the names of properties in a value fit: its fields, or the list that it is."""
    names = [lowercase_words(str(name)) for (value,) in given for name in _property_names(value)]
    plain = [glob.replace("_", " ") for glob in globs]
    return _all_or_any((matches_any_glob((name,), plain) for name in names), every=loosens)


def _property_names(value: Any) -> Iterable[Any]:
    return value if isinstance(value, Mapping | list | tuple) else (value,)


def _first_unnamed_argument(match: Match, facts: CallFacts) -> str:
    """Return what is given beside what a rule names, in an object that it reaches into.

    Of a rule that says `only`, any argument counts.
    """
    named = [tuple(map(fold_name, key.split("."))) for key, _ in match.argument]
    objects = {key[0] for key in named if len(key) > 1}
    if match.only:
        objects.update(fold_name(key) for key in facts.given or facts.arguments)
    if not objects:
        return ""
    for arguments in (facts.given, {} if match.only and facts.given else facts.arguments):
        for path in _leaf_paths(arguments):
            folded = tuple(map(fold_name, path))
            known = any(folded[: len(key)] == key for key in named)
            if folded[0] in objects and not known:
                return ".".join(path)
    return ""


def _leaf_paths(table: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for key, part in table.items():
        if isinstance(part, Mapping) and part:
            yield from ((str(key), *path) for path in _leaf_paths(part))
        else:
            yield (str(key),)


def _given_value(arguments: Mapping[str, Any], key: str) -> tuple[Any] | None:
    """Return an argument as it came, in a tuple of one; None if it did not come."""
    value: Any = arguments
    for part in key.split("."):
        if not isinstance(value, Mapping):
            return None
        found = [name for name in value if fold_name(str(name)) == fold_name(part)]
        if not found:
            return None
        value = value[part if part in value else found[0]]
    return (value,)


def _item_texts(value: Any) -> list[str]:
    return [_text_form(part) for part in (value if isinstance(value, list | tuple) else (value,))]


def _text_form(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


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


DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
