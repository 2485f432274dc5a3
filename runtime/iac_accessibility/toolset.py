"""From a function to a tool: what a call of it would do, and doing it, for the gate.

    @reading_tool(words=..., answer=...)              @acting_tool(words=..., example=...)
    def list_windows(call, include_minimized): ...    def perform_action(call, element, action): ...

A function that reads answers with what the tool's output schema says. One that changes something
returns an `ElementChange`: it looks for the element and changes nothing. Level, question, the check
that it still is that element, and the answer are the same for all of them. Action first: an action
of the element's own, or its settable value; keys and pointer where neither is, with the focus
proven before each (`target`). `deliver` acts.
"""

import hashlib
import json
import secrets
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from importlib.util import find_spec
from inspect import Parameter, Signature, signature
from threading import Lock
from typing import Any, Final, TypeAlias

from iac_accessibility.arguments import ActionDone, AppName, Seconds, UiCall, prepare_call
from iac_accessibility.bridge import Bridge
from iac_accessibility.deliver import ElementChange, assess_change, deliver_changes
from iac_accessibility.element_identity import ElementFound
from iac_accessibility.errors import UiError, error_context
from iac_accessibility.model import AppNotResponding, UiApp
from iac_accessibility.risk import ChangeLevel, holds_secret
from iac_accessibility.session import UiSession, modal_error_context
from iac_base.errors import Cancellation, pip_install, quote_text
from iac_base.text import clean_value
from iac_runtime.tool import Level, tool
from iac_runtime.toolkit import (
    Call,
    CallFacts,
    Effect,
    Perform,
    Permissions,
    Plan,
    RaisedLevel,
    Taint,
    Tool,
    ToolContext,
    ToolResult,
    Verb,
    find_tainted_texts,
)

_KEPT: Final = 500
"""Changes and elements that are remembered for the answer to a question."""


def open_bridge() -> Bridge:
    """Return the bridge of this platform.

    Raises:
        UiError: The extra is not installed, or nothing answers here.
    """
    mac = sys.platform == "darwin"
    if not mac and sys.platform != "linux":
        raise _unavailable_error(
            f"The accessibility tools do not work on {sys.platform}.", "Use them on macOS or Linux."
        )
    if find_spec("HIServices" if mac else "jeepney") is None:
        raise _unavailable_error(
            "The accessibility tools need a library that is not installed.",
            f"Install it with: {pip_install('macos' if mac else 'linux')}",
        )
    if mac:
        from iac_accessibility.macos.bridge import MacBridge

        return MacBridge()
    from iac_accessibility.atspi.bridge import AtspiBridge

    try:
        return AtspiBridge()
    except AppNotResponding as fault:
        raise _unavailable_error(
            f"This session has no accessibility bus: {fault}.",
            "Install at-spi2-core, and start this program inside a desktop session.",
        ) from None


def _unavailable_error(message: str, guidance: str) -> UiError:
    return UiError("UNAVAILABLE", message, guidance, reason="no_interface")


_Read: TypeAlias = Callable[..., "dict[str, Any] | ToolResult"]
_Find: TypeAlias = Callable[..., ElementChange | list[ElementChange]]
_NAMED: Final = {"annotation": AppName}


def reading_tool(
    *,
    words: str,
    example: Mapping[str, Any],
    answer: Any,
    timeout: float,
    named: bool = False,
    front: bool = False,
    asks: str = "",
    limit: bool = True,
) -> Callable[[_Read], Perform]:
    """Make a tool of a function that reads, and answers as `answer` says.

    It takes the call, and the tool's own arguments by their names; `app` and `timeout` are added.
    Where no app was named, it reads all that run; with `front`, the one that is in front.

    Args:
        named: Whether the app has to be named.
        asks: Why a person is asked first, once for each process of an app; empty where not.
        limit: Whether the caller may say how long it may take.
    """

    def make_tool(read: _Read) -> Perform:
        @wraps(read)
        def plan_call(tool: Tool, call: Call, context: ToolContext) -> Plan:
            toolset = context.get_or_create(open_toolset)
            return toolset.plan_read(tool, call, read, context.permissions, front=front, asks=asks)

        _set_signature(plan_call, _NAMED if named else _NAMED | {"default": None}, limit=limit)
        listed = {"words": words, "example": example, "answer": answer, "timeout": timeout}
        return tool(level="MODIFY" if asks else "SAFE", plan=plan_call, **listed)(plan_call)

    return make_tool


