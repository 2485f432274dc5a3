"""How a person is asked on the page: a question waits in a file until the page writes its answer.

`iac-mcp open` says in a file of the state folder that it runs. While it does, a server that has a
question puts it into the folder beside, and looks there for the answer. All of it is private to
this user: who can write there can also read the key that seals approvals.
"""

import contextlib
import json
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from iac_base.cancellation import Cancellation
from iac_base.files import data_folder, ensure_private_folder, open_state, write_whole
from iac_runtime.policy.effects import Verdict
from iac_runtime.policy.question import Question

PAGE_SECONDS: Final = 120.0
"""Until a question on the page counts as not answered."""

_PAUSE: Final = 0.2
_FOLDER: Final = "asked"
_MARK: Final = "page.json"
_SLACK: Final = 2.0


class WaitingQuestion(NamedTuple):
    """A question on the page, its id, and since when it waits, in seconds since 1970."""

    id: str
    since: float
    question: Question


def open_page(state: Path) -> None:
    """Say that a page of this process is open; it is asked from now on."""
    write_whole(
        state / _MARK, json.dumps([os.getpid(), _process_start_time(os.getpid())]), mode=0o600
    )


def close_page(state: Path) -> None:
    """Say that it is no more, if it is this process's."""
    if _page_process(state)[0] == os.getpid():
        (state / _MARK).unlink(missing_ok=True)


def is_page_open() -> bool:
    """Say whether a page of this user is open."""
    state = data_folder() / "state"
    if not (state / _MARK).exists():
        return False
    try:
        pid, started = _page_process(state)
        return pid > 0 and abs(_process_start_time(pid) - started) < _SLACK
    except (OSError, ValueError):
        return False


def ask_page(question: Question, cancel: Cancellation | None = None) -> Verdict:
    """Put a question onto the page and return the answer."""
    folder = ensure_private_folder(open_state() / _FOLDER)
    path = folder / f"{secrets.token_hex(8)}.json"
    end = time.monotonic() + PAGE_SECONDS
    try:
        asked = {"since": time.time(), "pid": os.getpid(), "question": question._asdict()}
        write_whole(path, json.dumps(asked), mode=0o600)
        while time.monotonic() < end and is_page_open():
            if cancel is not None and cancel.wait(_PAUSE):
                return "cancel"
            if cancel is None:
                time.sleep(_PAUSE)
            with contextlib.suppress(FileNotFoundError):
                return question.verdict_for(_answer_path(path).read_text(encoding="utf-8"))
    except OSError:
        return "unable"
    finally:
        for file in (path, _answer_path(path)):
            with contextlib.suppress(OSError):
                file.unlink()
    return "timeout"


def read_waiting_questions(state: Path) -> Iterator[WaitingQuestion]:
    """Yield the questions that wait, the oldest first; those of programs that ended are removed."""
    found = []
    for path in (state / _FOLDER).glob("*.json"):
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            said = json.loads(path.read_bytes())
            if not _is_process_alive(said["pid"]):
                path.unlink()
            elif not _answer_path(path).exists():
                asked = Question(
                    **{**said["question"], "answers": tuple(said["question"]["answers"])}
                )
                found.append(WaitingQuestion(path.stem, float(said["since"]), asked))
    yield from sorted(found, key=lambda one: one.since)


def write_answer(state: Path, id_: str, label: str) -> bool:
    """Answer a question with one of its labels; False if it does not wait any more."""
    found = next((one for one in read_waiting_questions(state) if one.id == id_), None)
    if found is None or label not in found.question.answers:
        return False
    write_whole(_answer_path(state / _FOLDER / f"{found.id}.json"), label, mode=0o600)
    return True


def _answer_path(path: Path) -> Path:
    return path.with_suffix(".answer")


def _page_process(state: Path) -> tuple[int, float]:
    with contextlib.suppress(OSError, ValueError, TypeError):
        pid, started = json.loads((state / _MARK).read_bytes())
        return int(pid), float(started)
    return 0, 0.0


def _is_process_alive(pid: int) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return _process_start_time(pid) > 0
    return False


def _process_start_time(pid: int) -> float:
    """Return when a process was started, in seconds since 1970. Raises OSError if it is gone."""
    # Loaded where a page is open only.
    import psutil

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error as error:
        raise OSError(str(error)) from error
