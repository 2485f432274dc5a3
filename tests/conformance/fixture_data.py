"""What the official conformance suite wants a server to have: tools, resources, prompts.

The names and texts are those that its scenarios ask for (`conformance list`, and the description
of each scenario).
"""

import json
from typing import Any, Final

from iac_runtime.serve.protocol import TASK_EXTENSION, ServerIdentity

# One red pixel, and a WAV file without a sample.
PNG: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIA"
    "X8jx0gAAAABJRU5ErkJggg=="
)
WAV: Final = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="

_OBJECT: Final[dict[str, Any]] = {"type": "object", "properties": {}}


def _asking(**properties: str) -> dict[str, Any]:
    rows = {key: {"type": kind} for key, kind in properties.items()}
    return {"type": "object", "properties": rows, "required": list(properties)}


def _text(*, uri: str = "", mime: str = "text/plain", text: str) -> dict[str, Any]:
    return {"uri": uri, "mimeType": mime, "text": text}


RICH_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object",
      "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
     "contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": {"type": "string"},
     "email": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": False,
}  # fmt: skip
"""A schema with every keyword that must reach the client as it is."""

HEADED: Final = "test_headed_tool"
HEADED_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}
"""A tool whose argument is repeated in a header."""

IMAGE: Final = {"type": "image", "data": PNG, "mimeType": "image/png"}

CONTENTS: Final[dict[str, list[dict[str, Any]]]] = {
    "test_simple_text": [{"type": "text", "text": "This is a simple text response for testing."}],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}],
    "test_embedded_resource": [{"type": "resource",
      "resource": _text(uri="test://embedded-resource",
       text="This is an embedded resource content.")}],
    "test_multiple_content_types": [{"type": "text", "text": "Multiple content types test:"}, IMAGE,
     {"type": "resource",
      "resource": _text(uri="test://mixed-content-resource", mime="application/json",
       text='{"test":"data","value":123}')}],
    HEADED: [{"type": "text", "text": "ok"}],
    "json_schema_2020_12_tool": [{"type": "text", "text": "ok"}],
}  # fmt: skip
"""Tools that always answer the same."""

DEFAULTS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"name": {"type": "string", "default": "John Doe"},
     "age": {"type": "integer", "default": 30}, "score": {"type": "number", "default": 95.5},
     "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
     "verified": {"type": "boolean", "default": True}},
}  # fmt: skip


def _titled(*names: str) -> list[dict[str, str]]:
    return [{"const": f"value{n}", "title": title} for n, title in enumerate(names, 1)]


_PLAIN: Final = ["option1", "option2", "option3"]

ENUMS: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": _PLAIN},
        "titledSingle": {"type": "string",
         "oneOf": _titled("First Option", "Second Option", "Third Option")},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
         "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _PLAIN}},
        "titledMulti": {"type": "array",
         "items": {"anyOf": _titled("First Choice", "Second Choice", "Third Choice")}},
    },
}  # fmt: skip

ASKING: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "test_elicitation": ("", _asking(username="string", email="string")),
    "test_elicitation_sep1034_defaults": ("Please check these values.", DEFAULTS),
    "test_elicitation_sep1330_enums": ("Please choose.", ENUMS),
}
"""Tools that ask in the middle of a call (the era with a handshake): message and schema."""


def _elicit(message: str, **properties: str) -> dict[str, Any]:
    params = {"mode": "form", "message": message, "requestedSchema": _asking(**properties)}
    return {"method": "elicitation/create", "params": params}


def _sample(text: str, most: int) -> dict[str, Any]:
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {
        "method": "sampling/createMessage",
        "params": {"messages": [message], "maxTokens": most},
    }


_NAME: Final = {"user_name": _elicit("What is your name?", name="string")}
_ROOTS: Final = {"client_roots": {"method": "roots/list", "params": {}}}
_CONFIRM: Final = {"confirm": _elicit("Please confirm", ok="boolean")}

