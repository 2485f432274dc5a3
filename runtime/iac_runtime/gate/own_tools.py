"""The runtime's own tools, as a client is told of them; `nox -s regen` renders them.

A tool with a `plan` is of every surface. The others find and call tools by name: the surface
`search` has them and answers them itself. A server reads `tools/toolsets/own.jsonl` and never
imports this module.
"""

from typing import Annotated, Any, Final, NotRequired, TypedDict

from iac_runtime.gate.planning import (
    plan_app_event,
    plan_audit_tail,
    plan_list_apps,
    plan_read_more,
    plan_task,
)
from iac_runtime.gate.undoing import plan_history, plan_outcome, plan_restore_point, plan_undo
from iac_runtime.outcomes.outcome import State
from iac_runtime.tool import Level, Toolset, limits, tool

OWN: Final = Toolset((__name__,))

AppName = Annotated[str, "Key, name or bundle id."]
CallNumber = Annotated[int, limits(minimum=1)]
ToolName = Annotated[str, "The tool."]
ToolArguments = Annotated[dict[str, Any], "Its own."]
ManyArguments = Annotated[
    list[dict[str, Any]],
    limits(minItems=1, maxItems=50),
    "Or those of several calls, approved together.",
]


class IsRunning(TypedDict):
    """Whether an app is running."""

    result: bool


@tool(level="SAFE", ceiling="MODIFY", plan=plan_app_event, example={"app": "Notes"})
def app_activate(app: AppName) -> None:
    """Bring an app to the front, and start it if necessary."""


@tool(level="MODIFY", plan=plan_app_event, example={"app": "Notes"})
def app_launch(app: AppName) -> None:
    """Start an app without opening a document."""


@tool(level="DANGEROUS", plan=plan_app_event, example={"app": "Notes"})
def app_quit(app: AppName) -> None:
    """Quit an app. Unsaved work may be lost."""


@tool(level="SAFE", plan=plan_app_event, answer=IsRunning, example={"app": "Notes"})
def app_running(app: AppName) -> None:
    """Say whether an app is running, without starting it."""


@tool(level="SAFE", plan=plan_list_apps, always=True)
def list_apps() -> None:
    """List the apps with tools, and how many of each level.
    Answers: what can you do on this Mac?
    """


@tool(
    level="SAFE",
    plan=plan_read_more,
    example={"result": "Zr3fAq0X9xk2VdWmC1oH7g", "offset": 50},
    always=True,
    large=True,
)
def read_more(result: str, offset: Annotated[int, limits(minimum=0)]) -> None:
    """Read more of a result that was cut.

    Args:
        result: From its note.
        offset: From its note.
    """


@tool(
    level="MODIFY",
    ceiling="DANGEROUS",
    plan=plan_undo,
    words="undo revert restore put back take back",
    example={"call": 12},
)
def undo_call(
    call: CallNumber | None = None,
    last: Annotated[int, limits(minimum=1, maximum=50)] | None = None,
    since: str | None = None,
    client: str | None = None,
    point: str | None = None,
) -> None:
    """Undo what a call changed. Give its number, or else how many of the last calls, a time, a
    client or a restore point. Refuses if something else has changed since.

    Args:
        since: A time (ISO 8601).
    """


class OutcomeFacts(TypedDict):
    """What came of a call; what is not known is left out."""

    state: State
    ref: NotRequired[str]
    read: NotRequired[dict[str, Any]]
    says: NotRequired[str]
    call: NotRequired[int]
    undo: NotRequired[str]


class CallRow(TypedDict):
    """A call that is kept; what there is nothing to say of is left out."""

    call: int
    at: str
    tool: str
    did: NotRequired[str]
    client: NotRequired[str]
    undone_by: NotRequired[int]
    undoes: NotRequired[int]
    undo: NotRequired[str]


class HistoryRow(CallRow):
    """A call in the history: `copy` is of an object that is gone for good."""

    outcome: State
    copy: NotRequired[str | dict[str, Any]]


class LateOutcome(CallRow):
    """A call, and what came of it as seen now."""

    outcome: OutcomeFacts
    copy: NotRequired[dict[str, Any]]
    note: NotRequired[str]


