"""Sealed tokens: a question that was asked, bound to the call that it was asked about.

A token travels through the client (the `requestState` of MCP 2026-07-28), which is not trusted:
it is sealed, it expires, and it works once, in whichever process of the same state folder.
"""

import base64
import hmac
import json
import secrets
import time
from collections.abc import Callable
from typing import Final, NamedTuple

from iac_runtime.policy import budget
from iac_runtime.policy.facts import Decision, Facts, call_digest
from iac_runtime.policy.seal import seal
from iac_runtime.policy.store import Store
from iac_runtime.tool import Level

__all__ = ["LIFETIME", "Stopped", "Token", "TokenError", "issue", "read_token", "redeem"]

LIFETIME: Final = 600.0
"""Seconds from the question to the answer."""

_PURPOSE: Final = "iac approval 1"


class TokenError(Exception):
    """A token is not good for this call; its text says why, one line."""


class Stopped(NamedTuple):
    """The client may not ask, for so many seconds from now."""

    seconds: float


class Token(NamedTuple):
    """What a token says."""

    tool: str
    digest: str
    level: Level
    always: bool
    issued: float
    nonce: str


def issue(
    store: Store, facts: Facts, decision: Decision, now: Callable[[], float] = time.time
) -> str | Stopped:
    """Return a token for one question, or for how long none is asked: too many were declined.

    Raises:
        SetupError: The state cannot be written.
    """
    nonce, moment = secrets.token_hex(16), now()
    with store.change() as connection:
        seconds = budget.left(connection, facts.client, moment)
        if seconds > 0:
            return Stopped(seconds)
        connection.execute("DELETE FROM questions WHERE asked <= ?", (moment - 2 * LIFETIME,))
        connection.execute("INSERT INTO questions VALUES (?, ?, 0)", (nonce, moment))
    body = Token(
        facts.tool, call_digest(facts), decision.level, decision.offers_always, moment, nonce
    )
    text = json.dumps(body, separators=(",", ":"))
    return f"{_wrap(text.encode())}.{seal(store.key, _PURPOSE, [text])}"


def _wrap(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def read_token(store: Store, token: str) -> Token:
    """Return what a token says, once its seal was checked.

    Raises:
        TokenError: It is not one of ours.
    """
    body, _, mac = token.partition(".")
    try:
        data = base64.b64decode(
            body.encode("ascii") + b"=" * (-len(body) % 4), altchars=b"-_", validate=True
        )
        text = data.decode()
    except ValueError:
        raise TokenError("This approval is damaged.") from None
    # A decoder may take other bytes for the same text; only the one that was given counts.
    if _wrap(data) != body or not hmac.compare_digest(
        seal(store.key, _PURPOSE, [text]).encode(), mac.encode("utf-8", "surrogatepass")
    ):
        raise TokenError("This approval was not given by this program.")
    return Token(*json.loads(text))


def redeem(
    store: Store,
    token: str,
    facts: Facts,
    decision: Decision,
    now: Callable[[], float] = time.time,
) -> Token:
    """Use a token up for one call, and return what it said.

    It is used up even where it turns out to be for another call.

    Raises:
        TokenError: It is not one of ours, was used, is too old, or is for another call.
        SetupError: The state cannot be written.
    """
    found = read_token(store, token)
    moment = now()
    with store.change() as connection:
        cursor = connection.execute(
            "UPDATE questions SET used = 1 WHERE nonce = ? AND NOT used", (found.nonce,)
        )
        fresh = cursor.rowcount == 1
    if not fresh:
        raise TokenError("This approval was used already, or was never asked for here.")
    if not found.issued - 1 <= moment <= found.issued + LIFETIME:
        raise TokenError("This approval is too old; ask again.")
    if found.tool != facts.tool or not hmac.compare_digest(found.digest, call_digest(facts)):
        raise TokenError("This approval is for another call; ask again.")
    if found.level != decision.level:
        raise TokenError("This call needs another level than was approved; ask again.")
    return found
