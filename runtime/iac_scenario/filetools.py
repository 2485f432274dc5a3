"""Read, Write, Edit, Glob and Grep as Claude's own, on the files of a sandbox."""

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from iac_scenario.errors import CallError
from iac_scenario.results import CallResult, textual
from iac_scenario.sandbox import Parts, Sandbox

_LINES: Final = 2000
_COLUMNS: Final = 2000
_FOUND: Final = 1000

_TYPES: Final[Mapping[str, tuple[str, ...]]] = {
    "c": (".c", ".h"),
    "cpp": (".cpp", ".cc", ".cxx", ".hpp", ".hh"),
    "css": (".css",),
    "go": (".go",),
    "html": (".html", ".htm"),
    "java": (".java",),
    "js": (".js", ".mjs", ".cjs", ".jsx"),
    "json": (".json",),
    "md": (".md", ".markdown"),
    "py": (".py", ".pyi"),
    "rust": (".rs",),
    "sh": (".sh", ".bash"),
    "swift": (".swift",),
    "toml": (".toml",),
    "ts": (".ts", ".tsx", ".mts", ".cts"),
    "txt": (".txt",),
    "xml": (".xml",),
    "yaml": (".yaml", ".yml"),
}


def matches_glob(parts: Parts, pattern: str) -> bool:
    """Whether a path below a folder matches; `**` stands for any number of folders."""
    wanted = tuple(name for name in pattern.split("/") if name not in ("", "."))
    # From the left, remembering where `**` may still grow.
    reached = {0}
    for name in parts:
        reached = {
            at if wanted[at] == "**" else at + 1
            for at in _closed(reached, wanted)
            if at < len(wanted) and (wanted[at] == "**" or fnmatchcase(name, wanted[at]))
        }
    return len(wanted) in _closed(reached, wanted)


def _closed(reached: set[int], pattern: tuple[str, ...]) -> set[int]:
    found = set(reached)
    for at in sorted(reached):
        while at < len(pattern) and pattern[at] == "**":
            at += 1
            found.add(at)
    return found


def _existing(sandbox: Sandbox, path: str) -> Parts:
    parts = sandbox.parts(path)
    if not sandbox.kind(parts):
        raise CallError(f"File does not exist: {sandbox.shown(parts)}")
    return parts


def read(sandbox: Sandbox, given: Mapping[str, Any]) -> CallResult:
    """Return numbered lines: from `offset` (1 is the first), at most `limit`."""
    parts = _existing(sandbox, given["file_path"])
    data = sandbox.read(parts)
    if b"\0" in data:
        raise CallError(f"{sandbox.shown(parts)} is a binary file.")
    lines = data.decode("utf-8", "replace").splitlines()
    first = max(given.get("offset", 1), 1)
    chosen = lines[first - 1 : first - 1 + given.get("limit", _LINES)]
    if not chosen:
        return textual(f"(no lines from {first}: the file has {len(lines)})")
    return textual(
        "\n".join(f"{number:>6}→{line[:_COLUMNS]}" for number, line in enumerate(chosen, first))
    )


def write(sandbox: Sandbox, given: Mapping[str, Any]) -> CallResult:
    """Make or replace a file, folders on the way included."""
    parts = sandbox.parts(given["file_path"])
    known = sandbox.kind(parts)
    sandbox.write(parts, _encoded(given["content"]), parents=True)
    if known:
        return textual(f"The file {sandbox.shown(parts)} has been updated.")
    return textual(f"File created successfully at: {sandbox.shown(parts)}")


def edit(sandbox: Sandbox, given: Mapping[str, Any]) -> CallResult:
    """Replace a text that occurs once, or with `replace_all` wherever it occurs."""
    old, new = given["old_string"], given["new_string"]
    if old == new:
        raise CallError("old_string and new_string are the same: there is nothing to change.")
    parts = sandbox.parts(given["file_path"])
    if not old:
        if sandbox.kind(parts):
            raise CallError("old_string is empty and the file is there; use Write to replace it.")
        return write(sandbox, {"file_path": given["file_path"], "content": new})
    parts = _existing(sandbox, given["file_path"])
    try:
        text = sandbox.read(parts).decode()
    except UnicodeDecodeError:
        raise CallError(f"{sandbox.shown(parts)} is not UTF-8 text.") from None
    count = text.count(old)
    if count == 0:
        raise CallError(f"String to replace not found in file: {old}")
    if count > 1 and not given.get("replace_all", False):
        raise CallError(
            f"Found {count} matches of the string to replace, but replace_all is false: {old}"
        )
    sandbox.write(parts, _encoded(text.replace(old, new)))
    told = f" All {count} occurrences were replaced." if count > 1 else ""
    return textual(f"The file {sandbox.shown(parts)} has been updated.{told}")


