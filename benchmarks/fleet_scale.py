"""Many Macs at once, whose connections break and whose database is killed.

    python benchmarks/fleet_scale.py [--macs 100] [--minutes 3] [--rate 10]

Each Mac is a client of its own that writes `--rate` rows a second on average and sends them as
`iac-fleet forward` does: it asks for the last row that is there, and sends those after it. One send
in twenty is cut off at any moment; the server is killed every half minute. Prints what was lost,
doubled or out of order, how long sends took, and what a check of all chains says.
"""

import argparse
import asyncio
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from iac_fleet import database, demo, verify
from iac_fleet.forward import BATCH
from iac_runtime.audit import AuditIntent, AuditOutcome
from iac_runtime.audit.store import START, AuditRow, UnplacedRow, chain_rows
from iac_runtime.audit.writer import intent_body, outcome_body


class Mac:
    """A Mac: what it wrote, and how its sends went."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.chance = name, random.Random(seed)  # noqa: S311
        self.rows: list[AuditRow] = []
        self.sends: list[float] = []
        self.cuts = self.outages = 0

    def write(self, count: int) -> None:
        """Write calls, two rows each."""
        parts = []
        for number in range(count):
            call = len(self.rows) + number
            given = {"text": f"call {call} of {self.name}"}
            intent = AuditIntent("notes_count", "SAFE", app="com.apple.Notes", client="bench",
                                 arguments=given, line=f"line {call}")  # fmt: skip
            ended = outcome_body(AuditOutcome("done", 0.1), ())
            for event, body in (("intent", intent_body(intent)[0]), ("outcome", ended)):
                parts.append(UnplacedRow("2026-11-23T09:30:00.000Z", self.name, call, event, body))
        before = self.rows[-1].hash if self.rows else START
        self.rows += [AuditRow._make(row) for row in chain_rows(before, len(self.rows), parts)]

    async def send(self, connection: Any) -> int:
        """Send what the database does not have; return how many rows wait."""
        cursor = await connection.execute("SELECT last_of(%s, 'chain')", (self.name,))
        (last,) = await cursor.fetchone()
        rows = self.rows[last : last + BATCH]
        if rows:
            given = json.dumps([row._asdict() | {"hash": row.hash.hex()} for row in rows])
            before = self.rows[last - 1].hash if last else None
            began = time.monotonic()
            await connection.execute(
                "SELECT arrive(%s, 'chain', %s, %s::json)", (self.name, before, given)
            )
            self.sends.append(time.monotonic() - began)
        return len(self.rows) - int(last) - len(rows)

    async def run(self, address: str, end: float, rate: float) -> None:
        """Write and send until `end`, and then until nothing waits."""
        left = 1
        while left or time.monotonic() < end:
            try:
                async with await psycopg.AsyncConnection.connect(
                    address, autocommit=True, options="-c search_path=fleet"
                ) as connection:
                    while left or time.monotonic() < end:
                        writing = time.monotonic() < end
                        pause = self.chance.random() * 2
                        await asyncio.sleep(pause if writing else 0)
                        if writing:
                            self.write(max(1, round(pause * rate / 2)))
                        cut = writing and self.chance.random() < 0.05
                        # None waits as long as it takes.
                        limit = self.chance.random() * 0.05 if cut else None
                        left = await asyncio.wait_for(self.send(connection), limit)
            except TimeoutError:
                self.cuts += 1
                left = 1
            except (psycopg.Error, OSError):
                self.outages += 1
                left = 1
                await asyncio.sleep(self.chance.random())


class Found(NamedTuple):
    """What became of the rows of all Macs."""

    sent: int
    lost: int
    doubled: int
    disordered: int
    alarms: int


async def run_fleet(
    address: Callable[[str], str],
    server: demo.PostgresServer,
    macs: list[Mac],
    seconds: float,
    rate: float,
) -> int:
    """Let all Macs send while the server is killed now and then; return how often it was.

    `address` returns the address for a role.
    """
    end = time.monotonic() + seconds
    sending = [asyncio.create_task(mac.run(address("mac"), end, rate)) for mac in macs]
    kills = 0
    while time.monotonic() < end:
        await asyncio.sleep(min(30, seconds / 3))
        if time.monotonic() < end:
            await asyncio.to_thread(demo.stop_postgres, server, "immediate")
            await asyncio.to_thread(demo.start_postgres, server)
            kills += 1
    await asyncio.gather(*sending)
    return kills


def compare_rows(address: Callable[[str], str], macs: list[Mac]) -> Found:
    """Compare what the database has with what the Macs wrote."""
    sent = lost = doubled = disordered = 0
    with database.open_connection(address("owner")) as owner:
        for mac in macs:
            there = owner.execute(
                "SELECT seq, hash FROM rows WHERE host = %s ORDER BY arrived, seq", (mac.name,)
            ).fetchall()
            places = [seq for seq, _ in there]
            wrote = {(row.seq, row.hash) for row in mac.rows}
            sent += len(wrote)
            lost += len(wrote - {(seq, bytes(hash_)) for seq, hash_ in there})
            doubled += len(places) - len({*places})
            disordered += sum(later < earlier for earlier, later in pairwise(places))
    with database.open_connection(address("lead")) as lead:
        alarms = len(verify.check_chains(lead, 24.0).alarms)
    return Found(sent, lost, doubled, disordered, alarms)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--macs", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--rate", type=float, default=10.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="iac-fleet-") as name:
        Path(name).chmod(0o755)
        with demo.running_postgres(Path(name) / "postgresql") as server:
            with database.open_connection(server.address_for(name="postgres")) as owner:
                owner.execute("CREATE DATABASE fleet")
                owner.execute("ALTER SYSTEM SET max_connections = 300")
            demo.stop_postgres(server)
            demo.start_postgres(server)
            with database.open_connection(server.address_for()) as owner:
                database.run_migrations(owner)
                owner.execute("CREATE ROLE mac LOGIN")
                owner.execute("CREATE ROLE lead LOGIN")
                database.add_team(owner, "bench", "mac")
                database.add_team(owner, "bench", "lead", "lead")
            macs = [Mac(f"mac-{number}", number) for number in range(given.macs)]
            kills = asyncio.run(
                run_fleet(server.address_for, server, macs, given.minutes * 60, given.rate)
            )
            found = compare_rows(server.address_for, macs)
    sends = sorted(one for mac in macs for one in mac.sends)
    cuts, outages = (sum(getattr(mac, name) for mac in macs) for name in ("cuts", "outages"))
    print(f"{len(macs)} Macs, {given.minutes:g} minutes, {kills} kills of the server,"
          f" {cuts} cut sends, {outages} outages")  # fmt: skip
    print(*(f"{name} {value}" for name, value in found._asdict().items()), sep=", ")
    print(f"a send: {statistics.median(sends) * 1000:.0f} ms,"
          f" 99 of 100 below {sends[len(sends) * 99 // 100] * 1000:.0f} ms")  # fmt: skip


if __name__ == "__main__":
    main()