ROUNDS: Final[dict[str, list[dict[str, Any]]]] = {
    "test_input_required_result_elicitation": [_NAME],
    "test_input_required_result_sampling": [
        {"capital_question": _sample("What is the capital of France?", 100)},
    ],
    "test_input_required_result_list_roots": [_ROOTS],
    "test_input_required_result_request_state": [_CONFIRM],
    "test_input_required_result_tampered_state": [_CONFIRM],
    "test_input_required_result_multiple_inputs": [
        {**_NAME, "greeting": _sample("Generate a greeting", 50), **_ROOTS},
    ],
    "test_input_required_result_multi_round": [
        {"step1": _elicit("Step 1: What is your name?", name="string")},
        {"step2": _elicit("Step 2: What is your favorite color?", color="string")},
    ],
    "test_input_required_result_capabilities": [
        {"elicited": _elicit("What is your name?", name="string"), "sampled": _sample("Hello", 50)},
    ],
    "test_input_required_result_prompt": [
        {"user_context": _elicit("What context should the prompt use?", context="string")},
    ],
    "test_streaming_elicitation": [_NAME],
}
"""Tools (and one prompt) that ask by their result (2026-07-28): what each round wants."""

STATEFUL: Final = {
    "test_input_required_result_request_state", "test_input_required_result_tampered_state",
    "test_input_required_result_multiple_inputs", "test_input_required_result_multi_round",
}  # fmt: skip
"""Those whose rounds hand the client a state to give back."""

PROMPT_ROUND: Final = "test_input_required_result_prompt"

DOING: Final = (
    *("test_error_handling", "test_tool_with_progress", "test_tool_with_logging"),
    *("test_logging_tool", "test_missing_capability", "test_sampling"),
    *("test_trigger_tool_change", "test_trigger_prompt_change"),
)
"""Tools that do something of their own (`fixture_tools.DOERS`)."""

_SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    "json_schema_2020_12_tool": RICH_SCHEMA,
    "test_sampling": _asking(prompt="string"),
    "test_elicitation": _asking(message="string"),
    "greet": _asking(name="string"),
    HEADED: HEADED_SCHEMA,
}

TASK_ROUNDS: Final = {
    "confirm_delete": {"confirm": _elicit("Delete the file?", confirm="boolean")},
    "multi_input": {
        "first": _elicit("The first?", name="string"),
        "second": _elicit("The second?", confirm="boolean"),
    },
    "test_tool_with_task": {"user_name": _elicit("What is your name?", name="string")},
}
"""Tools that ask, in a task or before it has become one."""

TASK_TOOLS: Final = ("greet", "slow_compute", "failing_job", "protocol_error_job", *TASK_ROUNDS)
"""Tools whose calls become tasks where they take long (`fixture_tasks`)."""

TOOLS: Final[list[dict[str, Any]]] = [
    {
        "name": name,
        "description": "A tool of the conformance suite.",
        "inputSchema": _SCHEMAS.get(name, _OBJECT),
    }
    for name in (*CONTENTS, *ASKING, *ROUNDS, *DOING, *TASK_TOOLS)
    if name != PROMPT_ROUND
]
LINES: Final = [json.dumps(row, separators=(",", ":")).encode() for row in TOOLS]

RESOURCES: Final[dict[str, dict[str, Any]]] = {
    "test://static-text": _text(text="This is the content of the static text resource."),
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://watched-resource": _text(text="Watched."),
}
TEMPLATE: Final = "test://template/{id}/data"

PROMPTS: Final[dict[str, tuple[str, ...]]] = {
    "test_simple_prompt": (), "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",), "test_prompt_with_image": (),
    PROMPT_ROUND: (),
}  # fmt: skip
"""Name -> arguments."""

_CHANGES: Final = {"listChanged": True}
CAPABILITIES: Final[dict[str, dict[str, Any]]] = {
    "legacy": {"completions": {}, "logging": {}, "prompts": _CHANGES,
     "resources": {"subscribe": True, "listChanged": False}, "tools": _CHANGES},
    "modern": {"completions": {}, "prompts": _CHANGES,
     "resources": {"subscribe": True, "listChanged": True}, "tools": _CHANGES,
     "extensions": {TASK_EXTENSION: {}}},
}  # fmt: skip

IDENTITY: Final = ServerIdentity("iac-conformance", "1", "A fixture.", CAPABILITIES)
