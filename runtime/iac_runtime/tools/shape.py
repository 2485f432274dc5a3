"""The one shape of a tool, whoever it is of: generated, our own, of interfaces, of scripts.

A start of the server pays for this module, so it imports the contract and little else.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from iac_runtime.tool import Level

if TYPE_CHECKING:
    from iac_runtime.tools.tables import Operation

Schema: TypeAlias = Mapping[str, Any]

Perform: TypeAlias = "Callable[[Tool, Any, Any], Any]"
"""Takes the tool, a call whose arguments fit its schema (`Call`), and the gate's side of it
(`ToolContext`); says what the call would do (`Plan`). These stand above, in `gate.plans`.

The plan that it returns carries the call out. Nothing is changed before."""

RESULT_LIMIT: Final = 100_000
"""Characters of JSON in an answer to a client; larger ones are refused by some."""


class Tool(NamedTuple):
    """A tool: what a client is told of it, what it is found by, what it needs, what it does.

    Attributes:
        name: Its name on the wire.
        purpose: What it does, as a client reads it.
        input: The schema of its arguments.
        perform: Plans a call; None for a tool that the surface answers by itself, and for one
            that sends an event, which the gate plans by its operation.
        output: The schema of its answer; None where there is none.
        level, ceiling: The least that a call needs, and the most that its arguments can reach.
        words: What people say for it beside its purpose: the search finds it by them.
        example: Arguments of a call that fit `input`.
        timeout: Seconds that a call may take where the caller does not say; None for the gate's.
        open_world: Whether it reaches what is beyond this Mac.
        always: Whether clients that load tools on demand are to load it at once.
        large: Whether its answers may be as large as `RESULT_LIMIT`.
        operation: Of a generated tool, what it does in its app.
        digest: Of a generated tool, that of the tools of its app in tools.lock: an answer that is
            remembered is bound to it.
        toolset: Of a tool that no dictionary declares, the package it is of, as in `--expose`.
    """

    name: str
    purpose: str
    input: Schema
    perform: "Perform | None" = None
    output: Schema | None = None
    level: Level = "SAFE"
    ceiling: Level = "SAFE"
    words: str = ""
    example: Mapping[str, Any] = {}
    timeout: float | None = None
    open_world: bool = False
    always: bool = False
    large: bool = False
    operation: "Operation | None" = None
    digest: str = ""
    toolset: str = ""


def accepted_schema(tool: Tool) -> Mapping[str, Any]:
    """Return the schema that calls are held to: classes that no listing offers go, too."""
    rows = tool.input.get("properties", {})
    shown = rows.get("element", {}).get("enum")
    if tool.operation is None or not shown:
        return tool.input
    held = [e.term for row in tool.operation.tables.classes.values() for e in row.elements]
    element = {**rows["element"], "enum": [*dict.fromkeys((*shown, *held))]}
    return {**tool.input, "properties": {**rows, "element": element}}


def import_later(place: str) -> "Perform":
    """Return the function at `module:name`, which is imported when it is first called."""
    module, _, name = place.partition(":")

    def perform(tool: Tool, call: Any, context: Any) -> Any:
        function: Perform = getattr(import_module(module), name)
        return function(tool, call, context)

    return perform


def listing_entry(tool: Tool) -> dict[str, Any]:
    """Return what a client is told of a tool: its entry in tools/list."""
    meta: dict[str, Any] = {}
    if tool.always:
        meta["anthropic/alwaysLoad"] = True
    if tool.large:
        # Else a client puts half of it into a file; what is longer is for read_more.
        meta["anthropic/maxResultSizeChars"] = RESULT_LIMIT
    return {
        "name": tool.name,
        "title": tool.name.replace("_", " ").capitalize(),
        "description": tool.purpose,
        "inputSchema": dict(tool.input),
        "annotations": {
            "readOnlyHint": tool.ceiling == "SAFE",
            "destructiveHint": tool.ceiling == "DANGEROUS",
            "idempotentHint": tool.ceiling == "SAFE",
            "openWorldHint": tool.open_world,
        },
        **({"outputSchema": dict(tool.output)} if tool.output is not None else {}),
        **({"_meta": meta} if meta else {}),
    }