def acting_tool(
    *,
    words: str,
    example: Mapping[str, Any],
    answer: Any = ActionDone,
    timeout: float = 5.0,
    named: bool = False,
) -> Callable[[_Find], Perform]:
    """Make a tool of a function that finds what is to be changed, and how; it changes nothing.

    It takes what the function of a `reading_tool` takes. What a call needs in truth, its plan says.

    Args:
        named: Whether the app has to be named.
    """

    def make_tool(find: _Find) -> Perform:
        @wraps(find)
        def plan_call(tool: Tool, call: Call, context: ToolContext) -> Plan:
            toolset = context.get_or_create(open_toolset)
            return toolset.plan_change(tool, call, find, context.permissions)

        # An id says its app: fewer words in a list of many tools.
        _set_signature(plan_call, _NAMED if named else {"annotation": str | int, "default": None})
        listed = {"words": words, "example": example, "answer": answer, "timeout": timeout}
        return tool(level="MODIFY", ceiling="DANGEROUS", plan=plan_call, **listed)(plan_call)

    return make_tool


def _set_signature(plan_call: Perform, app: Mapping[str, Any], *, limit: bool = True) -> None:
    """Give a plan the arguments of the function that it wraps, the app before them, a time last."""
    own = [*signature(plan_call).parameters.values()][1:]
    shown = [Parameter("app", Parameter.KEYWORD_ONLY, **app)]
    shown += [one.replace(kind=Parameter.KEYWORD_ONLY) for one in own]
    if limit:
        shown.append(Parameter("timeout", Parameter.KEYWORD_ONLY, default=None, annotation=Seconds))
    vars(plan_call)["__signature__"] = Signature(shown)
    plan_call.__annotations__ = {one.name: one.annotation for one in shown}


def _own_arguments(call: UiCall, function: Callable[..., Any]) -> dict[str, Any]:
    """Return the arguments of a call that the function of a tool takes."""
    own = signature(function).parameters
    return {name: value for name, value in call.arguments.items() if name in own}


