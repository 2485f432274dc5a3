"""Answers that are remembered: "always" for one app, one command and one kind of argument.

A row is void when the tool's digest in tools.lock is another, and when its seal does not fit:
then the question is asked again. A seal does not show that a row was brought back that had been
revoked; who can write to the state folder can also read the key.
"""

import hmac
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from iac_runtime.cleaning import escaped
from iac_runtime.policy.facts import Facts
from iac_runtime.policy.scope import Scope, scope_of
from iac_runtime.policy.seal import seal
from iac_runtime.policy.store import Store

if TYPE_CHECKING:
    import sqlite3

__all__ = ["Remembered", "find", "listed", "remember", "revoke"]

_PURPOSE: Final = "iac decision 1"
_COLUMNS: Final = "app, command, kind, tool, says, digest, made, client"


class Remembered(NamedTuple):
    """One row; `valid` says whether its seal fits."""

    id: int
    app: str
    command: str
    kind: str
    tool: str
    says: str
    digest: str
    made: str
    client: str
    valid: bool

    @property
    def name(self) -> str:
        """How decisions call the row."""
        return f"decision {self.id} ({self.says})"


def remember(store: Store, facts: Facts) -> None:
    """Keep "always" for calls like this one; an earlier answer for the same is replaced.

    Only for calls that `decide` offered it for.

    Raises:
        SetupError: The state cannot be written.
    """
    scope = scope_of(facts)
    if scope is None or not facts.digest:
        return
    made = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    told = (escaped(scope.says(facts.app_name)), facts.digest, made, escaped(facts.client))
    fields = (*scope, facts.tool, *told)
    mac = seal(store.key, _PURPOSE, fields)
    with store.change() as connection:
        connection.execute(
            f"INSERT OR REPLACE INTO decisions ({_COLUMNS}, mac)"  # noqa: S608 (a constant)
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*fields, mac),
        )


def find(store: Store, facts: Facts) -> Remembered | None:
    """Return the row that covers a call, or None if there is none that counts."""
    scope = scope_of(facts)
    if scope is None or not facts.digest:
        return None
    with store.change() as connection:
        rows = _rows(store, connection, scope)
    for row in rows:
        if row.valid and row.digest == facts.digest and row.tool == facts.tool:
            return row
    return None


def listed(store: Store) -> list[Remembered]:
    """Return all rows, the void ones too, oldest first."""
    with store.change() as connection:
        return _rows(store, connection, None)


def revoke(store: Store, ident: int | None) -> int:
    """Forget one row, or all for None; return how many there were."""
    with store.change() as connection:
        if ident is None:
            return connection.execute("DELETE FROM decisions").rowcount
        return connection.execute("DELETE FROM decisions WHERE id = ?", (ident,)).rowcount


def _rows(store: Store, connection: "sqlite3.Connection", scope: Scope | None) -> list[Remembered]:
    query = f"SELECT id, {_COLUMNS}, mac FROM decisions"  # noqa: S608 (a constant)
    if scope is None:
        found = connection.execute(f"{query} ORDER BY id").fetchall()
    else:
        where = f"{query} WHERE app = ? AND command = ? AND kind = ?"
        found = connection.execute(where, scope).fetchall()
    rows = []
    for ident, *fields, mac in found:
        texts = [str(field) for field in fields]
        right = seal(store.key, _PURPOSE, texts)
        valid = hmac.compare_digest(right, str(mac).encode("ascii", "replace").decode())
        app, command, kind, tool, says, digest, made, client = texts
        rows.append(
            Remembered(int(ident), app, command, kind, tool, says, digest, made, client, valid)
        )
    return rows
