"""Follows the chains of a team anew, on the machine of who asks.

Hashes are reckoned here, so a database whose own functions were changed hides nothing. What was
followed to its end is remembered on this machine, out of reach of the database's owner; the next
check reads what came since, and that the last row is the one that it was.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import psycopg

from iac_base.files import write_whole
from iac_runtime.audit.store import START, hashed_text, row_hash

_PAGE: Final = 2_000
"""Rows that are fetched at once: some megabytes."""


class Alarm(NamedTuple):
    """Something that a person must look at: the host, its chain and place, and why."""

    host: str
    store: str
    seq: int
    why: str


class ChainMark(NamedTuple):
    """Where a chain was followed to: its row there, and what was wrong before it."""

    seq: int = 0
    hash: bytes = START
    seal: bytes = START
    wrong: tuple[tuple[int, str], ...] = ()


Marks: TypeAlias = Mapping[tuple[str, str], ChainMark]
"""Host and chain -> where it was followed to."""


class CheckResult(NamedTuple):
    """What a check found: rows that were read, what is wrong, and where it ended."""

    rows: int
    alarms: list[Alarm]
    marks: Marks


# What `rows` holds and what `chains` holds: either may have been taken away.
_CHAINS: Final = """WITH RECURSIVE held AS (
    (SELECT host, store FROM rows ORDER BY host, store LIMIT 1)
    UNION ALL
    SELECT next.* FROM held, LATERAL (
        SELECT r.host, r.store FROM rows r WHERE (r.host, r.store) > (held.host, held.store)
        ORDER BY r.host, r.store LIMIT 1
    ) AS next
)
SELECT host, store, coalesce(last_seq, 0), coalesce(dropped_seq, 0), dropped_hash, dropped_seal
FROM held FULL JOIN chains USING (host, store) ORDER BY host, store"""

_ROWS: Final = """SELECT seq, time, session, call, event, body, hash, seal,
    to_char(arrived AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')
FROM rows WHERE host = %s AND store = %s AND seq >= %s ORDER BY seq"""


def check_chains(
    connection: psycopg.Connection[Any],
    silent: float,
    marks: Marks | None = None,
    tell: Callable[[int, int], None] = lambda _done, _total: None,
) -> CheckResult:
    """Follow every chain, from `marks` on where they are given.

    Args:
        silent: A host that was not heard of for so many hours is an alarm.
        tell: Is given how many rows were read, and how many there are to read.
    """
    alarms = [
        Alarm(*row)
        for row in connection.execute("SELECT host, store, seq, why FROM faults ORDER BY 1, 2, 3")
    ]
    chains = connection.execute(_CHAINS).fetchall()
    begun = {(row[0], row[1]): (marks or {}).get((row[0], row[1]), ChainMark()) for row in chains}
    total = sum(max(row[2] - max(row[3], begun[row[0], row[1]].seq), 0) for row in chains)
    done, ends = 0, {}
    for host, store, last, dropped, *place in chains:
        mark = begun[host, store]
        if dropped > mark.seq:
            why = f"rows through {dropped} were dropped before a check saw them"
            unseen = (*mark.wrong, (mark.seq + 1, why)) if mark.seq else ()
            start = ChainMark(dropped, bytes(place[0]), bytes(place[1]), unseen)
        else:
            start = mark

        def count(read: int) -> None:
            tell(done + read, total)  # noqa: B023

        read, end = _follow_chain(connection, host, store, start, dropped, count)
        done += read
        ends[host, store] = end
        alarms += [Alarm(host, store, seq, why) for seq, why in end.wrong]
        if end.seq < last:
            alarms.append(Alarm(host, store, last, f"the rows after {end.seq} are missing"))
    gone = [key for key, mark in (marks or {}).items() if mark.seq and key not in begun]
    alarms += [Alarm(*key, 0, "the chain was there, and is missing") for key in gone]
    ends |= {key: marks[key] for key in gone} if marks else {}
    late_hosts = connection.execute(
        "SELECT host, '', 0, to_char(seen, '\"no report since\" YYYY-MM-DD HH24:MI')"
        " FROM hosts WHERE seen < now() - make_interval(secs => %s) AND revoked IS NULL"
        " ORDER BY host",
        (silent * 3600,),
    )
    alarms += [Alarm(*row) for row in late_hosts]
    return CheckResult(done, list(dict.fromkeys(alarms)), ends)


def _follow_chain(
    connection: psycopg.Connection[Any],
    host: str,
    store: str,
    mark: ChainMark,
    dropped: int,
    tell: Callable[[int], None],
) -> tuple[int, ChainMark]:
    """Return how many rows come after a mark, and the mark at their end."""
    last, before, sealed, known = mark
    wrong, read, held = list(known), 0, False
    with connection.transaction(), connection.cursor("chain", scrollable=False) as cursor:
        cursor.itersize = _PAGE
        cursor.execute(_ROWS, (host, store, max(mark.seq, 1)), binary=True)
        for row in cursor:
            seq, hash_, seal, arrived = row[0], row[6], row[7], row[8]
            if seq == mark.seq and not held:
                if (hash_, seal) != (before, sealed):
                    wrong.append((seq, "it was changed since the last check"))
                held = True
                continue
            read += 1
            if seq != last + 1:
                wrong.append((seq, "rows are missing before it"))
            elif row_hash(before, hashed_text(*row[:6])) != hash_:
                wrong.append((seq, "it was changed"))
            elif hashlib.sha256(sealed + hash_ + arrived.encode()).digest() != seal:
                wrong.append((seq, "its time of arrival was changed"))
            last, before, sealed = seq, hash_, seal or START
            if not read % 100_000:
                tell(read)
    if mark.seq > dropped and not held:
        wrong.append((mark.seq, "the row of the last check is missing"))
    return read, ChainMark(last, before, sealed, tuple(dict.fromkeys(wrong)))


def check_new_rows(
    connection: psycopg.Connection[Any],
    silent: float,
    state: Path,
    *,
    anew: bool = False,
    tell: Callable[[int, int], None] = lambda _done, _total: None,
) -> CheckResult:
    """Follow what came since the last check on this machine, or all `anew`; remember the end."""
    info = connection.info
    place = json.dumps([info.host, info.port, info.dbname, info.user])
    path = state / f"fleet-checked-{hashlib.sha256(place.encode()).hexdigest()[:12]}.json"
    found = check_chains(connection, silent, None if anew else _read_marks(path), tell)
    lines = [
        [
            *key,
            mark.seq,
            *(base64.b64encode(one).decode() for one in (mark.hash, mark.seal)),
            mark.wrong,
        ]
        for key, mark in found.marks.items()
    ]
    write_whole(path, json.dumps(lines), mode=0o600)
    return found


def _read_marks(path: Path) -> Marks:
    """Return what was remembered; where that is gone or damaged, all is followed."""
    try:
        return {
            (host, store): ChainMark(
                int(seq), base64.b64decode(hash_), base64.b64decode(seal),
                tuple((int(at), str(why)) for at, why in wrong),
            )
            for host, store, seq, hash_, seal, wrong in json.loads(path.read_bytes())
        }  # fmt: skip
    except (OSError, ValueError, TypeError):
        return {}
