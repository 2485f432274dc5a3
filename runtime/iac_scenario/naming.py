"""How clients spell the tools of servers."""

import re

__all__ = ["public"]


def public(name: str) -> str:
    """Return a name as clients write it into `mcp__SERVER__TOOL`: other characters are `_`."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)
