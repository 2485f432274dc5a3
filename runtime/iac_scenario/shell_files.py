"""The safe commands that change or list files."""

from collections.abc import Sequence

from iac_scenario.errors import ToolError
from iac_scenario.places import Parts
from iac_scenario.sandbox import Entry, Sandbox
from iac_scenario.shell_commands import Answer, Place, options

__all__ = ["cd", "cp", "find", "ls", "mkdir", "mv", "pwd", "rm", "rmdir", "test", "touch"]


def pwd(place: Place, _arguments: Sequence[str], _given: bytes) -> Answer:
    """Print the working folder."""
    return _lines([place.sandbox.shown(place.cwd)])


def cd(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Change the working folder."""
    words = options("cd", arguments).words
    parts = place.parts(words[0]) if words else ()
    entry = place.sandbox.entry(parts)
    if entry is None or entry.kind != "folder":
        return Answer(errors=(f"cd: {words[0]}: no such folder",), status=1)
    place.cwd = parts
    return Answer()


def ls(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """List folders by name."""
    given = options("ls", arguments, "1aAlRdFhp")
    rows: list[str] = []
    errors: list[str] = []
    words = given.words or (".",)
    for word in words:
        parts = place.parts(word)
        entry = place.sandbox.entry(parts)
        if entry is None:
            errors.append(f"ls: {word}: no such file or folder")
        elif entry.kind != "folder" or "d" in given.flags:
            rows.append(_row(entry._replace(name=word), given.flags))
        else:
            many = len(words) > 1 or "R" in given.flags
            rows += _listing(place.sandbox, word, parts, given.flags, titled=many)
    return Answer(_lines(rows).out, tuple(errors), 1 if errors else 0)


def _listing(
    sandbox: Sandbox, title: str, parts: Parts, flags: frozenset[str], *, titled: bool
) -> list[str]:
    entries = sandbox.list(parts)
    if not flags & {"a", "A"}:
        entries = [entry for entry in entries if not entry.name.startswith(".")]
    itself = [Entry(name, "folder", 0, 0o755) for name in (".", "..")] if "a" in flags else []
    rows = [f"{title}:"] if titled else []
    rows += [_row(entry, flags) for entry in itself + entries]
    if "R" in flags:
        for entry in entries:
            if entry.kind == "folder":
                below = (*parts, entry.name)
                rows += ["", *_listing(sandbox, f"{title}/{entry.name}", below, flags, titled=True)]
    return rows


def _row(entry: Entry, flags: frozenset[str]) -> str:
    mark = "/" if entry.kind == "folder" and flags & {"F", "p"} else ""
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
    """Make folders."""
    given = options("mkdir", arguments, "pv")
    for word in _needed("mkdir", given.words, 1):
        place.sandbox.make_folder(place.parts(word), parents="p" in given.flags)
    return Answer()


def rmdir(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Remove empty folders."""
    for word in _needed("rmdir", options("rmdir", arguments).words, 1):
        place.sandbox.remove_folder(place.parts(word))
    return Answer()


def touch(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Make empty files; one that is there stays as it is."""
    for word in _needed("touch", options("touch", arguments).words, 1):
        parts = place.parts(word)
        if place.sandbox.entry(parts) is None:
            place.sandbox.write(parts, b"")
    return Answer()


def rm(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Remove files, with -r folders."""
    given = options("rm", arguments, "rRfv")
    for word in _needed("rm", given.words, 0 if "f" in given.flags else 1):
        parts = place.parts(word)
        if "f" in given.flags and place.sandbox.entry(parts) is None:
            continue
        place.sandbox.remove(parts, recursive=bool(given.flags & {"r", "R"}))
    return Answer()


def cp(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Copy files, with -r folders."""
    given = options("cp", arguments, "rRafpv")
    for source, target in _pairs(place, "cp", given.words):
        entry = _there(place, source)
        if entry.kind != "folder":
            place.sandbox.write(target, place.sandbox.read(source))
        elif not given.flags & {"r", "R", "a"}:
            raise ToolError(f"cp: {place.sandbox.shown(source)} is a folder; -r copies it.")
        elif target[: len(source)] == source:
            raise ToolError(f"cp: {place.sandbox.shown(source)} cannot be copied into itself.")
        else:
            _copy_folder(place.sandbox, source, target)
    return Answer()


def _copy_folder(sandbox: Sandbox, source: Parts, target: Parts) -> None:
    sandbox.make_folder(target, parents=True)
    for parts, entry in list(sandbox.walk(source)):
        to = (*target, *parts[len(source) :])
        if entry.kind == "folder":
            sandbox.make_folder(to, parents=True)
        elif entry.kind == "file":
            sandbox.write(to, sandbox.read(parts))


def mv(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Move files and folders."""
    given = options("mv", arguments, "fvn")
    for source, target in _pairs(place, "mv", given.words):
        _there(place, source)
        if "n" in given.flags and place.sandbox.entry(target) is not None:
            continue
        place.sandbox.move(source, target)
    return Answer()


def find(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Print what lies below folders; knows -name, -iname, -type f|d and -maxdepth."""
    from fnmatch import fnmatchcase

    words = list(arguments)
    tops: list[str] = []
    while words and not words[0].startswith("-"):
        tops.append(words.pop(0))
    tests: dict[str, str] = {}
    while words:
        test_name = words.pop(0)
        if test_name == "-print":
            continue
        if test_name not in ("-name", "-iname", "-type", "-maxdepth") or not words:
            raise ToolError(f"find: {test_name} is not interpreted here.")
        tests[test_name] = words.pop(0)
    kind = {"f": "file", "d": "folder", None: None}.get(tests.get("-type"), "other")
    rows: list[str] = []
    for top in tops or ["."]:
        parts = place.parts(top)
        entry = _there(place, parts)
        everything = [(parts, entry._replace(name=parts[-1] if parts else "."))]
        if entry.kind == "folder":
            everything += place.sandbox.walk(parts)
        for found, item in everything:
            below = found[len(parts) :]
            if (
                (kind is None or item.kind == kind)
                and len(below) <= int(tests.get("-maxdepth", "64"))
                and fnmatchcase(item.name, tests.get("-name", "*"))
                and fnmatchcase(item.name.lower(), tests.get("-iname", "*").lower())
            ):
                rows.append("/".join((top.rstrip("/"), *below)))
    return _lines(rows)


def test(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Answer by status: -e -f -d -s FILE, -z -n TEXT, = != and whole numbers; `!` before."""
    words = list(arguments)
    negated = words[:1] == ["!"]
    if negated:
        words.pop(0)
    met = _condition(place, words)
    return Answer(status=int(met == negated))


_NUMBERS = {
    "-eq": int.__eq__, "-ne": int.__ne__, "-lt": int.__lt__,
    "-le": int.__le__, "-gt": int.__gt__, "-ge": int.__ge__,
}  # fmt: skip


def _condition(place: Place, words: list[str]) -> bool:
    match words:
        case []:
            return False
        case [text]:
            return bool(text)
        case ["-z", text]:
            return not text
        case ["-n", text]:
            return bool(text)
        case ["-e" | "-f" | "-d" | "-s" as sign, path]:
            entry = place.sandbox.entry(place.parts(path))
            wanted = {"-f": "file", "-d": "folder"}.get(sign)
            return (
                entry is not None
                and (wanted is None or entry.kind == wanted)
                and (sign != "-s" or entry.size > 0)
            )
        case [left, "=" | "==", right]:
            return left == right
        case [left, "!=", right]:
            return left != right
        case [left, sign, right] if sign in _NUMBERS and _is_number(left) and _is_number(right):
            return bool(_NUMBERS[sign](int(left), int(right)))
    raise ToolError(f"test: {' '.join(words)} is not interpreted here.")


def _is_number(text: str) -> bool:
    return text.isascii() and text.lstrip("-").isdigit()


def _pairs(place: Place, name: str, words: Sequence[str]) -> list[tuple[Parts, Parts]]:
    *sources, last = _needed(name, words, 2)
    target = place.parts(last)
    entry = place.sandbox.entry(target)
    into = entry is not None and entry.kind == "folder"
    if len(sources) > 1 and not into:
        raise ToolError(f"{name}: {last} is no folder.")
    found = []
    for source in map(place.parts, sources):
        if into and not source:
            raise ToolError(f"{name}: the sandbox itself stays where it is.")
        found.append((source, (*target, source[-1]) if into else target))
    return found


def _there(place: Place, parts: Parts) -> Entry:
    entry = place.sandbox.entry(parts)
    if entry is None:
        raise ToolError(f"{place.sandbox.shown(parts)}: no such file or folder.")
    return entry


def _needed(name: str, words: Sequence[str], count: int) -> Sequence[str]:
    if len(words) < count:
        raise ToolError(f"{name}: needs {count} path{'s' if count > 1 else ''}.")
    return words


def _lines(rows: Sequence[str]) -> Answer:
    return Answer("".join(f"{row}\n" for row in rows).encode("utf-8", "surrogateescape"))
