"""The field book: what real apps do when they are scripted, as rows with their sources.

One TOML file or more per app under `field/` (rows of small apps name theirs), tables `[[fact]]`;
`[[left]]` names what was gathered and is no row, with the reason. A row says what is done (`act`),
what `happens`, the `safe` form, and where it acts (`use`). People add `[[fact]]` rows to their own
quirk files. Rows stay in the generator: `compile_field` makes the one table that run time,
simulator and hints read.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from iac_base.words import STANDARD_VERBS
from iac_gen.resolve import ResolvedDictionary

KINDS: Final[Mapping[str, frozenset[str]]] = {
    "loss": frozenset({"postcondition", "question", "refusal"}),
    "cost": frozenset({"planner"}),
    **dict.fromkeys(("error", "ids", "format", "order", "locale", "type"), frozenset({"profile"})),
    **dict.fromkeys(("permission", "ui"), frozenset({"hint"})),
    "safe-form": frozenset({"quirk", "recipe"}),
    "version": frozenset(),
    "engine": frozenset(),
}
"""What a fact is about -> where it has to act, in one of these at least; empty: anywhere."""

USES: Final[Mapping[str, tuple[str, ...]]] = {
    # What was written is read back, as the row says.
    "postcondition": ("terms", "act", "happens", "safe", "play", "cost", "given"),
    # The question tells it.
    "question": ("terms", "act", "happens"),
    # A call that is as `given` is refused, and why; the question of any other tells it.
    "refusal": ("terms", "act", "happens", "safe", "play", "given"),
    # The planner of reads weighs it.
    "planner": ("terms", "cost", "prefer", "profile"),
    # The hard simulator plays it.
    "profile": ("terms", "play", "cost", "profile"),
    # A failure is explained by it.
    "hint": ("terms", "act", "happens", "safe", "play"),
    # A quirk or recipe of the app's quirk file takes the safe form: `by` names them.
    "quirk": (),
    "recipe": (),
    # A script that does it, in the library or validated, is told by `warn`.
    "lint": ("act", "happens", "safe", "warn"),
    # The guide of the app tells it.
    "guide": ("act", "happens", "safe"),
    # Our own code takes the safe form: `held` is the test that holds it to that.
    "code": (),
}
"""Where a row acts -> what of it goes into the compiled table."""

COSTS: Final[Mapping[str, str]] = {
    "event_ms": "one event",
    "id_ms": "reaching one object by id",
    "positional_ms": "reaching one object by position",
    "column_ms_per_1000": "one property of 1,000 objects in one event",
    "whose_ms_per_1000": "a filter over 1,000 objects",
    "item_ms": "reading one object on its own",
    "body_ms": "reading one heavy value (a body, a picture)",
    "act_ms": "one change",
    "start_ms": "from launch to the first answer",
    "settle_ms": "from the answer of a change until it can be read",
    "tries": "looks until then",
    "stall_ms": "no answer after this",
    "limit_ms": "a time-out that is in force",
    "answer_bytes": "bytes of the largest answer",
    "memory_mb": "megabytes that the app grows by",
    "batch": "objects in one event, at most",
    "parallel": "callers at once, at most",
    "at": "objects that it was measured with",
}
"""What a `cost` may say."""

WAYS: Final[Mapping[str, str]] = {
    "column": "read columns, and compare on our side",
    "window": "read slices from the newest on, and stop early",
    "whose": "let the app filter",
    "id": "name objects by id",
    "scope": "name the container first",
    "batch": "many objects in one event, within a bound",
    "queue": "one caller at a time",
    "wait": "give it time, and look afterwards",
    "less": "leave the heavy value out",
}
"""What a row advises the planner to `prefer`."""

FAULTS: Final[Mapping[str, str]] = {
    "no-effect": "answers like a success and changes nothing",
    "instead": "does another thing than was asked: `value` says what",
    "drops": "loses `part` of what was given or was there",
    "extra": "leaves or changes `part` beside what was asked",
    "reverts": "takes the change back after `ms`",
    "late": "the change can be read only after `ms`",
    "stale": "a read answers the state of before, for `ms`",
    "error": "fails with `number`",
    "done-anyway": "fails with `number` and did what was asked",
    "hang": "gives no answer for `ms`, or never",
    "crash": "the app quits; the next event gets `number`",
    "dialog": "a panel blocks the event until somebody answers",
    "front": "acts on what is in front, or needs the app in front",
    "denied": "is refused with `number`, whatever the object",
    "form": "a value comes in another `form` than declared",
    "missing": "objects or values are left out, or come as missing value",
    "column-fails": "one item fails the whole column with `number`",
    "order": "objects come in the order that `value` says",
    "renumber": "the id changes, or the one that was answered is not the lasting one",
    "unscoped": "an id or name is found outside the container that was named",
    "ambiguous": "a name fits several objects, and the first is taken",
    "by-path": "a nested object is named by its path",
    "localised": "a built-in name or text is in the language of the user",
}
"""The faults that the hard simulator plays: `play = { fault = ..., verb = ..., of = ... }`."""

PROFILES: Final[Mapping[str, str]] = {
    "mild": "the kinder of what sources say",
    "sick": "the worse of what sources say, or an app in a bad state",
    "old": "versions of before",
}
"""Variants of an app that play a row beside the usual hard one."""

_PLAY: Final[Mapping[str, type]] = {
    **dict.fromkeys("fault verb of property form part value needs having".split(), str),
    **dict.fromkeys(("number", "ms"), int),
}
_LANGUAGES: Final = ("applescript", "javascript")
CONFIDENCE: Final[Mapping[str, bool]] = {
    "by several": True,
    "documented": True,
    "measured by one": False,
    "claimed": False,
}
"""Who says it -> whether it counts as proven."""

ANY_APP: Final = frozenset({"*", *STANDARD_VERBS})
"""Terms that every app has, whatever its dictionary lists."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One row of the field book.

    `terms` are as the dictionary has them: a command, a class, `class.property`,
    `class.element`; `*` is all of the app. `left` says why a row does not act where its kind
    demands; `profile` names the variant of the app that plays it where sources disagree; `ref`
    is its id in the collection that it comes from, where that is another. `warn` has a pattern by
    language, over a script as `iac_applescript.analysis.constructs` spells it; `stays` is what no
    undo brings back; `given` is a pattern that the line of a call must have for the row to refuse
    it, or to be looked for in its outcome; `probe` has a script by language that only reads, and
    answers true on a Mac where it is so.
    """

    id: str
    kind: str
    terms: tuple[str, ...]
    act: str
    happens: str
    sources: tuple[str, ...]
    confidence: str
    use: tuple[str, ...]
    when: str = ""
    safe: str = ""
    by: tuple[str, ...] = ()
    undo: str = ""
    stays: str = ""
    held: str = ""
    left: str = ""
    ref: str = ""
    profile: str = ""
    prefer: str = ""
    given: str = ""
    cost: Mapping[str, int] = field(default_factory=dict)
    play: Mapping[str, str | int] = field(default_factory=dict)
    warn: Mapping[str, str] = field(default_factory=dict)
    probe: Mapping[str, str] = field(default_factory=dict)
    app: str = ""
    place: str = ""

    @property
    def is_proven(self) -> bool:
        """Say whether more than one measured it, or the maker documents it."""
        return CONFIDENCE[self.confidence]


FACT_LISTS: Final = ("terms", "sources", "use", "by")
FACT_TABLES: Final = ("play", "cost", "warn", "probe")
FACT_KEYS: Final = tuple(one.name for one in fields(Fact) if one.name != "place")
FACT_NEEDED: Final = ("id", "kind", "terms", "act", "happens", "sources", "confidence", "use")


def fact_fault(row: Mapping[str, Any]) -> str:
    """Return what is wrong with a row whose keys are right, empty where nothing is."""
    use, play, cost, warn, probe = (row.get(key, {}) for key in ("use", *FACT_TABLES))
    known: Iterable[str]
    for key, known in (("kind", KINDS), ("confidence", CONFIDENCE)):
        if row[key] not in known:
            return f"{row[key]} is not a {key}; there are {', '.join(known)}"
    words: Iterable[str]
    scripts = ({**warn, **probe}, _LANGUAGES)
    for words, known in ((use, USES), (cost, COSTS), (play, _PLAY), scripts):
        for word in words:
            if word not in known:
                return f"[[fact]] {row['id']} has {word}; there are {', '.join(known)}"
    numbers = all(type(one) is int and one >= 0 for one in cost.values())
    if not numbers or any(type(play[key]) is not _PLAY[key] for key in play):
        return f"[[fact]] {row['id']} has a cost or play of the wrong type"
    if play.get("fault", "no-effect") not in FAULTS:
        return f"{play['fault']} is not a fault; there are {', '.join(FAULTS)}"
    for empty in ("terms", "sources"):
        if not row[empty]:
            return f"[[fact]] {row['id']} has no {empty}"
    demanded = KINDS[row["kind"]] or USES.keys()
    if not demanded & set(use) and "left" not in row:
        return (
            f"[[fact]] {row['id']} is of the kind {row['kind']} and acts nowhere;"
            f" use one of {', '.join(sorted(demanded))}, or say why not in left"
        )
    if bool({"quirk", "recipe"} & set(use)) != bool(row.get("by")):
        return f"[[fact]] {row['id']} needs both: quirk or recipe in use, and their names in by"
    if row.get("profile", "mild") not in PROFILES:
        return f"{row['profile']} is not a profile; there are {', '.join(PROFILES)}"
    if ("profile" in use) != ("fault" in play):
        return f"[[fact]] {row['id']} needs both: profile in use, and a play with its fault"
    if ("lint" in use) != bool(warn) or ("code" in use) != ("held" in row):
        return f"[[fact]] {row['id']} needs both: lint and a warn, or code and its test in held"
    if not all(map(_is_pattern, (row.get("given", ""), *warn.values()))):
        return f"[[fact]] {row['id']} has a given or warn that is no pattern"
    if row.get("prefer", "id") not in WAYS:
        return f"{row['prefer']} is no way to prefer; there are {', '.join(WAYS)}"
    if "planner" in use and "prefer" not in row:
        return f"[[fact]] {row['id']} is for the planner and says nothing to prefer"
    return ""


def _is_pattern(given: str) -> bool:
    try:
        return bool(re.compile(given))
    except (re.error, TypeError):
        return False


def read_fact(app: str, place: str, row: Mapping[str, Any]) -> Fact:
    """Return a row without faults as a fact about `app`, or about the one that it names."""
    given: dict[str, Any] = {"app": app, "place": place, **row}
    given |= {key: tuple(row.get(key, ())) for key in FACT_LISTS}
    given.pop("why", None)
    return Fact(**given)


def fact_names(fact: Fact) -> set[str]:
    """Return what a row's app can be asked for by: file, bundle id, or the end of that."""
    file = fact.place.rpartition(":")[0].rpartition("/")[2].removesuffix(".toml")
    return {file, fact.app.lower(), fact.app.lower().rpartition(".")[2]} - {""}


