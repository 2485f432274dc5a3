"""A fleet on one machine: PostgreSQL in a folder, three simulated Macs, and what they did."""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from psycopg.errors import DuplicateDatabase, DuplicateObject

from iac_base.errors import SetupError
from iac_fleet import database

_CALLS: Final = (
    ("notes_list_notes", '{"folder": "folders[0]"}'),
    ("calendar_events_of_day", '{"day": "today"}'),
    ("notes_make_note", '{"name": "Fleet", "body": "Made on {host}", "folder": "folders[0]"}'),
)
_MACS: Final = ("studio", "reception", "mini")


class PostgresServer(NamedTuple):
    """A PostgreSQL server of our own: its programs, its folder, its port on loopback."""

    programs: Path
    folder: Path
    port: int
    user: str

    def address_for(self, role: str = "owner", name: str = "fleet") -> str:
        """Return the address of a database for a role."""
        return f"postgresql://{role}@127.0.0.1:{self.port}/{name}"


def postgres_programs() -> Path:
    """Return the folder of PostgreSQL's programs.

    Raises:
        SetupError: There is none.
    """
    known = [Path(initdb).resolve().parent] if (initdb := shutil.which("initdb")) else []
    known += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    known += sorted(Path("/opt/homebrew/opt").glob("postgresql@*/bin"), reverse=True)
    for folder in known:
        if (folder / "initdb").exists():
            return folder
    raise SetupError(
        "PostgreSQL is not installed. Run: brew install postgresql@17, or apt-get install"
        " postgresql"
    )


@contextlib.contextmanager
def running_postgres(folder: Path) -> Iterator[PostgresServer]:
    """Start a server in an empty folder or one of an earlier run; it ends afterwards.

    It listens on loopback alone, and trusts who comes from this machine.

    Raises:
        SetupError: It cannot be started.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # PostgreSQL refuses to run as root.
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    server = PostgresServer(postgres_programs(), folder, port, user)
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        shutil.chown(folder, user)
    data = folder / "data"
    if not data.exists():
        _run_program(
            server, "initdb", "-D", str(data), "-U", "owner", "-A", "trust", "-E", "UTF8", "-N"
        )
    start_postgres(server)
    try:
        yield server
    finally:
        stop_postgres(server)


def start_postgres(server: PostgresServer) -> None:
    """Start a server and wait until it answers. Raises SetupError."""
    options = f"-c listen_addresses=127.0.0.1 -p {server.port} -k {server.folder}"
    log, data = str(server.folder / "log"), str(server.folder / "data")
    _run_program(server, "pg_ctl", "-D", data, "-w", "-l", log, "-o", options, "start")


def stop_postgres(server: PostgresServer, mode: str = "fast") -> None:
    """Stop a server; `immediate` is as if it were killed."""
    data = str(server.folder / "data")
    with contextlib.suppress(SetupError):
        _run_program(server, "pg_ctl", "-D", data, "-w", "-m", mode, "stop")


def _run_program(server: PostgresServer, program: str, *arguments: str) -> None:
    done = subprocess.run(
        [server.programs / program, *arguments],
        cwd=server.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
        user=server.user if os.geteuid() == 0 else None,
    )  # fmt: skip
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason was given"]
        raise SetupError(f"{program} failed: {lines[-1]}")


def run_demo(keep: Path | None, tell: Callable[[str], None], *, page: bool = False) -> None:
    """Start all, let each Mac make its calls and send its record; show it, with `page` there too.

    Raises:
        SetupError: Something of it cannot be started.
    """
    with contextlib.ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="iac-fleet-")))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o755)
        except OSError as error:
            raise SetupError(f"{folder} cannot be used: {error.strerror}.") from None
        server = stack.enter_context(running_postgres(folder / "postgresql"))
        tell(f"PostgreSQL is running on port {server.port}, for this machine only.")
        with database.open_connection(server.address_for(name="postgres")) as connection:
            for line in ("DATABASE fleet", "ROLE mac LOGIN", "ROLE lead LOGIN"):
                # A folder that was kept has them.
                with contextlib.suppress(DuplicateDatabase, DuplicateObject):
                    connection.execute(f"CREATE {line}".encode())
        with database.open_connection(server.address_for()) as connection:
            database.run_migrations(connection)
            database.add_team(connection, "studio", "mac")
            database.add_team(connection, "studio", "lead", "lead")
        for host in _MACS:
            env = {**os.environ, "IAC_DATA": str(folder / host)}
            _run_module(env, "iac_fleet", "join", server.address_for("mac"), "--host", host)
            for tool, arguments in _CALLS:
                given = arguments.replace("{host}", host)
                _run_module(env, "iac_mcp", "call", "--simulate", "--allow", "MODIFY", tool, given)
            _run_module(env, "iac_fleet", "forward", "--once")
            tell(f"{host} made {len(_CALLS)} calls and sent its audit log.")
        env = {**os.environ, "IAC_DATA": str(folder / "lead")}
        env["IAC_FLEET_DATABASE"] = server.address_for("lead")
        for words in (["hosts"], ["audit", "--level", "MODIFY"], ["verify"]):
            tell(f"\n$ iac-fleet {' '.join(words)}")
            tell(_run_module(env, "iac_fleet", *words))
        if page:
            argv = [sys.executable, "-m", "iac_mcp", "open", "--simulate", "--fleet"]
            with contextlib.suppress(KeyboardInterrupt):
                subprocess.run(argv, env=env)
        if keep:
            tell(f"\nThe database is in {folder}. Its owner's address was {server.address_for()}.")


def _run_module(env: dict[str, str], module: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], env=env, capture_output=True, text=True
    )
    if done.returncode:
        raise SetupError(f"{module} {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout.rstrip()
