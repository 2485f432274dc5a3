"""The tools of plans: rehearsing one and running one. Those that the user pinned stand in files."""

from typing import Annotated, Any, Final

from iac_plans.performing import plan_run
from iac_runtime.tool import Toolset, limits, tool

PLANS: Final = Toolset((__name__,), added="iac_plans.store:pinned_tools")

Program = Annotated[str, limits(maxLength=20_000), "The program."]
PlanName = Annotated[str, "The name of a saved plan, instead of a program."]
PlanArguments = Annotated[dict[str, Any], "The arguments of the saved plan, by name."]


@tool(
    level="SAFE",
    plan=plan_run,
    words="dry run plan preview program what would happen without changing anything",
    example={"program": "mail.count('message', of='inbox')"},
    large=True,
)
def rehearse_plan(
    program: Program | None = None,
    plan: PlanName | None = None,
    arguments: PlanArguments | None = None,
) -> None:
    """Try a plan without changing anything. It really reads from the apps. The answer has the
    plan's result and a table of everything that it would change. A plan is a short Python program.
    It calls the tools of an app as functions, such as mail.list('message', of='inbox'). Rows are
    dictionaries, and dates in them are datetime objects. A tool that makes an object returns its
    reference. The value of the last line is the answer. You cannot import modules, but datetime,
    date and timedelta are there.
    """


@tool(
    level="SAFE",
    ceiling="DANGEROUS",
    plan=plan_run,
    words="plan program batch loop carry out several steps at once as one",
    example={"program": "mail.count('message', of='inbox')"},
    large=True,
)
def run_plan(
    program: Program | None = None,
    plan: PlanName | None = None,
    arguments: PlanArguments | None = None,
) -> None:
    """Run a plan: many steps with the tools of apps, as one call. IAC first checks and rehearses
    it. The user approves it once, with a table of everything that it changes. A plan is a short
    Python program. It calls the tools of an app as functions, such as
    mail.list('message', of='inbox'). Rows are dictionaries, and dates in them are datetime
    objects. A tool that makes an object returns its reference. The value of the last line is the
    answer. You cannot import modules, but datetime, date and timedelta are there.
    """
