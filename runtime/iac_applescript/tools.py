"""The script tools, a row each. What they do is in `performing`, loaded when one is called."""

from typing import Any, Final

from iac_applescript.system_state import PARTS
from iac_runtime.tools.shape import Schema, Tool, import_later


def _text_schema(description: str, most: int, least: int = 0) -> Schema:
    bounds = {"minLength": least, "maxLength": most} if least else {"maxLength": most}
    return {"type": "string", "description": description, **bounds}


_APP: Final = _text_schema(
    "The app's key, name or bundle id, as list_scriptable_apps shows them.", 200
)
_INTENT: Final = _text_schema(
    "What the user wants, in a few words, without names or private content.", 400, least=1
)
_SCRIPT: Final = _text_schema("The script.", 65536, least=1)
_LANGUAGE: Final = {
    "type": "string",
    "enum": ["applescript", "javascript"],
    "description": "The script's language. Default: applescript.",
}
_TEXT: Final = {"type": "string"}
_JSON: Final = [
    {"type": "string", "maxLength": 8000},
    *({"type": kind} for kind in ("number", "boolean")),
    {"type": "array", "items": {"type": "string"}},
    {"type": "object", "additionalProperties": True},
]
_OUTPUT: Final = {
    "type": "object",
    "properties": {
        "success": {"type": "boolean", "description": "Whether the call succeeded."},
        "data": {"type": "object", "description": "The answer. Empty after a failure."},
        "error": {
            "type": "object",
            "description": "What went wrong, and what to do next. Empty after a success.",
            "properties": {
                **dict.fromkeys(("type", "message", "suggestion"), _TEXT),
                "number": {"type": "integer"},
                "cause": _TEXT,
                "fixes": {"type": "array", "items": _TEXT},
                **dict.fromkeys(("corrected", "change", "original"), _TEXT),
            },
            "additionalProperties": False,
        },
    },
    "required": ["success", "data", "error"],
    "additionalProperties": False,
}


