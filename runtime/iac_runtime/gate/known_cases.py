"""What the field book knows of a call: told where it failed, and where a person is asked about it.

A row fits a call that has one of its verbs, and one of its classes or properties, where it names
any; a row about failures that says what is played, one that has that verb, class and property. It
fits a failure by its number; without a number it fits what does not explain itself.
Loaded for what fails or is asked about, and for no call that works.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from iac_base.errors import ErrorType, ToolError
from iac_base.words import STANDARD_VERBS, fold_name, split_name
from iac_runtime.gate.plans import Plan
from iac_runtime.language.references import resolve_steps
from iac_runtime.language.steps import AllElements, ById, PropertyStep, Whose
from iac_runtime.policy.facts import CallFacts
from iac_runtime.policy.requests import class_term, find_specifiers_and_columns, inspect_request
from iac_runtime.tools.field import field_rows, find_gap_rows
from iac_runtime.tools.tables import APPLICATION, Operation, parameters_of
from iac_runtime.types import type_alternatives

_NUMBERS: Final[Mapping[ErrorType, int]] = {"PERMISSION_DENIED": -1743, "TIMEOUT": -1712}
"""The number that a failure without one stands for."""

_VAGUE: Final = frozenset({"EXECUTION_ERROR", "TIMEOUT", "UNKNOWN"})
"""Failures whose cause lies in the app, and that do not say which."""

_WAITS: Final = frozenset({"dialog", "hang"})
"""Faults that end in a time-out, unless they have a number."""

_UNREAD: Final = re.compile(r"could not be read \((-\d+)\)")
"""How a note of the harness ends that names a property, with the number of the failure."""

_READS: Final = frozenset({"get", "properties", "columns", "list"})

_WHOLE: Final = frozenset({"*", APPLICATION})
"""Terms that every call of an app has."""


class CallTerms(NamedTuple):
    """What a call does to what, in folded words.

    Attributes:
        app: The bundle id.
        words: Its verbs, the classes of its objects and what they inherit from, and the properties
            and parameters that it has.
        owners: Every class on the way to an object.
        verbs: Whatever is a verb in this app.
    """

    app: str
    words: frozenset[str]
    owners: frozenset[str]
    verbs: frozenset[str]


def explain_failure(error: ToolError, plan: Plan) -> None:
    """Add the case that fits a failure best to what its error suggests, if one does."""
    row = find_failure_case(_plan_terms(plan), error.type, error.number)
    if row is not None:
        error.suggestion = f"{error.suggestion} {describe_case(row)}".lstrip()


def find_failure_case(
    call: CallTerms, kind: ErrorType, number: int | None
) -> Mapping[str, Any] | None:
    """Return the row that explains a failure best; None where none does."""
    number = _NUMBERS.get(kind) if number is None else number
    rows = [row for row in known_cases(call, "hint") if _fits_failure(row, kind, number)]
    # One that knows the number is nearer than one that only knows the act.
    return max(rows, key=lambda row: "number" in row.get("play", {}), default=None)


def describe_call_cases(plan: Plan) -> str:
    """Return the case that fits a call best, or the first that fits one of several; or nothing."""
    for part in plan.parts or (plan,):
        terms = _plan_terms(part)
        # A row for refusals that names no line is for a person to weigh.
        told = [
            row
            for row in known_cases(terms, "refusal")
            if "given" not in row
            and terms.words
            & terms.verbs
            & _fold_all((*row["terms"], row.get("play", {}).get("verb", "")))
        ]
        for row in (*known_cases(terms, "question"), *told):
            return describe_case(row)
    return ""


def add_known_cases(plan: Plan) -> CallFacts:
    """Return the facts of a call that is asked about: its case, and what no undo brings back."""
    facts = replace(plan.facts, known=describe_call_cases(plan))
    lasting = known_cases(_plan_terms(plan), "undo")
    if not lasting or facts.undo is None or not facts.undo.is_whole:
        return facts
    return replace(facts, undo=facts.undo._replace(leaves=f"but {lasting[0]['stays']}"))


def refuse_known_case(facts: CallFacts, operation: Operation) -> None:
    """Let no call go out of which a row says that the app cannot do it, or does harm.

    Raises:
        ToolError: A row with `given` fits the call, and its line.
    """
    for row in known_cases(read_call_terms(facts, operation), "refusal"):
        if "given" in row and re.search(row["given"], facts.line):
            app = operation.tables.app.name
            says = f"IAC does not do this in {app}: {row['act']}. {row['happens']}"
            way = f"Nothing was sent. {row.get('safe', '')}".rstrip()
            raise ToolError("NOT_SUPPORTED", says, way, app=app)


def describe_gaps(
    facts: CallFacts, operation: Operation, notes: Iterable[str], *, is_empty: bool
) -> list[str]:
    """Return the cases by which an answer may lack something.

    A row fits an answer whose line is as it says (`given`); an empty one where it is about the
    property or the class that was read; a part that could not be read by its number in `notes`.
    """
    terms = read_call_terms(facts, operation)
    rows = find_gap_rows(terms.app, facts.line)
    if is_empty and not rows:
        plays = ((row, row.get("play", {})) for row in field_rows(terms.app, "postcondition"))
        rows = [row for row, play in plays if _lacks_thing(play, terms)]
    numbers = dict.fromkeys(map(int, _UNREAD.findall("\n".join(notes))))
    why = (find_failure_case(terms, "NOT_FOUND", number) for number in numbers)
    rows += [row for row in why if row is not None]
    return [describe_case(row) for row in rows]


def _lacks_thing(play: Mapping[str, Any], call: CallTerms) -> bool:
    """Say whether a call read what a row says may be missing: a property, or objects."""
    if play.get("fault") != "missing":
        return False
    if "property" in play:
        return {fold_name(play["property"]), fold_name(play["of"])} <= {*call.words, *call.owners}
    part = play.get("part", "")
    return any(fold_name(one.removesuffix("s")) in call.words for one in (part, *part.split()))


def _plan_terms(plan: Plan) -> CallTerms:
    return read_call_terms(plan.facts, plan.tool.operation, plan.tool.name)


def describe_case(row: Mapping[str, Any]) -> str:
    """Return a row as it is told."""
    return " ".join(filter(None, (f"Known case ({row['act']}):", row["happens"], row.get("safe"))))


def known_cases(call: CallTerms, use: str) -> list[Mapping[str, Any]]:
    """Return the rows that fit a call: those of its app first, and with most of its terms."""
    everywhere = field_rows("", use)
    own = field_rows(call.app, use)[len(everywhere) :]
    ranked = [
        [(_count_fitting_terms(row, call), row) for row in rows] for rows in (own, everywhere)
    ]
    for rows in ranked:
        rows.sort(key=lambda one: -one[0])
    return [row for rows in ranked for rank, row in rows if rank >= 0]


def _fits_failure(row: Mapping[str, Any], kind: ErrorType, number: int | None) -> bool:
    """Say whether a failure is such as a row tells of."""
    play = row.get("play", {})
    wanted = play.get("number", -1712 if play.get("fault") in _WAITS else None)
    if wanted is None:
        return kind in _VAGUE and _WHOLE.isdisjoint(row["terms"])
    return bool(wanted == number)


def _count_fitting_terms(row: Mapping[str, Any], call: CallTerms) -> int:
    """Return how many terms of a row a call has; -1 where it does not fit."""
    play = row.get("play", {})
    played = [play[key] for key in ("verb", "of", "property") if key in play]
    if played:
        fits = all(one == APPLICATION or fold_name(one) in call.words for one in played)
        return len(played) if fits else -1
    if not _WHOLE.isdisjoint(row["terms"]):
        return 0
    terms: Sequence[str] = row["terms"]
    verbs = [term for term in terms if fold_name(term) in call.verbs]
    things = [term for term in terms if term not in verbs]
    acts = [term for term in verbs if fold_name(term) in call.words]
    has = [term for term in things if _has_thing(term, call)]
    # A property of a class is set or read; what is made has no old value.
    dotted = any("." in term for term in has)
    implied = "make" not in call.words if dotted else not verbs
    fits = (bool(acts) or implied) and (bool(has) or not things)
    return len(acts) + len(has) if fits else -1


def _has_thing(term: str, call: CallTerms) -> bool:
    owner, _, last = term.rpartition(".")
    owned = owner in ("", APPLICATION) or fold_name(owner) in call.owners
    return owned and fold_name(last) in call.words


def read_call_terms(facts: CallFacts, operation: Operation | None, tool: str = "") -> CallTerms:
    """Return what a call does to what."""
    event, standard = facts.event, _fold_all(STANDARD_VERBS)
    if operation is not None and operation.spec.intent is not None:
        return _read_intent_terms(operation, standard)
    if event is None or operation is None:
        # `app_launch` has no event.
        words = {tool.rpartition("_")[2], *(effect.kind for effect in facts.effects)}
        return CallTerms(facts.app[0], _fold_all(words), frozenset(), standard)
    tables = operation.tables
    view = inspect_request(event, parameters_of(operation), "", tables)

    def lineage(name: str) -> Iterator[str]:
        term = class_term(name, tables)
        return (found for found, _ in tables.lineage(term)) if term in tables.classes else iter(())

    words = {"get" if one.op in _READS else one.command or one.op for one in view.requests}
    words |= {row.name for row in view.values}
    owners = {
        *lineage(view.created_class),
        *(name for row in facts.effects[:1] for name in lineage(row.kind)),
    }
    words |= owners
    for steps in find_specifiers_and_columns(event):
        named = [step.name for step in steps if isinstance(step, AllElements)]
        words |= {step.name for step in steps if isinstance(step, PropertyStep)}
        words |= {"whose" for step in steps if isinstance(step, Whose)}
        words |= {"id" for step in steps if isinstance(step, ById)}
        # A property can be an object, as `windows[0].currentTab` is a tab.
        held = {*(resolve_steps(steps, tables).classes or ())} - {APPLICATION}
        words |= {term for name in (*named[-1:], *held) for term in lineage(name)}
        owners |= {term for name in (*named, *held) for term in lineage(name)}
    commands = {spec.jxa for spec in tables.tools.values() if spec.op == "command"}
    known = standard | _fold_all(commands)
    return CallTerms(event.app, _fold_all(words), _fold_all(owners), known)


def _read_intent_terms(operation: Operation, standard: frozenset[str]) -> CallTerms:
    """Return what an App Intent does to what: its names alone say so, `append to note`, `body`."""
    from iac_runtime.search.lexicon import load_lexicon

    spec = operation.spec
    verb, *rest = split_name(spec.jxa or operation.name)
    acts = {op for op, verbs in load_lexicon().intents.items() if verb in verbs}
    kinds = [spec.result, *(row.type for row in spec.params.values())]
    things = {part.removeprefix("list of ") for kind in kinds for part in type_alternatives(kind)}
    things |= {*(class_term(word, operation.tables) for word in rest), "".join(rest), *spec.params}
    named = _fold_all(things)
    return CallTerms(operation.tables.app.id, _fold_all({verb, *acts}) | named, named, standard)


def _fold_all(names: Iterable[str]) -> frozenset[str]:
    return frozenset(map(fold_name, names))
