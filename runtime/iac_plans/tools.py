"""The tools of plans, a row each: rehearsing one, running one, and those that the user pinned."""

from typing import Final

from iac_plans.store import pinned_tools
from iac_runtime.tools.shape import Tool, later

REHEARSE: Final = "rehearse_plan"

_FORM: Final = (
    "A plan is a short Python program: each app is a name, each tool a function of it, as in"
    " mail.list('message', of='inbox'); rows are dictionaries, the value of the last line is the"
    " answer. No imports; datetime is there."
)
_INPUT: Final = {
    "type": "object",
    "properties": {
        "program": {"type": "string", "maxLength": 20_000, "description": "The program."},
        "plan": {"type": "string", "description": "Instead, the name of a saved plan."},
        "arguments": {"type": "object", "description": "The saved plan's arguments, by name."},
    },
    "additionalProperties": False,
}
_PERFORM: Final = later("iac_plans.performing:plan_run")

TOOLS: Final = (
    Tool(
        REHEARSE,
        "Try a plan without changing anything: what it reads is real, and the answer has its"
        f" result and a table of all that it would change. {_FORM}",
        _INPUT,
        _PERFORM,
        words="dry run plan preview program what would happen without changing anything",
        example={"program": "mail.count('message', of='inbox')"},
        large=True,
    ),
    Tool(
        "run_plan",
        "Run a plan: many steps over the tools of apps as one. It is checked and rehearsed first."
        f" The user approves once, with a table of everything it changes. {_FORM}",
        _INPUT,
        _PERFORM,
        ceiling="DANGEROUS",
        words="plan program batch loop carry out several steps at once as one",
        example={"program": "mail.count('message', of='inbox')"},
        large=True,
    ),
    *pinned_tools(),
)
