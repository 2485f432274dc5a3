"""The safe commands that print or filter text."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby

from iac_scenario.errors import ToolError
from iac_scenario.shell_commands import Answer, Place, files_of, options, whole_number

__all__ = [
    "basename", "cat", "date", "dirname", "echo", "grep", "head", "printf", "sort", "tail", "tee",
    "uniq", "wc",
]  # fmt: skip

_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "r": "\r", "0": "\0"}


def echo(_place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Print words; -n without a line end, -e with escapes."""
    words = list(arguments)
    end, escapes = "\n", False
    while words and words[0] in ("-n", "-e", "-ne", "-en"):
        flag = words.pop(0)
        end = "" if "n" in flag else end
        escapes = escapes or "e" in flag
    text = " ".join(words)
    return _out((_unescaped(text) if escapes else text) + end)


def printf(_place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Print a format with %s, %d and %%, again while words are left."""
    if not arguments:
        raise ToolError("printf: needs a format.")
    form, words = _unescaped(arguments[0]), list(arguments[1:])
    holes = len(re.findall(r"%[sd]", form.replace("%%", "")))
    if re.search(r"%[^sd%]", form):
        raise ToolError(f"printf: {arguments[0]!r} has a form that is not interpreted here.")
    text = ""
    while True:
        taken, words = words[:holes], words[holes:]
        text += _filled(form, [*taken, *[""] * (holes - len(taken))])
        if not words or not holes:
            return _out(text)


def _filled(form: str, pieces: list[str]) -> str:
    rest = iter(pieces)
    return re.sub(r"%[sd%]", lambda hit: "%" if hit[0] == "%%" else next(rest), form)


def cat(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Print files one after another; -n numbers the lines."""
    asked = options("cat", arguments, "n")
    found, errors = files_of(place, asked.words, given)
    data = b"".join(content for _, content in found)
    if "n" in asked.flags:
        rows = data.splitlines(keepends=True)
        data = b"".join(b"%6d\t%s" % (number, row) for number, row in enumerate(rows, 1))
    return _done(data, errors)


def head(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Print the first lines (10)."""
    asked = options("head", arguments, "", "n")
    count = whole_number("head", asked.values.get("n", "10"))
    found, errors = files_of(place, asked.words, given)
    return _done(_titled(found, lambda rows: rows[:count]), errors)


def tail(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Print the last lines (10), or with -n +N those from the Nth on."""
    asked = options("tail", arguments, "", "n")
    text = asked.values.get("n", "10")
    count = whole_number("tail", text.removeprefix("+"))
    found, errors = files_of(place, asked.words, given)

    def chosen(rows: list[bytes]) -> list[bytes]:
        if text.startswith("+"):
            return rows[max(count - 1, 0) :]
        return rows[-count:] if count else []

    return _done(_titled(found, chosen), errors)


def wc(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Count lines, words and bytes."""
    asked = options("wc", arguments, "lwcm")
    found, errors = files_of(place, asked.words, given)
    shown = [letter for letter in "lwcm" if letter in asked.flags] or ["l", "w", "c"]
    rows = []
    totals: Counter[str] = Counter()
    for name, data in found:
        counts = {
            "l": data.count(b"\n"),
            "w": len(data.split()),
            "c": len(data),
            "m": len(data.decode("utf-8", "replace")),
        }
        totals.update(counts)
        rows.append((counts, name))
    if len(found) > 1:
        rows.append((dict(totals), "total"))
    text = "".join(
        " ".join([str(counts[letter]) for letter in shown] + ([name] if asked.words else [])) + "\n"
        for counts, name in rows
    )
    return _done(text.encode(), errors)


def grep(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Print lines that match; -i -v -n -c -l -q -o -w -F -E -r -h."""
    asked = options("grep", arguments, "ivnclqowFErRhHs", "e")
    words = list(asked.words)
    if "e" not in asked.values and not words:
        raise ToolError("grep: needs a pattern.")
    text = asked.values["e"] if "e" in asked.values else words.pop(0)
    flags = asked.flags
    pattern = re.escape(text) if "F" in flags else text
    if "w" in flags:
        pattern = rf"\b(?:{pattern})\b"
    try:
        search = re.compile(pattern, re.IGNORECASE if "i" in flags else 0)
    except re.error as error:
        raise ToolError(f"grep: {text!r} is no regular expression: {error}") from None
    if flags & {"r", "R"}:
        words = _below(place, words or ["."])
    found, errors = files_of(place, words, given) if words or not flags & {"r", "R"} else ([], [])
    named = (len(words) > 1 or flags & {"r", "R", "H"}) and "h" not in flags
    rows: list[str] = []
    matched = False
    for name, data in found:
        lines = data.decode("utf-8", "surrogateescape").splitlines()
        hits = [
            (number, line)
            for number, line in enumerate(lines, 1)
            if (search.search(line) is not None) != ("v" in flags)
        ]
        prefix = f"{name}:" if named else ""
        if "l" in flags:
            rows += [name] if hits else []
        elif "c" in flags:
            rows.append(f"{prefix}{len(hits)}")
        else:
            for number, line in hits:
                place_text = f"{number}:" if "n" in flags else ""
                parts = [hit[0] for hit in search.finditer(line)] if "o" in flags else [line]
                rows += [f"{prefix}{place_text}{part}" for part in parts]
        matched = matched or bool(hits)
    status = 2 if errors else 0 if matched else 1
    out = "" if "q" in flags else "".join(f"{row}\n" for row in rows)
    return Answer(out.encode("utf-8", "surrogateescape"), tuple(errors), status)


def sort(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Sort lines by bytes; -r downwards, -n as numbers, -u each once, -f without case."""
    asked = options("sort", arguments, "rnuf")
    found, errors = files_of(place, asked.words, given)
    rows = [row for _, data in found for row in data.splitlines()]

    def key(row: bytes) -> tuple[float, bytes]:
        number = re.match(rb"\s*(-?\d+(?:\.\d+)?)", row) if "n" in asked.flags else None
        return float(number[1]) if number else 0.0, row.lower() if "f" in asked.flags else row

    rows = sorted(set(rows) if "u" in asked.flags else rows, key=key, reverse="r" in asked.flags)
    return _done(b"".join(row + b"\n" for row in rows), errors)


def uniq(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Print each run of equal lines once; -c with its length, -d only repeated, -u only single."""
    asked = options("uniq", arguments, "cdu")
    found, errors = files_of(place, asked.words, given)
    rows = []
    for row, group in groupby(row for _, data in found for row in data.splitlines()):
        count = len(list(group))
        if ("d" in asked.flags and count == 1) or ("u" in asked.flags and count > 1):
            continue
        rows.append(b"%7d %s\n" % (count, row) if "c" in asked.flags else row + b"\n")
    return _done(b"".join(rows), errors)


def tee(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Write the input to files and on; -a appends."""
    asked = options("tee", arguments, "a")
    for word in asked.words:
        parts = place.parts(word)
        append = "a" in asked.flags and place.sandbox.entry(parts) is not None
        place.sandbox.write(parts, (place.sandbox.read(parts) if append else b"") + given)
    return Answer(given)


def date(place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Print the session's clock; +FORMAT as strftime."""
    words = [word for word in arguments if word != "-u"]
    form = words[0][1:] if words and words[0].startswith("+") else "%a %b %d %H:%M:%S %Z %Y"
    if words and not words[0].startswith("+"):
        raise ToolError(f"date: {words[0]} is not interpreted here.")
    return _out(place.now().strftime(form) + "\n")


def basename(_place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Print the last name of a path, without an ending if one is given."""
    if not arguments:
        raise ToolError("basename: needs a path.")
    name = arguments[0].rstrip("/").rpartition("/")[2]
    return _out(name.removesuffix(arguments[1] if len(arguments) > 1 else "") + "\n")


def dirname(_place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Print a path without its last name."""
    if not arguments:
        raise ToolError("dirname: needs a path.")
    return _out((arguments[0].rstrip("/").rpartition("/")[0] or ".") + "\n")


def _below(place: Place, words: Sequence[str]) -> list[str]:
    found = []
    for word in words:
        parts = place.parts(word)
        entry = place.sandbox.entry(parts)
        if entry is None or entry.kind != "folder":
            found.append(word)
            continue
        found += [
            "/".join((word.rstrip("/"), *below[len(parts) :]))
            for below, item in place.sandbox.walk(parts)
            if item.kind == "file"
        ]
    return found


def _titled(found: list[tuple[str, bytes]], chosen: Callable[[list[bytes]], list[bytes]]) -> bytes:
    pieces = []
    for name, data in found:
        rows = b"".join(chosen(data.splitlines(keepends=True)))
        title = f"==> {name} <==\n".encode() if len(found) > 1 else b""
        pieces.append(title + rows)
    return (b"\n" if len(found) > 1 else b"").join(pieces)


def _unescaped(text: str) -> str:
    return re.sub(r"\\([nt\\r0])", lambda hit: _ESCAPES[hit[1]], text)


def _out(text: str) -> Answer:
    return Answer(text.encode("utf-8", "surrogateescape"))


def _done(data: bytes, errors: Sequence[str]) -> Answer:
    return Answer(data, tuple(errors), 1 if errors else 0)
