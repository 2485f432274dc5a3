"""Rules of a policy: how their parts are read, which calls they speak of, and how they are told.

A rule that loosens must fit all that a call holds, in the one form in which it is sure where that
leads; any other rule speaks of a call when some reading of some value fits.

A condition is a field of `Match` and a row of `CONDITIONS`, here, and a line of docs/policy.md.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from time import mktime
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from iac_base.errors import near_text, quote_text
from iac_base.positions import Path as Where
from iac_base.words import fold_name
from iac_runtime.policy.documents import TableKeys, TableReader, table_keys
from iac_runtime.policy.facts import CallFacts, Verb, describe_undo
from iac_runtime.policy.places import (
    find_url_hosts,
    matches_host_globs,
    matches_recipient_globs,
    matches_url_glob,
    parse_url_glob,
)
from iac_runtime.policy.requests import lowercase_words
from iac_runtime.tool import LEVELS, Level


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

    def has_in_range(self, number: float) -> bool:
        """Say whether a number is in the range; nan is in none."""
        return self.at_least <= number <= self.at_most


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
        until: The moment from which on it no longer holds.
        tainted: Whether a value stood in an earlier result.
        objects: How many objects are changed: the range.
        undoable: Whether it is known that it can be undone.
        sends_to: Globs over the hosts and recipients that something goes to.
        verbs: What any effect does.
        apps_other_than: Globs over apps; speaks of a call that reaches any other.
        writes_outside: Folders; speaks of a call that writes elsewhere.
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
    until: datetime | None = None
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


class RuleReader(TableReader):
    """Reads what rules say, and what their parts are."""

    def read_levels(self, where: Where, value: Any) -> tuple[Level, ...]:
        entries = self.read_nonempty_texts(where, value)
        return tuple(self.read_level(where, entry) for entry in entries)

    def read_argument(self, where: Where, value: Any) -> tuple[tuple[str, WantedValue], ...]:
        if not isinstance(value, Mapping) or not value:
            self.raise_error(where, 'argument must be a table, such as { to = "*/Archive" }.')
        return tuple(
            (".".join(keys), self._wanted_value((*where, *keys), part))
            for keys, part in _argument_leaves(value, ())
        )

    def read_object_range(self, where: Where, value: Any) -> Matcher:
        return self._read_matcher(where, value, _RANGE)

    def _read_matcher(self, where: Where, value: Any, keys: TableKeys) -> Matcher:
        row = self.read_table(where, value, keys)
        if not row:
            self.raise_error(where, f"{where[-1]} is empty; give it a value.")
        return Matcher(**row)

    def read_range_bound(self, where: Where, value: Any) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or value != value:
            self.raise_error(where, f"{where[-1]} must be a number.")
        return value

    def read_folders(self, where: Where, value: Any) -> tuple[str, ...]:
        folders = self.read_nonempty_texts(where, value)
        for entry in folders:
            if entry != "~" and not entry.startswith(("/", "~/")):
                says = f"{quote_text(entry)} is not a folder; start it with / or ~/."
                self.raise_error(where, says)
        return folders

    def read_hours(self, where: Where, value: Any) -> tuple[int, int]:
        span = _HOURS.fullmatch(value) if isinstance(value, str) else None
        if span is None:
            self.raise_error(where, 'hours must be from and to, such as "08:00-18:00".')
        begin, begin_minute, end, end_minute = map(int, span.groups())
        return begin * 60 + begin_minute, end * 60 + end_minute

    def read_days(self, where: Where, value: Any) -> tuple[int, ...]:
        self.read_nonempty_texts(where, value)
        days = self.read_words(where, value, DAYS, "there is no day {}.")
        return tuple(map(DAYS.index, days))

    def read_moment(self, where: Where, value: Any) -> datetime:
        moment = None
        # Some moments of the first year and the last are none in another zone.
        with contextlib.suppress(ValueError, OverflowError, OSError):
            given = datetime.fromisoformat(value) if isinstance(value, str) else value
            moment = given.astimezone() if isinstance(given, datetime) else None
        if moment is None:
            self.raise_error(where, "until must be a date and a time, such as 2026-03-09T18:00.")
        return moment

    def read_level(self, where: Where, value: Any) -> Level:
        for level in LEVELS:
            if isinstance(value, str) and value.upper() == level:
                return level
        hint = near_text(str(value), LEVELS)
        return self.raise_error(where, f"there is no level {quote_text(str(value))}. {hint}")

    def _wanted_value(self, where: Where, value: Any) -> WantedValue:
        if isinstance(value, Mapping):
            return self._read_matcher(where, value, MATCHER)
        if isinstance(value, bool):
            return ("true" if value else "false",)
        if isinstance(value, int | float):
            return (str(value),)
        return ("",) if value == "" else self.read_nonempty_texts(where, value)


def _argument_leaves(
    table: Mapping[str, Any], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the keys of each value; a table of matchers is a value."""
    for key, part in table.items():
        # What a record calls path, host or recipient is a field of it.
        known = {"property"} if not above and fold_name(key) in _RECORDS else MATCHER.keys()
        if isinstance(part, Mapping) and not part.keys() <= known:
            yield from _argument_leaves(part, (*above, key))
        else:
            yield (*above, key), part


