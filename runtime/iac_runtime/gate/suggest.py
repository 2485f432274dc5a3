"""After a failure: the call to make next, as data (`ToolError.next`).

It is the caller's own call, edited as little as possible: what is wrong is put right by the nearest
words, until the call can be planned. Where nothing is near, a read goes without what is wrong. A
write loses nothing and is given no value: the error says what to decide, else the next call is a
look at what it names. What only a person can mend (a permission, a refusal) has none either.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, Final

from iac_base.errors import (
    ErrorType,
    IacError,
    InvalidParameterError,
    NextCall,
    ToolError,
    quote_text,
)
from iac_base.text import text_literal
from iac_base.words import fold_name
from iac_runtime.gate.plans import Call, Plan
from iac_runtime.language.reader import AppReader
from iac_runtime.language.references import resolve_steps
from iac_runtime.language.steps import (
    AllElements,
    ById,
    ByIndex,
    ByName,
    Event,
    MiddleOrSome,
    RelativeTo,
    Step,
    Whose,
)
from iac_runtime.language.terms import camel_case, find_class_term, has_elements
from iac_runtime.language.text import format_reference
from iac_runtime.policy.requests import find_specifiers, lowercase_words
from iac_runtime.tools.checking import check_arguments
from iac_runtime.tools.own import OWN_TOOLS
from iac_runtime.tools.shape import Tool
from iac_runtime.tools.tables import APPLICATION, Operation, Tables

_PLANS: Final = 40
"""Calls that are planned in search of the one that was meant."""

_FEWER: Final = 20
"""Rows of a list that is proposed."""

_LOOKS: Final[frozenset[ErrorType]] = frozenset(
    {"EXECUTION_ERROR", "INVALID_PARAMETER", "NOT_FOUND", "NOT_SUPPORTED", "UNKNOWN"}
)
"""What was sent and failed for what it named: the object is looked at."""


def suggest_corrected_call(
    error: ToolError, given: Mapping[str, Any], tool: Tool, plan: Callable[..., Any]
) -> None:
    """Give the error of a call that could not be planned its next call.

    Args:
        plan: Plans a call of the tool with other arguments, or raises.
    """
    operation = tool.operation
    if operation is not None:
        _suggest_reference(error, operation, given)
    elif tool.name not in OWN_TOOLS:
        # Planning may cost what carrying out does.
        plan = partial(check_arguments, schema=tool.input)
    if not isinstance(error, InvalidParameterError) or not isinstance(given, Mapping):
        return
    reads = _only_reads(tool)
    if error.key and not (reads or error.suggestion):
        error.suggestion = f"Decide what {error.key} is to be, and call again."

    def find_call() -> NextCall | None:
        found = _find_corrected_call(error, given, tool, plan)
        if found is None and reads:
            found = _find_corrected_call(error, given, tool, plan, leave_out=True)
        # What a write is to do is for the caller to decide, where it is told of what.
        told = error.suggestion and not reads
        return found or (None if told else _suggest_read(tool, given))

    error.set_next_call(find_call)


def suggest_after_failure(error: ToolError, call: Call, plan: Plan) -> None:
    """Give the error of a call that was sent its next call, by what kind of failure it is."""
    if not plan.parts:
        error.set_next_call(lambda: _next_call_after(error, call, plan))


def _next_call_after(error: ToolError, call: Call, plan: Plan) -> NextCall | None:
    if error.type == "APP_NOT_RUNNING" and plan.facts.app[1]:
        return NextCall("app_launch", {"app": plan.facts.app[1]})
    if error.type == "APP_NOT_FOUND":
        return NextCall("list_apps")
    if error.type == "TIMEOUT" and "limit" in plan.tool.input.get("properties", ()):
        return NextCall(call.tool, {**call.arguments, "limit": _FEWER})
    # A call that takes another back is planned as one of the app's own tools.
    mine = call.tool == plan.tool.name
    again = error.retryable or error.type in ("BUSY", "LIST_CHANGED")
    if again or (error.type == "STALE" and mine):
        return repeated_call(call)
    if error.type in _LOOKS or error.type in ("STALE", "TIMEOUT"):
        return _suggest_read(plan.tool, call.arguments if mine else plan.facts.arguments)
    return None


def repeated_call(call: Call) -> NextCall | None:
    """Return the same call; None for several in one, which only a door takes."""
    return None if call.calls else NextCall(call.tool, call.arguments)


def _find_corrected_call(
    error: ToolError,
    given: Mapping[str, Any],
    tool: Tool,
    plan: Callable[..., Any],
    *,
    leave_out: bool = False,
) -> NextCall | None:
    """Return the call with its faults put right; None where that does not lead to one.

    With `leave_out` the call may lose what is wrong, where nothing puts it right.
    """
    waiting: list[tuple[ToolError, Mapping[str, Any]]] = [(error, given)]
    left = _PLANS
    for failed, arguments in waiting:
        if not isinstance(failed, InvalidParameterError):
            continue
        tries = _candidate_arguments(failed, arguments, tool)
        for other in chain(tries, _without_fault(failed, arguments) if leave_out else ()):
            left -= 1
            try:
                plan(other)
            except ToolError as failure:
                if failure.message != failed.message and left > 0:
                    waiting.append((failure, other))
            except IacError:
                return None
            else:
                return NextCall(tool.name, _of_few_rows(tool.operation, other))
    return None


def _candidate_arguments(
    error: InvalidParameterError, given: Mapping[str, Any], tool: Tool
) -> Iterator[dict[str, Any]]:
    operation = tool.operation
    reads = _only_reads(tool)
    if error.ambiguous and not reads:
        return
    if error.give and (reads or not error.key):
        yield {key: value for key, value in {**given, **error.give}.items() if value is not None}
    if operation is not None:
        for key, value in given.items():
            written = read_script_reference(value, operation.tables)
            if written:
                yield {**given, key: written}
    for near in error.near:
        yield from _word_replacements(given, error.said, near)
    yield from _pattern_replacements(given, error.said)
    if error.said in given:
        # What has no such name may be meant for an argument that is missing.
        rest = {key: value for key, value in given.items() if key != error.said}
        for key in tool.input.get("required", ()):
            if key not in given:
                yield {**rest, key: given[error.said]}
    example = operation.spec.example if operation is not None else tool.example
    if reads and error.key in given and error.key in example:
        yield {**given, error.key: example[error.key]}
    if reads and not example.keys() <= given.keys():
        # Of a read, what is missing can be anything that is there.
        yield {**example, **given}


def _word_replacements(value: Any, said: str, near: str) -> Iterator[Any]:
    """Yield `value` with one place where the word `said` stands put right, each place in turn."""
    if isinstance(value, str):
        if value.removeprefix("-") == said:
            # A name to sort by has its sign before it.
            yield value.replace(said, near)
        elif "." in value or "[" in value:
            word = rf"(?<![\w\"']){re.escape(said)}(?![\w\"'])"
            other = re.sub(word, lambda _: near, value, count=1)
            if other != value:
                yield other
    elif isinstance(value, Mapping):
        if said in value and near not in value:
            # Not read is unread.
            turned = isinstance(value[said], bool) and said[:2] == "un" != near[:2]
            now = not value[said] if turned else value[said]
            rest = {key: part for key, part in value.items() if key != said}
            yield {**rest, near: now}
        for key, part in value.items():
            for other in _word_replacements(part, said, near):
                yield {**value, key: other}
    elif isinstance(value, list):
        for at, part in enumerate(value):
            for other in _word_replacements(part, said, near):
                yield [*value[:at], *([] if other in value else [other]), *value[at + 1 :]]


_EMPTY: Final[tuple[Any, ...]] = ({}, [])


def _without_fault(
    error: InvalidParameterError, given: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the arguments without the word that is wrong, else without the argument."""
    if error.said and (rest := _without_word(given, error.said)) != given:
        yield rest
    if error.key in given:
        yield {key: value for key, value in given.items() if key != error.key}


