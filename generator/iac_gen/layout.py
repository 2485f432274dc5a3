"""Layout: one flat statement broken into lines as black would break it.

Running black over every function is most of a build's time, and the statements of a module
are of three simple forms. What this leaves longer than the width, `render` hands to black.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from iac_gen.text import SourceText

WIDTH = 100
# A string is passed whole: what stands in it is no bracket.
_SIGN = re.compile(r"""[][(){},]|"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'""")


def fits(text: str) -> bool:
    """Say whether every line of `text` is within the width."""
    return all(len(line) <= WIDTH for line in text.splitlines())


def lay_out(statement: str, indent: int = 0) -> SourceText:
    """Return `statement`, a flat call, definition or return, within the width.

    The bracket to open is the first of a definition and else the last.
    """
    return SourceText("\n".join(_lines(statement, indent)).lstrip())


def _lines(text: str, indent: int) -> list[str]:
    pad = " " * indent
    if indent + len(text) <= WIDTH:
        return [pad + text]
    groups = _groups(text)
    if not groups:
        return [pad + text]
    start, end = groups[0] if text.startswith("def ") else groups[-1]
    head, body, tail = text[: start + 1], text[start + 1 : end], text[end:]
    items = _items(body)
    # A call's arguments and a subscript may share a line of their own, the items of a
    # dict or list may not; one element of a subscript is no tuple, a comma would make it one.
    trailer = text[start - 1 : start].isalnum()
    if indent + 4 + len(body) <= WIDTH and (trailer or len(items) == 1):
        inner = [" " * (indent + 4) + body]
    else:
        comma = "" if len(items) == 1 and trailer and text[start] == "[" else ","
        inner = [line for item in items for line in _lines(f"{item}{comma}", indent + 4)]
    return [pad + head, *inner, pad + tail]


def _outermost(text: str) -> Iterator[tuple[int, str]]:
    """Yield the outermost brackets, and the commas that stand in none."""
    depth = 0
    for found in _SIGN.finditer(text):
        sign = found[0]
        depth -= sign in ")]}"
        if depth == 0 and sign[0] not in "\"'":
            yield found.start(), sign
        depth += sign in "([{"


def _groups(text: str) -> list[tuple[int, int]]:
    """Return the outermost bracket pairs that hold something."""
    brackets = [position for position, ch in _outermost(text) if ch != ","]
    pairs = zip(brackets[::2], brackets[1::2], strict=False)
    return [(start, end) for start, end in pairs if end > start + 1]


def _items(body: str) -> list[str]:
    """Return what the outermost commas of `body` separate."""
    commas = [position for position, ch in _outermost(body) if ch == ","]
    cuts = pairwise((-1, *commas, len(body)))
    items = [body[start + 1 : end].strip() for start, end in cuts]
    return items if items[-1] else items[:-1]
