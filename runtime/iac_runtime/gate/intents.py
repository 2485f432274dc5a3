"""Planning an App Intent: the same effects as on every road, carried out by a shortcut."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any, Final

from iac_base.errors import (
    Cancellation,
    DeclaredToolError,
    InvalidParameterError,
    SetupError,
    ToolError,
    quote_text,
)
from iac_runtime.execution.process import RunInTurns
from iac_runtime.execution.shortcuts import run_shortcut, shortcut_title
from iac_runtime.gate.planning import finish_result, resolve_relative_dates
from iac_runtime.gate.plans import Call, Plan, ToolContext, ToolResult
from iac_runtime.gate.results import refuse_cleaned
from iac_runtime.language.compose import compose_request, effective_level
from iac_runtime.language.steps import DateValue, IntentRequest
from iac_runtime.outcomes.outcome import Outcome
from iac_runtime.policy.facts import CallFacts, Effect
from iac_runtime.tool import Intent
from iac_runtime.tools.lock import (
    InstalledShortcut,
    installed_shortcuts,
    read_wrappers,
    record_shortcut,
)
from iac_runtime.tools.own import entry_places
from iac_runtime.tools.shape import Tool
from iac_runtime.tools.tables import Operation

_WORDS: Final = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_BEGUN: Final = ("EXECUTION_ERROR", "TIMEOUT", "UNKNOWN", "USER_CANCELLED")
"""Failures after which the action may have been done."""
_UNSEEN: Final = Outcome("unknown", says="the shortcut ended; IAC did not check what it did")


def plan_intent(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Return the plan of a call of an App Intent.

    Raises:
        DeclaredToolError: Its shortcut is not installed, or not the one that is built now.
        InvalidParameterError: The shortcut does not pass an argument on.
        ToolError: An argument is wrong.
    """
    operation = tool.operation
    assert operation is not None
    shortcut = _find_shortcut(operation, context)
    codes = {key: row.code for key, row in operation.spec.params.items()}
    defaults = {key: row["default"] for key, row in tool.input["properties"].items()
                if "default" in row and codes[key] in shortcut.takes}  # fmt: skip
    said = {key: value for key, value in call.arguments.items() if value is not None}
    given = resolve_relative_dates({**defaults, **said}, operation)
    request = _build_request(operation, given, shortcut, context.home)
    level = effective_level(operation, given, context.home)
    line = f"{operation.tables.app.name} {request.action} {json.dumps(request.parameters)}"
    facts = CallFacts(tool.name, arguments=given, digest=tool.digest, line=line)
    # Judged as an event that takes the same values; none is sent.
    event = compose_request(operation, given, context.home)
    facts = replace(context.permissions.request_facts(facts, event, level, operation), event=None)
    if not facts.is_read_only:
        refuse_cleaned(event, call, context)
    if (operation.spec.intent or Intent()).opens:
        front = Effect("view", request.app, operation.tables.app.name, level="MODIFY")
        facts = replace(facts, effects=(*facts.effects, front))
    seconds = context.executor.timeout if call.timeout is None else call.timeout

    def perform_shortcut(cancel: Cancellation | None) -> ToolResult:
        run = context.executor.run
        if context.executor.simulated:
            run = _simulated_runner(operation, shortcut.uuid, context)
        try:
            text = run_shortcut(run, shortcut.uuid, request, tool.name, seconds, cancel)
        except ToolError as error:
            if error.type in _BEGUN and not facts.is_read_only:
                error.outcome = _UNSEEN.facts()
            raise
        if shortcut.proof == "imported" and not context.executor.simulated:
            # What was done stays done, whatever becomes of the note.
            with suppress(SetupError):
                record_shortcut(tool.name, shortcut._replace(proof="ran"))
        result = ToolResult(_parse_answer(text, operation.spec.result))
        result = finish_result(result, call, facts, operation, context)
        return result._replace(outcome=None if facts.is_read_only else _UNSEEN)

    return Plan(tool, facts, perform_shortcut)


def _find_shortcut(operation: Operation, context: ToolContext) -> InstalledShortcut:
    """Return the installed shortcut of a tool, which is the one of its folder."""
    shortcut, catalogue = installed_shortcuts().get(operation.name), context.catalogue
    if shortcut is None or catalogue is None:
        raise DeclaredToolError(operation.name)
    if shortcut.proof == "simulated" and not context.executor.simulated:
        raise DeclaredToolError(operation.name)
    app = catalogue.find_row(operation.name).app
    if read_wrappers(app.folder, app.key)[0] != shortcut.digest:
        error = DeclaredToolError(operation.name)
        error.message = (
            f"The App Intent {quote_text(operation.name)} changed after its shortcut was installed."
        )
        error.suggestion = f"Ask the user to run: iac-mcp intents install {operation.name}"
        raise error
    return shortcut


def _simulated_runner(operation: Operation, uuid: str, context: ToolContext) -> RunInTurns:
    """Return what runs a shortcut in simulated apps: each call finds the app as it was built."""
    assert context.catalogue is not None
    app = context.catalogue.find_row(operation.name).app
    workflow = read_wrappers(app.folder, app.key)[1][operation.spec.event]
    simulator = import_module(entry_places("iac.simulator")["shortcuts"])
    process_runner: RunInTurns = simulator.process_runner(
        {
            "apps": simulator.intent_actions(operation.tables),
            "answers": "always",
            "shortcuts": {uuid: {"name": shortcut_title(operation.name), "workflow": workflow}},
        }
    )
    return process_runner


def _build_request(
    operation: Operation, given: Mapping[str, Any], found: InstalledShortcut, home: str
) -> IntentRequest:
    """Return the request; its values are those of the event, in the types of JSON."""
    spec = operation.spec
    for key in given:
        if spec.params[key].code not in found.takes:
            raise InvalidParameterError(
                f"The shortcut of the tool {operation.name} does not accept {quote_text(key)}.",
                "Leave it out.",
            )
    event = compose_request(operation, given, home)
    codes = [row.code for key, row in spec.params.items() if key in given]
    values = {
        code: value.iso if isinstance(value, DateValue) else value
        for code, (_, value) in zip(codes, event.named, strict=True)
    }
    return IntentRequest(operation.tables.app.id, spec.event, values)


def _parse_answer(text: str, kind: str) -> Any:
    """Return the answer of a shortcut, which is text, in the declared type where it is plain."""
    if not kind:
        return None
    if kind == "boolean" and text.strip().lower() in _WORDS:
        return _WORDS[text.strip().lower()]
    if kind in ("integer", "real"):
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError:
            return text
    return text.splitlines() if kind.startswith("list of ") else text
