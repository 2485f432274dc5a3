"""Errors as facts: every failure of a call is a `ToolError` that says who, what and what now.

IacError                 anything this package raises on purpose; one line of text
    SetupError           a folder, a catalogue or a program is not as it must be
    ToolError            a call failed; it carries the facts
        InvalidParameterError an argument is wrong; nothing was sent
            SharedNameError       several objects bear a name of a write
        UnknownToolError      no tool has this name; nothing was sent
            DeclaredToolError     it is an App Intent, which cannot be called
        CallRefusedError      the policy does not let the call run; nothing was sent
"""

import difflib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from iac_base.words import fold_name, split_name

ErrorType = Literal[
    "APP_NOT_FOUND",
    "APP_NOT_RUNNING",
    "BUSY",
    "EXECUTION_ERROR",
    "INVALID_PARAMETER",
    "LIST_CHANGED",
    "NOT_FOUND",
    "NOT_SUPPORTED",
    "PERMISSION_DENIED",
    "REFUSED",
    "STALE",
    "TIMEOUT",
    "UNANSWERED",
    "UNAVAILABLE",
    "UNKNOWN",
    "UNKNOWN_TOOL",
    "USER_CANCELLED",
]
"""What kind of failure it is; docs/errors.md has a row for each."""


class IacError(Exception):
    """Anything that this package raises on purpose; its text is one line."""


class SetupError(IacError):
    """A folder, a catalogue, a module or a program is not as it must be."""


_FACTS: Final = "type message suggestion retryable app command number original".split()


class NextCall(NamedTuple):
    """A call that helps after a failure: a tool by its name, and its arguments."""

    tool: str
    arguments: Mapping[str, Any] = {}

    def __str__(self) -> str:
        return f"{self.tool} {json.dumps(dict(self.arguments), ensure_ascii=False)}"


class ToolError(IacError):
    """A call failed.

    Attributes:
        type: The kind of failure.
        message: Who failed at what, one line.
        suggestion: What to do now, one line; may be empty.
        retryable: Whether the same call may be sent again without harm.
        app, command: The app's name, and the name of the tool that was called; empty where
            not known.
        number: The Apple event error number, if there is one.
        original: The text that the app or osascript gave, untranslated.
        outcome: Of a write, what was seen of what it did, as one JSON object.
        toolset: The package of the tool that was called (`Tool.toolset`). Those of interfaces have
            tool and suggestion under `operation` and `guidance` too.
        around: What was read around it (`execution.answers.Reads`).
    """

    outcome: Mapping[str, Any] | None = None
    toolset: str = ""
    around: Any = None

    def __init__(
        self,
        type: ErrorType,
        message: str,
        suggestion: str = "",
        *,
        retryable: bool = False,
        app: str = "",
        command: str = "",
        number: int | None = None,
        original: str = "",
        next: NextCall | None = None,
    ) -> None:
        super().__init__(message)
        self.type: ErrorType = type
        self.message = message
        self.suggestion = suggestion
        self.retryable = retryable
        self.app = app
        self.command = command
        self.number = number
        self.original = original
        self._next: NextCall | Callable[[], NextCall | None] | None = next

    @property
    def next(self) -> NextCall | None:
        """The call to make now; None where only a person can help."""
        if callable(self._next):
            self._next = self._next()
        return self._next

    @next.setter
    def next(self, call: NextCall | None) -> None:
        self._next = call

    def set_next_call(self, find: Callable[[], NextCall | None]) -> None:
        """Set what finds the next call, where there is none yet; it is looked for when asked."""
        self._next = self._next or find

    def __str__(self) -> str:
        return f"{self.message} {self.suggestion}".rstrip()

    def facts(self) -> dict[str, Any]:
        """Return the error as one JSON object; what is not known is left out."""
        facts = {name: getattr(self, name) for name in _FACTS}
        facts["next"] = self.next and {"tool": self.next.tool, "arguments": {**self.next.arguments}}
        if self.toolset == "accessibility":
            facts["operation"] = self.command
            facts["guidance"] = self.suggestion or "Correct the call by the schema of the tool."
        known = {name: value for name, value in facts.items() if value not in ("", None)}
        return {**known, "outcome": dict(self.outcome)} if self.outcome else known


