"""The file format as one table: the reader, the JSON schema and the reference page come from it.

A type is written as in the tables below: `text`, `integer`, `boolean`, `any`, `one of a|b`,
`table NAME`, `list of TYPE`, `map of TYPE`; a field may have several. A field with `honoured`
False is known to claudeless (docs/SCENARIOS.md of alfredjeanlab/claudeless) and changes nothing
here.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from iac_scenario.model import MODES, PERMISSION_MODES
from iac_scenario.timeouts import TIMEOUTS

__all__ = ["ELSEWHERE", "ROOT", "TABLES", "Field", "Table"]

ROOT: Final = "scenario"
"""The table that a file as a whole is."""


class Field(NamedTuple):
    """A field: its types, what it means, what holds without it, whether it does anything."""

    types: tuple[str, ...]
    doc: str
    default: str = ""
    required: bool = False
    honoured: bool = True


class Table(NamedTuple):
    """A table of fields, and a sentence about it."""

    doc: str
    fields: Mapping[str, Field]


_MODES = f"one of {'|'.join(MODES)}"
_PERMISSION_MODES = f"one of {'|'.join((*PERMISSION_MODES, 'delegate'))}"
_SCREEN = "Concerns the screen of an interactive client."


def _ignored(kind: str, doc: str) -> Field:
    return Field((kind,), doc, honoured=False)


TABLES: Final[Mapping[str, Table]] = {
    "scenario": Table("The file.", {
        "name": Field(("text",), "A name for reports.", "the file's name"),
        "prompts": Field(
            ("list of text",), "What the user says, when no prompt is given to the run.", "none"
        ),
        "responses": Field(("list of table rule",), "Rules in order; the first match wins."),
        "default_response": Field(
            ("text", "table response"), "The reply where no rule matches.", "an empty text"
        ),
        "tool_execution": Field(("table tool_execution",), "How calls are carried out."),
        "permissions": Field(("table permissions",), "Which calls may run."),
        "permission_mode": Field(
            (_PERMISSION_MODES,), "The same as `mode` under `permissions`; that one wins."
        ),
        "timeouts": Field(
            ("table timeouts",),
            "Times in milliseconds. A flag wins over them, they over the environment.",
        ),
        "elicitations": Field(
            ("list of table elicitation",),
            "Answers to the questions of servers, where the call has none of its own; the first"
            " whose `message` matches is used.",
            "a question is cancelled",
        ),
        "mcp_servers": Field(
            ("map of table server",),
            "Servers to start, under the names that tools are called by.",
        ),
        "session_id": Field(("text",), "A UUID.", "made from the name and the seed"),
        "launch_timestamp": Field(
            ("text",), "When the session begins, RFC 3339 with an offset.", "2025-01-01T00:00:00Z"
        ),
        "seed": Field(("integer",), "Makes the ids of calls.", "0"),
        "default_model": Field(("text",), "The model that results name.", "scripted"),
        "working_directory": Field(
            ("text",),
            "The absolute path under which the tools of Claude's own see the sandbox.",
            "`sandbox_root`, or /sandbox",
        ),
        "project_path": _ignored("text", "Names a folder of the client's own state."),
        "claude_version": _ignored("text", "A version to report."),
        "user_name": _ignored("text", _SCREEN),
        "trusted": _ignored("boolean", _SCREEN),
        "logged_in": _ignored("boolean", _SCREEN),
        "provider": _ignored("text", _SCREEN),
        "placeholder": _ignored("text", _SCREEN),
        "show_welcome_back": _ignored("boolean", _SCREEN),
        "welcome_back_right_panel": _ignored("list of text", _SCREEN),
        "conversations": _ignored("any", "An older spelling of `turns`."),
    }),
    "rule": Table("A rule.", {
        "pattern": Field(("table pattern",), "Which prompt.", required=True),
        "response": Field(("text", "table response"), "The reply.", "an empty text"),
        "failure": Field(("table failure",), "A failure instead of the reply."),
        "max_matches": Field(("integer",), "How often the rule may match.", "any number"),
        "turns": Field(
            ("list of table turn",),
            "What follows: each later prompt is held against the next turn first; one that does"
            " not match ends the sequence.",
        ),
    }),
    "turn": Table("A later step of a conversation.", {
        "expect": Field(("table pattern",), "Which prompt.", required=True),
        "response": Field(("text", "table response"), "The reply.", "an empty text"),
        "failure": Field(("table failure",), "A failure instead of the reply."),
    }),
    "pattern": Table("What a prompt must look like; upper and lower case differ.", {
        "type": Field(
            ("one of exact|regex|glob|contains|any",),
            "exact and contains take `text`; regex (Python's, found anywhere) and glob (the whole"
            " prompt) take `pattern`.",
            required=True,
        ),
        "text": Field(("text",), "For exact and contains."),
        "pattern": Field(("text",), "For regex and glob."),
    }),
    "response": Table("A reply: text, then calls one after another.", {
        "text": Field(("text",), "What the assistant says.", "an empty text"),
        "delay_ms": Field(
            ("integer",), "A pause before the reply, in milliseconds.", "`response_delay_ms`"
        ),
        "usage": Field(("table usage",), "The tokens that the result reports."),
        "tool_calls": Field(("list of table tool_call",), "Calls, in order."),
    }),
    "usage": Table("Counts of tokens.", {
        "input_tokens": Field(("integer",), "Read.", "0"),
        "output_tokens": Field(("integer",), "Written.", "0"),
        "cache_creation_input_tokens": Field(("integer",), "Written to the cache.", "0"),
        "cache_read_input_tokens": Field(("integer",), "Read from the cache.", "0"),
    }),
    "tool_call": Table("A call of a tool.", {
        "tool": Field(
            ("text",),
            "The tool: one of Claude's own, `mcp__SERVER__TOOL`, or the name alone where one"
            " server has it.",
            required=True,
        ),
        "input": Field(
            ("any",),
            "The arguments. `${SANDBOX_ROOT}` and `${SCENARIO_DIR}` stand for those folders.",
            "{}",
        ),
        "result": Field(("any",), "What the call answers in mode mock (and live)."),
        "error": Field(("text",), "The error that the call answers in mode mock (and live)."),
        "expect": Field(("table expect",), "What the result must be."),
        "failure": Field(("table failure",), "A failure instead of the call."),
        "elicitations": Field(
            ("list of table elicitation",), "Answers to what the server asks during this call."
        ),
        "approve": Field(
            ("boolean",), "What the user says when asked about this call.", "`permissions.answer`"
        ),
    }),
    "expect": Table("Expectations; all of them must hold. A result's value is its structured"
                    " content, else its text read as JSON, else its text.", {
        "equals": Field(("any",), "A text: the text of the result. Else: its value."),
        "contains": Field(("text", "list of text"), "What the text holds; of a list, all."),
        "json_path": Field(
            ("map of any",),
            "JSONPath (RFC 9535) to what it finds in the value: one match is compared itself,"
            " several as a list.",
        ),
        "is_error": Field(("boolean",), "Whether the result is an error."),
        "schema": Field(("any",), "A JSON schema (2020-12) that the value satisfies."),
    }),
    "failure": Table("A failure. Of a reply: what the model's service does. Of a call: what the"
                     " tool does, as an error result.", {
        "type": Field(
            ("one of network_unreachable|connection_timeout|auth_error|rate_limit|out_of_credits"
             "|partial_response|malformed_json|tool_error",),
            "Which one.",
            required=True,
        ),
        "after_ms": Field(("integer",), "connection_timeout: the pause before it.", "0"),
        "message": Field(("text",), "auth_error and tool_error: what is said."),
        "retry_after": Field(("integer",), "rate_limit: seconds.", "60"),
        "partial_text": Field(("text",), "partial_response: what arrives before it breaks off."),
        "raw": Field(("text",), "malformed_json: what arrives instead of JSON."),
    }),
    "elicitation": Table("An answer to a question that a server asks during a call.", {
        "action": Field(("one of accept|decline|cancel",), "What the user does.", required=True),
        "content": Field(("map of any",), "The form, for accept.", "{}"),
        "message": Field(("table pattern",), "Which question.", "any"),
    }),
    "tool_execution": Table("How calls are carried out.", {
        "mode": Field(
            (_MODES,),
            "disabled: not at all. mock: the call's own result. simulated: Bash, Read, Write,"
            " Edit, Glob and Grep inside a sandbox. real_mcp: real servers. live: mock where"
            " there is a result, else real_mcp for `mcp__` tools, else simulated.",
            "disabled",
        ),
        "sandbox_root": Field(
            ("text",),
            "The folder of the sandbox, relative to the scenario; made where it is missing.",
            "a temporary one",
        ),
        "allow_real_bash": Field(
            ("boolean",),
            "Let Bash change Git folders, start-up files and the like in a `sandbox_root` too.",
            "false",
        ),
        "files": Field(
            ("map of text",), "Files to write into the sandbox first: path to content."
        ),
        "protocol": Field(
            ("one of auto|legacy|2026-07-28",),
            "How to begin with servers: auto asks for the newest protocol and falls back to the"
            " handshake, legacy begins with the handshake.",
            "auto",
        ),
        "mcp_config": Field(
            ("text",), "A file of servers in Claude's JSON format, relative to the scenario."
        ),
        "tools": Field(("map of table tool",), "What holds for every call of one tool."),
    }),
    "tool": Table("What holds for every call of one tool.", {
        "mode": Field((_MODES,), "The mode for this tool.", "that of `tool_execution`"),
        "result": Field(("any",), "Every call answers this."),
        "error": Field(("text",), "Every call answers this error."),
        "auto_approve": Field(("boolean",), "Run it where it would be asked about.", "false"),
        "answers": _ignored("map of text", "Answers to a dialog of AskUserQuestion."),
    }),
    "permissions": Table("Which calls may run. Of several rules deny wins over ask, and ask over"
                         " allow.", {
        "mode": Field(
            (_PERMISSION_MODES,),
            "default: what only reads runs, the rest is asked. plan: what only reads runs, the"
            " rest is denied. accept-edits: Write and Edit run too. bypass-permissions: all but"
            " what a rule denies or asks about. dont-ask: what would be asked is denied.",
            "none: what no rule names runs",
        ),
        "allow": Field(("list of text",), "Rules such as `Bash(git *)`, `Read(./docs/**)`."),
        "ask": Field(("list of text",), "Rules, in the same syntax."),
        "deny": Field(("list of text",), "Rules, in the same syntax."),
        "answer": Field(
            ("one of allow|deny",), "What the user says when asked about a call.", "deny"
        ),
    }),
    "timeouts": Table("Times in milliseconds.", {
        **{
            name: Field(("integer",), timeout.doc, str(timeout.default))
            for name, timeout in TIMEOUTS.items()
        },
        "exit_hint_ms": _ignored("integer", _SCREEN),
        "compact_delay_ms": _ignored("integer", _SCREEN),
        "hook_timeout_ms": _ignored("integer", "Concerns hooks."),
    }),
    "server": Table("A server over stdio, as in Claude's `mcpServers`. `${NAME}` and"
                    " `${NAME:-default}` are replaced from the environment; `${SANDBOX_ROOT}`"
                    " and `${SCENARIO_DIR}` stand for those folders.", {
        "command": Field(("text",), "The program.", required=True),
        "args": Field(("list of text",), "Its arguments.", "none"),
        "env": Field(("map of text",), "Variables of its environment.", "none"),
        "cwd": Field(("text",), "The folder it starts in.", "the folder of the scenario"),
        "type": Field(("one of stdio",), "Only stdio is served.", "stdio"),
    }),
}  # fmt: skip

ELSEWHERE: Final[Mapping[str, str]] = {
    "on": "pattern",
    "say": "text under response",
    "then": "turns",
    "max": "max_matches",
    "default": "default_response",
    "tools": "tool_calls under response, or tools under tool_execution",
    "call": "tool",
    "approve": "auto_approve",
    "claude": "fields of the file itself (session_id, default_model, launch_timestamp)",
    "mcpServers": "mcp_servers",
}
"""Fields of newer claudeless files and of Claude's own, and what says the same here."""
