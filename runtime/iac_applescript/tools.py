"""The script tools, as a client is told of them. What they do is in `performing`."""

from typing import Annotated, Any, Final, Literal, TypedDict

from iac_applescript import performing
from iac_applescript.system_state import StatePart
from iac_runtime.tool import Toolset, limits, tool

SCRIPTS: Final = Toolset(
    (__name__,),
    offers="iac_applescript.library_search:offer_scripts",
    guides="iac_applescript.skills:load_skills",
)

AppName = Annotated[
    str,
    "The app's key, name or bundle id, as list_scriptable_apps shows them.",
    limits(maxLength=200),
]
Intent = Annotated[
    str,
    "What the user wants, in a few words, without names or private content.",
    limits(minLength=1, maxLength=400),
]
ScriptText = Annotated[str, "The script.", limits(minLength=1, maxLength=65536)]
ScriptLanguage = Annotated[
    Literal["applescript", "javascript"], "The script's language. Default: applescript."
]
ResultLimit = Annotated[int, limits(minimum=1, maximum=10), "The highest number of results."]
OpenObject = Annotated[dict[str, Any], limits(additionalProperties=True)]
JsonValue = Annotated[str, limits(maxLength=8000)] | float | bool | list[str] | OpenObject


class ScriptFault(TypedDict, total=False):
    """What went wrong, and what to do next."""

    type: str
    message: str
    suggestion: str
    number: int
    cause: str
    fixes: list[str]
    corrected: str
    change: str
    original: str


class ScriptToolAnswer(TypedDict):
    """What each script tool answers."""

    success: Annotated[bool, "Whether the call succeeded."]
    data: Annotated[dict[str, Any], "The answer. Empty after a failure."]
    error: Annotated[ScriptFault, "What went wrong, and what to do next. Empty after a success."]


@tool(
    level="SAFE",
    plan=performing.discover_capabilities,
    answer=ScriptToolAnswer,
    words="capabilities overview scripts",
)
def discover_capabilities() -> None:
    """Say what is possible here: apps, tools by level, guides, and what was learned from
    earlier scripts. Call this first in a new conversation.
    """


@tool(
    level="SAFE",
    plan=performing.suggest_ways,
    answer=ScriptToolAnswer,
    words="advise approach automate best recommend suggest way",
    example={"intent": "make a reminder from a mail", "app": "Mail"},
)
def get_smart_suggestion(
    intent: Intent, app: AppName | None = None, limit: ResultLimit | None = None
) -> None:
    """Say the best way to do something: a tool, a script that worked before, or advice from a
    guide. Call this before you write a script.
    """


@tool(
    level="SAFE",
    plan=performing.list_apps,
    answer=ScriptToolAnswer,
    words="applescript apps automated programs scriptable scripted understand",
    example={"filter": "mail"},
)
def list_scriptable_apps(filter: Annotated[str, limits(maxLength=100)] | None = None) -> None:
    """List the apps that scripts can control: name, bundle id, path, whether the app is running,
    and whether it has tools.

    Args:
        filter: Only apps whose name or bundle id contains this.
    """


@tool(
    level="SAFE",
    plan=performing.show_dictionary,
    answer=ScriptToolAnswer,
    words="classes commands dictionary properties scripting sdef terms understand",
    example={"app": "Notes", "term": "note"},
)
def get_app_dictionary(
    app: AppName,
    term: Annotated[str, limits(maxLength=100)] | None = None,
    search: Annotated[str, limits(maxLength=100)] | None = None,
    page: Annotated[int, limits(minimum=1, maximum=1000)] | None = None,
) -> None:
    """Show an app's dictionary: an overview, a group (own, standard or classes), or a term: a
    class, command, property or enumeration. Or search for words.

    Args:
        term: The name of a group, class, command, property or enumeration.
        search: Words to search the terms for.
        page: Which page.
    """


@tool(
    level="SAFE",
    plan=performing.show_skill,
    answer=ScriptToolAnswer,
    words="app automate guide scripting tips traps tricks",
    example={"app": "Mail"},
)
def get_app_skill(app: AppName) -> None:
    """Get the guide for scripting an app: advice, common mistakes and tested examples."""


