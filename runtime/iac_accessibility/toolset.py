"""From a function to a tool: what a call of it would do, and doing it, for the gate.

    @read_tool                                  @change_tool
    def plan_list_windows(session, call): ...   def plan_perform_action(session, call): ...

A function that reads answers with what the tool's output schema says. One that changes something
returns an `ElementChange`: it looks for the element and changes nothing. Level, question, the check
that it still is that element, and the answer are the same for all of them. Action first: an action
of the element's own, or its settable value; keys and pointer where neither is, with the focus
proven before each (`input_devices`).
"""

import hashlib
import json
import math
import secrets
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial, wraps
from importlib.util import find_spec
from threading import Lock
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from iac_accessibility.arguments import ActionDone, UiCall, prepare_call
from iac_accessibility.bridge import Bridge, read_one
from iac_accessibility.changes_since import changes_since_view
from iac_accessibility.element_identity import ElementFound
from iac_accessibility.errors import UiError, error_context
from iac_accessibility.locate import resolve_target
from iac_accessibility.model import (
    CONFIRMS,
    AppNotResponding,
    Detail,
    ElementGone,
    Scalar,
    UiApp,
    UiFault,
    UiNode,
)
from iac_accessibility.outline import element_state, shown_value
from iac_accessibility.risk import (
    CONFIRMS_TEXT,
    ChangeFacts,
    ChangeLevel,
    assess_level,
    holds_secret,
    is_dialog,
    return_does,
)
from iac_accessibility.session import UiSession, modal_error, modal_error_context
from iac_base.errors import Cancellation, ToolError, near_text, pip_install, quote_text
from iac_base.text import clean_value, escape_hidden
from iac_runtime.tool import Level, at_most, tool
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

_STATE: Final = Detail.VALUE | Detail.IDENTIFIER
_SETTLE: Final = 0.4
"""Seconds that an animated press is waited for; presses in between would be lost."""

_LEAST: Final = 0.2
_RETURN: Final = 1.0
"""Seconds that an action of the app's own may take until it is asked whether a dialog is why."""

_DEFAULT_SECONDS: Final = 0.5


class ElementChange(NamedTuple):
    """What a tool is going to do to an element.

    Attributes:
        found: The element; when it is acted on, it is looked for again.
        line: What will be done, on one line; the value of a secret is not in it.
        act: Does it, to the element as it is then, within so many seconds; what it returns is put
            in the answer.
        method: How it is done, as the answer says.
        action: The action of its own that is performed; empty if none.
        value: The value that it is to have afterwards; None where that is not known.
        words: What is named beside the element's own title: the menus on the way, the action.
        more: What the answer says beside.
        does: What is known of its effect, in the words of the levels; empty where nothing is.
        again: Finds what is acted on again, where that is no element of the app's tree.
    """

    found: ElementFound
    line: str
    act: Callable[[UiNode, float], Mapping[str, Any] | None]
    method: Literal["action", "value", "keys", "pointer", "window"] = "action"
    action: str = ""
    value: str | float | bool | None = None
    words: tuple[str, ...] = ()
    more: Mapping[str, Any] = {}
    does: str = ""
    again: Callable[[], ElementFound] | None = None


def assess_change(session: UiSession, app: UiApp, change: ElementChange) -> ChangeLevel:
    """Return how far a change reaches; the app is asked for the default button of a dialog."""
    element = change.found
    node = element.node
    # A sheet lies in the window that it belongs to.
    window = next(filter(is_dialog, reversed(element.way)), element.window)
    default = "default" in node.states
    if not default and is_dialog(window) and change.again is None:
        try:
            default = session.bridge.is_default(node.handle, window.handle, _DEFAULT_SECONDS)
        except UiFault:
            # What cannot be known is taken for the worse.
            default = node.role == "button"
    runs = session.bridge.runs_input(app) or any(one.role == "terminal" for one in element.way)
    does = change.does
    if change.action in CONFIRMS:
        does = does or return_does(element.way) or CONFIRMS_TEXT
    return assess_level(ChangeFacts(app.id, node, window, default, runs, change.words, does))


