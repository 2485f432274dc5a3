"""Errors of the accessibility tools: the runtime's own, with the element's path and what went on.

ToolError
    UiError             an error with `operation`, `element_path`, `guidance` and `reason`
        AppError        the app that was named: not running, several, or nothing like it
        StaleError      the path leads to another element than it was made from, or to none

`reason` is finer than `type`: `app_not_running`, `app_ambiguous`, `app_unknown`, `stale`,
`no_element`, `no_action`, `not_settable`, `bad_value`, `disabled`, `app_silent`, `app_gone`,
`no_permission`, `no_interface`, `failed`, `bad_path`, `no_menu`, `level_rose`.
"""

from collections.abc import Mapping
from typing import Any

from iac_accessibility.faults import Denied, Fault, Gone, Silent, Unsupported
from iac_accessibility.model import App
from iac_base.errors import ErrorType, ToolError, quoted

__all__ = ["AppError", "StaleError", "UiError", "from_fault"]

LOOK_AGAIN = "Call find_element or get_ui_tree, and use a path from the answer."


class UiError(ToolError):
    """A call of an accessibility tool failed.

    Attributes:
        reason: What it was, finer than `type`.
        element_path: The path that was worked with; empty where there was none.
        more: Further facts.
    """

    def __init__(
        self,
        type: ErrorType,
        message: str,
        guidance: str = "",
        *,
        reason: str = "",
        app: str = "",
        element_path: str = "",
        retryable: bool = False,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(type, message, guidance, retryable=retryable, app=app)
        self.reason = reason
        self.element_path = element_path
        self.more = dict(more or {})

    def facts(self) -> dict[str, Any]:
        """Return the error as one JSON object; what is not known is left out."""
        facts = super().facts()
        extra = {
            "reason": self.reason,
            "operation": self.command,
            "element_path": self.element_path,
            "guidance": self.suggestion,
            **self.more,
        }
        return facts | {key: value for key, value in extra.items() if value not in ("", None)}


class AppError(UiError):
    """The app that was named cannot be worked with."""


class StaleError(UiError):
    """A path leads to another element than the one it was made from; nothing was done.

    Args:
        path: The path.
        differences: What differs, as clauses.
        fresh: A path that leads to the element now; empty where it was not found.
    """

    def __init__(self, path: str, differences: str, fresh: str, *, app: str) -> None:
        guidance = f"It is now at {fresh}. Read it again before you act." if fresh else LOOK_AGAIN
        super().__init__(
            "NOT_FOUND",
            f"The path {quoted(path, 200)} is stale: {differences}. Nothing was done.",
            guidance,
            reason="stale",
            app=app,
            element_path=path,
            more={"fresh_path": fresh} if fresh else None,
        )


def from_fault(fault: Fault, app: App | None, path: str = "", *, writes: bool = False) -> UiError:
    """Return what a caller is told of a fault behind the bridge."""
    name = app.name if app else ""
    who = name or "The accessibility service"
    if isinstance(fault, Denied):
        return _denied(name, path)
    if isinstance(fault, Silent):
        return UiError(
            "TIMEOUT",
            f"{who} does not answer." if not writes else f"{who} did not answer in time.",
            "It may be busy or frozen. Look whether it reacts, then try again."
            if not writes
            else "What was asked may have been done. Look at the element before you try again.",
            reason="app_silent",
            app=name,
            element_path=path,
            retryable=not writes,
        )
    if isinstance(fault, Gone):
        return UiError(
            "APP_NOT_RUNNING" if not path else "NOT_FOUND",
            f"{who} has ended, or closed this part of its interface.",
            "Call list_windows to see what is there." if not path else LOOK_AGAIN,
            reason="app_gone",
            app=name,
            element_path=path,
        )
    if isinstance(fault, Unsupported):
        return UiError(
            "NOT_SUPPORTED",
            f"{who}: this element cannot do that ({fault}).",
            "Read the element with include_attributes to see what it offers.",
            reason="no_action",
            app=name,
            element_path=path,
        )
    return UiError(
        "EXECUTION_ERROR",
        f"{who}: {fault}.",
        "Look at the element, then decide.",
        reason="failed",
        app=name,
        element_path=path,
    )


def _denied(name: str, path: str) -> UiError:
    # Needed for this message only.
    from iac_runtime.execution.mac import responsible_name

    return UiError(
        "PERMISSION_DENIED",
        f"macOS does not let this program look into {name or 'other apps'}.",
        f"Allow {responsible_name()} in System Settings > Privacy & Security > Accessibility,"
        " then start it again.",
        reason="no_permission",
        app=name,
        element_path=path,
        more={"pane": "Privacy & Security > Accessibility", "process": responsible_name()},
    )
