"""Tokens of an issuer of the team's: what an OAuth resource server checks of each.

By the issuer's keys (JWKS) or by asking it (introspection). Either way a token must be of this
issuer, for this server (audience), not expired, and of a client that it names. Sources: MCP
2026-07-28, "Authorization"; RFC 9068, RFC 7662, RFC 8707, RFC 8725.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from re import sub
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import httpx2
import jwt
from mcp.server.auth.provider import AccessToken, TokenVerifier

from iac_base.errors import SetupError
from iac_base.files import StateFileError, require_private_file
from iac_mcp.http.clients import HOLDER, SCOPES

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
ALGORITHMS_EC: Final = ("ES256", "ES384", "ES512", "EdDSA")
"""How tokens may be signed: with a key that only the issuer has, never with a shared one."""

_LEEWAY: Final = 30
"""Seconds by which two clocks may differ."""

_FRESH: Final = 300.0
_PAUSE: Final = 30.0
_LONGEST: Final = 3600.0
"""Seconds for which keys are taken as they are, between two looks for one that is not among them,
and for which they count where they cannot be had again."""

_ANSWER: Final = 5.0
_LARGEST: Final = 1_000_000

_log = logging.getLogger("iac.http")


class Issuer(NamedTuple):
    """Who makes the tokens, and for what address: `url` is the audience that they must name."""

    url: str
    issuer: str
    jwks: str = ""
    introspection: str = ""
    introspection_client: str = ""
    introspection_secret_file: str = ""


def open_verifier(issuer: Issuer) -> TokenVerifier:
    """Return what verifies the tokens of an issuer.

    Raises:
        SetupError: An address is not https (or this machine's), or the secret cannot be read.
    """
    named = {"url": issuer.url, "issuer": issuer.issuer}
    named |= {key: getattr(issuer, key) for key in ("jwks", "introspection")}
    for key, address in named.items():
        if address and not _is_safe(address):
            raise SetupError(f"[http] {key} must be an https:// address, not {address}.")
    if bool(issuer.jwks) == bool(issuer.introspection):
        raise SetupError("[http] needs jwks or introspection, to check the issuer's tokens.")
    return _IntrospectionVerifier(issuer) if issuer.introspection else _JwtVerifier(issuer)


def _is_safe(address: str) -> bool:
    parts = urlsplit(address)
    here = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
    return bool(parts.hostname) and not parts.fragment and (parts.scheme == "https" or here)


def _http_client() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(timeout=_ANSWER, follow_redirects=False, trust_env=False)


def _accept_claims(claims: Mapping[str, Any], issuer: Issuer) -> AccessToken | None:
    """Return whose token these claims are of; None where one is missing or of another kind."""
    meant = claims.get("aud")
    audience = [meant] if isinstance(meant, str) else meant
    client = claims.get("client_id") or claims.get("azp")
    subject, expires = claims.get("sub"), claims.get("exp")
    if not (
        claims.get("iss", issuer.issuer) == issuer.issuer
        and isinstance(audience, list)
        and issuer.url in audience
        and isinstance(client, str)
        and isinstance(expires, int | float)
        and not isinstance(expires, bool)
        and expires > time.time() - _LEEWAY
        and (subject is None or isinstance(subject, str))
    ):
        return None
    said = claims.get("scope", claims.get("scp", ()))
    words = said.split() if isinstance(said, str) else said if isinstance(said, list) else []
    whose = "\0".join((issuer.issuer, client, subject or ""))
    # Two clients never have one name: what is unusual in theirs is left out, the digest is not.
    shown = sub(r"[^a-z0-9._-]+", "-", f"{client}.{subject or ''}".casefold()).strip("-.")[:40]
    return AccessToken(
        token="",
        client_id=client,
        scopes=[scope for scope in SCOPES if scope in words],
        # The leeway is for our clock, not for the token's life.
        expires_at=int(expires) + _LEEWAY,
        resource=issuer.url,
        subject=subject,
        claims={
            "iss": issuer.issuer,
            HOLDER: f"oauth:{shown}-{sha256(whose.encode()).hexdigest()[:12]}",
        },
    )


class _JwtVerifier:
    """Verifies signed tokens (JWT) by the keys that the issuer publishes."""

    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer
        self._keys: dict[str, jwt.PyJWK] = {}
        self._asked = self._had = -_LONGEST
        self._asking = asyncio.Lock()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whose token it is; None for one that is not good."""
        try:
            key = await self._find_key(jwt.get_unverified_header(token).get("kid"))
            if key is None:
                return None
            claims = jwt.decode(
                token,
                key,
                algorithms=[*ALGORITHMS, *ALGORITHMS_EC],
                audience=self._issuer.url,
                issuer=self._issuer.issuer,
                leeway=_LEEWAY,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError):
            return None
        return _accept_claims(claims, self._issuer)

    async def _find_key(self, ident: Any) -> jwt.PyJWK | None:
        now = time.monotonic()
        if (now - self._had > _FRESH or ident not in self._keys) and now - self._asked > _PAUSE:
            async with self._asking:
                if time.monotonic() - self._asked > _PAUSE:
                    self._asked = time.monotonic()
                    await self._load_keys()
        stale = time.monotonic() - self._had > _LONGEST
        return None if stale or not isinstance(ident, str) else self._keys.get(ident)

    async def _load_keys(self) -> None:
        try:
            async with _http_client() as client:
                answer = await client.get(self._issuer.jwks)
            answer.raise_for_status()
            if len(answer.content) > _LARGEST:
                raise ValueError("the answer is too large")
            rows = answer.json()["keys"]
            found: dict[str, jwt.PyJWK] = {}
            for row in rows:
                # A key of a kind that is not known here leaves the others.
                with suppress(jwt.PyJWTError, ValueError, TypeError, KeyError):
                    if row.get("kty") != "oct" and row.get("use", "sig") == "sig":
                        found[str(row["kid"])] = jwt.PyJWK(row)
            self._keys, self._had = found, time.monotonic()
        except (httpx2.HTTPError, ValueError, TypeError, KeyError, AttributeError) as error:
            # The keys that are known stay good meanwhile.
            _log.warning("the keys of %s cannot be fetched: %s", self._issuer.issuer, error)


class _IntrospectionVerifier:
    """Asks the issuer about each token, each time: what it revokes ends with the next request."""

    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer
        path = Path(issuer.introspection_secret_file).expanduser()
        try:
            require_private_file(path)
            secret = path.read_text("utf-8").strip()
        except StateFileError as error:
            raise SetupError(str(error)) from None
        except (OSError, UnicodeDecodeError):
            raise SetupError(
                "[http] introspection_secret_file must be a file with the secret, chmod 600."
            ) from None
        self._auth = (issuer.introspection_client, secret)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whose token it is; None for one that the issuer does not vouch for."""
        try:
            async with _http_client() as client:
                body = {"token": token, "token_type_hint": "access_token"}
                answer = await client.post(self._issuer.introspection, data=body, auth=self._auth)
            answer.raise_for_status()
            claims = answer.json() if len(answer.content) <= _LARGEST else {}
        except (httpx2.HTTPError, ValueError) as error:
            _log.warning("%s cannot be reached: %s", self._issuer.introspection, error)
            return None
        if not isinstance(claims, dict) or claims.get("active") is not True:
            return None
        return _accept_claims(claims, self._issuer)