_RECORDS: Final = frozenset({"properties", "withproperties", "where"})
"""Arguments that are objects with fields of any name."""


DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_HOURS: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d) *- *([01]\d|2[0-3]):([0-5]\d)")


_RANGE: Final = table_keys("at_least at_most", RuleReader.read_range_bound)
MATCHER: Final[TableKeys] = {
    **_RANGE,
    **table_keys("enumerator host path recipient", RuleReader.read_nonempty_texts),
    "folder": ("folder", RuleReader.read_folders),
    "property": ("properties", RuleReader.read_nonempty_texts),
}
"""What a value must be, by key of the policy file."""


class RuleTrial(NamedTuple):
    """A rule that is held against a call which needs a level."""

    match: Match
    facts: CallFacts
    level: Level
    loosens: bool


class RuleCondition(NamedTuple):
    """A part of a rule.

    Attributes:
        read: Reads its value from the policy file.
        fails: Says whether a call is another than it speaks of, or in words which part of it.
        about: What it asks about that may not be known of a call; empty if that is known.
        section: The section and the key of the policy that it stands in; empty for a rule.
        part: What does not hold where it fails, if not the field's name.
        words: Returns its value in words.
    """

    read: Callable[[Any, Where, Any], Any]
    fails: Callable[[RuleTrial], bool | str]
    about: Literal["", "apps", "deeds", "flows", "files", "texts"] = ""
    section: str = ""
    part: str = ""
    words: Callable[[Any], str] = lambda value: _describe_value(value)


def first_mismatch(match: Match, facts: CallFacts, level: Level, *, loosens: bool) -> str:
    """Return the first part of a rule that does not hold for a call; empty where all do."""
    trial = RuleTrial(match, facts, level, loosens)
    for name, row in CONDITIONS.items():
        fails = getattr(match, name) not in ((), None) and row.fails(trial)
        if fails:
            return fails if isinstance(fails, str) else row.part or name
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
    unknown = {
        "apps": facts.doubt,
        "deeds": unsure,
        "flows": blind or any(effect.verb == "send" and not effect.flow for effect in acts),
        "files": blind or "?" in _written_paths(facts),
        "texts": unseen,
    }
    usual = {name: Match._field_defaults[name] for name, row in CONDITIONS.items() if row.about}
    given = (name for name in usual if getattr(match, name) not in ((), None))
    hidden = any(unknown[CONDITIONS[name].about] for name in given)
    return match._replace(**usual) if hidden else None


def describe_rule(match: Match) -> str:
    """Return what a rule matches, in words, as `iac-mcp policy show` and the page print it."""
    rows = []
    for name, usual in Match._field_defaults.items():
        value, row = getattr(match, name), CONDITIONS.get(name)
        if row is not None and value != usual and name != "argument":
            rows.append(f"{row.section or name} {row.words(value)}")
    return ", ".join(
        [*rows, *(f"{key} = {_describe_value(value)}" for key, value in match.argument)]
    )


def _describe_value(value: Any) -> str:
    if isinstance(value, Matcher):
        given = sorted(value._asdict().items() - Matcher()._asdict().items())
        return " ".join(f"{name} {_describe_value(part)}" for name, part in given)
    return "|".join(value) if isinstance(value, tuple) else str(value).lower()