def approval_scope(app: UiApp, element: ElementFound) -> str:
    """Return a digest of what an answer covers while this server runs: a process and a window."""
    window = element.window.title if element.window.role != "menu_bar" else "menu bar"
    scope = (app.id, app.pid, app.started, window or element.window.role)
    return hashlib.sha256(repr(scope).encode()).hexdigest()


def apply_change(
    session: UiSession, app: UiApp, change: ElementChange, level: Level, seconds: float
) -> dict[str, Any]:
    """Make a change: the path is resolved again, and everything that was judged must hold.

    Args:
        level: What it was judged to need.

    Raises:
        StaleError: The element is another one now; nothing was done.
        UiError: It reaches further than was judged.
        UiFault: The app failed.
    """
    end = time.monotonic() + seconds
    before = change.found
    if change.again is not None:
        element = change.again()
    else:
        element = resolve_target(
            session, app, before.path, before.fingerprint, seconds, before, id=before.id
        )
    node = element.node
    now = assess_change(session, app, change._replace(found=element))
    if not at_most(now.level, level):
        message = f"This call now needs {now.level}: {', '.join(now.reasons)}. Nothing was done."
        guidance = "The element has changed. Read it, then call again."
        raise UiError("REFUSED", message, guidance, reason="level_rose")
    if change.action:
        check_action(node, change.action)
    state: dict[str, Any] = {"role": node.role, "title": node.title}
    answer: dict[str, Any] = {"success": True, "method": change.method, **change.more}
    left = max(end - time.monotonic(), _LEAST)
    with error_context(app, before.path, writes=True):
        try:
            # Closing a window ends the element before it answers.
            with suppress(ElementGone):
                given = min(left, _RETURN) if change.method == "action" else left
                answer |= change.act(node, given) or {}
            left = max(end - time.monotonic(), _LEAST)
            after = (
                node
                if change.again
                else _read_settled(session, app, change, node, min(left, _RETURN))
            )
        except AppNotResponding as fault:
            answer |= _wait_for_dialog(session, app, end, fault)
            if "dialog" in answer:
                session.opened_dialogs.add((app.pid, node.handle))
                return answer | {"element_state": state}
            after = _read_settled(session, app, change, node, _LEAST)
    if after is None:
        known = state | {"gone": True}
    else:
        # Its actions cost a further exchange, and hardly ever change.
        known = element_state(after._replace(actions=node.actions), element.path, element.id)
    answer["element_state"] = known
    if change.value is not None:
        told_of = _value_outcome(session, change.value, node, after)
        notes = [*answer.get("notes", ()), *told_of.get("notes", ())]
        return answer | told_of | ({"notes": notes} if notes else {})
    if after is None:
        gone = "The element is gone or cannot be read. This is its last known state."
        note = gone if session.bridge.is_alive(app) else f"{app.name} has ended."
        answer["notes"] = [*answer.get("notes", ()), note]
    return answer


def _wait_for_dialog(
    session: UiSession, app: UiApp, end: float, fault: AppNotResponding
) -> Mapping[str, Any]:
    """Return what to say of an act that did not return in time: that a dialog is why, or nothing.

    Raises:
        AppNotResponding: The app shows none, and does not answer either.
    """
    while True:
        if (error := modal_error(session.bridge, app)) is not None:
            notes = [error.message, error.suggestion]
            return {"success": False, "dialog": error.more["dialog"], "notes": notes}
        try:
            session.bridge.app_element(app, _LEAST)
        except AppNotResponding:
            if time.monotonic() > end:
                raise fault from None
        else:
            return {"notes": ["The app took its time, so it is unknown what else it did."]}


def _value_outcome(
    session: UiSession, value: str | float | bool, node: UiNode, after: UiNode | None
) -> dict[str, Any]:
    """Return what an answer says of a value that was set: whether it holds now, and what was."""
    notes: list[str] = []
    secret = holds_secret(node)
    done = after is not None and (secret or _holds_value(session, value, after))
    if after is None:
        notes.append(
            "The element is gone or cannot be read, so it is unknown whether the value was set."
        )
    elif secret:
        notes.append("The element holds a secret, so the value was not read back.")
    elif not done:
        notes.append(
            "The element now has another value than the call set. Perhaps the app changed it."
        )
    return {
        "success": done,
        "previous_value": shown_value(node),
        "new_value": None if after is None else shown_value(after),
        **({"notes": notes} if notes else {}),
    }


