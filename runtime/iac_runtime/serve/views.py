"""Views beside results, for clients that declared MCP Apps; to any other nothing of this is said.

A view is one HTML document without connections: the client hands it the arguments and the result
of a call, which the model gets as ever. What waits for a person's answer it reads from `QUESTIONS`;
it cannot answer. Source: MCP Apps (SEP-1865), 2026-01-26.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from string import Template
from typing import Any, Final

from iac_runtime.policy.prompts import Question, paragraphs
from iac_runtime.serve.messages import ServerIdentity
from iac_runtime.serve.plain import VIEW_TYPE
from iac_runtime.serve.plain import VIEWS as EXTENSION
from iac_runtime.serve.resources import VIEWS

QUESTIONS: Final = "ui://iac/questions"
"""The address of the questions that wait, as JSON, for the card of approvals."""

_SHOWN: Final = {"ui": {"csp": {}, "prefersBorder": True}}
"""A document's settings: none of the lists of who may be connected to has an entry."""


def identity_with_views(identity: ServerIdentity) -> ServerIdentity:
    """Return what a server says of itself to a client that shows views."""
    said = {
        era: {**row, "extensions": {EXTENSION: {}}} for era, row in identity.capabilities.items()
    }
    return identity._replace(capabilities=said)


def with_views(method: str, lines: Sequence[bytes]) -> list[bytes]:
    """Return the entries of a listing: of tools each with its view, of resources the views too."""
    if method == "tools/list":
        return [*map(_with_view, lines)]
    return [*lines, *view_entries()] if method == "resources/list" else [*lines]


def _with_view(line: bytes) -> bytes:
    entry = json.loads(line)
    view = tool_view(entry["name"], entry.get("annotations", {}))
    if not view:
        return line
    entry["_meta"] = {**entry.get("_meta", {}), "ui": {"resourceUri": _view_uri(view)}}
    return _json_line(entry)


def tool_view(tool: str, annotations: Mapping[str, Any]) -> str:
    """Return the name of a tool's view: by its name, else of what may ask; empty for none."""
    for view, row in VIEWS.items():
        if any(fnmatchcase(tool, pattern) for pattern in row["tools"]):
            return view
    return "" if annotations.get("readOnlyHint") else "approval"


def view_entries() -> list[bytes]:
    """Return the entries of the views for resources/list."""
    return [
        _json_line(
            {
                "uri": _view_uri(view),
                "name": f"view_{view}",
                "title": row["title"],
                "description": row["description"],
                "mimeType": VIEW_TYPE,
                "_meta": _SHOWN,
            }
        )
        for view, row in VIEWS.items()
    ]


def read_view(uri: str, waiting: Iterable[Question]) -> dict[str, Any] | None:
    """Return what a client reads under an address: a view, the questions; None for neither."""
    if uri == QUESTIONS:
        rows = [_question_row(one) for one in waiting]
        return {"mimeType": "application/json", "text": json.dumps(rows), "uri": uri}
    view = next((view for view in VIEWS if uri == _view_uri(view)), None)
    if view is None:
        return None
    return {"_meta": _SHOWN, "mimeType": VIEW_TYPE, "text": view_document(view), "uri": uri}


def view_document(view: str) -> str:
    """Return a view: one document that runs its own script, and connects to nothing."""
    style, script = (Path(__file__).with_name(f"views.{kind}").read_text() for kind in _KINDS)
    row, page = VIEWS[view], Path(__file__).with_name("views.html").read_text()
    rest = {"view": view, "title": row["title"], "style": style, "script": script}
    return Template(page).substitute(
        rest, may_style=_content_hash(style), may_run=_content_hash(script)
    )


_KINDS: Final = ("css", "js")


def _content_hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _question_row(one: Question) -> dict[str, Any]:
    return {"app": one.app, "tool": one.tool, "level": one.level, "says": paragraphs(one.text)}


def _view_uri(view: str) -> str:
    return f"ui://iac/{view}"


def _json_line(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()
