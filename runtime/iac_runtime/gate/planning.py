"""From the arguments of a call to a plan: the request composed, its level found, its line written.

A tool's `perform` makes the plan; here are those of generated tools and of the runtime's own.

A list may look in each of several objects.
"""

import contextlib
import itertools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from operator import itemgetter
from typing import Any, Final

from iac_base.errors import (
    Cancellation,
    IacError,
    InvalidParameterError,
    ToolError,
    UnknownToolError,
    quote_text,
)
from iac_base.files import open_state
from iac_base.secrets import redact_text
from iac_runtime.execution.answers import AppAnswer
from iac_runtime.gate.names import (
    Execute,
    NameUse,
    counted_before,
    holdings_of,
    names_of,
    refuse_strays,
    sent_if_one,
    shared_notes,
)
from iac_runtime.gate.plans import Call, Plan, ToolContext, ToolResult
from iac_runtime.gate.results import (
    clean_result,
    missing_parts,
    plain_result,
    refuse_cleaned,
    without_secret_fields,
)
from iac_runtime.gate.suggest import describe_missing_object
from iac_runtime.gate.verify import WriteVerification
from iac_runtime.language.compose import compose_request, effective_level
from iac_runtime.language.raw_event import (
    as_raw_event,
    choose_wire_form,
    compose_read,
    request_line,
    with_read_plan,
)
from iac_runtime.language.reader import AppReader
from iac_runtime.language.references import resolve_steps
from iac_runtime.language.steps import (
    AllElements,
    Event,
    EventOp,
    Span,
    Step,
    Whose,
    expand_day_words,
    local_day,
)
from iac_runtime.language.terms import find_properties, id_property, property_term
from iac_runtime.outcomes.read_back import effect_of
from iac_runtime.policy.decide import TASK
from iac_runtime.policy.effects import outgoing_classes
from iac_runtime.policy.facts import OWN_APP, CallFacts, Effect, TargetDescription, Undo
from iac_runtime.policy.settings import APPROVERS
from iac_runtime.policy.taint import iterate_texts, remove_secret_columns
from iac_runtime.policy.verbs import STARTERS
from iac_runtime.tool import Level, Spec, at_most
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.field import field_rows, find_gap_rows, is_doubted
from iac_runtime.tools.shape import RESULT_LIMIT, Tool
from iac_runtime.tools.tables import Operation, Tables, parameters_of

_APP_EVENTS: Final[Mapping[str, tuple[EventOp, str]]] = {
    "app_activate": ("activate", "miscactv"),
    "app_launch": ("launch", "ascrnoop"),
    "app_quit": ("quit", "aevtquit"),
    "app_running": ("running", ""),
}
"""The runtime's own tools that reach an app: the operation, and the code of its event."""


_HELPERS: Final = frozenset(
    f"com.apple.{name}"
    for name in ("databaseevents", "imageevents", "shortcuts.events", "systemevents")
)
"""Helpers without a face, which end when idle; on a Mac the harness finds more by their bundles."""


_TAIL: Final = 50
"""Calls of the audit that are shown."""


PAGE: Final = 50
"""The rows of a list that names no limit, where answers are limited at all."""


_NO_PLACE: Final = -10024
"""An app cannot put an object there; it made none."""


_LOOK: Final = 5.0
"""Seconds for the question whether an app runs; without an answer it counts as not running."""