class InvalidParameterError(ToolError):
    """An argument is wrong; nothing was sent to the app.

    Attributes:
        said: A word of the arguments that nothing has; empty where it is not one word.
        near: The `known` words that can be meant by it, best first, for the suggestion names more
            that look alike; or all that it can mean (`meanings`).
        give: Arguments that would do, to be given instead or too.
        key: The argument that is wrong, where that is known.
        ambiguous: Whether it can mean several things, so that only the caller knows.
    """

    def __init__(
        self,
        message: str,
        suggestion: str = "",
        *,
        said: str = "",
        known: Iterable[str] = (),
        give: Mapping[str, Any] | None = None,
        key: str = "",
        meanings: Iterable[str] = (),
    ) -> None:
        names, meant = list(known), list(meanings)
        super().__init__("INVALID_PARAMETER", message, suggestion or near_text(said, names))
        self.said = said
        self.near = meant or (nearest_names(said, names, likeness=0.7) if said else [])
        self.give = dict(give or {})
        self.key = key
        self.ambiguous = len(meant) > 1


class SharedNameError(InvalidParameterError):
    """Several objects bear a name by which a write names one; nothing was sent to the app.

    Attributes:
        candidates: Each of them as `{"ref": …, "is": …}`: its reference, and what it is; empty
            where they could not be read.
    """

    def __init__(
        self, message: str, suggestion: str, candidates: Iterable[Mapping[str, str]], *, app: str
    ) -> None:
        super().__init__(message, suggestion)
        self.candidates = list(candidates)
        self.app = app

    def facts(self) -> dict[str, Any]:
        """Return the error as one JSON object, with the candidates."""
        return {**super().facts(), "candidates": self.candidates}


class UnknownToolError(ToolError):
    """No tool has this name.

    Attributes:
        name: The name.
    """

    def __init__(self, name: str, near: Iterable[str] = ()) -> None:
        self.name = name
        names = ", ".join(near)
        suggestion = f"Nearest: {names}." if names else "list_apps shows the apps that have tools."
        super().__init__("UNKNOWN_TOOL", f"There is no tool {quote_text(name)}.", suggestion)
        self.next = NextCall("list_apps")


