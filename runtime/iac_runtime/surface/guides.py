"""The guides of apps, ours and the user's own, for whoever writes a script: names, entries, texts.

The package that reads them is loaded on first need; a listing of tools needs none of it.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from iac_runtime.errors import ToolError, near_text, quoted
from iac_runtime.toolsets import GUIDES

__all__ = ["MARKDOWN", "guide_entries", "guide_names", "guide_text"]

MARKDOWN: Final = "text/markdown"


def guide_names() -> list[str]:
    """Return the names of all guides, which are keys of apps."""
    return sorted(_guides())


def guide_entries() -> list[dict[str, Any]]:
    """Return the entries of the guides in resources/list."""
    return [
        {
            "uri": f"iac://skills/{name}",
            "name": f"{name}_skill",
            "title": f"Guide for scripts: {guide.title}",
            "mimeType": MARKDOWN,
        }
        for name, guide in sorted(_guides().items())
    ]


def guide_text(app: str) -> str:
    """Return the guide of an app, given by key, name or bundle id, as Markdown.

    Raises:
        ToolError: NOT_FOUND: there is none; the nearest are named.
    """
    guide = import_module(GUIDES).skill_of(app)
    if guide is None:
        way = f"get_app_dictionary shows the terms of any app. {near_text(app, guide_names())}"
        raise ToolError("NOT_FOUND", f"There is no guide of {quoted(app)}.", way)
    return f"# {guide.title}\n\n{guide.text.strip()}\n"


def _guides() -> Mapping[str, Any]:
    guides: Mapping[str, Any] = import_module(GUIDES).skills()
    return guides
