"""A program in a maintained sandbox, and its rehearsal.

The sandbox is a process of its own, which stops at each call of a tool. Nothing of this machine is
in there: no files, no environment, no modules but the language's own. What goes wrong in it ends
it, and nothing else.

In a rehearsal reads are of the real apps, through the gate; what would change them is noted. A call
that changes something is planned and answered from a copy of what was read: what is set is as it
was set, what is deleted is gone, what is made is there under a reference of its own. What comes of
it is a table: the calls that would be made, each with its effects.
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from itertools import islice
from typing import Any, Final, NamedTuple

from iac_base.errors import (
    Cancellation,
    ErrorType,
    InvalidParameterError,
    SetupError,
    ToolError,
    pip_install,
)
from iac_base.text import clean_value
from iac_base.words import fold_name
from iac_plans.check import PRELUDE, ProgramUsage, type_check_error
from iac_runtime.language.terms import has_elements
from iac_runtime.policy.facts import VERB_WORDS
from iac_runtime.tool import highest
from iac_runtime.toolkit import (
    Call,
    CallFacts,
    CallGate,
    CompletedCall,
    DateText,
    Effect,
    Plan,
    RefText,
    RefusedCall,
    Tables,
    TargetDescription,
    to_json_types,
)
from iac_runtime.tools.tables import APPLICATION
from iac_runtime.types import find_type, parse_type

COMPUTE_SECONDS: Final = 5.0
"""For reckoning, in all; what calls take is not counted."""

MEMORY: Final = 64 * 1024 * 1024
DEPTH: Final = 200
CALLS: Final = 500
_INSIDE: Final = 12
"""Levels of a result; and `_EXACT` is the largest whole number in it."""
_EXACT: Final = 2**53

Answer = Callable[[str, str, tuple[Any, ...], Mapping[str, Any]], Any]
"""Takes app, function, arguments in order and by name; a ToolError it raises can be caught in the
program, and any other exception ends it."""


class FrozenWorld(NamedTuple):
    """What a program is told of the world beside its calls: the same in each of its runs."""

    now: datetime
    seed: str


def load_sandbox() -> Any:
    """Return the package of the sandbox.

    Raises:
        SetupError: It is not installed; the text says how to get it.
    """
    try:
        import pydantic_monty
    except ImportError:
        raise SetupError(f"Plans need a sandbox; install it with: {pip_install('plans')}") from None
    return pydantic_monty


def check_program(program: str, used: ProgramUsage, frozen: FrozenWorld) -> None:
    """Check a program against the signatures of its tools; it stops at its first call.

    Raises:
        InvalidParameterError: It has faults, one line each.
    """

    class _Enough(Exception):  # noqa: N818 (no error)
        pass

    def stop_at_call(*_given: Any) -> Any:
        raise _Enough

    try:
        run_program(program, used, stop_at_call, frozen)
    except _Enough:
        pass
    except ToolError as error:
        if error.type == "INVALID_PARAMETER":
            raise


def run_program(
    program: str,
    used: ProgramUsage,
    answer: Answer,
    frozen: FrozenWorld,
    *,
    checked: bool = False,
    seconds: float = COMPUTE_SECONDS,
) -> Any:
    """Run a program, and return its result as plain values; its calls go to `answer`.

    Raises:
        InvalidParameterError: It does not fit the signatures; unless it is `checked` already.
        ToolError: It failed, or reached a limit; of a call that failed in it, that error.
    """
    sandbox = load_sandbox()
    modules = {
        key: sandbox.ExternalModule(dict.fromkeys(names, _reject_call), stubs=used.stubs[key])
        for key, names in used.functions.items()
    }
    failed: list[ToolError] = []
    keys: dict[str, None] = {}
    with (
        sandbox.Monty(max_processes=1, request_timeout=2 * seconds) as pool,
        pool.checkout(
            script_name="plan",
            limits={
                "max_feed_duration_secs": seconds,
                "max_memory": MEMORY,
                "max_recursion_depth": DEPTH,
                "max_suspensions": 2 * CALLS,
                "max_total_sleep_secs": 0.0,
            },
            type_check=not checked,
            type_check_format="concise",
            os_policy={
                "datetime": frozen.now,
                "sleep": "zero",
                "random_start": {"seed": frozen.seed},
            },
            external_modules=modules,
        ) as session,
    ):
        quiet = sandbox.CollectString(max_bytes=100_000)
        try:
            session.feed_run("\n".join((PRELUDE, *(f"import {key}" for key in modules))))
            at = session.feed_start(program, print_callback=quiet)
            while not isinstance(at, sandbox.MontyComplete):
                if isinstance(at, sandbox.FunctionSnapshot):
                    at = at.resume(_resume_value(at, used, answer, failed, keys))
                elif isinstance(at, sandbox.NameLookupSnapshot):
                    # There is no such name.
                    at = at.resume()
                else:
                    raise ToolError("EXECUTION_ERROR", "A plan cannot use await.")
            return result_to_json(at.output)
        except sandbox.MontyTypingError as error:
            if fault := type_check_error(error.display(), program, used):
                raise fault from None
        except sandbox.MontyError as error:
            raise _program_failure(sandbox, error, failed, keys) from None
    return run_program(program, used, answer, frozen, checked=True, seconds=seconds)


def _reject_call(*_args: Any, **_kwargs: Any) -> None:
    raise AssertionError("Calls run one by one.")


def _resume_value(
    at: Any, used: ProgramUsage, answer: Answer, failed: list[ToolError], keys: dict[str, None]
) -> dict[str, Any]:
    """Return what the sandbox goes on with; the keys of its rows are remembered in `keys`."""
    key, _, function = str(at.function_name).partition(".")
    if at.is_os_function or function not in used.functions.get(key, ()):
        return {"exception": PermissionError("a plan has no files, network or system access")}
    try:
        value = answer(key, function, at.args, at.kwargs)
    except ToolError as error:
        failed.append(error)
        return {"exception": RuntimeError(str(error))}
    for row in islice(value if isinstance(value, list) else [value], 1):
        keys.update(dict.fromkeys(row if isinstance(row, dict) else ()))
    return {"return_value": value}


def _program_failure(
    sandbox: Any, error: Any, failed: list[ToolError], keys: Iterable[str]
) -> ToolError:
    """Return why a program ended: the error of a call, where that was not caught in it."""
    if isinstance(error, sandbox.MontyCrashedError):
        return ToolError(
            "EXECUTION_ERROR", "The sandbox of the plan crashed, so the plan was stopped."
        )
    frames = error.traceback() if hasattr(error, "traceback") else []
    line = f" in line {frames[-1].line}" if frames else ""
    message = clean_value(error.display("type-msg") if frames else str(error))[:500]
    if failed and str(failed[-1]) in clean_value(str(error)):
        failed[-1].message = f"The plan stopped{line}: {failed[-1].message}"
        return failed[-1]
    kind: ErrorType = "TIMEOUT" if message.startswith("TimeoutError") else "EXECUTION_ERROR"
    way = next((way for part, way in _WAYS.items() if part in message), "")
    if message.startswith("KeyError") and keys:
        way = f"The keys of the rows are: {', '.join(islice(keys, _LISTED))}."
    return ToolError(kind, f"The plan stopped{line}: {message}{'.' if way else ''}", way)


_WAYS: Final[Mapping[str, str]] = {
    "argument must be str": "Dates in rows are datetime objects: use them as they are.",
    "is not an iterator": "Take the first of a list with [0], as in [row for row in rows][0].",
    "'datetime.datetime' and 'datetime.datetime'": (
        "Dates in rows have a time zone: compare them with datetime.now().astimezone()."
    ),
}
"""What is in the message of an error -> what to write instead."""


def result_to_json(value: Any, depth: int = 0) -> Any:
    """Return a result of a program as JSON has it.

    Raises:
        ToolError: It holds what is no plain value.
    """
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, int) and abs(value) <= _EXACT:
        return int(value)
    if isinstance(value, float) and abs(value) <= 1e300:
        return float(value)
    if isinstance(value, date):
        return value.isoformat()
    if depth < _INSIDE and isinstance(value, dict):
        return {str(result_to_json(k)): result_to_json(v, depth + 1) for k, v in value.items()}
    if depth < _INSIDE and isinstance(value, list | tuple | set | frozenset):
        return [result_to_json(part, depth + 1) for part in value]
    raise ToolError(
        "EXECUTION_ERROR",
        "A plan can return text, numbers, dates, lists and dictionaries.",
        "End the program with a value of one of these kinds.",
    )


_SURROGATE: Final = re.compile("[\ud800-\udfff]")

ROWS: Final = 20_000
PLAN_SECONDS: Final = 20.0
"""For a rehearsal, and for a run: with both a call is over before a client gives up."""

_LISTED: Final = 20
_GONE: Final = "coredelo"
_EMPTY: Final[Mapping[str, Any]] = {"text": "", "boolean": False, "integer": 0, "number": 0}


class ProgramEndedError(Exception):
    """What ends a program for good: it cannot be caught in it."""

    def __init__(self, error: ToolError) -> None:
        super().__init__(str(error))
        self.error = error


class RehearsedCall(NamedTuple):
    """A call that changes something: how it is known again, its plan, what the copy answered."""

    key: str
    plan: Plan
    value: Any


class Rehearsal(NamedTuple):
    """What a program would do, and its result; `reads` is an effect for each app that it read."""

    result: Any
    calls: tuple[RehearsedCall, ...]
    reads: tuple[Effect, ...]


class ProgramCalls:
    """The calls of one run of a program: bound to their tools, and counted.

    Args:
        gate: Where they go.
        used: The functions that the program uses.
        call: The call of the plan: who calls, and what ends it.
    """

    def __init__(self, gate: CallGate, used: ProgramUsage, call: Call) -> None:
        self._gate, self._used, self._of = gate, used, call
        self._ends = time.monotonic() + PLAN_SECONDS
        self._left, self._rows = CALLS, ROWS
        self.reads: dict[str, Effect] = {}

    def bind_call(
        self, app: str, function: str, args: Sequence[Any], named: Mapping[str, Any]
    ) -> Call:
        """Return a call of a program as the gate takes it.

        Raises:
            EndedError: There are too many, or it takes too long.
        """
        cancel = self._of.cancel or Cancellation()
        self._left -= 1
        left = self._ends - time.monotonic()
        if self._left < 0:
            error = ToolError("EXECUTION_ERROR", f"A plan can make at most {CALLS} calls.")
            raise ProgramEndedError(error)
        if left <= 0 or cancel.is_cancelled:
            kind: Any = "USER_CANCELLED" if cancel.is_cancelled else "TIMEOUT"
            error = ToolError(kind, f"The plan did not finish in {PLAN_SECONDS:g} seconds.")
            raise ProgramEndedError(error)
        tool = self._gate.find_tool(self._used.functions[app][function])
        assert tool.operation is not None
        given = {**dict(zip(tool.operation.spec.params, args, strict=False)), **named}
        arguments = {
            key: to_json_types(value, key) for key, value in given.items() if value is not None
        }
        # Nobody is asked in the middle of a plan.
        caller = self._of.caller._replace(ways=(), unable=())
        seconds = min(left, self._gate.context.executor.timeout)
        return Call(
            tool.name, arguments, caller, raw=True, timeout=seconds, whole=True, cancel=cancel
        )

    def read_through_gate(self, call: Call, plan: Plan) -> Any:
        """Return what a call that reads answers, through the gate.

        Raises:
            ToolError: It failed, or may not run.
            EndedError: There were too many rows.
        """
        outcome = self._gate.call(call, cancel=call.cancel)
        if not isinstance(outcome, CompletedCall):
            assert isinstance(outcome, RefusedCall)
            raise outcome.error
        self.reads.update((effect.app, effect) for effect in reversed(plan.facts.effects))
        self._rows -= len(outcome.value) if isinstance(outcome.value, list) else 1
        if self._rows < 0:
            error = ToolError("EXECUTION_ERROR", f"A plan can read at most {ROWS} rows.")
            raise ProgramEndedError(error)
        return outcome.value


def to_program_value(value: Any) -> Any:
    """Return a result as a program has it: a moment is a `datetime`, a reference is text.

    The sandbox takes no half of a character.
    """
    if isinstance(value, DateText):
        return datetime.fromisoformat(value)
    if isinstance(value, list):
        return [to_program_value(part) for part in value]
    if isinstance(value, dict):
        return {str(key): to_program_value(part) for key, part in value.items()}
    return _SURROGATE.sub("\ufffd", value) if isinstance(value, str) else value


def call_key(call: Call) -> str:
    """Return how a call is known again: its tool, and every argument."""
    return json.dumps([call.tool, call.arguments], sort_keys=True, ensure_ascii=False)


def has_position(arguments: Mapping[str, Any], but: Iterable[str] = ()) -> bool:
    """Say whether arguments name an object by its place in a list, as in `messages[0]`.

    `but` are references that do not count.
    """
    names = {key: value for key, value in arguments.items() if key != "properties"}
    text = json.dumps(names, ensure_ascii=False)
    for reference in but:
        text = text.replace(json.dumps(reference, ensure_ascii=False)[1:-1], "")
    return re.search(r"\w\[\d+\]", text) is not None


def is_read_only(plan: Plan) -> bool:
    """Say whether a call only reads; one that changes what is shown is no read here."""
    return all(effect.verb == "read" for effect in plan.facts.effects)


def rehearse_program(
    program: str, used: ProgramUsage, gate: CallGate, call: Call, frozen: FrozenWorld
) -> Rehearsal:
    """Run a program with its changes kept from the apps.

    Raises:
        ToolError: It has faults, failed, or reached a limit.
    """
    copy, calls = _RehearsedObjects(), ProgramCalls(gate, used, call)
    made: list[RehearsedCall] = []

    def answer_call(app: str, function: str, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
        bound = calls.bind_call(app, function, args, named)
        plan = (
            gate.plan_call(bound)
            if copy.gave_name(bound.arguments)
            else gate.plan_fixed(bound, made=copy.made, gone=copy.gone_ids)
        )
        if not is_read_only(plan):
            copy.refuse_moved_position(bound.arguments, plan, made)
            if copy.has_object(bound.arguments):
                plan = copy.plan_on_copy(plan)
            value = copy.apply_change(plan, len(made) + 1)
            made.append(RehearsedCall(call_key(bound), plan, value))
        elif copy.has_object(bound.arguments):
            value = copy.read_object(plan)
        else:
            value = copy.with_changes(plan, calls.read_through_gate(bound, plan))
        return to_program_value(value)

    try:
        result = run_program(program, used, answer_call, frozen)
    except ProgramEndedError as ended:
        raise ended.error from None
    return Rehearsal(result, tuple(made), tuple(calls.reads.values()))


_STAYING: Final = ("read", "change", "delete")
"""What a call does after which it is known what is at a place."""


def _moved_position_error() -> InvalidParameterError:
    return InvalidParameterError(
        "A call names an object by its position, which changes when the plan makes or moves an"
        " object.",
        "Use the reference (ref) in a row instead.",
    )


@dataclass
class _RehearsedObjects:
    """What was read, as a program would have left it; objects are known by their references."""

    made: dict[str, dict[str, Any]] = field(default_factory=dict)
    changed: dict[str, dict[str, Any]] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    made_by: dict[str, str] = field(default_factory=dict)
    inside: dict[str, str] = field(default_factory=dict)

    def has_object(self, arguments: Any) -> bool:
        """Say whether arguments name an object that the program made."""
        text = json.dumps(arguments, ensure_ascii=False).replace('\\"', '"')
        return any(reference in text for reference in self.made)

    @property
    def gone_ids(self) -> list[str]:
        """What the references of the deleted objects end with, whatever they are found through."""
        return [reference[max(reference.rfind(".byId("), 0) :] for reference in self.gone]

    def gave_name(self, arguments: Mapping[str, Any]) -> bool:
        """Say whether arguments have a name that the program gave to an object."""
        given = (value for known in (self.made, self.changed) for row in known.values()
                 for value in row.values() if isinstance(value, str))  # fmt: skip
        text = json.dumps(arguments, ensure_ascii=False)
        return any(
            f"[{json.dumps(json.dumps(name, ensure_ascii=False), ensure_ascii=False)[1:-1]}]"
            in text
            for name in given
        )

    def refuse_moved_position(
        self, arguments: Mapping[str, Any], plan: Plan, before: Sequence[RehearsedCall]
    ) -> None:
        """Refuse a position in a list from which a call before took something, or put it there.

        Raises:
            ToolError: There is one.
        """
        operation, app = plan.tool.operation, plan.facts.app
        if operation is None or not has_position(arguments, self.made):
            return
        listed = re.findall(r"(\w+)\[\d", json.dumps(arguments, ensure_ascii=False))
        kinds = {operation.tables.find_class(word) for word in listed}
        earlier = (effect for made in before if made.plan.facts.app == app
                   for effect in made.plan.facts.effects)  # fmt: skip
        if any(one.kind in (*kinds, "") and one.verb not in _STAYING for one in earlier):
            raise _moved_position_error()

    def plan_on_copy(self, plan: Plan) -> Plan:
        """Return a call on what the program made: shown as that, and not looked for in the app.

        Raises:
            ToolError: It names another object by its place, where another may be by then.
        """
        if has_position(plan.facts.arguments, self.made):
            raise _moved_position_error()
        shown = tuple(
            TargetDescription(
                reference, f"{effect.kind or 'object'} that {self.made_by[reference]}"
            )
            for effect in plan.facts.effects
            if (reference := effect.reference) in self.made_by
        )
        return replace(plan, look=None, facts=replace(plan.facts, shown=shown))

    def apply_change(self, plan: Plan, number: int) -> Any:
        """Note the change `number`, and return what it would answer, as far as its type tells."""
        operation, given = plan.tool.operation, plan.facts.arguments
        assert operation is not None
        tables, targets = operation.tables, _text_list(given.get("target"))
        values = {fold_name(key): value for key, value in given.get("properties", {}).items()}
        if operation.spec.op == "make":
            kind = tables.find_class(str(given["element"])) or ""
            made = self._new_reference(kind, tables, number, values)
            self.inside[made] = str(given.get("at", ""))
            return made
        if operation.spec.op == "set":
            for target in targets:
                self.changed.setdefault(target, {}).update(values)
            return None
        if operation.spec.event == _GONE:
            self.gone.update(targets)
        for type_ in parse_type(operation.spec.result) if operation.spec.result else ():
            row = find_type(type_.name)
            if type_.name in tables.classes or (row and row.reading == "object"):
                known = type_.name if type_.name in tables.classes else plan.facts.effects[0].kind
                return self._new_reference(known, tables, number)
            return _EMPTY.get(row.reading) if row and not type_.many else None
        return None

    def _new_reference(
        self, kind: str, tables: Tables, number: int, properties: dict[str, Any] | None = None
    ) -> RefText:
        ident = f'byId("new-{len(self.made) + 1}")'
        reference = RefText(f"{_path_to_class(kind, tables)}.{ident}")
        self.made[reference] = properties or {}
        does = "answers with" if properties is None else "makes"
        self.made_by[reference] = f"call {number} {does}"
        return reference

    def read_object(self, plan: Plan) -> Any:
        """Return what a read of an object that was made would answer."""
        operation, given = plan.tool.operation, plan.facts.arguments
        assert operation is not None
        wanted: list[str] = given.get("properties") or []
        if operation.spec.op in ("list", "count"):
            inside = [ref for ref, at in self.inside.items() if at.startswith(str(given.get("of")))]
            rows = [{"ref": ref, **self._object_values(ref, wanted)} for ref in inside]
            return rows if operation.spec.op == "list" else len(rows)
        return operation.spec.op != "get" or self._object_values(str(given["target"]), wanted)

    def _object_values(self, reference: str, wanted: list[str]) -> dict[str, Any]:
        known = self.made.get(reference, {}) | self.changed.get(reference, {})
        return {name: known.get(fold_name(name)) for name in wanted} if wanted else dict(known)

    def with_changes(self, plan: Plan, value: Any) -> Any:
        """Return what a read answered, with the program's changes in it."""
        target = str(plan.facts.arguments.get("target", ""))
        if isinstance(value, list):
            rows = [(row, str(row["ref"]) if is_row(row) else "") for row in value]
            return [self._patch_row(row, ref) for row, ref in rows if ref not in self.gone]
        return self._patch_row(value, target)

    def _patch_row(self, row: Any, reference: str) -> Any:
        values = self.changed.get(reference, {})
        if not (isinstance(row, dict) and values):
            return row
        return {name: values.get(fold_name(name), value) for name, value in row.items()}


