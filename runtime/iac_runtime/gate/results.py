"""What came of a call: answers as plain values, refusals.

A text is what the app has, to the last character. What a model reads is cleaned (`shown`), for it
is foreign text; with `raw` it is not. What was left out is not destroyed by writing the rest back
(`refuse_cleaned`).
"""

import json
import logging
import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from iac_base import text as cleaning
from iac_base.errors import InvalidParameterError, NextCall, ToolError, quote_text
from iac_base.text import text_literal
from iac_base.words import fold_name
from iac_runtime.execution.answers import AppAnswer, describe_failure
from iac_runtime.gate.plans import Call, CompletedCall, Plan, RefusedCall, ToolContext, ToolResult
from iac_runtime.gate.suggest import describe_missing_object, repeated_call
from iac_runtime.language.reader import RefText, answer_to_python, specifier_text, without_filter
from iac_runtime.language.steps import ById, ByIndex, ByName, Event, PropertyStep, Step, Whose
from iac_runtime.language.terms import code_key
from iac_runtime.outcomes.outcome import Outcome
from iac_runtime.policy.facts import Decision
from iac_runtime.policy.requests import inspect_request
from iac_runtime.policy.taint import Taint, hide_secrets, is_secret_property
from iac_runtime.tools.checking import accepts_value
from iac_runtime.tools.shape import Schema, Tool
from iac_runtime.tools.tables import Operation, Tables
from iac_runtime.types import parse_type

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_SHIFTING: Final = (
    "a reference here ends in a position, and positions shift when objects come or go: use it soon"
)


MOST_SECONDS: Final = 3600
"""The longest time that one call can ask for."""

DETAILS: Final = ("concise", "full")
"""How a surface tells an answer: in few tokens, or as it is."""

_WHOLE: Final = ("each is shown once", "filtered here")
"""The ends of the harness's remarks of which nothing is missing."""

_CLEANED: Final = "hidden characters are left out of a text"
_RAW: Final = "; `raw: true` gives it as the app has it"


def plain_result(answer: AppAnswer, event: Event, tool: Operation) -> ToolResult:
    """Return the value of an answer in the words of the dictionary.

    A list becomes one object an item with `ref` and the properties. Properties are keyed by the
    dictionary's terms, the fields of a declared record as the output schema keys them. Of several
    requests each gives `{"target": …, "value": …}` or `{"target": …, "error": {…}}`.
    """
    tables = tool.tables
    if event.op == "each":
        return _result_of_each(answer, event, tool)
    notes = list(answer.notes)
    terms = _field_names(tool)
    if answer.listing is not None:
        value: Any = _listing_items(answer.listing, event, tables)
        notes += _listing_notes(answer.listing, event, len(value))
    elif event.op in ("properties", "columns"):
        terms |= {column.jxa: column.label for column in event.columns}
        fields = answer.value["record"]
        value = {terms.get(key, key): answer_to_python(part, tables, terms) for key, part in fields}
    else:
        value = answer_to_python(answer.value, tables, terms)
    last = event.target[-1] if event.target else None
    read = [column.label for column in event.columns]
    read += [last.name] if isinstance(last, PropertyStep) and event.op == "get" else []
    notes += [f"{name} is HTML" for name in read if fold_name(name) in tables.html_names]
    if _is_positional(value):
        notes.append(_SHIFTING)
    return ToolResult(value, tuple(notes))


def clean_result(found: ToolResult, call: Call, taint: Taint, way: str = _RAW) -> ToolResult:
    """Return a result for the reader who called: texts cleaned, unless they are wanted `raw`.

    Where a text is another, a note says so, with the `way` to it; what was left out is remembered.
    """
    if call.raw or (cleaned := clean_value(found.value)) == found.value:
        return found
    taint.add_cleaned(found.value, call.caller.token_client)
    return found._replace(value=cleaned, notes=(*found.notes, _CLEANED + way))


def refuse_cleaned(event: Event, call: Call, context: ToolContext) -> None:
    """Let no write put back a text that its writer read without its hidden characters.

    Raises:
        InvalidParameterError: It would.
    """
    if call.raw or call.undoes:
        return
    taint, holder = context.permissions.taint, call.caller.token_client
    for row, text in inspect_request(event, {}, context.home).texts:
        if taint.lacks(text, holder):
            raise InvalidParameterError(
                f"{row.name or 'text'}: IAC left hidden characters out when you read this text, and"
                " this write would delete them. Nothing was changed.",
                "Read the text with raw: true, and write back what you get. To write the text"
                " without the hidden characters, add raw: true to this call.",
            )


