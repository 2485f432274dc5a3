"""A PostgreSQL server of the tests' own, with a database for each that asks."""

import itertools
import os
import pwd
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fleet_record import Fleet

from iac_base.errors import SetupError

pytest.importorskip("psycopg", reason="psycopg is not installed")

from iac_fleet import database, demo

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[demo.PostgresServer]:
    """A server that runs; it may be stopped and started."""
    try:
        demo.postgres_programs()
    except SetupError as error:
        pytest.skip(str(error))
    if os.geteuid() == 0:
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
    # The folders above those of pytest let nobody else in.
    folder = Path(tempfile.mkdtemp(prefix="iac-fleet-"))
    folder.chmod(0o755)
    with demo.running_postgres(folder / "postgresql") as running:
        with database.open_connection(running.address_for(name="postgres")) as connection:
            # Only a machine that loses power loses what was not synced.
            connection.execute("ALTER SYSTEM SET fsync = off")
            # Roles that are made for Macs need their passwords.
            rules = running.folder / "data" / "pg_hba.conf"
            known = "host all owner,mac,lead,stranger 127.0.0.1/32 trust\n"
            rules.write_text(f"{known}host all all 127.0.0.1/32 scram-sha-256\n")
            connection.execute("SELECT pg_reload_conf()")
            for role in ("mac", "lead", "stranger"):
                connection.execute(f"CREATE ROLE {role} LOGIN".encode())
        yield running
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def new_fleet(server: demo.PostgresServer, tmp_path: Path) -> Callable[[], Fleet]:
    def make() -> Fleet:
        name = f"fleet{os.getpid()}_{next(_NUMBERS)}"
        with database.open_connection(server.address_for(name="postgres")) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        with database.open_connection(server.address_for(name=name)) as connection:
            assert len(database.run_migrations(connection)) == 7
            assert database.run_migrations(connection) == []
            database.add_team(connection, "red", "mac")
            database.add_team(connection, "red", "lead", "lead")
            database.add_team(connection, "blue", "stranger", "lead")
        return Fleet(server, name, tmp_path / name)

    return make


@pytest.fixture
def fleet(new_fleet: Callable[[], Fleet]) -> Fleet:
    """A database with two teams, and a Mac of one of them."""
    return new_fleet()
