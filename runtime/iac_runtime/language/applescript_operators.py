"""The operators and ordinals of AppleScript, as they are spelled.

Source: AppleScript Language Guide, "Operators Reference" (order of operators), "Reference Forms".
"""

from collections.abc import Mapping
from typing import Final

LOOSE: Final = {"or": 1, "and": 2}
COMPARED: Final[Mapping[tuple[str, ...], str]] = {
    tuple(phrase.split()): sign
    for sign, phrases in {
        "=": "is equal to|is equal|equals|equal to|is|=",
        "≠": "is not equal to|is not equal|does not equal|is not|/=|≠",
        ">": "is greater than|greater than|comes after|is not less than or equal to|>",
        "<": "is less than|less than|comes before|is not greater than or equal to|<",
        "≥": "is greater than or equal to|is not less than|does not come before|>=|≥",
        "≤": "is less than or equal to|is not greater than|does not come after|<=|≤",
        "contains": "contains|contain",
        "not contains": "does not contain",
        "in": "is in|is contained by",
        "not in": "is not in|is not contained by",
        "begins": "starts with|begins with|start with|begin with",
        "not begins": "does not start with|does not begin with",
        "ends": "ends with|end with",
        "not ends": "does not end with",
    }.items()
    for whole in phrases.split("|")
    for phrase in {whole, whole.replace("is not", "isn't"), whole.replace("does not", "doesn't")}
}
BY_WORD: Final = {
    first: tuple(row for row in COMPARED if row[0] == first) for first, *_ in COMPARED
}
ARITHMETIC: Final = {"&": 1, "+": 2, "-": 2, "*": 3, "/": 3, "÷": 3, "div": 3, "mod": 3, "^": 4}
ORDINALS: Final = {
    word: place
    for place, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth".split(), 1
    )
} | {"last": -1, "back": -1, "front": 1}
