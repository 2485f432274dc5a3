"""What holds a secret, judged by its name and type.

One rule for three uses: such a property is never read, such an argument is never stored, and such
a line is shown without its value.
"""

import re
from typing import Final

__all__ = ["is_secret"]

_SECRET: Final = frozenset(
    (
        ("authorization",),
        ("bearer",),
        ("cookie",),
        ("credential",),
        ("cvc",),
        ("cvv",),
        ("otp",),
        ("passcode",),
        ("passphrase",),
        ("passwd",),
        ("password",),
        ("pwd",),
        ("secret",),
        ("token",),
        ("access", "key"),
        ("api", "key"),
        ("card", "number"),
        ("decryption", "key"),
        ("encryption", "key"),
        ("license", "key"),
        ("one", "time", "code"),
        ("pin", "code"),
        ("private", "key"),
        ("recovery", "key"),
        ("security", "code"),
        ("signing", "key"),
        ("verification", "code"),
    )
)
_JOINED: Final = frozenset("".join(words) for words in _SECRET if len(words) > 1)
_LONGEST: Final = max(map(len, _SECRET))
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_OPEN: Final = frozenset(("boolean", "date", "point", "rectangle"))
"""Types that cannot hold a secret: "require password to wake" is a yes or no."""

_SECURE: Final = frozenset(("password", "secure text", "secure text field", "AXSecureTextField"))


def is_secret(term: str, type: str = "text") -> bool:
    """Say whether a property, parameter or field holds a secret.

    Args:
        term: Its name, in any spelling: `API key`, `apiKey`, `api_key`.
        type: Its type as the tables write it (`text`, `boolean`, `text | missing value`), or the
            role of an accessibility element.
    """
    kinds = {kind.strip() for kind in type.split("|")} - {"missing value"}
    if kinds & _SECURE:
        return True
    if kinds and kinds <= _OPEN:
        return False
    words = [word.lower() for word in _WORD.findall(term)]
    words = [word.removesuffix("s") if not word.endswith("ss") else word for word in words]
    if not _JOINED.isdisjoint(words):
        return True
    return any(
        tuple(words[start : start + count]) in _SECRET
        for start in range(len(words))
        for count in range(1, _LONGEST + 1)
    )
