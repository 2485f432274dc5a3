"""A Mac with a record of its own, the database it goes to, and a network between that fails."""

import contextlib
import random
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from iac_fleet import database, verify
from iac_fleet.demo import PostgresServer
from iac_fleet.forward import ForwardResult, forward_once
from iac_fleet.versions import FleetSettings
from iac_runtime.audit.reading import iterate_rows, open_audit_database
from iac_runtime.audit.writer import Audit, AuditIntent, AuditOutcome

HOST = "studio"


class Fleet:
    """One Mac's record in `state`, and the database `name` of a server."""

    def __init__(self, server: PostgresServer, name: str, state: Path) -> None:
        self.server, self.name, self.state = server, name, state

    def address(self, role: str, port: int = 0) -> str:
        server = self.server._replace(port=port or self.server.port)
        return server.address_for(role, self.name)

    def settings(self, behind: int = 1_000_000) -> FleetSettings:
        return FleetSettings(self.address("mac"), HOST, behind)

    def write(self, count: int, text: str = "x") -> None:
        """Write calls into the record of the Mac: two rows each, and three around them."""
        audit = Audit.open(self.state)
        for number in range(count):
            given = {"text": text, "number": number}
            intent = AuditIntent("notes_count", "SAFE", app="com.apple.Notes", client="tester",
                                 arguments=given, line=f"line {number}")  # fmt: skip
            audit.record_outcome(audit.record_intent(intent), AuditOutcome("done", 0.002))
        audit.close()

    def forward(self, port: int = 0, **more: Any) -> ForwardResult:
        with database.open_connection(self.address("mac", port)) as connection:
            return forward_once(self.settings(**more), self.state, connection)

    def local(self) -> list[tuple[Any, ...]]:
        """Return the rows of the Mac's own record."""
        with open_audit_database(self.state) as audit:
            return [tuple(row) for row in iterate_rows(audit)]

    def there(self) -> list[tuple[Any, ...]]:
        """Return the rows of the database in the order in which they came."""
        with database.open_connection(self.address("owner")) as owner:
            found = owner.execute(
                "SELECT seq, time, session, call, event, body, hash FROM rows ORDER BY arrived, seq"
            )
            return [tuple(row) for row in found]

    def alarms(self, silent: float = 24.0) -> list[str]:
        with database.open_connection(self.address("lead")) as lead:
            return [alarm.why for alarm in verify.check_chains(lead, silent).alarms]


@contextlib.contextmanager
def broken_network(port: int, chance: random.Random) -> Iterator[int]:
    """Give a port that leads to another, and cuts, delays and halves what goes through it."""
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def pump(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(8_192):
                fate = chance.random()
                if fate < 0.02:
                    # Half of what was on its way arrives, and nothing after it.
                    target.sendall(data[: len(data) // 2])
                    break
                if fate < 0.03:
                    break
                if fate < 0.08:
                    ended.wait(chance.random() * 0.02)
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    threads: list[threading.Thread] = []

    def begin(target: Any, *args: Any) -> None:
        threads.append(threading.Thread(target=target, args=args, daemon=True))
        threads[-1].start()

    def lead(client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            onward = socket.create_connection(("127.0.0.1", port), 5)
            with onward:
                back = threading.Thread(target=pump, args=(onward, client), daemon=True)
                back.start()
                pump(client, onward)
                back.join()

    def accept() -> None:
        while not ended.is_set():
            with contextlib.suppress(OSError):
                begin(lead, listener.accept()[0])

    begin(accept)
    try:
        yield listener.getsockname()[1]
    finally:
        ended.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in threads:
            thread.join(10)