def _read_settled(
    session: UiSession, app: UiApp, change: ElementChange, node: UiNode, seconds: float
) -> UiNode | None:
    """Return the element as it is now, once an animation of the press is over; None if gone."""
    settled = time.monotonic() + min(_SETTLE, seconds)
    reader = session.bridge.open_reader(app, whole=False, timeout=seconds)
    # A browser takes a value at once and shows it a moment later.
    value = None if holds_secret(node) else change.value
    try:
        while True:
            now = read_one(reader, node.handle, _STATE, seconds)
            pressed = now.role == "button" and "pressed" in now.states
            late = value is not None and not _holds_value(session, value, now)
            if not (pressed or late) or time.monotonic() > settled:
                # GTK 3 keeps the shell of what it destroyed: without any state.
                return now if now.states or not node.states else None
            time.sleep(0.01)
    except ElementGone:
        return None


def is_same_value(wanted: str | float | bool, got: Scalar) -> bool:
    """Say whether a value that was read back is the one that was set."""
    if isinstance(wanted, bool) or isinstance(got, bool):
        return got in (0, 1) and bool(got) is wanted
    if isinstance(wanted, str) and isinstance(got, str):
        return wanted.strip() == got.strip()
    with suppress(TypeError, ValueError):
        return math.isclose(
            float(wanted), float(math.nan if got is None else got), rel_tol=1e-6, abs_tol=1e-6
        )
    return False


def _holds_value(session: UiSession, wanted: str | float | bool, node: UiNode) -> bool:
    """Say whether an element holds what was set; of a text a node has but what is shown of it."""
    if is_same_value(wanted, node.value):
        return True
    if not isinstance(wanted, str):
        return False
    with suppress(UiFault):
        return session.bridge.full_text(node.handle, _LEAST) == wanted
    return False


def check_action(node: UiNode, action: str, asked: str = "") -> None:
    """Raise if an element is disabled, or has no such action; `asked` is what it was called."""
    check_enabled(node)
    if action in node.actions:
        return
    asked = asked or action
    message = f"{quote_text(asked, 60)} is not an action of this {node.role.replace('_', ' ')}."
    guidance = near_text(asked, node.actions) if node.actions else "It has no actions."
    raise UiError(
        "NOT_SUPPORTED", message, guidance, reason="no_action", more={"actions": list(node.actions)}
    )


def check_enabled(node: UiNode) -> None:
    """Raise if an element is disabled."""
    if "enabled" not in node.states:
        message = f"The {node.role.replace('_', ' ')} {quote_text(node.title, 60)} is disabled."
        guidance = "Find out why the app has disabled this element. Then read the element again."
        raise UiError("NOT_SUPPORTED", message, guidance, reason="disabled")


def describe_element(element: ElementFound, app: UiApp) -> str:
    """Return an element in words: its role and title, its window, its app."""
    node = element.node
    name = f" {quote_text(node.title, 60)}" if node.title else f" at {element.path[-80:]}"
    place = f"window {quote_text(element.window.title, 60)} of " if len(element.way) > 1 else ""
    texts = " ".join(element.row.texts) if element.row else ""
    row = f"the row {quote_text(texts, 80)}, " if texts else ""
    return escape_hidden(f"{node.role.replace('_', ' ')}{name} in {row}{place}{describe_app(app)}")


def describe_app(app: UiApp) -> str:
    """Return an app in words: its name, its identity, its process."""
    return escape_hidden(f"{app.name} ({app.id or 'identity unknown'}, process {app.pid})")


_NEWS: Final = 0.8
"""Seconds for what an act changed, beside those of the act."""

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


_Read: TypeAlias = Callable[[UiSession, UiCall], "dict[str, Any] | ToolResult"]
_Change: TypeAlias = Callable[[UiSession, UiCall], ElementChange | list[ElementChange]]


def read_tool(read: _Read, *, front: bool = False, asks: str = "") -> Perform:
    """Return the tool's function for a function that reads.

    Where no app was named, it reads all that run; with `front`, the one that is in front.

    Args:
        asks: Why a person is asked first, once for each process of an app; empty where not.
    """

    @wraps(read)
    def plan_call(tool: Tool, call: Call, context: ToolContext) -> Plan:
        toolset = context.get_or_create(open_toolset)
        return toolset.plan_read(tool, call, read, context.permissions, front=front, asks=asks)

    return plan_call