class DeclaredToolError(UnknownToolError):
    """It is an App Intent whose shortcut the person has not installed."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.message = (
            f"{quote_text(name)} is an App Intent (an action that its app declares), not verified"
            " here."
        )
        self.suggestion = (
            "It cannot be called before its shortcut is installed. find_tools finds other tools."
        )


class CallRefusedError(ToolError):
    """The policy or a person does not let this call run; nothing was sent to the app.

    Where nobody could be asked it is `UNANSWERED`, and what it names kept changing `STALE`: nobody
    said no, so it may be called again.
    """

    def __init__(
        self, message: str, suggestion: str, *, app: str, command: str, kind: ErrorType = "REFUSED"
    ) -> None:
        again = kind != "REFUSED"
        super().__init__(kind, message, suggestion, retryable=again, app=app, command=command)


def quote_text(text: str, limit: int = 80) -> str:
    """Return foreign text in quotes, on one line and cut to `limit` characters."""
    plain = "".join(ch if ch.isprintable() else " " for ch in text)
    return f'"{plain[: limit - 1]}…"' if len(plain) > limit else f'"{plain}"'


@cache
def _load_synonyms() -> dict[str, frozenset[str]]:
    """Return what people say for a name or a word of one, folded: `sender` is `from`."""
    rows = json.loads(Path(__file__).with_name("meanings.json").read_bytes())
    del rows["about"]
    return {fold_name(word): frozenset(said.split()) for word, said in rows.items()}


def is_synonym(said: str, name: str) -> bool:
    """Say whether a word that people say stands for a name, or for a word in it."""
    word, table = fold_name(said), _load_synonyms()
    return any(word in table.get(part, ()) for part in (fold_name(name), *split_name(name)))


def nearest_names(
    name: str, names: Iterable[str], count: int = 3, *, likeness: float = 0.5
) -> list[str]:
    """Return the `names` most like `name`, best first, compared without case and punctuation.

    A slip comes before another word for the same, and that before what only looks alike.
    """
    folded: dict[str, str] = {}
    for candidate in names:
        folded.setdefault(fold_name(candidate), candidate)
    wanted = fold_name(name)[:200]
    if not wanted:
        return []
    slips = difflib.get_close_matches(wanted, list(folded), count, max(0.8, likeness))
    meant = sorted((key for key in folded if is_synonym(name, folded[key])), key=len)
    close = difflib.get_close_matches(wanted, list(folded), count, likeness)
    if not (slips or meant or close) and likeness <= 0.5:
        close = [key for key in folded if wanted in key or (len(key) > 3 and key in wanted)]
    return [folded[key] for key in dict.fromkeys((*slips, *meant, *close))][:count]


def near_text(name: str, names: Iterable[str]) -> str:
    """Return `Nearest: a, b.` for an unknown name; with nothing near, the first few names."""
    known = list(names)
    close = nearest_names(name, known)
    if close:
        return f"Nearest: {', '.join(close)}."
    if not known:
        return ""
    more = ", …" if len(known) > 5 else ""
    return f"Known: {', '.join(known[:5])}{more}"


DISTRIBUTION: Final = "iac-for-mac"
"""Its name in pyproject.toml, and on an index."""


def pip_install(extra: str = "") -> str:
    """Return the command that installs the package, with an extra of it if one is given.

    From where it was installed: a folder, a file or a repository (PEP 610), else the index.
    """
    from importlib import metadata

    wanted = f"{DISTRIBUTION}[{extra}]" if extra else DISTRIBUTION
    try:
        told = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        told = None
    if told is None:
        return f"pip install '{wanted}'" if extra else f"pip install {wanted}"
    facts = json.loads(told)
    url, repository = facts["url"], facts.get("vcs_info")
    if facts.get("dir_info", {}).get("editable"):
        folder = url.removeprefix("file://")
        return f"pip install -e '{folder}{wanted.removeprefix(DISTRIBUTION)}'"
    if repository:
        url = f"{repository['vcs']}+{url}@{repository['commit_id']}"
    return f"pip install '{wanted} @ {url}'"


def missing_packages(program: str, extra: str, modules: Iterable[str]) -> str:
    """Return a line that says which modules are not installed and which extra has them, or nothing.

    None is imported.
    """
    from importlib.util import find_spec

    missing = ", ".join(name for name in modules if find_spec(name) is None)
    return f"{program} needs {missing}. Install it with: {pip_install(extra)}" if missing else ""


class Cancellation:
    """Says once, for good, that a call is no longer wanted; whoever waits for it wakes at once.

    Safe to use from any thread. A cancelled call ends its process before it returns.

    Attributes:
        word: The other way: what the call last said of how far it is, for who waits for it.
    """

    def __init__(self) -> None:
        # A signal handler may cancel while its own thread holds the lock.
        self._lock = threading.RLock()
        self._event = threading.Event()
        self._wakers: list[Callable[[], object]] = []
        self.word = ""

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._event.is_set()

    def cancel(self) -> None:
        """End the call; a second time does nothing."""
        with self._lock:
            if not self._event.is_set():
                self._event.set()
                for wake in self._wakers:
                    wake()

    def wait(self, seconds: float) -> bool:
        """Sleep for `seconds`, or until it is cancelled; then the answer is True."""
        return self._event.wait(seconds)

    @contextmanager
    def on_cancel(self, wake: Callable[[], object]) -> Iterator[None]:
        """Call `wake` (quick, not raising) once it is cancelled, but never after the block."""
        with self._lock:
            self._wakers.append(wake)
            if self._event.is_set():
                wake()
        try:
            yield
        finally:
            with self._lock:
                self._wakers.remove(wake)
