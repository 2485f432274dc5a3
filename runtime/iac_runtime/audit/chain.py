"""The chain of rows, each hash covering the row and the hash before it; and the audit's faults.

Without a key it shows accident and clumsy edits: a row that was changed, removed or put in. Who
can write the file and knows this page can make a new chain that holds.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from iac_base.errors import ToolError

START: Final = bytes(32)
"""The hash before the first row."""

MOST_FAULTS: Final = 100


class AuditRow(NamedTuple):
    """A row of the audit.

    Attributes:
        seq: Its place; places have no gap. Order is by place, never by time.
        time: UTC, ISO 8601 with milliseconds.
        session: The run of a program that the row tells of, 16 hexadecimal digits.
        call: The number of the call in the session; 0 for rows about the session.
        event: `opened`, `intent`, `outcome`, `interrupted`, `lost`, `closed`, `anchored`,
            `dropped` or `replaced` (the chain before this one was damaged, and is kept elsewhere).
        body: JSON on one line, ASCII.
        hash: 32 bytes.
    """

    seq: int
    time: str
    session: str
    call: int
    event: str
    body: str
    hash: bytes


class LastDrop(NamedTuple):
    """What the last row about a drop says; all empty without one.

    Attributes:
        seq, time: The place of that row, and when.
        through, hash: The last row that went.
        store: The id of the store, if the row says it.
        heads: Place -> hash, as hexadecimal digits, of the rows that went and were anchored.
    """

    seq: int = 0
    time: str = ""
    through: int = 0
    hash: bytes = b""
    store: str = ""
    heads: Mapping[str, str] = MappingProxyType({})


NO_DROP: Final = LastDrop()


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """What verifying found: how many rows, from which to which, and one line a fault.

    `hashes` are those of the places that were asked for, `kept` the names of damaged files of an
    earlier chain, as the rows tell; `store` names the chain, and `drop` is the last.
    """

    rows: int
    first: int
    last: int
    faults: tuple[str, ...]
    hashes: Mapping[int, bytes] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    store: str = ""
    drop: LastDrop = NO_DROP

    @property
    def is_intact(self) -> bool:
        """Whether the chain holds."""
        return not self.faults


def hashed_text(seq: int, time: str, session: str, call: int, event: str, body: str) -> bytes:
    """Return what a row's hash covers beside the hash before: a JSON array without spaces."""
    return json.dumps([seq, time, session, call, event, body], separators=(",", ":")).encode()


def row_hash(before: bytes, text: bytes) -> bytes:
    """Return the hash of a row that stands after the hash `before`."""
    return hashlib.sha256(before + text).digest()


def verify_chain(
    links: Iterable[tuple[int, bytes, bytes]],
    dropped: Mapping[int, bytes],
    counter: int,
    places: Collection[int] = (),
) -> ChainCheck:
    """Follow the chain.

    Args:
        links: Of all rows, by place: the place, the text that the hash covers, the hash.
        dropped: Place -> hash of the last row of each part that was dropped from the front, as
            later rows of the chain say.
        counter: The highest place ever given.
        places: Those whose hashes are asked for.
    """
    hashes: dict[int, bytes] = {}
    faults: list[str] = []
    first = last = count = 0
    before: bytes | None = START
    for seq, text, stored in links:
        count += 1
        if count == 1:
            first = seq
            if seq != 1:
                before = dropped.get(seq - 1)
                if before is None:
                    faults.append(f"{_row_range(1, seq - 1)} missing, and no row records a drop")
        elif seq != last + 1:
            faults.append(f"{_row_range(last + 1, seq - 1)} missing")
            before = None
        # Where the row before is missing, this one's hash cannot be made again.
        if before is not None and row_hash(before, text) != stored:
            faults.append(f"row {seq} was changed, or the row before it was")
        before, last = stored, seq
        if seq in places:
            hashes[seq] = stored
        if len(faults) >= MOST_FAULTS:
            break
    else:
        if counter > last:
            faults.append(f"{_row_range(last + 1, counter)} missing from the end")
    return ChainCheck(count, first, last, tuple(faults), hashes)


def _row_range(first: int, last: int) -> str:
    return f"row {first} is" if first == last else f"rows {first} to {last} are"


def chain_rows(
    before: bytes, seq: int, parts: Iterable[tuple[str, str, int, str, str]]
) -> Iterator[AuditRow]:
    """Yield rows after the row `seq` with the hash `before`; parts are time to body."""
    for time, session, call, event, body in parts:
        seq += 1
        before = row_hash(before, hashed_text(seq, time, session, call, event, body))
        yield AuditRow(seq, time, session, call, event, body, before)


class AuditError(ToolError):
    """The audit cannot be written, so a call that changes something may not run; none was sent.

    Attributes:
        why: The cause in a few words.
    """

    def __init__(self, why: str, way: str) -> None:
        message = (
            f"The audit log cannot be written ({why})."
            " Until this is fixed, no tool changes anything."
        )
        super().__init__("UNAVAILABLE", message, way, retryable=True)
        self.why = why