def is_row(value: Any) -> bool:
    """Say whether a value is a row of a list: properties beside a reference."""
    return isinstance(value, dict) and "ref" in value


def _text_list(value: Any) -> list[str]:
    parts = value if isinstance(value, list) else [value]
    return [str(part) for part in parts if part is not None]


def _path_to_class(kind: str, tables: Tables) -> str:
    """Return where an object of a class can be, from the application down, by the shortest way."""
    way, waiting, seen = "", [(APPLICATION, "")], {APPLICATION}
    while waiting and kind:
        owner, way = waiting.pop(0)
        if has_elements((owner,), kind, tables):
            return way + tables.classes[kind].plural
        for row in tables.elements(owner):
            if row.term in tables.classes and row.term not in seen:
                seen.add(row.term)
                waiting.append((row.term, f"{way}{tables.classes[row.term].plural}[0]."))
    return "objects"


def effects_table(parts: Iterable[CallFacts]) -> list[dict[str, Any]]:
    """Return the effects of calls as a table: a row for each tool and what it does."""
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for part in parts:
        values = {**part.arguments, **part.arguments.get("properties", {})}
        for effect in part.effects:
            app, verb = effect.name or effect.app, VERB_WORDS[effect.verb]
            does = " ".join(filter(None, (verb, effect.kind, "in", app)))
            row = rows.setdefault(
                (part.tool, does),
                {"call": part.tool, "does": does, "level": effect.level, "count": 0},
            )
            row["count"] += 1
            row["level"] = highest((row["level"], effect.level))
            _add_values(row, "objects", [effect.reference])
            _add_values(row, "to", [flow.to for flow in effect.flow])
            for name, value in values.items():
                if name not in ("target", "properties", "element"):
                    _add_values(row.setdefault("values", {}), name, [value])
    return list(rows.values())


def _add_values(row: dict[str, Any], name: str, values: Sequence[Any]) -> None:
    known: list[Any] = row.setdefault(name, []) if any(value != "" for value in values) else []
    new = (value for value in values if value not in known and value != "")
    known.extend(islice(new, max(_LISTED - len(known), 0)))
