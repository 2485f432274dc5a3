"""Which apps are on the accessibility bus, in one exchange where little has changed."""

from collections.abc import Sequence
from typing import Final

from iac_accessibility.atspi.identity import identity, started
from iac_accessibility.atspi.items import Answer
from iac_accessibility.atspi.names import ATSPI, ROOT_PATH, STATES
from iac_accessibility.atspi.reading import get, method
from iac_accessibility.atspi.wire import Call, Pool
from iac_accessibility.faults import Fault, Silent
from iac_accessibility.model import App, Handle, cleaned

__all__ = ["APPS", "REGISTRY", "Rounds", "listed"]

REGISTRY: Final = ATSPI + "Registry"
APPS: Final = (REGISTRY, ROOT_PATH)
_SHARE: Final = 0.5
_WINDOWS: Final = 50


class Rounds:
    """Asks in rounds, each of which depends on the one before; what was asked last time goes first.

    Where the same is asked again, that is one exchange. The answers are of now in any case.

    Args:
        before: What was asked the last time, in all rounds.
        timeout: Seconds of one exchange.
    """

    def __init__(self, pool: Pool, before: Sequence[Call], timeout: float) -> None:
        self._pool = pool
        self._timeout = timeout
        self._answers = dict(zip(before, pool.calls(before, timeout), strict=True))
        self.asked: list[Call] = []

    def ask(self, calls: Sequence[Call]) -> list[Answer]:
        """Return the answers to the calls of one round."""
        self.asked += calls
        new = [call for call in calls if call not in self._answers]
        self._answers.update(zip(new, self._pool.calls(new, self._timeout), strict=True))
        return [self._answers[call] for call in calls]


def listed(pool: Pool, before: Sequence[Call], timeout: float) -> tuple[list[App], list[Call]]:
    """Return the apps that are registered, and what was asked, to be given the next time.

    Raises:
        Fault: The registry does not answer.
    """
    # A frozen app must not hide the others, nor cost more than its share.
    rounds = Rounds(pool, before, min(timeout, _SHARE))
    registered = method(APPS, "Accessible", "GetChildren")
    (answer,) = rounds.ask([registered])
    if isinstance(answer, Silent):
        answer = pool.call(registered, timeout)
    if isinstance(answer, Fault):
        raise answer
    refs = answer[0]
    about = rounds.ask(
        [
            call
            for ref in refs
            for call in (
                get(ref, "Accessible", "Name"),
                _pid_of(ref[0]),
                method(ref, "Accessible", "GetChildren"),
            )
        ]
    )
    found: list[App] = []
    windows: list[tuple[Handle, Handle]] = []
    for ref, name, pid, below in zip(refs, about[::3], about[1::3], about[2::3], strict=True):
        if isinstance(pid, Fault):
            continue
        began = started(pid[0])
        if began is None:
            continue
        shown = "" if isinstance(name, Fault) else cleaned(name[0][1])
        app = App(pid[0], shown, identity(pid[0]), began, key=tuple(ref))
        found.append(app if shown else app._replace(name=_short(app)))
        if not isinstance(below, Fault):
            windows += [(app.key, window) for window in below[0][:_WINDOWS]]
    states = rounds.ask([method(window, "Accessible", "GetState") for _, window in windows])
    active = {
        key
        for (key, _), state in zip(windows, states, strict=True)
        if not isinstance(state, Fault) and state[0][0] >> STATES["active"] & 1
    }
    return [app._replace(frontmost=app.key in active) for app in found], rounds.asked


def _pid_of(bus: str) -> Call:
    return Call(
        *("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus"),
        *("GetConnectionUnixProcessID", "s", (bus,)),
    )


def _short(app: App) -> str:
    return app.id.rpartition(".")[2] or str(app.pid)
