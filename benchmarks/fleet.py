"""What a team's database takes and answers, on a PostgreSQL server of the bench's own.

    python benchmarks/fleet.py [--rows 1000000] [--sent 100000]

Prints rows a second through `arrive`, which checks the chain, into a table alike by INSERT and by
COPY, and through `verify`; bytes a row; and how long the questions of `iac-fleet` take on `--rows`
rows of 1,000 hosts in one month, median of five.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from iac_fleet import database, demo, verify
from iac_fleet.forward import BATCH
from iac_runtime.audit import AuditIntent, AuditOutcome
from iac_runtime.audit.store import START, AuditRow, UnplacedRow, chain_rows
from iac_runtime.audit.writer import intent_body, outcome_body


def record(count: int) -> Iterator[list[AuditRow]]:
    """Yield the rows of a record in batches: calls of a middling size, and what came of them."""
    given = {"element": "message", "of": "inbox", "where": {"subject": {"contains": "Lunch"}}}
    intent = AuditIntent("mail_list", "SAFE", app="com.apple.mail", client="claude",
                         arguments=given, line="Application('Mail').inbox.messages.whose(...)",
                         effects=(("read", "com.apple.mail", "Mail", "message"),))  # fmt: skip
    bodies = (
        ("intent", intent_body(intent)[0]),
        ("outcome", outcome_body(AuditOutcome("done", 0.1), ())),
    )
    before, place = START, 0
    for start in range(0, count, BATCH):
        parts = (
            UnplacedRow(
                "2026-11-23T09:30:00.000Z", "0123456789abcdef", number // 2, *bodies[number % 2]
            )
            for number in range(start, start + BATCH)
        )
        rows = [AuditRow._make(row) for row in chain_rows(before, place, parts)]
        before, place = rows[-1].hash, rows[-1].seq
        yield rows


def per_second(count: int, work: Callable[[], object]) -> float:
    """Return how many of `count` go through `work` in a second."""
    began = time.perf_counter()
    work()
    return count / (time.perf_counter() - began)


_COLUMNS = "seq, time, session, call, event, body, hash"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--sent", type=int, default=100_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="iac-fleet-") as name:
        Path(name).chmod(0o755)
        with demo.running_postgres(Path(name) / "postgresql") as server:
            with database.open_connection(server.address_for(name="postgres")) as owner:
                owner.execute("CREATE DATABASE fleet")
            with database.open_connection(server.address_for()) as owner:
                database.run_migrations(owner)
                database.add_team(owner, "bench", "owner")
                owner.execute("CREATE ROLE lead LOGIN")
                database.add_team(owner, "bench", "lead", "lead")
                rates(owner, given.sent)
                fill(owner, given.rows)
            with database.open_connection(server.address_for("lead")) as lead:
                questions(lead)


def rates(owner: Any, count: int) -> None:
    """Print rows a second by each way."""
    batches = list(record(count))
    owner.execute("CREATE TABLE alike (LIKE rows INCLUDING ALL)")

    def sent() -> None:
        before = None
        for rows in batches:
            database.send_rows(owner, "mac", "chain", rows, before)
            before = rows[-1].hash

    def inserted() -> None:
        for rows in batches:
            given = json.dumps([row._asdict() | {"hash": row.hash.hex()} for row in rows])
            owner.execute(
                f"INSERT INTO alike (team, host, store, {_COLUMNS})"  # noqa: S608
                " SELECT 'bench', 'mac', 'chain', seq, time, session, call, event, body,"
                " decode(hash, 'hex')"
                " FROM json_to_recordset(%s::json) AS t(seq bigint, time text, session text,"
                " call bigint, event text, body text, hash text)",
                (given,),
            )

    def copied() -> None:
        with owner.cursor().copy(f"COPY alike (team, host, store, {_COLUMNS}) FROM STDIN") as copy:
            for rows in batches:
                for row in rows:
                    copy.write_row(("bench", "mac", "chain", *row))

    found = {label: per_second(count, work) for label, work in
             (("arrive", sent), ("INSERT alike", inserted), ("COPY alike", copied))}  # fmt: skip
    for label, rate in found.items():
        print(f"{label:<40} {rate:9.0f} rows/s  {found['arrive'] / rate:5.2f}")
    first = verify.check_chains(owner, 24.0)
    rate = per_second(count, lambda: verify.check_chains(owner, 24.0))
    print(f"{'verify, anew':<40} {rate:9.0f} rows/s")
    began = time.perf_counter()
    assert verify.check_chains(owner, 24.0, first.marks).rows == 0
    print(f"{'verify, nothing new':<40} {(time.perf_counter() - began) * 1000:9.1f} ms")


_VARIED: Final = {
    "com.apple.mail": "'app-' || n % 97",
    "mail_list": "'tool-' || n % 4999",
    "claude": "'client-' || n % 7",
    "Lunch": "'Lunch ' || substr(md5((n % 49999)::text), 1, 8) || ' '"
    " || substr(md5((n % 29989)::text), 1, 6) || CASE n WHEN 1000 THEN ' Zanzibar' ELSE '' END",
}
"""What differs from body to body: apps, tools, clients, and words of some ten thousands."""


def fill(owner: Any, count: int) -> None:
    """Fill the record, and print the bytes of a row."""
    hosts = 1_000
    owner.execute("SET statement_timeout = 0")
    owner.execute("TRUNCATE rows, chains, hosts, alike")
    # Indexes are made afterwards, as for any table that is filled at once.
    (text_index,) = owner.execute("SELECT pg_get_indexdef('rows_by_text'::regclass)").fetchone()
    owner.execute("DROP INDEX rows_by_text")
    body = next(record(BATCH))[0].body.replace("'", "''")
    for name, expression in _VARIED.items():
        body = body.replace(name, f"' || {expression} || '")
    owner.execute(
        f"""INSERT INTO rows SELECT 'bench', 'mac-' || n % {hosts}, 'chain', n / {hosts} + 1, now(),
            to_char(now() - make_interval(secs => ({count} - n) * 0.5),
                'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
            'session', n, CASE n % 2 WHEN 0 THEN 'intent' ELSE 'outcome' END,
            CASE n % 2 WHEN 0 THEN '{body}' ELSE '{{"result":"done","ms":100}}' END,
            sha256(n::text::bytea) FROM generate_series(0, {count - 1}) AS n""".encode()  # noqa: S608
    )
    owner.execute("SET maintenance_work_mem = '1GB'")
    began = time.perf_counter()
    owner.execute(text_index.replace(" ON ONLY ", " ON ").encode())
    print(f"{'the index of texts, made anew':<40} {time.perf_counter() - began:9.0f} s")
    owner.execute("INSERT INTO hosts SELECT 'bench', 'mac-' || n FROM generate_series(0, 999) AS n")
    owner.execute(
        "INSERT INTO chains SELECT 'bench', host, 'chain', %s FROM hosts", (count // hosts,)
    )
    owner.execute("VACUUM ANALYZE")
    (size,) = owner.execute("SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits"
                            " WHERE inhparent = 'rows'::regclass").fetchone()  # fmt: skip
    print(f"{'size':<40} {size / count:9.0f} bytes/row")


def questions(owner: Any) -> None:
    """Print how long questions take, to a role that sees its team alone."""
    day = "2026-01-01"
    asked: dict[str, Callable[[], object]] = {
        "hosts": lambda: database.list_hosts(owner),
        "the newest 50": lambda: database.find_calls(owner, {}, 50),
        "the newest 50 of an app": lambda: database.find_calls(owner, {"app": "app-2"}, 50),
        "the newest 50 of a tool": lambda: database.find_calls(owner, {"tool": "tool-4"}, 50),
        "the newest 50 of a host since a day": lambda: database.find_calls(
            owner, {"host": "mac-4", "since": day}, 50
        ),
        "50 with a text that is everywhere": lambda: database.find_calls(
            owner, {"text": "Lunch"}, 50
        ),
        "50 with a word of one call in 30,000": lambda: database.find_calls(
            owner, {"text": "c4ca42"}, 50
        ),
        "the one call with a text": lambda: database.find_calls(owner, {"text": "zanzibar"}, 50),
        "a text that is nowhere": lambda: database.find_calls(owner, {"text": "Dinner"}, 50),
        "a text that is nowhere, of an app": lambda: database.find_calls(
            owner, {"text": "Dinner", "app": "app-2"}, 50
        ),
    }
    for label, ask in asked.items():
        times = []
        for _ in range(5):
            began = time.perf_counter()
            ask()
            times.append(time.perf_counter() - began)
        print(f"{label:<40} {statistics.median(times) * 1000:9.1f} ms")


if __name__ == "__main__":
    main()