def _without_word(value: Any, said: str) -> Any:
    if isinstance(value, Mapping):
        rest = {key: _without_word(part, said) for key, part in value.items() if key != said}
        return {key: part for key, part in rest.items() if part not in _EMPTY and part != said}
    if isinstance(value, list):
        rows = [_without_word(part, said) for part in value]
        return [part for part in rows if part not in _EMPTY and str(part).lstrip("-") != said]
    return value


def _pattern_replacements(value: Any, said: str) -> Iterator[Any]:
    """Yield `value` with a pattern, compared by the word `said`, as the comparison that it is."""
    if not isinstance(value, Mapping):
        return
    for key, part in value.items():
        if key == said and fold_name(said) in _PATTERNS and isinstance(part, str):
            word = part.strip("%*")
            begins, ends = (part[at : at + 1] in _WILD for at in (0, len(part) - 1))
            if word and not set(word) & _WILD:
                rest = {one: it for one, it in value.items() if one != said}
                yield {**rest, _COMPARISONS[begins, ends]: word}
        for other in _pattern_replacements(part, said):
            yield {**value, key: other}


_PATTERNS: Final = frozenset({"like", "ilike", "match", "matches", "glob", "regex", "search"})
_WILD: Final = frozenset("%*")
_COMPARISONS: Final[Mapping[tuple[bool, bool], str]] = {
    (True, True): "contains",
    (True, False): "ends with",
    (False, True): "begins with",
    (False, False): "contains",
}
"""Whether a pattern begins and ends with a wildcard -> the comparison that it stands for."""

