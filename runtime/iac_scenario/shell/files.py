"""The safe commands that change or list files."""

from collections.abc import Callable, Sequence

from iac_scenario.errors import ToolError
from iac_scenario.places import Parts
from iac_scenario.sandbox import Entry, Sandbox
from iac_scenario.shell.commands import MISSING, Answer, Place, options, reason

__all__ = ["cd", "cp", "ls", "mkdir", "mv", "pwd", "rm", "rmdir", "touch"]


def pwd(place: Place, _arguments: Sequence[str], _given: bytes) -> Answer:
    """Print the working folder."""
    return _lines([place.sandbox.shown(place.cwd)])


def cd(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Change the working folder; `-` is the last one."""
    words = [word for word in arguments if word != "--"]
    if len(words) > 1:
        raise ToolError("cd: too many arguments")
    back = words == ["-"]
    parts = place.before if back else place.parts(words[0]) if words else ()
    entry = place.sandbox.entry(parts)
    if entry is None or entry.kind != "folder":
        said = MISSING if entry is None else "Not a directory"
        return Answer(errors=(f"cd: {words[0]}: {said}",), status=1)
    place.before, place.cwd = place.cwd, parts
    return _lines([place.sandbox.shown(parts)]) if back else Answer()


def ls(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """List files, then folders, by name."""
    names = {
        "all": "a", "almost-all": "A", "classify": "F", "color": "", "directory": "d",
        "recursive": "R", "reverse": "r",
    }  # fmt: skip
    given = options("ls", arguments, "1aAlRdFhpr", names=names)
    flags = given.flags
    errors: list[str] = []
    files: list[str] = []
    folders: list[tuple[str, Parts]] = []
    words = given.words or (".",)
    for word in sorted(words, reverse="r" in flags):
        parts = place.parts(word)
        entry = place.sandbox.entry(parts)
        if entry is None or (word.endswith("/") and entry.kind != "folder"):
            said = MISSING if entry is None else "Not a directory"
            errors.append(f"ls: cannot access '{word}': {said}")
        elif entry.kind != "folder" or "d" in flags:
            files.append(_row(entry._replace(name=word), flags))
        else:
            folders.append((word, parts))
    rows = files
    many = len(words) > 1 or "R" in flags
    for word, parts in folders:
        rows += [""] * bool(rows)
        rows += _listing(place.sandbox, word, parts, flags, titled=many)
    return Answer(_lines(rows).out, tuple(errors), 2 if errors else 0)


def _listing(
    sandbox: Sandbox, title: str, parts: Parts, flags: frozenset[str], *, titled: bool
) -> list[str]:
    entries = sandbox.list(parts)
    if not flags & {"a", "A"}:
        entries = [entry for entry in entries if not entry.name.startswith(".")]
    itself = [Entry(name, "folder", 0, 0o755) for name in (".", "..")] if "a" in flags else []
    entries = itself + entries
    if "r" in flags:
        entries.reverse()
    rows = [f"{title}:"] if titled else []
    if "l" in flags:
        # As if blocks had 4 KiB, whatever file system there is.
        rows.append(f"total {sum(-(-entry.size // 4096) * 4 for entry in entries)}")
    rows += [_row(entry, flags) for entry in entries]
    if "R" in flags:
        for entry in entries:
            if entry.kind == "folder" and entry.name not in (".", ".."):
                below = (*parts, entry.name)
                rows += ["", *_listing(sandbox, f"{title}/{entry.name}", below, flags, titled=True)]
    return rows


def _row(entry: Entry, flags: frozenset[str]) -> str:
    folder = entry.kind == "folder"
    mark = "/" if folder and flags & {"F", "p"} and not entry.name.endswith("/") else ""
    if "F" in flags and entry.kind == "file" and entry.mode & 0o100:
        mark = "*"
    if "l" not in flags:
        return entry.name + mark
    kind = {"folder": "d", "file": "-"}.get(entry.kind, "?")
    bits = "".join(
        letter if entry.mode >> (8 - place) & 1 else "-" for place, letter in enumerate("rwxrwxrwx")
    )
    # No owner, no time, no size of a folder: they would differ from run to run.
    size = 0 if entry.kind == "folder" else entry.size
    return f"{kind}{bits} {size:>9} {entry.name}{mark}"


def mkdir(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Make folders; -p those above them too."""
    given = options("mkdir", arguments, "pv", names={"parents": "p", "verbose": "v"})

    if given.flags == {"p", "v"}:
        raise ToolError("mkdir: -p with -v is not interpreted here.")

    def make(word: str) -> str:
        place.sandbox.make_folder(place.parts(word), parents="p" in given.flags)
        return f"mkdir: created directory '{word}'"

    words = _needed("mkdir", given.words, 1)
    return _each(place, "mkdir: cannot create directory", words, make, given.flags)


def rmdir(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Remove empty folders."""

    def remove(word: str) -> str:
        place.sandbox.remove_folder(place.parts(word))
        return ""

    words = _needed("rmdir", options("rmdir", arguments).words, 1)
    return _each(place, "rmdir: failed to remove", words, remove, frozenset())


def touch(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Make empty files; one that is there stays as it is. -c makes none."""
    given = options("touch", arguments, "c", names={"no-create": "c"})

    def make(word: str) -> str:
        parts = place.parts(word)
        if place.sandbox.entry(parts) is None and "c" not in given.flags:
            place.sandbox.write(parts, b"")
        return ""

    words = _needed("touch", given.words, 1)
    return _each(place, "touch: cannot touch", words, make, frozenset())


def rm(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Remove files, with -r folders, with -d empty ones."""
    names = {"recursive": "r", "force": "f", "verbose": "v", "dir": "d"}
    given = options("rm", arguments, "rRfvd", names=names)

    def remove(word: str) -> str:
        parts = place.parts(word)
        entry = place.sandbox.entry(parts)
        if entry is None and "f" in given.flags:
            return ""
        recursive = bool(given.flags & {"r", "R"})
        if entry is not None and entry.kind == "folder" and "d" in given.flags and not recursive:
            place.sandbox.remove_folder(parts)
        else:
            place.sandbox.remove(parts, recursive=recursive)
        return f"removed '{word}'"

    words = _needed("rm", given.words, 0 if "f" in given.flags else 1)
    return _each(place, "rm: cannot remove", words, remove, given.flags)


def _each(
    place: Place,
    failing: str,
    words: Sequence[str],
    work: Callable[[str], str],
    flags: frozenset[str],
) -> Answer:
    """Work on each path; one that fails costs that one."""
    rows, errors = [], []
    for word in words:
        try:
            done = work(word)
        except ToolError as error:
            errors.append(f"{failing} '{word}': {reason(place, word, error)}")
        else:
            rows += [done] if done and "v" in flags else []
    return Answer(_lines(rows).out, tuple(errors), 1 if errors else 0)


def cp(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Copy files, with -r folders; -n leaves what is there."""
    names = {"recursive": "r", "archive": "a", "force": "f", "no-clobber": "n", "verbose": "v"}
    given = options("cp", arguments, "rRafpvn", names=names)
    rows = []
    for source, target, told in _pairs(place, "cp", given.words):
        entry = _there(place, source)
        if "n" in given.flags and place.sandbox.entry(target) is not None:
            continue
        if source == target:
            raise ToolError(f"cp: {told} are the same file")
        if entry.kind != "folder":
            place.sandbox.write(target, place.sandbox.read(source))
        elif not given.flags & {"r", "R", "a"}:
            raise ToolError(f"cp: -r not specified; omitting directory '{source[-1]}'")
        elif "v" in given.flags:
            raise ToolError("cp: -v with a folder is not interpreted here.")
        elif target[: len(source)] == source:
            raise ToolError(f"cp: {place.sandbox.shown(source)} cannot be copied into itself.")
        else:
            _copy_folder(place.sandbox, source, target)
        rows.append(told.replace(" and ", " -> "))
    return _lines(rows if "v" in given.flags else [])


def _copy_folder(sandbox: Sandbox, source: Parts, target: Parts) -> None:
    sandbox.make_folder(target, parents=True)
    for parts, entry in list(sandbox.walk(source)):
        to = (*target, *parts[len(source) :])
        if entry.kind == "folder":
            sandbox.make_folder(to, parents=True)
        elif entry.kind == "file":
            sandbox.write(to, sandbox.read(parts))


def mv(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Move files and folders; -n leaves what is there."""
    names = {"force": "f", "verbose": "v", "no-clobber": "n"}
    given = options("mv", arguments, "fvn", names=names)
    rows = []
    for source, target, told in _pairs(place, "mv", given.words):
        _there(place, source)
        if "n" in given.flags and place.sandbox.entry(target) is not None:
            continue
        if source == target:
            raise ToolError(f"mv: {told} are the same file")
        place.sandbox.move(source, target)
        rows.append(f"renamed {told.replace(' and ', ' -> ')}")
    return _lines(rows if "v" in given.flags else [])


def _pairs(place: Place, name: str, words: Sequence[str]) -> list[tuple[Parts, Parts, str]]:
    """Return each source, its target, and both as one would name them."""
    *sources, last = _needed(name, words, 2)
    target = place.parts(last)
    entry = place.sandbox.entry(target)
    into = entry is not None and entry.kind == "folder"
    if not into and len(sources) > 1:
        raise ToolError(
            f"{name}: target '{last}': {MISSING if entry is None else 'Not a directory'}"
        )
    found = []
    for word in sources:
        source = place.parts(word)
        if into and not source:
            raise ToolError(f"{name}: the sandbox itself stays where it is.")
        # `cp -r folder/. target` copies what the folder holds.
        inside = into and not word.endswith(("/.", "..")) and word != "."
        if not into and last.endswith("/") and not _is_folder(place, source):
            raise ToolError(f"{name}: cannot create regular file '{last}': Not a directory")
        to = (*target, source[-1]) if inside else target
        shown = f"{last.rstrip('/')}/{source[-1]}" if inside else last
        found.append((source, to, f"'{word}' and '{shown}'"))
    return found


def _is_folder(place: Place, parts: Parts) -> bool:
    entry = place.sandbox.entry(parts)
    return entry is not None and entry.kind == "folder"


def _there(place: Place, parts: Parts) -> Entry:
    entry = place.sandbox.entry(parts)
    if entry is None:
        raise ToolError(f"cannot stat '{place.sandbox.shown(parts)}': {MISSING}")
    return entry


def _needed(name: str, words: Sequence[str], count: int) -> Sequence[str]:
    if len(words) < count:
        raise ToolError(f"{name}: needs {count} path{'s' if count > 1 else ''}.")
    return words


def _lines(rows: Sequence[str]) -> Answer:
    return Answer("".join(f"{row}\n" for row in rows).encode("utf-8", "surrogateescape"))
