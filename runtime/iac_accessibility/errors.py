"""Errors of the accessibility tools: the runtime's own, with the element's path and what went on.

Whoever finds that something is wrong says what and what now; `error_context` adds app, tool and
path.

ToolError
    UiError             an error with `operation`, `element_path`, `guidance` and `reason`
        StaleError      the path leads to another element than it was made from, or to none

`reason` is finer than `type`: `app_not_running`, `app_ambiguous`, `app_unknown`, `stale`,
`no_element`, `no_action`, `not_settable`, `bad_value`, `disabled`, `app_silent`, `app_gone`,
`no_permission`, `no_interface`, `failed`, `bad_path`, `no_menu`, `level_rose`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from iac_accessibility.model import (
    AccessDenied,
    AppNotResponding,
    ElementGone,
    UiApp,
    UiFault,
    Unsupported,
)
from iac_base.errors import ErrorType, ToolError, quote_text

LOOK_AGAIN: Final = "Call find_element or get_ui_tree, and use an id from its result."


class UiError(ToolError):
    """A call of an accessibility tool failed.

    Attributes:
        reason: What it was, finer than `type`.
        element_path: The path that was worked with; empty where there was none.
        more: Further facts.
    """

    toolset = "accessibility"

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
            "element_path": self.element_path,
            **self.more,
        }
        return facts | {key: value for key, value in extra.items() if value not in ("", None)}


class StaleError(UiError):
    """A path leads to another element than the one it was made from; nothing was done.

    Args:
        path: The path.
        differences: What differs, as clauses.
        fresh: A path that leads to the element now; empty where it was not found.
        id: The id that it has there.
    """

    def __init__(self, path: str, differences: str, fresh: str = "", id: str = "") -> None:
        super().__init__(
            "NOT_FOUND",
            f"The path {quote_text(path, 200)} is out of date: {differences}. Nothing was done.",
            f"The element is now {id} at {fresh}. Read it again before you act."
            if fresh
            else LOOK_AGAIN,
            reason="stale",
            element_path=path,
            more={"fresh_path": fresh, "fresh_id": id} if fresh else None,
        )


@contextmanager
def error_context(
    app: UiApp | None, path: str = "", *, tool: str = "", writes: bool = False
) -> Iterator[None]:
    """Raise a fault of the block as what a caller is told, and errors with what is known here.

    Args:
        path: The path that is worked with.
        writes: Whether something was being changed.

    Raises:
        UiError: There was a fault behind the bridge.
    """
    name = app.name if app else ""
    try:
        yield
    except (ToolError, UiFault) as caught:
        error = (
            _error_from_fault(caught, name, path, writes) if isinstance(caught, UiFault) else caught
        )
        error.app = error.app or name
        error.command = error.command or tool
        if isinstance(error, UiError):
            error.element_path = error.element_path or path
        raise error from None


def _error_from_fault(fault: UiFault, name: str, path: str, writes: bool) -> UiError:
    who = name or "The accessibility service"
    if isinstance(fault, AccessDenied):
        # Needed for this message only.
        from iac_runtime.toolkit import responsible_name

        return UiError(
            "PERMISSION_DENIED",
            f"macOS does not let this program read {name or 'other apps'}.",
            f"Allow {responsible_name()} in System Settings > Privacy & Security > Accessibility,"
            " then start that program again.",
            reason="no_permission",
            more={"pane": "Privacy & Security > Accessibility", "process": responsible_name()},
        )
    if isinstance(fault, AppNotResponding):
        return UiError(
            "TIMEOUT",
            f"{who} does not answer." if not writes else f"{who} did not answer in time.",
            "It may be busy or frozen. Check whether it responds, then try again."
            if not writes
            else "The action may have happened. Look at the element before you try again.",
            reason="app_silent",
            retryable=not writes,
        )
    if isinstance(fault, ElementGone):
        message = f"{who} has ended, or has closed this window or part of it."
        guidance = "Call list_windows to see the open windows." if not path else LOOK_AGAIN
        return UiError(
            "APP_NOT_RUNNING" if not path else "NOT_FOUND", message, guidance, reason="app_gone"
        )
    if isinstance(fault, Unsupported):
        message = f"{who}: this element does not support that ({fault})."
        guidance = "Call get_ui_tree with include_attributes to see the element's actions."
        return UiError("NOT_SUPPORTED", message, guidance, reason="no_action")
    message, guidance = f"{who}: {fault}.", "Read the element before you decide what to do."
    return UiError("EXECUTION_ERROR", message, guidance, reason="failed")