class History(TypedDict):
    """The changes of the last week, the newest first, and the last call before each point."""

    calls: list[HistoryRow]
    points: NotRequired[dict[str, int]]
    note: NotRequired[str]


class RestorePoint(TypedDict):
    """A restore point: everything after this call can be undone together."""

    point: str
    at: str
    after_call: int


@tool(level="SAFE", plan=plan_outcome, answer=LateOutcome, example={"call": 12})
def outcome(call: CallNumber) -> None:
    """Check again whether a change had its effect, by the call's number in its outcome."""


@tool(level="SAFE", plan=plan_history, answer=History, large=True)
def history(
    call: CallNumber | None = None,
    last: Annotated[int, limits(minimum=1, maximum=1000)] | None = None,
) -> None:
    """Show the changes of the last week, and whether undo_call can undo them."""


@tool(
    level="SAFE",
    plan=plan_restore_point,
    answer=RestorePoint,
    example={"name": "before the clean-up"},
)
def restore_point(name: Annotated[str, limits(minLength=1, maxLength=100)]) -> None:
    """Set a restore point with a name, so that undo_call can undo everything after it."""


class TaskCall(TypedDict):
    """A call as an example of what a task covers."""

    name: str
    arguments: NotRequired[dict[str, Any]]


class Task(TypedDict):
    """What a task covers, how many objects, and for how long."""

    covers: str
    left: int
    minutes: int


@tool(
    level="MODIFY",
    plan=plan_task,
    answer=Task,
    words="task budget permission several changes one approval question",
    example={
        "calls": [{"name": "mail_mark_read", "arguments": {"message": "inbox.messages[0]"}}],
        "count": 20,
        "minutes": 10,
    },
)
def approve_task(
    calls: Annotated[list[TaskCall], limits(minItems=1, maxItems=10)],
    count: Annotated[int, limits(minimum=1, maximum=100)],
    minutes: Annotated[int, limits(minimum=1, maximum=60)],
) -> None:
    """Ask the user once for several changes of one kind, before you make them one by one.
    Beyond that, each call requires approval again.

    Args:
        calls: An example of each kind of change. It covers the same action, class and container.
        count: How many objects in all.
    """


class AuditTail(TypedDict):
    """The last calls, the newest last."""

    calls: list[dict[str, Any]]
    note: NotRequired[str]


@tool(level="SAFE", plan=plan_audit_tail, answer=AuditTail, large=True)
def audit_tail() -> None:
    """Show the latest calls of this user's servers, and their results."""


@tool(level="SAFE", example={"query": "unread mails of today"}, always=True)
def find_tools(
    query: str,
    app: str | None = None,
    level: Level | None = None,
    limit: Annotated[int, limits(minimum=1, maximum=50)] | None = None,
) -> None:
    """Find tools by what you want to do in Mac apps (Mail, Notes, Calendar, ...), in any app's
    windows, or by script. Answers the best, with an example call each, and names of more.
    Start here. A tool's name as the query explains it.

    Args:
        query: Such as: unread mails of today
        app: Its name or bundle id.
        level: The highest level.
        limit: How many.
    """


@tool(level="SAFE", example={"name": "mail_list_unread", "arguments": {}}, always=True, large=True)
def read_tool(
    name: ToolName, arguments: ToolArguments | None = None, calls: ManyArguments | None = None
) -> None:
    """Call a tool that only reads (SAFE)."""


@tool(
    level="SAFE",
    ceiling="MODIFY",
    example={"name": "notes_make_note", "arguments": {"name": "Milk"}},
    always=True,
)
def write_tool(
    name: ToolName, arguments: ToolArguments | None = None, calls: ManyArguments | None = None
) -> None:
    """Call a tool that shows or plays something, or whose change can be undone (MODIFY)."""


@tool(
    level="SAFE",
    ceiling="DANGEROUS",
    example={"name": "notes_delete", "arguments": {"target": 'notes["Milk"]'}},
    always=True,
)
def dangerous_tool(
    name: ToolName, arguments: ToolArguments | None = None, calls: ManyArguments | None = None
) -> None:
    """Call a tool that cannot be undone or reaches other people (DANGEROUS): sends, deletes, runs
    code. The user approves each call.
    """
