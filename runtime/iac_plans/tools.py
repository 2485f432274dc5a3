"""The tools of plans, a row each: rehearsing one, running one, and those that the user pinned."""

from typing import Final

from iac_plans.store import pinned_tools
from iac_runtime.tools.shape import Tool, import_later

REHEARSE: Final = "rehearse_plan"

_FORM: Final = (
    "A plan is a short Python program. It calls the tools of an app as functions, such"
    " as mail.list('message', of='inbox'). Rows are dictionaries, and dates in them are datetime"
    " objects. A tool that makes an object returns its reference. The value of the last line is the"
    " answer. You cannot import modules, but datetime, date and timedelta are there."
)
_INPUT: Final = {
    "type": "object",
    "properties": {
        "program": {"type": "string", "maxLength": 20_000, "description": "The program."},
        "plan": {
            "type": "string",
            "description": "The name of a saved plan, instead of a program.",
        },
        "arguments": {"type": "object", "description": "The arguments of the saved plan, by name."},
    },
    "additionalProperties": False,
}
_PERFORM: Final = import_later("iac_plans.performing:plan_run")

TOOLS: Final = (
    Tool(
        REHEARSE,
        "Try a plan without changing anything. It really reads from the apps. The answer has the"
        f" plan's result and a table of everything that it would change. {_FORM}",
        _INPUT,
        _PERFORM,
        words="dry run plan preview program what would happen without changing anything",
        example={"program": "mail.count('message', of='inbox')"},
        large=True,
    ),
    Tool(
        "run_plan",
        "Run a plan: many steps with the tools of apps, as one call. IAC first checks and"
        " rehearses it. The user approves it once, with a table of everything that it changes."
        f" {_FORM}",
        _INPUT,
        _PERFORM,
        ceiling="DANGEROUS",
        words="plan program batch loop carry out several steps at once as one",
        example={"program": "mail.count('message', of='inbox')"},
        large=True,
    ),
    *pinned_tools(),
)
