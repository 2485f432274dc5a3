"""What the server says of itself to who has not connected: a server card, and the catalogue of it.

Both tell the address, the versions and whether a token is needed; nothing of the tools or the Mac.
Source: MCP extension of server cards (SEP-2127), "Discovery"; crawlers of today still look
under `/.well-known/mcp`, where its drafts had it.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from iac_runtime.serve.protocol import HANDSHAKE_VERSIONS, MODERN_VERSION
from iac_runtime.version import VERSION

__all__ = ["CARD_PATHS", "PURPOSE", "card_routes", "server_card"]

CARD: Final = "application/mcp-server-card+json"
CATALOG: Final = "application/ai-catalog+json"
CARD_PATHS: Final = (
    *("/mcp/server-card", "/.well-known/mcp/server-card.json"),
    "/.well-known/ai-catalog.json",
)
PURPOSE: Final = "Reads and changes the apps of a Mac through their scripting dictionaries."
"""As in every other description (distribution.toml); a card has room for 100 characters."""

_SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
_TOKEN: Final = {
    "name": "Authorization",
    "description": "Bearer, and the token that `iac-mcp clients add NAME` prints.",
    "isRequired": True,
    "isSecret": True,
}


def server_card(url: str, *, local_tokens: bool) -> dict[str, Any]:
    """Return the card of the server at `url`; without `local_tokens`, OAuth says who gives one."""
    host = _public_host(url)
    name = f"{'.'.join(reversed(host.split('.')))}/iac"
    remote = {
        "type": "streamable-http",
        "url": url,
        "supportedProtocolVersions": [*HANDSHAKE_VERSIONS, MODERN_VERSION],
        **({"headers": [_TOKEN]} if local_tokens else {}),
    }
    return {
        "$schema": _SCHEMA,
        "name": name,
        "title": "IAC",
        "description": PURPOSE,
        "version": VERSION,
        "remotes": [remote],
    }


def _public_host(url: str) -> str:
    """Return the name of the host; an address is nobody's name."""
    host = urlsplit(url).hostname or ""
    named = ":" not in host and not host.replace(".", "").isdecimal()
    return host if named else "localhost"


def card_routes(url: str, *, local_tokens: bool) -> list[Route]:
    """Return the routes of the card and the catalogue, which need no token."""
    parts = urlsplit(url)
    card = server_card(url, local_tokens=local_tokens)
    entry = {
        "identifier": f"urn:air:{_public_host(url)}:mcp:iac",
        "type": CARD,
        "url": f"{parts.scheme}://{parts.netloc}{CARD_PATHS[0]}",
    }
    catalog = {"specVersion": "1.0", "entries": [entry]}
    documents = (card, card, catalog)
    return [
        Route(path, _answer(document, CATALOG if document is catalog else CARD))
        for path, document in zip(CARD_PATHS, documents, strict=True)
    ]


def _answer(document: Mapping[str, Any], media_type: str) -> Any:
    body = json.dumps(document, indent=2).encode()
    tag = f'"{sha256(body).hexdigest()[:16]}"'
    headers = {
        "access-control-allow-origin": "*",
        "access-control-expose-headers": "ETag",
        "cache-control": "public, max-age=3600",
        "etag": tag,
    }

    async def answer(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(body, media_type=media_type, headers=headers)

    return answer