class UiToolset:
    """The tools of one gate on one bridge. Safe to share between threads.

    An answer is for the element that was asked about. The same call is planned again when the
    answer comes: it has to find the element of the plan before, whatever was read meanwhile. The
    line of a plan has a tag of its element, so that an answer to an older question about another
    element that is called the same is none to this one.

    Args:
        bridge: The platform; this machine's, opened by the first call, if left out.
    """

    def __init__(self, bridge: Bridge | None = None) -> None:
        self._session = UiSession(bridge) if bridge else None
        self._opening = Lock()
        self._planned: OrderedDict[str, tuple[UiApp, tuple[ElementFound, ...]]] = OrderedDict()
        self._tags: OrderedDict[Hashable, str] = OrderedDict()
        self._keeping = Lock()

    @property
    def session(self) -> UiSession:
        """The bridge, and what is remembered between calls.

        Raises:
            UiError: Nothing answers here.
        """
        with self._opening:
            if self._session is None:
                self._session = UiSession(open_bridge())
            return self._session

    def plan_read(
        self,
        tool: Tool,
        call: Call,
        read: _Read,
        permissions: Permissions,
        *,
        front: bool,
        asks: str = "",
    ) -> Plan:
        """Return the plan of a call that reads; of several apps, without those that are denied.

        Raises:
            UiError: The app is not to be found, or nothing answers here.
        """
        session = self.session
        asked = prepare_call(session, tool, call)
        running = [asked.named] if asked.named else session.running_apps()
        if front and not asked.named:
            # Where only one app runs, it is meant whatever has the keyboard.
            running = [one for one in running if one.frontmost][:1] or running[: len(running) == 1]
        app = running[0] if asked.named or (front and running) else None
        rows = [
            (one, _read_effect(one, asked.path, "MODIFY" if asks else "SAFE")) for one in running
        ]

        left_out = {
            one.name
            for one, effect in rows
            if app is None and _is_denied(permissions, tool.name, effect, call.arguments)
        }
        rows = [row for row in rows if row[0].name not in left_out]
        apps = tuple(one for one, _ in rows)
        names = ", ".join(sorted(left_out))
        notes = (f"left out, for the policy denies it: {names}",) if names else ()

        def perform_read(cancel: Cancellation | None) -> ToolResult:
            with error_context(app, tool=tool.name):
                if app is not None:
                    session.check_alive(app)
                end, stop = time.monotonic() + asked.seconds, cancel or asked.cancel
                now = replace(asked, named=app, apps=apps, cancel=stop, end=end)
                answer = read(now, **_own_arguments(now, read))
                if isinstance(answer, ToolResult):
                    return answer._replace(value=clean_value(answer.value), notes=notes)
                return ToolResult(clean_value(answer), notes)

        line = f"{tool.name} {quote_text(app.name, 60)}" if app else tool.name
        effects = tuple(dict.fromkeys(effect for _, effect in rows))
        facts = CallFacts(tool.name, effects, call.arguments, line=line)
        if asks and app is not None:
            scope = hashlib.sha256(repr((tool.name, app.id, app.pid, app.started)).encode())
            raised = (RaisedLevel("interface", asks, "SAFE"),)
            facts = replace(facts, raised=raised, memory=scope.hexdigest())
        return Plan(tool, facts, perform_read)

    def plan_change(self, tool: Tool, call: Call, find: _Find, permissions: Permissions) -> Plan:
        """Return the plan of a call that changes an element; nothing is changed yet.

        Raises:
            UiError: The app or the element is not to be found, is stale, or cannot do that.
        """
        session = self.session
        key = json.dumps([tool.name, call.arguments], sort_keys=True, default=str)
        with self._keeping:
            agreed = self._planned.get(key) if call.token else None
        asked = prepare_call(session, tool, call, agreed)
        app = asked.app
        with (
            error_context(app, asked.path, tool=tool.name),
            modal_error_context(session.bridge, app),
        ):
            made = find(asked, **_own_arguments(asked, find))
            rows = made if isinstance(made, list) else [made]
            judged = [(change, assess_change(change)) for change in rows]

        form = "fields" in call.arguments

        def shows(other: UiApp) -> bool:
            effect = _read_effect(other, "", "SAFE")
            return not _is_denied(permissions, "list_windows", effect, {})

        def perform_change(_cancel: Cancellation | None) -> ToolResult:
            done = deliver_changes(
                session, app, judged, asked.seconds, tool.name, form=form, shows=shows
            )
            return ToolResult(clean_value(done))

        facts = self._call_facts(tool, call, key, app, judged, permissions.taint)
        return Plan(tool, facts, perform_change, resumable=False)

    def _call_facts(
        self,
        tool: Tool,
        call: Call,
        key: str,
        app: UiApp,
        judged: Sequence[tuple[ElementChange, ChangeLevel]],
        taint: Taint,
    ) -> CallFacts:
        """Return what a call of changes does, and remember what it was planned for."""
        shown = dict(call.arguments)
        effects: list[Effect] = []
        raised: list[RaisedLevel] = []
        for change, (level, reasons, known) in judged:
            node, path = change.target.found.node, change.target.found.path
            verb: Verb = "change" if known == "unknown" and change.value is not None else known
            effects.append(Effect(verb, app.id, app.name, node.role, path, level=level))
            raised += [
                RaisedLevel("interface", f"{one[:1].upper()}{one[1:]}.", "SAFE") for one in reasons
            ]
        if any(holds_secret(change.target.found.node) for change, _ in judged):
            # They are asked about and recorded.
            hidden = dict.fromkeys(("value", "text", "fields", "keys"), "[secret]")
            shown |= {name: text for name, text in hidden.items() if name in shown}
        given = [str(call.arguments.get(name, "")) for name in ("value", "text", "fields")]
        changes = tuple(change for change, _ in judged)
        tag = self._remember_plan(key, app, [change.target.found for change in changes])
        modest = all(level == "MODIFY" for _, (level, _, _) in judged)
        # What is shown last is what the call is called by.
        lines = [change.line for change in changes] if "fields" in shown else [changes[-1].line]
        return CallFacts(
            tool.name,
            tuple(dict.fromkeys(effects)),
            shown,
            line=f"{'; '.join(lines)}, element {tag}",
            deed="; ".join(lines),
            raised=(
                *dict.fromkeys(raised),
                *find_tainted_texts([one for one in given if one], taint, call.caller.token_client),
            ),
            memory=_approval_scope(app, changes[-1].target.found) if modest else "",
        )

    def close(self) -> None:
        """End all watches and let go of the platform."""
        if self._session is not None:
            self._session.close()

    def _remember_plan(self, key: str, app: UiApp, planned: Sequence[ElementFound]) -> str:
        """Remember what a call was planned for, and return the tag of its elements."""
        elements = (app.pid, app.started, *(element.fingerprint for element in planned))
        with self._keeping:
            # At random: a tag of another server is none of this one.
            tag = self._tags.setdefault(elements, secrets.token_hex(4))
            self._tags.move_to_end(elements)
            self._planned[key] = (app, tuple(planned))
            self._planned.move_to_end(key)
            for kept in (self._tags, self._planned):
                if len(kept) > _KEPT:
                    kept.popitem(last=False)
        return tag


def _approval_scope(app: UiApp, element: ElementFound) -> str:
    """Return a digest of what an answer covers while this server runs: a process and a window."""
    window = element.window.title if element.window.role != "menu_bar" else "menu bar"
    scope = (app.id, app.pid, app.started, window or element.window.role)
    return hashlib.sha256(repr(scope).encode()).hexdigest()


def _is_denied(
    permissions: Permissions, tool: str, effect: Effect, arguments: Mapping[str, Any]
) -> bool:
    alone = CallFacts(tool, (effect,), arguments, ways=("client",))
    return permissions.judge_call(alone).action == "deny"


def _read_effect(app: UiApp, path: str, level: Level) -> Effect:
    doubt = "" if app.id else f"the identity of {app.name} could not be read"
    return Effect("read", app.id, app.name, "interface", path, level=level, doubt=doubt)


def open_toolset(_context: ToolContext) -> UiToolset:
    """Return the toolset of this machine."""
    return UiToolset()