def change_tool(find: _Change) -> Perform:
    """Return the tool's function for a function that finds what is to be changed, and how."""

    @wraps(find)
    def plan_call(tool: Tool, call: Call, context: ToolContext) -> Plan:
        return context.get_or_create(open_toolset).plan_change(
            tool, call, find, context.permissions.taint
        )

    return plan_call


acting_tool: Final = partial(tool, level="MODIFY", ceiling="DANGEROUS", answer=ActionDone)
"""A tool that changes an element; what it needs in truth, its plan says."""


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

        def is_denied(effect: Effect) -> bool:
            alone = CallFacts(tool.name, (effect,), call.arguments, ways=("client",))
            return app is None and permissions.judge_call(alone).action == "deny"

        left_out = {one.name for one, effect in rows if is_denied(effect)}
        rows = [row for row in rows if row[0].name not in left_out]
        apps = tuple(one for one, _ in rows)
        names = ", ".join(sorted(left_out))
        notes = (f"left out, for the policy denies it: {names}",) if names else ()

        def perform_read(cancel: Cancellation | None) -> ToolResult:
            with error_context(app, tool=tool.name):
                if app is not None:
                    session.check_alive(app)
                now = replace(asked, named=app, apps=apps, cancel=cancel or asked.cancel)
                answer = read(session, now)
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

    def plan_change(self, tool: Tool, call: Call, find: _Change, taint: Taint) -> Plan:
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
            made = find(session, asked)
            rows = made if isinstance(made, list) else [made]
            judged = [(change, assess_change(session, app, change)) for change in rows]

        def perform_change(_cancel: Cancellation | None) -> ToolResult:
            answers: list[dict[str, Any]] = []
            for number, (change, was) in enumerate(judged):
                try:
                    with error_context(app, change.found.path, tool=tool.name):
                        answers.append(apply_change(session, app, change, was.level, asked.seconds))
                except ToolError as error:
                    if number and len(rows) > 1:
                        error.message = f"{number} of {len(rows)} were done; then: {error.message}"
                    raise
            done = _combine_answers(answers) if "fields" in call.arguments else answers[-1]
            with error_context(app, tool=tool.name):
                seen = changes_since_view(session, app, _NEWS) if done["success"] else None
            return ToolResult(clean_value(done | ({} if seen is None else {"changes": seen})))

        facts = self._call_facts(tool, call, key, app, judged, taint)
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
            node, path = change.found.node, change.found.path
            verb: Verb = "change" if known == "unknown" and change.value is not None else known
            effects.append(Effect(verb, app.id, app.name, node.role, path, level=level))
            raised += [
                RaisedLevel("interface", f"{one[:1].upper()}{one[1:]}.", "SAFE") for one in reasons
            ]
        if any(holds_secret(change.found.node) for change, _ in judged):
            # They are asked about and recorded.
            hidden = dict.fromkeys(("value", "text", "fields", "keys"), "[secret]")
            shown |= {name: text for name, text in hidden.items() if name in shown}
        given = [str(call.arguments.get(name, "")) for name in ("value", "text", "fields")]
        changes = tuple(change for change, _ in judged)
        tag = self._remember_plan(key, app, [change.found for change in changes])
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
            memory=approval_scope(app, changes[-1].found) if modest else "",
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


def _combine_answers(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the answers of several changes as one."""
    notes = [note for one in answers for note in one.get("notes", ())]
    rows = [{name: one[name] for name in _OF_FIELD if name in one} for one in answers]
    done = all(one["success"] for one in answers)
    return {"success": done, "fields": rows, **({"notes": notes} if notes else {})}


_OF_FIELD: Final = ("success", "method", "element_state", "previous_value", "new_value")


def _read_effect(app: UiApp, path: str, level: Level) -> Effect:
    doubt = "" if app.id else f"the identity of {app.name} could not be read"
    return Effect("read", app.id, app.name, "interface", path, level=level, doubt=doubt)


def open_toolset(_context: ToolContext) -> UiToolset:
    """Return the toolset of this machine."""
    return UiToolset()