def without_secret_fields(
    found: ToolResult, globs: Sequence[str], tables: Tables | None = None
) -> ToolResult:
    """Return a result without the fields of records that hold secrets, and say what is missing.

    Args:
        found: What came of a call.
        globs: The policy's, over properties that are never read.
        tables: Those of the app; by the names alone without.
    """
    hidden: dict[str, None] = {}
    secret = partial(is_secret_property, tables=tables, globs=tuple(globs))
    value = hide_secrets(found.value, secret, hidden)
    if not hidden:
        return found
    note = f"left out, because secrets are never read: {', '.join(map(quote_text, hidden))}"
    return found._replace(value=value, notes=(*found.notes, note))


def extract_call_options(call: Call, tool: Tool) -> Call:
    """Return a call without `raw`, `confirm`, `timeout`, `detail`, which every app's tool takes.

    Raises:
        InvalidParameterError: The timeout is no time.
    """
    if tool.operation is None or not isinstance(call.arguments, Mapping):
        return call
    rows, given = tool.operation.spec.params, dict(call.arguments)
    ours = [key for key in ("raw", "confirm", "timeout") if key not in rows or not rows[key].code]
    if given.get("detail") in DETAILS and ("detail" not in rows or not rows["detail"].code):
        # How the answer is told, which a surface looks at.
        del given["detail"]
    options: dict[str, Any] = {
        key: given.pop(key) for key in ours if key != "timeout" and isinstance(given.get(key), bool)
    }
    seconds = given.get("timeout") if "timeout" in ours else None
    if seconds is not None:
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if not number or not 0 < seconds <= MOST_SECONDS:
            raise InvalidParameterError(
                f"timeout: {quote_text(str(seconds))} is not a valid time for a call.",
                f"Give a number of seconds above 0, at most {MOST_SECONDS}.",
            )
        options["timeout"] = float(given.pop("timeout"))
    return call._replace(arguments=given, **options)


def missing_parts(found: ToolResult, answer: AppAnswer, *, paged: bool) -> Outcome | None:
    """Return what is missing of a read; None where it is whole.

    Args:
        found: Its result.
        answer: What the app answered.
        paged: Whether rows were left out that the call did not ask to leave out.
    """
    says = [note for note in answer.notes if not note.endswith(_WHOLE)]
    rows = found.value if isinstance(found.value, list) else ()
    failed = [row for row in rows if isinstance(row, Mapping) and set(row) == {"target", "error"}]
    if failed:
        names = ", ".join(str(row["target"]) for row in failed[:5])
        says.append(f"{len(failed)} of {len(rows)} could not be read: {names}")
    if paged and found.notes:
        says += [note for note in found.notes if " items; the next: " in note]
    if found.whole is not None:
        says.append(found.notes[-1])
    return Outcome("partial", says="; ".join(says)) if says else None


def _result_of_each(answer: AppAnswer, event: Event, tool: Operation) -> ToolResult:
    found: list[Any] = []
    notes: list[str] = []
    for part, told in zip(event.parts, answer.value, strict=True):
        row: dict[str, Any] = {"target": specifier_text(part.target)}
        if told.get("ok"):
            plain = plain_result(
                AppAnswer(told.get("value"), None, tuple(told.get("notes") or ())), part, tool
            )
            row["value"] = plain.value
            notes += plain.notes
        else:
            row["error"] = _part_error(told, part, tool).facts()
        found.append(row)
    return ToolResult(found, tuple(dict.fromkeys(notes)))


def _part_error(told: Mapping[str, Any], part: Event, tool: Operation) -> ToolError:
    error = describe_failure(
        told.get("number"),
        str(told.get("message", "")),
        told.get("about"),
        app=tool.tables.app.name,
        command=tool.name,
        writes=part.writes,
    )
    return describe_missing_object(error, part, tool)


