"""Anchors: the head of the chain, kept where who can write to the audit cannot.

An anchor is one line of JSON. What it fixes, with its hash, are all rows up to its own; whether the
audit still holds them is judged by hashes that were made anew, whatever the file says of itself.
"""

import json
import os
import re
import subprocess
import syslog
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from iac_base.errors import SetupError
from iac_base.files import PRIVATE, StateFileError
from iac_base.sqlite import transaction
from iac_base.text import escape_hidden
from iac_runtime.audit.chain import ChainCheck
from iac_runtime.audit.store import UnplacedRow, append_rows, open_for_upkeep, store_id, upkeep_rows

COMMAND_SECONDS: Final = 60.0


class Anchor(NamedTuple):
    """The head of the chain at one moment.

    Attributes:
        store: What names the chain for good.
        row, hash, time: The place of the last row, its hash as hexadecimal digits, its time.
    """

    store: str
    row: int
    hash: str
    time: str

    @property
    def json_line(self) -> str:
        """The anchor as it is kept: JSON, without a line end."""
        return json.dumps({"iac_audit_anchor": 1} | self._asdict(), separators=(",", ":"))


# As above; other words of a log may stand before and after it.
_LINE: Final = re.compile(
    r'\{"iac_audit_anchor":1,"store":"([0-9a-f]{32})","row":([1-9][0-9]{0,17}),'
    r'"hash":"([0-9a-f]{64})","time":"([0-9TZ:.-]{1,40})"\}'
)


def append_anchor(folder: Path, now: str) -> Anchor:
    """Return the head of the audit in a state folder: a row `anchored`, appended here.

    By that row a later drop knows which hashes it has to hand on.

    Raises:
        SetupError: There is no audit, or it cannot be written.
    """
    try:
        with open_for_upkeep(folder) as connection, transaction(connection):
            append_rows(
                connection, [UnplacedRow(now, "", 0, "anchored", json.dumps({"pid": os.getpid()}))]
            )
            row, time, _, head = upkeep_rows(connection, "anchored")[-1]
            return Anchor(store_id(connection), row, head.hex(), time)
    except StateFileError as error:
        raise SetupError(f"No anchor was made ({error.why}). {error.way}") from error


def append_to_file(path: Path, line: str) -> None:
    """Append a line to a file and wait until it is on the disk. Raises OSError."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, PRIVATE)
    with os.fdopen(handle, "wb") as file:
        file.write(f"{line}\n".encode("ascii"))
        file.flush()
        os.fsync(handle)


def send_to_syslog(line: str) -> None:
    """Hand a line to the system's log; whether it is kept, that does not say."""
    syslog.openlog("iac-mcp", syslog.LOG_PID, syslog.LOG_USER)
    syslog.syslog(syslog.LOG_NOTICE, line)


def send_to_command(command: Sequence[str], line: str) -> None:
    """Give a line to a command on its standard input.

    Raises:
        SetupError: It cannot be started, does not end, or ends with another status than 0.
    """
    failed = f"The anchor was not stored: {escape_hidden(command[0])}"
    try:
        done = subprocess.run(
            command,
            input=f"{line}\n".encode("ascii"),
            stderr=subprocess.PIPE,
            timeout=COMMAND_SECONDS,
            check=False,
        )
    except OSError as error:
        raise SetupError(f"{failed} cannot be started ({error.strerror}).") from error
    except subprocess.TimeoutExpired:
        raise SetupError(f"{failed} did not end within {COMMAND_SECONDS:.0f} seconds.") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        why = "".join(f": {escape_hidden(text)}" for text in said)
        raise SetupError(f"{failed} ended with status {done.returncode}{why}")


def read_anchors(path: Path) -> tuple[dict[int, Anchor], int]:
    """Return the anchors of a file by the number of their line, and how many lines hold none.

    Raises:
        SetupError: The file cannot be read, or holds no anchor.
    """
    anchors, others = {}, 0
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, text in enumerate(file, 1):
                if found := _LINE.search(text):
                    store, row, head, time = found.groups()
                    anchors[number] = Anchor(store, int(row), head, time)
                elif text.strip():
                    others += 1
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror}.") from error
    if not anchors:
        raise SetupError(
            f"{path} has no anchor. To write one, run: iac-mcp audit anchor --file PATH"
        )
    return anchors, others


def find_anchor_fault(anchor: Anchor, check: ChainCheck) -> str:
    """Return what an anchor that fails means; empty for one that holds.

    Args:
        anchor: What was kept.
        check: What following the chain found, with the hash of the anchor's place.
    """
    found, drop = check.hashes.get(anchor.row), check.drop
    if found is not None and found.hex() == anchor.hash:
        return ""
    dropped = anchor.row <= drop.through
    if dropped and drop.heads.get(str(anchor.row)) == anchor.hash:
        # The row that says so is in the chain, and every later anchor fixes it too.
        return ""
    if anchor.store != check.store:
        return "the audit log was replaced by another one"
    if anchor.row > check.last:
        return f"the audit log was rolled back: it ends at row {check.last}"
    if dropped:
        return (
            f"the audit log was rolled back and continued; row {drop.seq} then dropped this"
            " part, with no record of this anchor"
        )
    if found is None:
        return "the row is missing"
    return "the audit log was rolled back and continued, or rewritten: the row has another hash"