def _mismatched_argument(trial: RuleTrial) -> str:
    keys = (
        key for key, wanted in trial.match.argument if not _matches_argument(trial, key, wanted)
    )
    return next((f"argument {key}" for key in keys), "")


def _mismatch_beyond_rule(trial: RuleTrial) -> str:
    """Return what a call holds beside what a rule that loosens names or can know."""
    if not trial.loosens:
        return ""
    if unnamed := _first_unnamed_argument(trial.match, trial.facts):
        return f"argument {unnamed}, which the rule does not name"
    unknown = could_match_unknown(trial.match, trial.facts) is not None
    return "something that IAC cannot know about the call" if unknown else ""


def _is_outside_hours(trial: RuleTrial, part: Literal["hours", "days"]) -> bool | str:
    match, at = trial.match, trial.facts.at
    if at is None:
        return trial.loosens and "hours"
    begin, end = match.hours or (0, 1440)
    now, day = at.tm_hour * 60 + at.tm_min, at.tm_wday
    if end <= begin and now < end:
        # The small hours belong to the day on which the span began.
        now, day = now + 1440, (day - 1) % 7
    if part == "days":
        return day not in match.days
    return not begin <= now < (end if begin < end else end + 1440)


def _is_over(trial: RuleTrial) -> bool:
    at, until = trial.facts.at, trial.match.until
    return until is not None and (trial.loosens if at is None else mktime(at) >= until.timestamp())


def _name_condition(field: Literal["tool", "client", "server"]) -> RuleCondition:
    """Return a condition on one name of a call: globs over it."""

    def fails(trial: RuleTrial) -> bool:
        return not matches_any_glob((getattr(trial.facts, field),), getattr(trial.match, field))

    return RuleCondition(RuleReader.read_nonempty_texts, fails)


def _lacks_flow(trial: RuleTrial) -> bool:
    globs, loosens = trial.match.sends_to, trial.loosens
    flows = (row for effect in trial.facts.effects for row in effect.flow)
    places = (row.to for row in flows if row.kind in ("host", "recipient"))
    fits = (matches_recipient_globs(to, globs, loosens=loosens) for to in places)
    return not _all_or_any(fits, every=loosens)


def matches_call(match: Match, facts: CallFacts, level: Level, *, loosens: bool) -> bool:
    """Say whether a rule speaks of a call that needs `level`."""
    return not first_mismatch(match, facts, level, loosens=loosens)


def _written_paths(facts: CallFacts) -> list[str]:
    """Return the files that a call writes, as far as known; `?` for one that is not."""
    paths = [row.to for effect in facts.effects for row in effect.flow if row.kind == "file"]
    return paths + [path for effect in facts.effects for path in effect.files]


def _is_on_other_apps(trial: RuleTrial) -> bool:
    """Say whether a rule about apps does not speak of a call.

    What loosens speaks of a call only if all that it reaches is known and meant; what does not,
    speaks of any app reached.
    """
    facts, globs = trial.facts, trial.match.app
    if not trial.loosens:
        return not any(matches_any_glob(app, globs) for app in facts.apps)
    known = facts.apps and not facts.doubt
    return not known or not all(
        app and matches_any_glob((app, name), globs) for app, name in facts.apps
    )


def matches_any_glob(texts: Iterable[str], globs: Iterable[str]) -> bool:
    """Say whether any of the texts fits any of the globs, without case."""
    folded = [text.casefold() for text in texts if text]
    # References hold brackets, so only * and ? stand for others.
    plain = [glob.casefold().replace("[", "[[]") for glob in globs]
    return any(fnmatchcase(text, glob) for glob in plain for text in folded)


def _matches_argument(trial: RuleTrial, key: str, wanted: WantedValue) -> bool:
    facts, loosens = trial.facts, trial.loosens
    # A recipe's own arguments count beside those that it is bound to.
    rows = (_given_value(facts.arguments, key), _given_value(facts.given, key))
    given = [row for row in rows if row]
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
        whole = (tuple(dict.fromkeys((_text_form(one), *_item_texts(one)))) for (one,) in given)
        sent = (*(sent or ()), *whole)
    fits = (_matches_item(forms, wanted, facts, loosens=loosens) for forms in sent)
    return _all_or_any(fits, every=loosens)