def _listing_notes(listing: Mapping[str, Any], event: Event, shown: int) -> list[str]:
    total, offset = listing["total"], listing.get("from", event.offset)
    if total == 0:
        filtered = event.target and isinstance(event.target[-1], Whose)
        return ["nothing matched the filter" if filtered else "there is none"]
    if shown == 0:
        return [f"there are {total} items, none from offset {offset} on"]
    if offset + shown >= total:
        return []
    last = listing["rows"][-1][0] if listing["by"] == "id" else ""
    return [
        f"{shown} of {total} items; the next: cursor {text_literal(f'{offset + shown}:{last}')}"
    ]


def _is_positional(value: Any) -> bool:
    """Say whether a result, or an item of it, is named by its position."""
    if isinstance(value, RefText):
        return value.endswith("]") and not value.endswith('"]')
    if isinstance(value, list):
        return any(
            _is_positional(part.get("ref") if isinstance(part, dict) else part) for part in value
        )
    return False


def _field_names(tool: Operation) -> dict[str, str]:
    """Return JXA name -> key for the fields of a declared record type."""
    declared = (tool.output or {}).get("properties", {}).get("result", {}).get("properties", ())
    keys = {fold_name(key): key for key in declared}
    return {
        row.jxa: keys.get(fold_name(row.term))
        or keys.get(fold_name(code_key(row.code)))
        or row.term
        for kind in parse_type(tool.spec.result)
        if kind.name in tool.tables.records
        for row in tool.tables.records[kind.name].properties
    }


def _listing_items(
    listing: Mapping[str, Any], event: Event, tables: Tables
) -> list[dict[str, Any]]:
    base, bare = event.target, without_filter(event.target)
    if listing["by"] == "id" or listing["filteredHere"]:
        base = bare
    listing_items: list[dict[str, Any]] = []
    for key, position, row, *place in listing["rows"]:
        if place and event.holders:
            # In which of several objects it is, and where in it.
            (holder, position), length = place[0], event.holders[0]
            held = ByName(str(holder)) if listing["heldBy"] == "name" else ById(holder)
            base = (*without_filter(event.target[:length]), held, *bare[length:])
        step: Step = ByIndex(int(position))
        if listing["by"] == "id":
            step = ById(key)
        elif listing["by"] == "name" and (place or bare == base):
            # Unique among all items: of a filtered collection only the found ones are known.
            step = ByName(str(key))
        item: dict[str, Any] = {"ref": specifier_text((*base, step))}
        for column, value in zip(event.columns, row, strict=True):
            compound = isinstance(value, list | dict)
            item[column.label] = answer_to_python(value, tables, {}) if compound else value
        listing_items.append(item)
    return listing_items


def clean_value(value: Any) -> Any:
    """Return `value` without hidden characters at every depth; in a reference they are escaped."""
    return cleaning.clean_value(value, RefText)


def structured_content(
    value: Any,
    output: Mapping[str, Any] | None = None,
    note: str = "",
    outcome: Outcome | None = None,
) -> dict[str, Any]:
    """Return a result as the object that MCP wants, fit for `output`, the tool's output schema.

    A reference becomes `{"ref": …}`, an object stays, all else is `{"result": …}`; nothing to say
    is an empty object. A note says what is missing, an outcome what was read back. An app may
    answer something else than its dictionary declares, or nothing: clients refuse that, so it is
    then told in the note, of rows the values that do not fit.
    """
    declared = set((output or {}).get("properties", ()))
    found: dict[str, Any]
    if isinstance(value, RefText) and ("ref" in declared or "result" not in declared):
        found = {"ref": value}
    elif isinstance(value, dict) and "result" not in declared:
        found = dict(value)
    else:
        found = {} if value is None else {"result": value}
    if output is not None and found and (faults := _faults(found, output)):
        odd: Any = {}
        fitting = _take_out(found, {*map(_way_to_key, faults)}, odd)
        if not fitting or _faults(fitting, output):
            fitting, odd = {}, found.get("result", value)
        answered = json.dumps(odd, ensure_ascii=False)
        found, note = fitting, "; ".join(filter(None, (f"the app answered {answered}", note)))
    # Modules of earlier builds close their answers.
    is_open = output is None or "note" in declared or output.get("additionalProperties", True)
    if note and "note" not in found and is_open:
        found["note"] = note
    if outcome is not None and "outcome" not in found and is_open:
        facts = clean_value(outcome.facts())
        # What the note or the result says is not said twice.
        twice = {"says": note, "ref": found.get("ref", "")}
        found["outcome"] = {k: v for k, v in facts.items() if not (k in twice and v in twice[k])}
    if output is not None and not found and is_open:
        found["note"] = "the app answered nothing"
    return found