def _input_schema(required: tuple[str, ...] = (), **properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _limit_schema(most: int) -> Schema:
    return {
        "type": "integer",
        "minimum": 1,
        "maximum": most,
        "description": "The highest number of results.",
    }


def _script_tool(name: str, does: str, purpose: str, input: Schema, **more: Any) -> Tool:
    """Return the row of a tool that the function `does` of `performing` plans."""
    perform = import_later(f"iac_applescript.performing:{does}")
    return Tool(name, purpose, input, perform, _OUTPUT, **more)


OFFERS: Final = "iac_applescript.library_search:offer_scripts"
"""What finds kept scripts for a request: query, app and catalogue to rows of an answer."""

TOOLS: Final = (
    _script_tool(
        "discover_capabilities",
        "discover_capabilities",
        "Say what is possible here: apps, tools by level, guides, and what was learned from"
        " earlier scripts. Call this first in a new conversation.",
        _input_schema(),
        words="capabilities overview scripts",
        example={},
    ),
    _script_tool(
        "get_smart_suggestion",
        "suggest_ways",
        "Say the best way to do something: a tool, a script that worked before, or advice from a"
        " guide. Call this before you write a script.",
        _input_schema(("intent",), intent=_INTENT, app=_APP, limit=_limit_schema(10)),
        words="advise approach automate best recommend suggest way",
        example={"intent": "make a reminder from a mail", "app": "Mail"},
    ),
    _script_tool(
        "list_scriptable_apps",
        "list_apps",
        "List the apps that scripts can control: name, bundle id, path, whether the app is running,"
        " and whether it has tools.",
        _input_schema(filter=_text_schema("Only apps whose name or bundle id contains this.", 100)),
        words="applescript apps automated programs scriptable scripted understand",
        example={"filter": "mail"},
    ),
    _script_tool(
        "get_app_dictionary",
        "show_dictionary",
        "Show an app's dictionary: an overview, a group (own, standard or classes), or a term: a"
        " class, command, property or enumeration. Or search for words.",
        _input_schema(
            ("app",),
            app=_APP,
            term=_text_schema("The name of a group, class, command, property or enumeration.", 100),
            search=_text_schema("Words to search the terms for.", 100),
            page={"type": "integer", "minimum": 1, "maximum": 1000, "description": "Which page."},
        ),
        words="classes commands dictionary properties scripting sdef terms understand",
        example={"app": "Notes", "term": "note"},
    ),
    _script_tool(
        "get_app_skill",
        "show_skill",
        "Get the guide for scripting an app: advice, common mistakes and tested examples.",
        _input_schema(("app",), app=_APP),
        words="app automate guide scripting tips traps tricks",
        example={"app": "Mail"},
    ),
    _script_tool(
        "validate_applescript",
        "validate_script",
        "Check a script without running it: syntax, terms, effects, and the apps that it names."
        " The answer says which checks were made.",
        _input_schema(("script",), script=_SCRIPT, language=_LANGUAGE),
        words="check compile correct dangerous safe script syntax test valid validate",
        example={"script": 'tell application "Notes" to count notes'},
    ),
    _script_tool(
        "execute_applescript",
        "execute_script",
        "Run AppleScript or JavaScript for Automation, if no tool does the task. Give a text, a"
        " file or a saved script. IAC analyses it first. It requires approval, unless IAC can"
        " prove that it only reads. Call get_smart_suggestion first.",
        _input_schema(
            script=_SCRIPT,
            script_path=_text_schema(
                "Without script: the path of the file to run, in a folder for scripts.",
                1000,
                least=1,
            ),
            saved=_text_schema(
                "Without script: the name or library id of the saved script to run.", 200, least=1
            ),
            language=_LANGUAGE,
            timeout={
                "type": "number",
                "minimum": 1,
                "maximum": 300,
                "description": "The time limit in seconds. Default: 30.",
            },
            arguments={
                "description": "Values for the script's run handler: a list of JSON values. For a"
                " saved script, an object gives its parameters by name; otherwise it is one value.",
                "anyOf": [
                    {"type": "array", "items": {"anyOf": _JSON}, "maxItems": 20},
                    {"type": "object", "additionalProperties": True},
                ],
            },
            output={
                "type": "string",
                "enum": ["json", "text"],
                "description": "Return the result as a JSON value (the default) or as text.",
            },
            intent=_INTENT,
        ),
        ceiling="DANGEROUS",
        words="automate bit code evaluate execute javascript jxa osascript run script",
        example={"script": 'tell application "Notes" to count notes', "intent": "count the notes"},
        open_world=True,
    ),
    _script_tool(
        "analyze_failure",
        "analyze_failure",
        "Explain why a script failed: the cause, the fixes to try in order, and similar scripts"
        " that worked. If the fix is certain, you also get a corrected script.",
        _input_schema(
            error=_text_schema("The error text.", 8000),
            number={
                "type": "integer",
                "description": "The error number, if you know nothing else.",
            },
            script=_SCRIPT,
            language=_LANGUAGE,
        ),
        words=(
            "applescript cause code debug error explain fail failed failing fix mean number "
            "osascript script why work wrong"
        ),
        example={"number": -1728, "script": 'tell application "Notes" to get note 99'},
    ),
    _script_tool(
        "get_workflow_pattern",
        "find_patterns",
        "Get scripts for a task: those that worked here, and those of the library, with the"
        " call that runs each. Runs none of them.",
        _input_schema(("intent",), intent=_INTENT, app=_APP, limit=_limit_schema(10)),
        words="again before done earlier last library pattern saved script time worked",
        example={"intent": "export the selected photos"},
    ),
    _script_tool(
        "get_learning_stats",
        "show_stats",
        "Show what IAC learned from scripts: number of patterns, success by app, failures.",
        _input_schema(),
        words="failed learned often scripts statistics succeeded",
        example={},
    ),
    _script_tool(
        "get_system_state",
        "show_state",
        "Show the Mac's state: front app, running apps, windows, volume, battery, network,"
        " appearance, displays. If a part cannot be read, the answer says why.",
        _input_schema(
            parts={
                "type": "array",
                "items": {"type": "string", "enum": list(PARTS)},
                "description": "The parts to show. Default: all.",
            }
        ),
        words=(
            "app appearance apps battery displays front mac machine network once running state "
            "system volume wifi"
        ),
        example={"parts": ["front_app", "battery"]},
    ),
)