_POSITIONS: Final = {"first": 0, "second": 1, "third": 2, "last": -1}
_SCRIPT_PART: Final = re.compile(
    r"(?:the )?(?:(first|second|third|last|every) (.+)|(.+?) (\d+|\"[^\"]*\")|(.+))"
)


def read_script_reference(text: Any, tables: Tables) -> str:
    """Return a reference that is written as AppleScript has it (`first tab of window 1`)."""
    if not isinstance(text, str):
        return ""
    written = ""
    for part in reversed(re.split(r" (?:of|in) (?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", text.strip())):
        found = _SCRIPT_PART.fullmatch(part)
        if found is None:
            return ""
        place, kind, named, which, only = found.groups()
        if only is not None and fold_name(only).startswith("application"):
            continue
        if named is not None and fold_name(named) in ("app", "application"):
            continue
        term = find_class_term(kind or named or "", tables)
        if term is None and only is None:
            return ""
        step = tables.classes[term].plural if term is not None else camel_case(only or "")
        if place in _POSITIONS:
            step += f"[{_POSITIONS[place]}]"
        elif which is not None:
            step += f"[{int(which) - 1}]" if which.isdigit() else f"[{which}]"
        written += f".{step}" if written else step
    return "" if written == text else written


def _only_reads(tool: Tool) -> bool:
    """Say whether a call can do no more than read, whatever its arguments."""
    operation = tool.operation
    looks = operation is None or operation.spec.op in ("get", "list", "count")
    return looks and tool.ceiling == "SAFE"