def _faults(found: Mapping[str, Any], output: Mapping[str, Any]) -> list["ValidationError"]:
    """Return where an answer breaks its schema; empty where it fits."""
    if accepts_value(found, output):
        return []
    # Heavy, and needed for what is doubtful only.
    from jsonschema import Draft202012Validator

    return [*Draft202012Validator(dict(output)).iter_errors(dict(found))]


_Way = tuple[str | int, ...]


def _way_to_key(fault: "ValidationError") -> _Way:
    """Return the way to the value that a fault is in: to the last key on it."""
    way = tuple(fault.absolute_path)
    return way[: max((at + 1 for at, key in enumerate(way) if isinstance(key, str)), default=0)]


def _take_out(value: Any, ways: AbstractSet[_Way], taken: dict[str, Any], at: _Way = ()) -> Any:
    """Return `value` without what is at `ways`, which is `taken` by its way (`result.0.size`)."""
    if isinstance(value, list):
        return [_take_out(part, ways, taken, (*at, i)) for i, part in enumerate(value)]
    if not isinstance(value, dict):
        return value
    kept: dict[str, Any] = {}
    for key, part in value.items():
        if (way := (*at, key)) in ways:
            taken[".".join(map(str, way))] = part
        else:
            kept[key] = _take_out(part, ways, taken, way)
    return kept


def _declared(tool: Tool, value: Any) -> Schema | None:
    """Return the schema that an answer is held to; None for one of ours that does not fit it.

    What an app answers is not in our hands (`structured`). Our own is our fault: the caller gets
    it as it is, for what was done is done, and the log says so.

    Raises:
        RuntimeError: It does not fit, and this is a test (`IAC_STRICT`).
    """
    if tool.output is None or tool.operation is not None or value is None:
        return tool.output
    faults = _faults(structured_content(value), tool.output)
    if not faults:
        return tool.output
    where = f"{faults[0].json_path}: {faults[0].validator}"
    says = f"the answer of {tool.name} does not fit its output schema ({where})"
    if os.environ.get("IAC_STRICT"):
        raise RuntimeError(says)
    logging.getLogger("iac.gate").warning("%s", says)
    return None


def completed_call(plan: Plan, found: ToolResult, decision: Decision) -> CompletedCall:
    """Return what came of a call that was carried out."""
    return CompletedCall(
        found.value,
        plan.facts.line,
        decision.level,
        "; ".join((*plan.notes, *found.notes)),
        None if plan.parts else _declared(plan.tool, found.value),
        plan.facts.app,
        decision.reasons,
        decision.source,
        found.outcome,
        found.images,
        plan.facts.repairs,
    )


def needs_other_call_tool(call: Call, plan: Plan, decision: Decision, door: str) -> RefusedCall:
    """Return the refusal of a call that came by another tool than `door`.

    Where that is empty, because none is listed, what may run is called by its own name.
    """
    way = f"Call {door} instead, with the same name and arguments."
    then = repeated_call(call)
    if door:
        given = {"calls": [*call.calls]} if call.calls else {"arguments": call.arguments}
        then = NextCall(door, {"name": call.tool, **given})
    acts = " and does more than read" if decision.level == "SAFE" else ""
    return RefusedCall(
        call.tool,
        plan.facts.app[1],
        decision.level,
        " ".join((f"This call is {decision.level}{acts}.", *decision.reasons)),
        way if door else f"Call the tool {call.tool} directly, with the same arguments.",
        plan.facts.line,
        source="the tool that was used",
        next=then,
        toolset=plan.tool.toolset,
    )


def refused_call(call: Call, plan: Plan, decision: Decision) -> RefusedCall:
    """Return a refusal, for the model that called and for the person who can read it too."""
    so = "may not run" if decision.error == "REFUSED" else "was not run"
    reason = " ".join((f"This call is {decision.level} and {so}.", *decision.reasons))
    said = f"{reason} {decision.suggestion}".replace("The user can", "You can")
    return RefusedCall(
        call.tool,
        plan.facts.app[1],
        decision.level,
        reason,
        decision.suggestion,
        plan.facts.line,
        decision.source,
        decision.error,
        decision.person or said,
        repeated_call(call) if decision.error != "REFUSED" else None,
        plan.tool.toolset,
    )
