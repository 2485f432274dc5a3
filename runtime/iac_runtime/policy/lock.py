"""The digest that tools.lock has of a tool: an answer that is remembered is bound to it."""

import json
from functools import lru_cache
from pathlib import Path

__all__ = ["lock_digest"]


def lock_digest(folder: Path, tool: str) -> str:
    """Return the digest of a tool in the lock of an output folder; empty where there is none."""
    path = folder / "tools.lock"
    try:
        changed = path.stat().st_mtime_ns
        return _digests(path, changed).get(tool, "")
    except (OSError, ValueError):
        return ""


@lru_cache(maxsize=16)
def _digests(path: Path, _changed: int) -> dict[str, str]:
    data = json.loads(path.read_bytes())
    rows = data.get("tools") if isinstance(data, dict) else None
    if not isinstance(rows, dict):
        return {}
    return {
        name: str(row["digest"])
        for name, row in rows.items()
        if isinstance(row, dict) and "digest" in row
    }