def _of_few_rows(operation: Operation | None, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return arguments with a limit, where they have none and rows can be many."""
    limited = operation is not None and operation.spec.op == "list" and "limit" not in given
    takes = operation is not None and "limit" in operation.spec.params
    return {**given, "limit": _FEWER} if limited and takes else given


def _suggest_read(tool: Tool, given: Mapping[str, Any]) -> NextCall | None:
    """Return a read that shows what the call could have named; of a written tool, its page."""
    operation = tool.operation
    if operation is None:
        return NextCall("find_tools", {"query": tool.name})
    tables = operation.tables
    target = next((given[key] for key in ("target", "of") if isinstance(given.get(key), str)), "")
    if target and operation.spec.op != "get" and "get" in tables.tools:
        with suppress(ToolError):
            AppReader(tables, "/").read_object(target, "item")
            return NextCall(f"{tables.key}_get", {"target": target})
    if not _only_reads(tool):
        return None
    for op in ("list", "get"):
        spec = tables.tools.get(op)
        if spec is not None and spec.example:
            few = {"limit": _FEWER} if "limit" in spec.params else {}
            return NextCall(f"{tables.key}_{op}", {**spec.example, **few})
    return NextCall("find_tools", {"query": operation.spec.jxa, "app": tables.app.name})


def _suggest_reference(
    error: ToolError, operation: Operation, arguments: Mapping[str, Any]
) -> None:
    """Say how an object is named, to a caller who gave its mere name where a reference is due."""
    for key, row in operation.spec.params.items():
        given = arguments.get(key)
        if not isinstance(given, str) or quote_text(given) not in error.message:
            continue
        found = operation.tables.classes.get(row.type)
        if found is not None and has_elements((APPLICATION,), row.type, operation.tables):
            example = f"{found.plural}[{text_literal(given)}]"
            error.suggestion = f"To refer to the {row.type} with that name, write {example}."
            if isinstance(error, InvalidParameterError):
                error.near, error.give = [], {key: example}


_PICKS: Final = (MiddleOrSome, RelativeTo, ById, ByIndex, ByName)


def describe_missing_object(
    error: ToolError,
    event: Event,
    tool: Operation,
    count: Callable[[tuple[Step, ...]], Any] | None = None,
) -> ToolError:
    """Return `error`; one that says NOT_FOUND names the object and the call that lists its like.

    Args:
        count: Returns how many objects a collection has; asked where a position is not there.
    """
    if error.type != "NOT_FOUND":
        return error
    picked = list(dict.fromkeys(_picked_objects(event)))
    if not picked:
        return error
    names = ", ".join(format_reference(steps) for steps in picked[:3])
    lists = [call for steps in picked[:2] if (call := _list_call(steps, tool)) is not None]
    lists = lists[:1] if lists[1:] == lists[:1] else lists
    app = tool.tables.app.name
    error.message = (
        f"There is no {names} in {app}."
        if len(picked) == 1
        else f"{app} does not have all of these: {names}."
    )
    why = "It may have been deleted, renamed or moved. "
    if count is not None and len(picked) == 1 and (held := _size_text(picked[0], tool, count)):
        error.message, why = f"There is no {names}; {held}.", ""
    error.suggestion = why + (
        f"List them again with {' or '.join(map(str, lists))}." if lists else "Look for it again."
    )
    if lists:
        error.set_next_call(lambda: lists[0])
    return error


def _size_text(
    steps: tuple[Step, ...], tool: Operation, count: Callable[[tuple[Step, ...]], Any]
) -> str:
    """Return how many objects there are of those that a position is taken from, if that is one."""
    *around, last = steps
    if not isinstance(last, ByIndex) or not isinstance(around[-1], AllElements):
        return ""
    classes = resolve_steps(tuple(around), tool.tables).classes
    if not classes:
        return ""
    try:
        size = int(count(tuple(around)))
    except ToolError:
        return ""
    words = classes[0] if size == 1 else tool.tables.classes[classes[0]].plural
    holder = format_reference(tuple(around[:-1])) or tool.tables.app.name
    return f"{holder} has {size or 'no'} {lowercase_words(words)}"


def _picked_objects(event: Event) -> Iterator[tuple[Step, ...]]:
    """Yield what the request names by id, name or position, up to the last pick of each."""
    for steps in find_specifiers(event):
        last = max((n for n, step in enumerate(steps) if isinstance(step, _PICKS)), default=-1)
        if last >= 0:
            yield steps[: last + 1]


def _list_call(steps: tuple[Step, ...], tool: Operation) -> NextCall | None:
    """Return the call that lists the collection that `steps` picks from, if there is one."""
    if "list" not in tool.tables.tools:
        return None
    collection = steps[:-1]
    while collection and isinstance(collection[-1], Whose):
        collection = collection[:-1]
    found = resolve_steps(collection, tool.tables)
    if not found.selectable or not found.classes:
        return None
    of = format_reference(collection[:-1])
    given = {"element": found.classes[0], **({"of": of} if of else {}), "limit": _FEWER}
    return NextCall(f"{tool.tables.key}_list", given)