def plan_operation(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Return the plan of a call of a generated tool.

    Raises:
        ToolError: An argument is wrong.
    """
    operation = tool.operation
    assert operation is not None
    app = operation.tables.app
    bound = resolve_relative_dates(expand_recipe(operation.spec, call.arguments), operation)
    told: Event | None = None
    if operation.tables.html_names and "text_format" in operation.spec.params:
        from iac_runtime.language.html_text import FORMAT, plain_text, write_html_texts

        said = {key: value for key, value in bound.items() if key != FORMAT}
        # What an app had is in its own form.
        text_format = "html" if call.undoes else bound.get(FORMAT, "")
        kind = operation.tables.find_class(str(said.get("element"))) or ""
        known = effect_of(operation.spec.event, app.id, kind, operation.tables)
        written = write_html_texts(said, operation, text_format, known.get("title", ()))
        event = compose_request(operation, written, context.home)
        if not call.undoes:
            # What is read back of it is the caller's own, too.
            texts = [plain_text(text) for text in iterate_texts(written)]
            context.permissions.taint.remember_call(texts, call.caller.token_client)
        # A person is asked about, and rules look at, the text that was given: where it is escaped,
        # a secret or a text of somebody else would not be recognised.
        told = compose_request(operation, said, context.home)
    else:
        event = compose_request(operation, bound, context.home)
    if event.op == "set" and outgoing_classes(operation.tables):
        from iac_runtime.gate.quotes import QuotedOriginals

        event = context.get_or_create(QuotedOriginals).with_quote(event)
    # All of an object means all but its secrets.
    event = remove_secret_columns(event, operation.tables, context.permissions.policy.secrets)
    seconds = context.executor.timeout if call.timeout is None else call.timeout
    event = choose_wire_form(event, operation.tables, seconds)
    limited = not call.whole and context.limit is not None
    paged = event.op == "list" and event.limit is None and limited
    if paged:
        # Whoever reads an answer page by page is given pages.
        event = replace(event, limit=PAGE)
    if event.op in ("list", "count"):
        event = with_read_plan(event, operation.tables, seconds)
    level = effective_level(operation, bound, context.home)
    event, level = _with_launch_level(event, level, context)
    if not _may_launch(event, level, context.launch):
        event = replace(event, may_launch=False)

    given = call.arguments if operation.spec.bind else {}
    facts = CallFacts(
        tool.name, arguments=bound, given=given, digest=tool.digest,
        token_client=call.caller.token_client, line=_shown_line(event, told),
    )  # fmt: skip
    facts = context.permissions.request_facts(facts, told or event, level, operation)
    names = names_of(event, operation.tables, context.home, seconds)
    witness: WriteVerification | None = None
    named = (str(getattr(name, "word", name)) for name, _ in event.named)
    doubted = event.writes and is_doubted(app.id, event.command or event.op, named)
    if event.writes and (level != "SAFE" or doubted):
        refuse_cleaned(told or event, call, context)
        if any("given" in row for row in field_rows(app.id, "refusal")):
            from iac_runtime.gate.known_cases import refuse_known_case

            refuse_known_case(facts, operation)
        witness = WriteVerification(event, operation, call, context, seconds)
        facts = witness.with_undo(facts)

    def perform_operation(
        cancel: Cancellation | None, pin: tuple[Event, Any] | None = None
    ) -> ToolResult:
        sent = replace(event, pin=pin) if pin else event
        if witness:
            sent = witness.add_reads(sent)
        elif names:
            sent = counted_before(sent, names)
        execute: Execute = partial(
            context.executor.execute,
            app=app.name, command=tool.name, timeout=seconds, cancel=cancel,
        )  # fmt: skip
        if witness:
            refuse_strays(execute, holdings_of(event, operation.tables, seconds), app.name)
            if names:
                execute = partial(sent_if_one, execute, names, refuse, operation.tables)
        try:
            if event.op == "list" and (length := holders_of(event.target)):
                every, answer = list_over(sent, length, execute, operation, names)
                every = finish_result(every, call, facts, operation, context)
                return every._replace(outcome=missing_parts(every, answer, paged=paged))
            try:
                answer = execute(sent)
            except ToolError as error:
                other = _raw_fallback(sent, error, operation.tables, seconds)
                if other is None:
                    raise
                answer = execute(witness.add_reads(other) if witness else other)
        except ToolError as error:
            if witness is not None:
                witness.confirm_failed(error)

            def count_objects(steps: tuple[Step, ...]) -> Any:
                asked = compose_read("count", steps, operation.tables, seconds, may_launch=False)
                return execute(asked).value

            raise describe_missing_object(error, event, operation, count_objects) from None
        found = plain_result(answer, event, operation)
        if witness and (way := effect_of(event.code, app.id, "", operation.tables).get("text")):
            from iac_runtime.gate.quotes import QuotedOriginals

            context.get_or_create(QuotedOriginals).remember(event, way, str(found.value), execute)
        if names and witness is None:
            found = found._replace(notes=(*found.notes, *shared_notes(names, answer)))
        found = finish_result(found, call, facts, operation, context)
        if witness:
            outcome = witness.confirm(answer.value, answer.around, cancel=cancel)
            return found._replace(outcome=outcome)
        is_empty = found.value is None or found.value in ("", [])
        if is_empty or answer.notes or find_gap_rows(app.id, facts.line):
            from iac_runtime.gate.known_cases import describe_gaps

            gaps = describe_gaps(facts, operation, answer.notes, is_empty=is_empty)
            found = found._replace(notes=(*found.notes, *gaps))
        return found._replace(outcome=missing_parts(found, answer, paged=paged))

    def refuse(counts: Sequence[Mapping[str, Any]]) -> None:
        from iac_runtime.gate.targets import refuse_shared

        refuse_shared(names, counts, facts, operation, context)

    def look_at_targets(facts: CallFacts) -> Plan:
        # Needed by calls that are asked about, and by no other.
        from iac_runtime.gate.targets import describe_targets

        if witness:
            found = describe_targets(facts, event, operation, context, names, witness.look)
            facts = witness.with_undo(facts, found.looked)
        else:
            found = describe_targets(facts, event, operation, context)
        facts = replace(facts, shown=found.shown, pin=found.digest, before=found.before)
        return Plan(tool, facts, partial(perform_operation, pin=found.pin), look_at_targets)

    return Plan(tool, facts, perform_operation, look_at_targets)


def _shown_line(event: Event, told: Event | None) -> str:
    """Return what is sent, as a line; as it was given where a secret would hide in its form."""
    given = "" if told is None else request_line(told)
    return given if redact_text(given) != given else request_line(event)


def _raw_fallback(event: Event, error: ToolError, tables: Tables, seconds: float) -> Event | None:
    """Return the raw form of a make that an app refused for its place, after JXA's other forms."""
    if event.code != "corecrel" or event.raw is not None or error.number != _NO_PLACE:
        return None
    return as_raw_event(event, tables, seconds)


_GONE: Final = object()


def resolve_relative_dates(bound: dict[str, Any], tool: Operation) -> dict[str, Any]:
    """Return arguments with dates for `tomorrow` and the like: that is what a person is asked."""
    rows = {key: row.type for key, row in parameters_of(tool).items()}
    rows |= {
        name: "date"
        for name in bound.get("properties", ()) if isinstance(bound.get("properties"), Mapping)
        for row in find_properties(tuple(tool.tables.classes), name, tool.tables)
        if row.type == "date"
    }  # fmt: skip

    def fill_dates(values: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: fill_dates(value) if key == "properties" and isinstance(value, Mapping)
            else expand_day_words(value.strip())
            if isinstance(value, str) and rows.get(key) == "date"
            else value
            for key, value in values.items()
        }  # fmt: skip

    return fill_dates(bound)


def expand_recipe(spec: Spec, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the operation behind a recipe; another tool's are left as they are.

    A value `"$name"` stands for the parameter `name`, `"$name+1"` for the local midnight of the
    day after the one that it names (`+0`: of that day). One that is not given is left out, and what
    held nothing else with it. Parameters that the recipe does not mention keep their name.
    """
    if not spec.bind:
        return dict(arguments)
    used: set[str] = set()
    bound = {
        key: value
        for key, part in spec.bind.items()
        if (value := _fill_template(part, spec, arguments, used)) is not _GONE
    }
    return {**{k: v for k, v in arguments.items() if k not in used}, **bound}


def _fill_template(part: Any, spec: Spec, arguments: Mapping[str, Any], used: set[str]) -> Any:
    name, plus, later = part[1:].partition("+") if isinstance(part, str) else ("", "", "")
    if name in spec.params and part.startswith("$"):
        used.add(name)
        given = arguments.get(name, _GONE)
        return local_day(given, int(later), name) if plus and given is not _GONE else given
    if isinstance(part, Mapping):
        fields = {key: _fill_template(value, spec, arguments, used) for key, value in part.items()}
        kept: Any = {key: value for key, value in fields.items() if value is not _GONE}
        return kept if kept or not part else _GONE
    if isinstance(part, list | tuple):
        items = [_fill_template(value, spec, arguments, used) for value in part]
        kept = [value for value in items if value is not _GONE]
        return kept if kept or not part else _GONE
    return part


def plan_app_event(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Return the plan of starting, showing or ending an app, or of asking whether it runs.

    Raises:
        InvalidParameterError: There is no such app; the nearest are named.
    """
    catalogue, name = _require_catalogue(tool, context), call.arguments["app"]
    app = catalogue.named_app(name)
    if app is None or app.kind != "application":
        known = [row.name for row in catalogue.apps.values() if row.kind == "application"]
        raise InvalidParameterError(f"There is no app {quote_text(name)}.", said=name, known=known)
    op, code = _APP_EVENTS[tool.name]
    event = Event(app.id, app.kind, op, code, writes=tool.level != "SAFE")
    event, level = _with_launch_level(event, tool.level, context)

    def send_event(cancel: Cancellation | None) -> ToolResult:
        answer = context.executor.execute(event, app=app.name, command=tool.name, cancel=cancel)
        return ToolResult(answer.value)

    facts = CallFacts(tool.name, arguments=call.arguments)
    facts = context.permissions.request_facts(facts, event, level)
    named = tuple(effect._replace(name=effect.name or app.name) for effect in facts.effects)
    return Plan(tool, replace(facts, effects=named), send_event)


def plan_list_apps(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Return the plan of listing the apps."""
    catalogue = _require_catalogue(tool, context)

    def perform_list(_cancel: Cancellation | None) -> ToolResult:
        most: Level = "SAFE" if context.read_only else "DANGEROUS"
        return ToolResult(list_apps(catalogue, most), tuple(context.stale()))

    return Plan(tool, CallFacts(tool.name, arguments=call.arguments), perform_list)


def plan_read_more(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Return the plan of reading on in a result that is kept: a read of the apps it came from.

    Raises:
        ToolError: Nothing of that id is kept.
        SetupError: The state folder is not safe.
    """
    from iac_runtime.gate.stored import load_result, page_of

    # What is a secret now may have been none when it was kept.
    globs = context.permissions.policy.secrets
    kept = load_result(call.arguments["result"], call.caller.token_client).without(globs)

    def read_page(_cancel: Cancellation | None) -> ToolResult:
        limit = context.limit or RESULT_LIMIT
        return ToolResult(page_of(kept, call.arguments["offset"], limit))

    return Plan(tool, CallFacts(tool.name, kept.read_effects, call.arguments), read_page)


def plan_audit_tail(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Return the plan of showing the last calls: `{"calls": [...]}`, the newest last."""
    # Loads sqlite3.
    from iac_runtime.audit import AUDIT_LOG

    def read_tail(_cancel: Cancellation | None) -> ToolResult:
        from iac_runtime.audit.reading import AuditQuery, find_calls
        from iac_runtime.audit.store import FILE, connect_read

        state = open_state()
        try:
            connect_read(state / FILE).close()
        except FileNotFoundError:
            # The first call begins it, a moment later.
            return ToolResult({"calls": []})
        found = find_calls(
            state, AuditQuery(without=tool.name, client=call.caller.token_client), _TAIL
        )
        rows = [json.dumps(entry.to_json_object()) for entry in found]
        while rows and sum(map(len, rows)) > (context.limit or RESULT_LIMIT):
            del rows[0]
        return ToolResult({"calls": [json.loads(row) for row in rows]})

    read = Effect("read", OWN_APP, kind=AUDIT_LOG)
    return Plan(tool, CallFacts(tool.name, (read,), call.arguments), read_tail)


def plan_task(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Return the plan of allowing calls like some examples for a while: a person is asked for it.

    Raises:
        ToolError: An example is wrong, or is one that is denied, asked about each time, or never.
    """
    from iac_runtime.policy.tasks import describe_task, is_positional, task_places

    given, caller = call.arguments, call.caller
    # Whether an approval can be remembered is only said where somebody can be asked.
    asked = caller._replace(ways=caller.ways or APPROVERS)
    parts: list[CallFacts] = []
    for row in given["calls"]:
        plan = context.gate.plan_call(Call(row["name"], row.get("arguments", {}), asked))
        facts, decision = context.gate.judge_plan(plan, asked)
        again = decision.source.startswith(TASK)
        if not (again or decision.offers_always) or facts.event is None:
            raise InvalidParameterError(
                " ".join((f"calls: No task can cover this {row['name']}.", *decision.reasons)),
                "A task covers MODIFY calls that require approval, and that no argument raises.",
            )
        if position := next(filter(is_positional, task_places(facts)), ""):
            raise InvalidParameterError(
                f"calls: {quote_text(position)} is a position, and positions shift.",
                "Name the container by its name or id, as lists return it.",
            )
        parts.append(facts)
    task, minutes = describe_task(parts, given["count"]), given["minutes"]
    budget = f"up to {task.count} {'time' if task.count == 1 else 'times'} within {minutes} minutes"
    # Examples: which object is named, and an "always" for this, mean nothing.
    effects = (row._replace(reference="", given=None) for one in parts for row in one.effects)
    facts = CallFacts(
        tool.name,
        tuple(dict.fromkeys(effects)),
        given,
        shown=(TargetDescription(f"{budget}, without more questions", task.scope.description),),
        undo=Undo(False, "only each change can be, by itself"),
    )

    def start_task(_cancel: Cancellation | None) -> ToolResult:
        context.permissions.tasks.start(task, minutes)
        return ToolResult(
            {"covers": task.scope.description, "left": task.count, "minutes": minutes}
        )

    return Plan(tool, facts, start_task)


def _require_catalogue(tool: Tool, context: ToolContext) -> Catalogue:
    if context.catalogue is None:
        raise UnknownToolError(tool.name)
    return context.catalogue


def list_apps(catalogue: Catalogue, limit: Level) -> dict[str, Any]:
    """Return `{"apps": [{key, name, id, tools: {level: count}}], "now", "zone"}`.

    The level is a tool's least. Tools whose calls can need more than `limit` are left out. Times
    are this Mac's: what a call says without an offset is meant so.
    """
    rows: dict[str, dict[str, Any]] = {
        app.key: {"key": app.key, "name": app.name, "id": app.id, "tools": {}}
        for app in catalogue.apps.values()
    }
    for tool in catalogue.tools.values():
        if at_most(tool.ceiling, limit):
            counts = rows[tool.app.key]["tools"]
            counts[tool.level] = counts.get(tool.level, 0) + 1
    here = {"now": time.strftime("%A %Y-%m-%dT%H:%M%z"), "zone": time.strftime("%Z")}
    return {"apps": [rows[key] for key in sorted(rows)], **here}


def finish_result(
    found: ToolResult, call: Call, facts: CallFacts, operation: Operation, context: ToolContext
) -> ToolResult:
    """Return a result for who called: without secrets, cleaned, and short enough."""
    permissions, limit = context.permissions, None if call.whole else context.limit
    found = without_secret_fields(found, permissions.policy.secrets, operation.tables)
    found = clean_result(found, call, permissions.taint)
    return fit_to_limit(found, limit, facts.effects, call.caller.token_client)


def fit_to_limit(
    found: ToolResult, limit: int | None, effects: tuple[Effect, ...], holder: str
) -> ToolResult:
    """Return a result that is short enough; of a longer one the rest is kept for its holder."""
    if limit is None or len(json.dumps(found.value, ensure_ascii=False)) <= limit:
        return found
    # Needed by results that are too large, and by no other.
    from iac_runtime.gate.stored import truncate

    value, cut = truncate(found.value, limit, effects, holder)
    if not cut:
        return found
    return found._replace(value=value, notes=(*found.notes, cut), whole=found.value)


def _with_launch_level(event: Event, level: Level, context: ToolContext) -> tuple[Event, Level]:
    """Return a request and its level; one that shows its app starts it where it does not run."""
    if level != "SAFE" or event.code not in STARTERS:
        return event, level
    asks = Event(event.app, event.kind, "running", "", writes=False)
    with contextlib.suppress(IacError):
        found = context.executor.execute(asks, app=event.app, command="app_running", timeout=_LOOK)
        if found.value is True:
            return replace(event, may_launch=False), level
    return replace(event, writes=True), "MODIFY"


def _may_launch(event: Event, level: Level, listed: frozenset[str]) -> bool:
    """Say whether a call may start its app: a look may start a helper, and what is listed."""
    return (
        level != "SAFE"
        or event.app.casefold() in _HELPERS
        or event.kind != "application"
        or any(fnmatchcase(event.app.casefold(), glob) for glob in listed)
    )


HOLDERS: Final = 50
"""Objects in which one list looks."""


def holders_of(target: tuple[Step, ...]) -> int:
    """Return the length of the steps to the objects in each of which a list looks; 0 for one."""
    for at, (one, then) in enumerate(itertools.pairwise(target), 1):
        if isinstance(one, AllElements | Whose | Span) and isinstance(then, AllElements):
            return at
    return 0


def list_over(
    event: Event,
    length: int,
    execute: Callable[[Event], AppAnswer],
    tool: Operation,
    names: tuple[NameUse, ...],
) -> tuple[ToolResult, AppAnswer]:
    """Return the rows that several objects hold as one list, and what was said of reading them.

    Args:
        length: How many steps of the target lead to those objects.
        names: The names that the event counts.

    Raises:
        ToolError: The app could not be asked for one of them.
    """
    reader = AppReader(tool.tables, strict=False)
    kinds = resolve_steps(event.target[:length], tool.tables).classes
    ident = id_property(kinds[0], tool.tables) if kinds else None
    ids = property_term(ident) if ident else ""
    name = tool.tables.find_property(kinds[0], "name") if kinds else None
    if ids:
        # An app answers for all of them at once, or it does not, and then each is asked.
        at_once = replace(event, holders=(length, ids, property_term(name) if name else ""))
        try:
            answer = execute(at_once)
        except ToolError as error:
            if error.type == "TIMEOUT":
                raise
        else:
            found = plain_result(answer, at_once, tool)
            return found._replace(notes=(*found.notes, *shared_notes(names, answer))), answer
    end = None if event.limit is None else event.offset + event.limit
    # One more of each tells whether there are more.
    most = None if end is None else end + 1
    event, offset = replace(event, offset=0, after="", limit=most), event.offset
    first = replace(event, target=event.target[:length], columns=(), order=(), limit=HOLDERS)
    first = replace(first, id_column=ids, name_column="")
    answer = execute(first)
    held = plain_result(answer, first, tool)
    rows: list[dict[str, Any]] = []
    heard: list[str] = []
    notes = [f"looked in {note}" for note in held.notes if " of " in note]
    notes += shared_notes(names, answer)
    share = event.ranges and replace(
        event.ranges, seconds=event.ranges.seconds / max(1, len(held.value))
    )
    for holder in held.value:
        steps = (*reader.read_reference(holder["ref"]).steps, *event.target[length:])
        inner = replace(event, target=steps, around=None, ranges=share)
        answer = execute(inner)
        found = plain_result(answer, inner, tool)
        rows += found.value
        told = found.notes if found.value else answer.notes
        notes += [note for note in told if "; the next: cursor " not in note]
        heard += answer.notes
    labels = {column.jxa: column.label for column in event.columns}
    for by in reversed(event.order):
        # What has no value comes last, as in a list of one.
        label = labels.get(by.jxa, "ref")
        known = [row for row in rows if row[label] is not None]
        known.sort(key=itemgetter(label), reverse=by.descending)
        rows = [*known, *(row for row in rows if row[label] is None)]
    said = tuple(dict.fromkeys(notes if rows else [*notes, "there is none"]))
    if end is not None and end < len(rows):
        said = (*said, f'the first {end} of more items; the next: cursor "{end}:"')
    return ToolResult(rows[offset:end], said), AppAnswer(None, None, tuple(heard))
