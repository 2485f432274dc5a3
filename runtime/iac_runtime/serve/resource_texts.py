"""Which resources there are: the entries of a client's lists, and the reading of an address.

Plain data, for the front answers from it before the SDK is there.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

from iac_base.errors import InvalidParameterError, near_text, quoted
from iac_runtime.serve.pages import MARKDOWN

__all__ = ["TEMPLATES", "Address", "Kind", "read_address", "resource_entries"]

Kind = Literal["apps", "model", "tool", "skill", "result", "audit", "status"]

JSON: Final = "application/json"
TEXT: Final = "text/plain"

_FIXED: Final[Mapping[str, tuple[Kind, dict[str, Any]]]] = {
    "iac://apps": (
        "apps",
        {
            "name": "apps",
            "title": "Apps",
            "description": "The apps that can be controlled, and how many tools of each level.",
            "mimeType": JSON,
        },
    ),
    "iac://audit/tail": (
        "audit",
        {
            "name": "audit_tail",
            "title": "Last calls",
            "description": "The last calls of this user's servers and what came of them, one JSON "
            "object a line, the newest last.",
            "mimeType": "application/jsonl",
        },
    ),
    "iac://status": (
        "status",
        {
            "name": "status",
            "title": "Status",
            "description": "What the running servers do: tools, calls, errors, workers.",
            "mimeType": JSON,
        },
    ),
}

TEMPLATES: Final[tuple[dict[str, Any], ...]] = (
    {
        "uriTemplate": "iac://apps/{key}/model",
        "name": "model",
        "title": "Object model of an app",
        "description": "Classes, properties, elements and enumerations of an app.",
        "mimeType": TEXT,
    },
    {
        "uriTemplate": "iac://tools/{name}",
        "name": "tool",
        "title": "Page of a tool",
        "description": "What a tool does, its exact schema, an example, where it comes from.",
        "mimeType": JSON,
    },
    {
        "uriTemplate": "iac://skills/{name}",
        "name": "skill",
        "title": "Guide of an app",
        "description": "How an app is best scripted, its traps, worked lines.",
        "mimeType": MARKDOWN,
    },
    {
        "uriTemplate": "iac://results/{id}{?offset}",
        "name": "result",
        "title": "Large result",
        "description": "A slice of a result that was too large for one answer.",
        "mimeType": JSON,
    },
)

_FORMS: Final = (
    *_FIXED,
    *(row["uriTemplate"].replace("{?offset}", "?offset=N") for row in TEMPLATES),
)


class Address(NamedTuple):
    """What an address names.

    Attributes:
        name: The app's key, the tool, the guide, the id of a result; else empty.
    """

    kind: Kind
    mime: str
    name: str = ""
    offset: int = 0


def resource_entries(apps: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the entries of resources/list; `apps` are keys and names."""
    fixed = [{"uri": uri, **entry} for uri, (_, entry) in _FIXED.items()]
    models = [
        {
            "uri": f"iac://apps/{key}/model",
            "name": f"{key}_model",
            "title": f"{name}: object model",
            "mimeType": TEXT,
        }
        for key, name in apps
    ]
    return fixed + models


def read_address(uri: str) -> Address:
    """Return what `uri` names; whether that is there is not looked at.

    Raises:
        InvalidParameterError: No resource has an address of this form; the forms are named.
    """
    # A listing needs the rows of this module, and not this.
    from urllib.parse import parse_qs, unquote, urlsplit

    fixed = _FIXED.get(uri.rstrip("/"))
    if fixed is not None:
        return Address(fixed[0], fixed[1]["mimeType"])
    try:
        parts = urlsplit(uri)
        query = parse_qs(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        path = [unquote(part) for part in parts.path.split("/")]
    except ValueError:
        raise _unknown(uri) from None
    if parts.scheme != "iac" or query.keys() - {"offset"}:
        raise _unknown(uri)
    match [parts.netloc, *path]:
        case ["apps", "", key, "model"] if key and not query:
            return Address("model", TEXT, key)
        case ["tools", "", name] if name and not query:
            return Address("tool", JSON, name)
        case ["skills", "", name] if name and not query:
            return Address("skill", MARKDOWN, name)
        case ["results", "", ident] if ident:
            return Address("result", JSON, ident, _offset(query.get("offset", ["0"])))
    raise _unknown(uri)


def _offset(said: list[str]) -> int:
    if len(said) == 1 and said[0].isascii() and said[0].isdigit() and len(said[0]) < 16:
        return int(said[0])
    raise InvalidParameterError(f"offset: {quoted(said[-1])} is no number from 0 on.")


def _unknown(uri: str) -> InvalidParameterError:
    return InvalidParameterError(f"There is no resource {quoted(uri)}.", near_text(uri, _FORMS))
