"""Layout: one flat statement broken into lines as black would break it.

Running black over every function is most of a build's time, and the statements of a module
are of three simple forms. What this leaves longer than the width, `render` hands to black.
"""

from iac_gen.text import SourceText

WIDTH = 100
_PAIRS = {")": "(", "]": "[", "}": "{"}


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


def _scan(text: str) -> list[tuple[int, str]]:
    """Return the position of each bracket and comma that stands outside of strings."""
    found = []
    quote = ""
    position = 0
    while position < len(text):
        ch = text[position]
        if quote:
            if ch == "\\":
                position += 1
            elif ch == quote:
                quote = ""
        elif ch in "\"'":
            quote = ch
        elif ch in "([{)]},":
            found.append((position, ch))
        position += 1
    return found


def _groups(text: str) -> list[tuple[int, int]]:
    """Return the outermost bracket pairs that hold something."""
    groups = []
    depth, start = 0, 0
    for position, ch in _scan(text):
        if ch in "([{":
            start = position if depth == 0 else start
            depth += 1
        elif ch in _PAIRS:
            depth -= 1
            if depth == 0 and position > start + 1:
                groups.append((start, position))
    return groups


def _items(body: str) -> list[str]:
    """Return what the outermost commas of `body` separate."""
    items = []
    depth, start = 0, 0
    for position, ch in _scan(body):
        if ch in "([{":
            depth += 1
        elif ch in _PAIRS:
            depth -= 1
        elif depth == 0:
            items.append(body[start:position].strip())
            start = position + 1
    last = body[start:].strip()
    return [*items, last] if last else items
