"""Rows for another program: one JSON object a line, with all that verifying needs."""

import json
from collections.abc import Iterator
from pathlib import Path

from iac_runtime.audit.reading import opened, rows

__all__ = ["row_lines"]


def row_lines(folder: Path) -> Iterator[str]:
    """Yield every row as a line of JSON, ASCII, by place.

    `hash` is the SHA-256 of the hash before (32 zero bytes at first) and the JSON array of `seq`
    to `body` without spaces, where `body` is a text. Raises SetupError.
    """
    with opened(folder) as connection:
        for row in rows(connection):
            yield json.dumps(row._asdict() | {"hash": row.hash.hex()}, separators=(",", ":"))