@tool(
    level="SAFE",
    plan=performing.validate_script,
    answer=ScriptToolAnswer,
    words="check compile correct dangerous safe script syntax test valid validate",
    example={"script": 'tell application "Notes" to count notes'},
)
def validate_applescript(script: ScriptText, language: ScriptLanguage | None = None) -> None:
    """Check a script without running it: syntax, terms, effects, and the apps that it names.
    The answer says which checks were made.
    """


@tool(
    level="SAFE",
    ceiling="DANGEROUS",
    plan=performing.execute_script,
    answer=ScriptToolAnswer,
    words="automate bit code evaluate execute javascript jxa osascript run script",
    example={"script": 'tell application "Notes" to count notes', "intent": "count the notes"},
    open_world=True,
)
def execute_applescript(
    script: ScriptText | None = None,
    script_path: Annotated[str, limits(minLength=1, maxLength=1000)] | None = None,
    saved: Annotated[str, limits(minLength=1, maxLength=200)] | None = None,
    language: ScriptLanguage | None = None,
    timeout: Annotated[float, limits(minimum=1, maximum=300)] | None = None,
    arguments: Annotated[list[JsonValue], limits(maxItems=20)] | OpenObject | None = None,
    output: Literal["json", "text"] | None = None,
    intent: Intent | None = None,
) -> None:
    """Run AppleScript or JavaScript for Automation, if no tool does the task. Give a text, a
    file or a saved script. IAC analyses it first. It requires approval, unless IAC can
    prove that it only reads. Call get_smart_suggestion first.

    Args:
        script_path: Without script: the path of the file to run, in a folder for scripts.
        saved: Without script: the name or library id of the saved script to run.
        timeout: The time limit in seconds. Default: 30.
        arguments: Values for the script's run handler: a list of JSON values. For a
            saved script, an object gives its parameters by name; otherwise it is one value.
        output: Return the result as a JSON value (the default) or as text.
    """


@tool(
    level="SAFE",
    plan=performing.analyze_failure,
    answer=ScriptToolAnswer,
    words="applescript cause code debug error explain fail failed failing fix mean number"
    " osascript script why work wrong",
    example={"number": -1728, "script": 'tell application "Notes" to get note 99'},
)
def analyze_failure(
    error: Annotated[str, limits(maxLength=8000)] | None = None,
    number: int | None = None,
    script: ScriptText | None = None,
    language: ScriptLanguage | None = None,
) -> None:
    """Explain why a script failed: the cause, the fixes to try in order, and similar scripts
    that worked. If the fix is certain, you also get a corrected script.

    Args:
        error: The error text.
        number: The error number, if you know nothing else.
    """


@tool(
    level="SAFE",
    plan=performing.find_patterns,
    answer=ScriptToolAnswer,
    words="again before done earlier last library pattern saved script time worked",
    example={"intent": "export the selected photos"},
)
def get_workflow_pattern(
    intent: Intent, app: AppName | None = None, limit: ResultLimit | None = None
) -> None:
    """Get scripts for a task: those that worked here, and those of the library, with the
    call that runs each. Runs none of them.
    """


@tool(
    level="SAFE",
    plan=performing.show_stats,
    answer=ScriptToolAnswer,
    words="failed learned often scripts statistics succeeded",
)
def get_learning_stats() -> None:
    """Show what IAC learned from scripts: number of patterns, success by app, failures."""


@tool(
    level="SAFE",
    plan=performing.show_state,
    answer=ScriptToolAnswer,
    words="app appearance apps battery displays front mac machine network once running state"
    " system volume wifi",
    example={"parts": ["front_app", "battery"]},
)
def get_system_state(parts: list[StatePart] | None = None) -> None:
    """Show the Mac's state: front app, running apps, windows, volume, battery, network,
    appearance, displays. If a part cannot be read, the answer says why.

    Args:
        parts: The parts to show. Default: all.
    """