def glob(sandbox: Sandbox, given: Mapping[str, Any]) -> CallResult:
    """Return the files that match, a path a line, by name."""
    top = sandbox.parts(given.get("path", "."))
    pattern = given["pattern"]
    if pattern.startswith("/"):
        top, pattern = (), "/".join(sandbox.parts(pattern))
    found = [
        sandbox.shown(parts)
        for parts, kind in sandbox.walk(top)
        if kind == "file" and matches_glob(parts[len(top) :], pattern)
    ]
    return textual(_listed(found, "No files found"))


def grep(sandbox: Sandbox, given: Mapping[str, Any]) -> CallResult:
    """Search files below a path: names (the default), counts, or lines with context."""
    flags = re.IGNORECASE if given.get("-i", False) else 0
    flags |= re.MULTILINE | re.DOTALL if given.get("multiline", False) else 0
    try:
        search = re.compile(given["pattern"], flags)
    except re.error as error:
        raise CallError(f"{given['pattern']!r} is no regular expression: {error}") from None
    mode = given.get("output_mode", "files_with_matches")
    lines: list[str] = []
    for parts in _candidates(sandbox, given):
        text = sandbox.read(parts).decode("utf-8", "replace")
        if "\0" in text:
            continue
        if given.get("multiline", False):
            numbers = sorted({text.count("\n", 0, hit.start()) for hit in search.finditer(text)})
        else:
            rows = enumerate(text.splitlines())
            numbers = [number for number, line in rows if search.search(line)]
        if numbers:
            path = sandbox.shown(parts)
            if mode == "content":
                lines += _content(path, text.splitlines(), numbers, given)
            else:
                lines.append(f"{path}:{len(numbers)}" if mode == "count" else path)
    limit = given.get("head_limit", 0) or len(lines)
    return textual(_listed(lines[:limit], "No matches found"))


def _candidates(sandbox: Sandbox, given: Mapping[str, Any]) -> list[Parts]:
    top = _existing(sandbox, given.get("path", "."))
    if sandbox.kind(top) == "file":
        return [top]
    wanted, kind = given.get("glob", "**"), given.get("type")
    wanted = wanted if "/" in wanted else f"**/{wanted}"
    if kind is not None and kind not in _TYPES:
        raise CallError(f"type {kind!r} is not known. Known: {', '.join(_TYPES)}.")
    endings = _TYPES[kind] if kind is not None else ("",)
    return [
        parts
        for parts, found in sandbox.walk(top)
        if found == "file"
        and parts[-1].endswith(endings)
        and matches_glob(parts[len(top) :], wanted)
    ]


def _content(path: str, lines: list[str], hits: list[int], given: Mapping[str, Any]) -> list[str]:
    around = given.get("-C", 0)
    before, after = given.get("-B", around), given.get("-A", around)
    shown = sorted(
        {
            number
            for hit in hits
            for number in range(max(hit - before, 0), min(hit + after + 1, len(lines)))
        }
    )
    rows = []
    for number in shown:
        mark = ":" if number in hits else "-"
        place = f"{number + 1}{mark}" if given.get("-n", True) else ""
        rows.append(f"{path}{mark}{place}{lines[number][:_COLUMNS]}")
    return rows


def _listed(rows: list[str], nothing: str) -> str:
    if not rows:
        return nothing
    cut = rows[:_FOUND]
    more = [f"(and {len(rows) - _FOUND} more)"] if len(rows) > _FOUND else []
    return "\n".join(cut + more)


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise CallError("the text has characters that UTF-8 cannot write.") from None


FILE_TOOLS: Final[Mapping[str, Callable[[Sandbox, Mapping[str, Any]], CallResult]]] = {
    "Read": read,
    "Write": write,
    "Edit": edit,
    "Glob": glob,
    "Grep": grep,
}