def unknown_terms(resolved: ResolvedDictionary, row: Mapping[str, Any]) -> list[str]:
    """Return the terms of a row, and of its play, that a dictionary does not have."""
    known = known_terms(resolved)
    play = row.get("play", {})
    terms = [*row["terms"], *(play[key] for key in ("verb", "of") if key in play)]
    if "property" in play:
        terms.append(f"{play['of']}.{play['property']}" if "of" in play else play["property"])
    return [term for term in terms if term not in known]


def known_terms(resolved: ResolvedDictionary) -> frozenset[str]:
    """Return every term that a row about this dictionary may name."""
    terms = {*ANY_APP, *(command.name for command in resolved.commands)}
    owners = {one.name: one for one in resolved.classes}
    for name, owner in owners.items():
        seen: set[str] = set()
        while owner.name not in seen:
            seen.add(owner.name)
            held = [prop.name for prop in owner.properties]
            held += [element.type for element in owner.elements]
            terms |= {name, *(f"{name}.{one}" for one in held), *held}
            owner = owners.get(owner.inherits, owner)
    for record in resolved.records:
        terms |= {record.name, *(f"{record.name}.{prop.name}" for prop in record.properties)}
    return frozenset(terms)


def compile_field(facts: Sequence[Fact]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the table that run time reads: bundle id -> use -> what of each row that use needs.

    The id of the engine's rows is empty: they are about every app. Beside the uses there is `undo`,
    what stays in spite of it.
    """
    table: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for fact in facts:
        for use, keys in _compiled_uses(fact):
            taken = {key: getattr(fact, key) for key in ("id", *keys) if getattr(fact, key)}
            table.setdefault(fact.app, {}).setdefault(use, []).append(taken)
    return table


def _compiled_uses(fact: Fact) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield from ((use, USES[use]) for use in fact.use if USES[use])
    if fact.stays:
        yield "undo", ("terms", "play", "stays")


def render_field(facts: Sequence[Fact]) -> str:
    """Return the table as a file: an app a line."""
    table = compile_field(facts).items()
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in sorted(table))


def summarize_facts(facts: Iterable[Fact]) -> Iterator[str]:
    """Yield a line an app: how many rows it has, who says them, what they are about, and where they
    act."""
    apps: dict[str, list[Fact]] = {}
    for fact in facts:
        apps.setdefault(fact.app, []).append(fact)
    for app, rows in sorted(apps.items()):
        words = (
            [fact.confidence for fact in rows],
            [fact.kind for fact in rows],
            [use for fact in rows for use in fact.use or ("nowhere",)],
        )
        said = "; ".join(
            ", ".join(f"{word} {count}" for word, count in Counter(one).most_common())
            for one in words
        )
        yield f"{app or 'every app'}: {len(rows)} row{'s'[: len(rows) > 1]}; {said}"


def describe_fact(fact: Fact) -> list[str]:
    """Return the lines of a row, as `iac-gen show --field` prints it."""
    numbers = ", ".join(
        f"{COSTS[key]} {value:,}{' ms' if '_ms' in key else ''}" for key, value in fact.cost.items()
    )
    faults = " ".join(f"{key}={value}" for key, value in fact.play.items())
    return [
        f"{fact.id} [{fact.kind}, {fact.confidence}] {', '.join(fact.terms)}",
        f"  {fact.act}: {fact.happens}",
        *(
            f"  {name}: {text}"
            for name, text in (
                ("when", fact.when),
                ("safe", fact.safe),
                ("cost", numbers),
                ("planner", WAYS.get(fact.prefer, "")),
                ("undo", fact.undo),
                ("no undo", fact.stays),
                ("given", fact.given),
                ("acts", ", ".join((*fact.use, *fact.by))),
                ("held by", fact.held),
                ("play", faults),
                ("only in", fact.profile),
                ("acts nowhere", fact.left),
                ("sources", "; ".join(fact.sources)),
            )
            if text
        ),
    ]
