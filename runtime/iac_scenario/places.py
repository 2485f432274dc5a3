"""Which file inside the sandbox a path means: text only, nothing is touched."""

import os
import unicodedata
from typing import Final
from urllib.parse import unquote, urlsplit

from iac_scenario.errors import ToolError

__all__ = ["Parts", "folded", "is_protected", "parts_of"]

Parts = tuple[str, ...]
"""Names from the root of the sandbox down; empty for the root."""

_LONGEST: Final = 4096
_PROTECTED: Final = frozenset(
    ".git .mcp.json .claude .claude.json .ssh .gnupg .zshrc .zshenv .zprofile .bashrc"
    " .bash_profile .profile launchagents launchdaemons".split()
)
_FIRMLINK: Final = ("System", "Volumes", "Data")
_PRIVATE: Final = frozenset(("var", "tmp", "etc"))


def parts_of(path: str, roots: tuple[str, ...], cwd: Parts = ()) -> Parts:
    """Return the names that a path means below the sandbox.

    An absolute path must lie under one of `roots` (the places where the sandbox is seen), name by
    name; a relative one starts at `cwd`. `file:` URLs are decoded once, nothing else is decoded.
    `..` that leaves the sandbox, control characters, NUL and lone surrogates are refused.

    Raises ToolError with a line for the assistant.
    """
    text = _from_url(path) if path[:5].lower() == "file:" else path
    if not text:
        raise ToolError("the path is empty.")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise ToolError(f"{path!r} has characters that no path here may have.")
    if len(os.fsencode(text)) > _LONGEST:
        raise ToolError(f"the path has more than {_LONGEST:,} bytes.")
    found = list(cwd)
    if text.startswith("/"):
        found, names = [], list(_below(text, roots, path))
    elif text == "~" or text.startswith("~/"):
        raise ToolError(f"{path} is outside the sandbox.")
    else:
        names = text.split("/")
    for name in names:
        if name == "..":
            if not found:
                raise ToolError(f"{path} is outside the sandbox.")
            found.pop()
        elif name not in ("", "."):
            found.append(name)
    return tuple(found)


def folded(name: str) -> str:
    """Return a name in the form in which all file systems tell names apart: NFC, no case."""
    return unicodedata.normalize("NFC", name).casefold()


def is_protected(parts: Parts) -> bool:
    """Whether a path belongs to what runs by itself or opens doors: hooks, keys, start-up files."""
    return any(folded(name) in _PROTECTED for name in parts)


def _below(text: str, roots: tuple[str, ...], path: str) -> Parts:
    names = _identity(text)
    for root in roots:
        top = _identity(root)
        if names[: len(top)] == top:
            return names[len(top) :]
    raise ToolError(f"{path} is outside the sandbox. It is seen at {roots[0]}.")


def _identity(path: str) -> Parts:
    """Return the names of an absolute path, macOS's two spellings of one place made one."""
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    if names[:3] == _FIRMLINK:
        names = names[3:]
    if names[:1] == ("private",) and names[1:2] and names[1] in _PRIVATE:
        names = names[1:]
    return names


def _from_url(path: str) -> str:
    try:
        url = urlsplit(path)
    except ValueError:
        raise ToolError(f"{path!r} is no file URL.") from None
    if url.netloc not in ("", "localhost") or not url.path.startswith("/"):
        raise ToolError(f"{path} names another machine.")
    return unquote(url.path, errors="surrogateescape")
