"""The element of a change: found by its path, checked against what the path was made from."""

from iac_accessibility.errors import UiError, from_fault
from iac_accessibility.faults import Fault, Gone
from iac_accessibility.levels import Facts, Verdict, level_of
from iac_accessibility.locate import check, confirm, refuse_stale, resolve, with_row
from iac_accessibility.marks import Found, Mark
from iac_accessibility.model import App
from iac_accessibility.paths import PathError, Step, parse_path, path_text
from iac_accessibility.roles import WINDOW_ROLES
from iac_accessibility.session import Session
from iac_base.errors import quoted

__all__ = ["judged", "steps_of_path", "target"]


def steps_of_path(text: str, app: App) -> tuple[tuple[Step, ...], str]:
    """Return the steps of a path and its canonical text.

    Raises:
        UiError: It is no path.
    """
    try:
        steps = parse_path(text)
    except PathError as error:
        raise UiError(
            "INVALID_PARAMETER",
            f"{quoted(text, 120)} is no path: {error}.",
            "Paths look like window[0]/toolbar[0]/button[@title='Close'].",
            reason="bad_path",
            app=app.name,
            element_path=text[:200],
        ) from None
    return steps, path_text(steps)


def target(
    session: Session,
    app: App,
    steps: tuple[Step, ...],
    path: str,
    mark: Mark | None,
    seconds: float,
    known: Found | None = None,
) -> Found:
    """Return the element at a path now; `mark` is what it has to be, where that is known.

    Args:
        known: What the path led to a moment ago, to be confirmed.

    Raises:
        StaleError: It is another element, or there is none there any more.
        UiError: No element fits, or the app cannot be read.
    """
    if known is not None:
        # When a call is prepared, the app has just been looked for.
        session.check_alive(app)
    earlier = None if mark else session.book.of_other_process(app, path)
    if earlier is not None:
        why = f"it was made from another process of {app.name}, which may have been started anew"
        raise refuse_stale(session.bridge, app, path, earlier, why, session.book)
    try:
        before = known or session.book.found(app, path)
        # The path may have been made anew since, from another element.
        if before is not None and mark is not None and before.node.handle == mark.handle:
            same = confirm(session.bridge, app, before, seconds=seconds, acting=known is not None)
            if same is not None:
                same = with_row(session.bridge, app, same, seconds=seconds)
                if not check(mark, same):
                    return same
        found = resolve(session.bridge, app, steps, seconds=seconds)
        found = with_row(session.bridge, app, found, seconds=seconds)
    except UiError as error:
        if mark is None:
            error.element_path = path
            raise
        differences = "there is no such element any more"
        raise refuse_stale(session.bridge, app, path, mark, differences, session.book) from None
    except Gone as fault:
        session.forget(app)
        if mark is None:
            raise from_fault(fault, app, path) from None
        raise refuse_stale(session.bridge, app, path, mark, "it is gone", session.book) from None
    except Fault as fault:
        raise from_fault(fault, app, path) from None
    if mark is not None:
        differences = check(mark, found)
        if differences:
            raise refuse_stale(session.bridge, app, path, mark, differences, session.book)
        session.book.keep_way(app, path, found)
    return found


def judged(
    session: Session,
    app: App,
    found: Found,
    *,
    words: tuple[str, ...] = (),
    synthetic: bool = False,
    seconds: float = 0.5,
) -> Verdict:
    """Return how far a change of this element reaches."""
    default = "default" in found.node.states
    dialog = found.window.role in WINDOW_ROLES - {"window"} or "modal" in found.window.states
    if not default and dialog:
        try:
            handle = found.node.handle
            default = session.bridge.is_default(handle, found.window.handle, seconds)
        except Fault:
            # What cannot be known is taken for the worse.
            default = found.node.role == "button"
    facts = Facts(app.id, found.node, found.window, default, synthetic, words)
    return level_of(facts)
