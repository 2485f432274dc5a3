"""From what a caller calls an app to the one running app that is meant."""

from collections.abc import Callable, Sequence
from typing import Any

from iac_accessibility.errors import AppError
from iac_accessibility.model import App
from iac_base.errors import near_text, quoted
from iac_base.words import fold

__all__ = ["app_facts", "find_app"]


def find_app(wanted: str | int, apps: Sequence[App], installed: Callable[[str], bool]) -> App:
    """Return the running app that `wanted` names: a name, a bundle id or a process id.

    A name is compared without case and punctuation; part of a name is not enough.

    Args:
        installed: Says whether there is such an app on this machine at all.

    Raises:
        AppError: It is not running, several are meant (they are listed), or there is nothing
            like it (the nearest are named).
    """
    text = str(wanted).strip()
    if isinstance(wanted, int) or text.isdecimal():
        return _by_pid(int(text), apps)
    found = [app for app in apps if app.id and app.id.casefold() == text.casefold()]
    found = found or [app for app in apps if app.name.casefold() == text.casefold()]
    found = found or [app for app in apps if fold(text) and fold(app.name) == fold(text)]
    if len(found) == 1:
        return found[0]
    if found:
        raise AppError(
            "INVALID_PARAMETER",
            f"{len(found)} running apps are called {quoted(text)}.",
            f"Give the process id: {_listed(found)}.",
            reason="app_ambiguous",
            more={"matches": [app_facts(app) for app in found]},
        )
    if text and installed(text):
        raise AppError(
            "APP_NOT_RUNNING",
            f"{quoted(text)} is not running, or shows no interface.",
            "Start it (app_launch), then try again.",
            reason="app_not_running",
            app=text,
        )
    raise AppError(
        "APP_NOT_FOUND",
        f"There is no app {quoted(text)}.",
        near_text(text, [app.name for app in apps]) or "No app with an interface is running.",
        reason="app_unknown",
    )


def _by_pid(pid: int, apps: Sequence[App]) -> App:
    for app in apps:
        if app.pid == pid:
            return app
    raise AppError(
        "APP_NOT_RUNNING",
        f"There is no app with an interface and the process id {pid}.",
        f"Running: {_listed(apps)}." if apps else "No app with an interface is running.",
        reason="app_not_running",
    )


def _listed(apps: Sequence[App]) -> str:
    rows = [f"{app.pid} ({app.name}{', in front' if app.frontmost else ''})" for app in apps[:10]]
    return ", ".join(rows) + (", …" if len(apps) > 10 else "")


def app_facts(app: App) -> dict[str, Any]:
    """Return an app as answers show it."""
    return {"name": app.name, "id": app.id, "pid": app.pid}