def _all_or_any(fits: Iterable[bool], *, every: bool) -> bool:
    """Say whether `every` one of some items fits, or any; of none neither."""
    fitting = list(fits)
    return any(fitting) and (not every or all(fitting))


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
        hosts = (host for text in forms for host in find_url_hosts(text, sure=loosens))
        tests.append(matches_host_globs(host, wanted.host) for host in hosts)
    if wanted.recipient:
        globs = wanted.recipient
        tests.append(matches_recipient_globs(text, globs, loosens=loosens) for text in forms)
    if wanted.enumerator:
        words = {fold_name(word) for word in wanted.enumerator}
        tests.append(fold_name(text) in words for text in forms)
    if wanted.has_range:
        tests.append(wanted.has_in_range(_parse_number(text)) for text in forms)
    paths = [text for text in forms if _is_path(text)]
    if wanted.folder:
        roots = wanted.folder
        tests.append(_is_inside_folders(path, roots, facts, every=loosens) for path in paths)
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
    several = (
        value if isinstance(value, Mapping | list | tuple) else (value,) for (value,) in given
    )
    names = (lowercase_words(str(name)) for value in several for name in value)
    plain = [glob.replace("_", " ") for glob in globs]
    return _all_or_any((matches_any_glob((name,), plain) for name in names), every=loosens)


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
        names = [name for name in value if fold_name(str(name)) == fold_name(part)]
        if not names:
            return None
        value = value[part if part in value else names[0]]
    return (value,)


def _item_texts(value: Any) -> list[str]:
    return [_text_form(part) for part in (value if isinstance(value, list | tuple) else (value,))]


def _text_form(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


CONDITIONS: Final[Mapping[str, RuleCondition]] = {
    "level": RuleCondition(RuleReader.read_levels, lambda on: on.level not in on.match.level),
    "tool": _name_condition("tool"),
    "app": RuleCondition(RuleReader.read_nonempty_texts, _is_on_other_apps, about="apps"),
    "argument": RuleCondition(RuleReader.read_argument, _mismatched_argument),
    "only": RuleCondition(RuleReader.read_boolean, _mismatch_beyond_rule),
    "undoable": RuleCondition(
        RuleReader.read_boolean,
        lambda on: on.match.undoable != (on.facts.is_read_only or describe_undo(on.facts).is_whole),
    ),
    "client": _name_condition("client"),
    "server": _name_condition("server"),
    "hours": RuleCondition(
        RuleReader.read_hours,
        lambda on: _is_outside_hours(on, "hours"),
        words=lambda span: "-".join(f"{at // 60:02}:{at % 60:02}" for at in span),
    ),
    "days": RuleCondition(
        RuleReader.read_days,
        lambda on: _is_outside_hours(on, "days"),
        words=lambda days: "|".join(DAYS[at] for at in days),
    ),
    "until": RuleCondition(
        RuleReader.read_moment, _is_over, words=lambda moment: f"{moment:%Y-%m-%d %H:%M}"
    ),
    "tainted": RuleCondition(
        RuleReader.read_boolean,
        lambda on: on.match.tainted != any(x.rule == "from-a-result" for x in on.facts.raised),
        about="texts",
    ),
    "objects": RuleCondition(
        RuleReader.read_object_range,
        lambda on: not (on.match.objects or Matcher()).has_in_range(on.facts.object_count),
        about="texts",
    ),
    "sends_to": RuleCondition(RuleReader.read_nonempty_texts, _lacks_flow, about="flows"),
    "verbs": RuleCondition(
        RuleReader.read_boolean,
        lambda on: not any(effect.verb in on.match.verbs for effect in on.facts.effects),
        about="deeds",
        section="never",
        part="what the call does",
    ),
    "apps_other_than": RuleCondition(
        RuleReader.read_nonempty_texts,
        lambda on: all(
            app and matches_any_glob((app, name), on.match.apps_other_than)
            for app, name in on.facts.apps
        ),
        about="apps",
        section="only apps",
        part="apps",
    ),
    "writes_outside": RuleCondition(
        RuleReader.read_folders,
        lambda on: all(
            _is_inside_folders(path, on.match.writes_outside, on.facts)
            for path in _written_paths(on.facts)
            if path != "?"
        ),
        about="files",
        section="folders write",
        part="folders",
    ),
}
"""The parts of a rule, by field of `Match`, in the order in which they are held against a call."""
