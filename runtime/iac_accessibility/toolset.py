"""Calls of the accessibility tools in two halves, so that a gate can judge between them.

    plan = toolset.prepare("perform_action", arguments)   resolves app and element, decides level
    answer = toolset.perform(plan)                        resolves again, checks, acts, reads back

`prepare` changes nothing. `perform` acts on nothing but what was prepared.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from iac_accessibility.bridge import Bridge
from iac_accessibility.errors import StaleError, from_fault
from iac_accessibility.faults import Fault
from iac_accessibility.marks import Mark
from iac_accessibility.model import App
from iac_accessibility.observe import Progress, Watches
from iac_accessibility.plan import Plan
from iac_accessibility.reads import find_element, get_focused_element, get_ui_tree, list_windows
from iac_accessibility.session import Session
from iac_accessibility.tools import TOOLS
from iac_accessibility.writes import perform_write, plan_action, plan_menu, plan_value
from iac_base.cancellation import Cancellation
from iac_base.errors import ToolError, UnknownToolError, nearest, quoted
from iac_base.text import clean
from iac_runtime.tools.checking import check_arguments

__all__ = ["Toolset"]

_Plans = Callable[[Session, App, Mapping[str, Any], float, Mark | None], Plan]
_ROWS: Final = {tool.name: tool for tool in TOOLS}

_PLANS: Final[Mapping[str, _Plans]] = {
    "perform_action": plan_action,
    "set_value": plan_value,
    "click_menu": plan_menu,
}


class Toolset:
    """The eight tools on one bridge. Safe to share between threads.

    Args:
        bridge: The platform.
        timeouts: Seconds per tool, where they differ from the table's.
    """

    def __init__(self, bridge: Bridge, timeouts: Mapping[str, float] | None = None) -> None:
        self._session = Session(bridge)
        self._watches = Watches()
        self._timeouts = dict(timeouts or {})

    def prepare(
        self, tool: str, arguments: Mapping[str, Any], *, bound: Plan | None = None
    ) -> Plan:
        """Return what a call would do: target, level, reasons, one line. Nothing is changed.

        Args:
            bound: An earlier plan of the same call, whose element it has to be: a person agreed
                to that one.

        Raises:
            UnknownToolError: There is no such tool.
            InvalidParameterError: An argument is wrong.
            UiError: The app or the element is not to be found, is stale, or cannot do that.
        """
        row = _ROWS.get(tool)
        if row is None:
            raise UnknownToolError(tool, nearest(tool, _ROWS))
        app: App | None = None
        try:
            checked = check_arguments(arguments, row.input)
            seconds = float(checked.get("timeout") or self._timeouts.get(tool, row.timeout or 0))
            if "app" in checked:
                app = self._session.app(checked["app"])
            if tool in _PLANS:
                assert app is not None
                if bound is not None and not _same_process(bound.app, app):
                    why = f"it was another process of {app.name}, which was started anew"
                    raise StaleError(bound.path, why, "", app=app.name)
                mark = bound.mark if bound else None
                return _PLANS[tool](self._session, app, checked, seconds, mark)
        except ToolError as error:
            raise _named(error, tool, app) from None
        except Fault as fault:
            raise _named(from_fault(fault, app), tool, app) from None
        line = f"{tool} {quoted(app.name, 60)}" if app else tool
        return Plan(tool, checked, app, "SAFE", line, seconds)

    def perform(
        self,
        plan: Plan,
        *,
        cancel: Cancellation | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Carry out a plan and return the answer, as the tool's output schema says.

        Args:
            cancel: Ends `observe_changes` early; the other tools end by their time.
            progress: Told how far `observe_changes` is.

        Raises:
            UiError: It failed, or the element is not the one that was prepared any more.
        """
        session, app = self._session, plan.app
        try:
            if plan.tool in _PLANS:
                return _cleaned(perform_write(session, plan))
            if plan.tool == "get_focused_element":
                return _cleaned(get_focused_element(session, app, plan.timeout))
            if plan.tool == "list_windows":
                return _cleaned(list_windows(session, app, plan.arguments, plan.timeout))
            assert app is not None
            session.check_alive(app)
            if plan.tool == "observe_changes":
                answer = self._watches.observe(
                    session, app, plan.arguments, cancel=cancel, progress=progress
                )
                return _cleaned(answer)
            read = get_ui_tree if plan.tool == "get_ui_tree" else find_element
            return _cleaned(read(session, app, plan.arguments, plan.timeout))
        except ToolError as error:
            raise _named(error, plan.tool, app) from None
        except Fault as fault:
            failed = from_fault(fault, app, plan.path, writes=plan.writes)
            raise _named(failed, plan.tool, app) from None

    def close(self) -> None:
        """End all watches and let go of the platform."""
        self._watches.close()
        self._session.bridge.close()


def _same_process(before: App | None, now: App) -> bool:
    return before is not None and (before.pid, before.started) == (now.pid, now.started)


def _named(error: ToolError, tool: str, app: App | None) -> ToolError:
    error.command = error.command or tool
    error.app = error.app or (app.name if app else "")
    return error


def _cleaned(answer: dict[str, Any]) -> dict[str, Any]:
    cleaned: dict[str, Any] = clean(answer)
    return cleaned
