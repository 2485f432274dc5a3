"""The safe commands that print texts and files."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Final

from iac_scenario.errors import ToolError
from iac_scenario.shell.commands import (
    ZERO_ESCAPE,
    Answer,
    Place,
    files_of,
    options,
    unescaped,
    whole_number,
)

__all__ = [
    "basename", "cat", "cmp", "date", "diff", "dirname", "echo", "head", "printf", "tail", "tee",
    "wc",
]  # fmt: skip

_FORM: Final = re.compile(r"%(?:%|([-+ 0#]*)(\d{0,4})(?:\.(\d{0,4}))?([sbcqdiuoxXeEfFgG]))")
_NUMBER: Final = re.compile(r"[ \t]*([-+]?(?:0[xX][0-9A-Fa-f]+|\d+))")


def echo(_place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Print words; -n without a line end, -e with escapes."""
    words = list(arguments)
    flags = ""
    while words and re.fullmatch(r"-[neE]+", words[0]):
        flags += words.pop(0)[1:]
    text = " ".join(words)
    # Of -e and -E the last counts.
    if flags.rfind("e") > flags.rfind("E"):
        text, cut, _ = text.partition("\\c")
        return _out(unescaped(text, ZERO_ESCAPE) + ("" if cut or "n" in flags else "\n"))
    return _out(text + ("" if "n" in flags else "\n"))


def printf(_place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Print a format with texts and numbers in it, again while words are left."""
    rest = list(arguments[1:] if arguments[:1] == ["--"] else arguments)
    if not rest:
        raise ToolError("printf: needs a format.")
    form, *words = rest
    stray = re.sub(r"%%", "", _FORM.sub("", form))
    if "%" in stray:
        raise ToolError(f"printf: {form!r} has a form that is not interpreted here.")
    takes = any(hit[0] != "%%" for hit in _FORM.finditer(form))
    out, errors = "", list[str]()
    while True:
        out += _printed(form, words, errors)
        if not words or not takes:
            return Answer(out.encode("utf-8", "surrogateescape"), tuple(errors), int(bool(errors)))


def _printed(form: str, words: list[str], errors: list[str]) -> str:
    """Fill a format once, taking words from the front."""
    pieces, at = [], 0
    for hit in _FORM.finditer(form):
        pieces.append(unescaped(form[at : hit.start()]))
        at = hit.end()
        if hit[0] == "%%":
            pieces.append("%")
        else:
            pieces.append(_filled(hit, words.pop(0) if words else None, errors))
    return "".join((*pieces, unescaped(form[at:])))


def _filled(hit: re.Match[str], word: str | None, errors: list[str]) -> str:
    flags, width, digits, kind = hit[1], hit[2], hit[3], hit[4]
    if kind in "sbcq":
        text = word or ""
        if kind == "b":
            text = unescaped(text, ZERO_ESCAPE)
        elif kind == "c":
            text = text[:1]
        elif kind == "q":
            text = re.sub(r"([^\w@%+=:,./-])", r"\\\1", text) or "''"
        text = text if digits is None else text[: int(digits or 0)]
        return text.ljust(int(width or 0)) if "-" in flags else text.rjust(int(width or 0))
    number = _number(word or "0", errors)
    limit = "" if digits is None else f".{digits}"
    if kind in "eEfFgG":
        return f"%{flags}{width}{limit}{kind}" % number
    return f"%{flags}{width}{limit}{'d' if kind in 'iu' else kind}" % int(number)


def _number(word: str, errors: list[str]) -> float:
    if word[:1] in ("'", '"') and len(word) > 1:
        return ord(word[1])
    found = _NUMBER.fullmatch(word)
    try:
        if found is None:
            return float(word)
        text = found[1]
        octal = re.fullmatch(r"[-+]?0\d+", text)
        return int(text, 8 if octal else 16 if "x" in text.lower() else 10)
    except ValueError:
        errors.append(f"printf: {word}: invalid number")
        return int(found[1]) if (found := re.match(r"([-+]?\d+)", word)) else 0


def cat(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Print files one after another; -n numbers lines, -b those with text, -A -E -T -s."""
    asked = options("cat", arguments, "nbAETsu", names={"number": "n", "show-ends": "E"})
    flags = asked.flags
    found, errors = files_of("cat", place, asked.words, given)
    data = b"".join(content for _, content in found)
    if not flags & set("nbAETs"):
        return _done(data, errors)
    shown, number, empty = [], 0, False
    for row in _lines(data):
        text = row.rstrip(b"\n")
        if "s" in flags and not text and empty:
            continue
        empty = not text
        end = row[len(text) :]
        if "A" in flags or "T" in flags:
            text = text.replace(b"\t", b"^I")
        if end and flags & {"A", "E"}:
            end = b"$\n"
        if ("n" in flags and "b" not in flags) or ("b" in flags and text):
            number += 1
            text = b"%6d\t%s" % (number, text)
        shown.append(text + end)
    return _done(b"".join(shown), errors)


def head(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Print the first lines (10), with -n -N all but the last, with -c bytes; -q no titles."""
    asked = options("head", arguments, "qv", "nc", {"lines": "n", "bytes": "c", "quiet": "q"})
    letter = "c" if "c" in asked.values else "n"
    text = asked.values.get(letter, "10")
    count = whole_number("head", text.removeprefix("-").removeprefix("+"))
    count = -count if text.startswith("-") else count

    def chosen(data: bytes) -> bytes:
        pieces = data if letter == "c" else _lines(data)
        if text.startswith("-") and not count:
            return data
        return data[:count] if letter == "c" else b"".join(pieces[:count])  # type: ignore[arg-type]

    return _parts("head", place, asked.words, given, chosen, quiet="q" in asked.flags)


def tail(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Print the last lines (10), with -n +N those from the Nth on, with -c bytes; -q no titles."""
    words = [*arguments]
    if words and re.fullmatch(r"\+\d+", words[0]):
        words[0] = f"-n{words[0]}"
    asked = options("tail", words, "qv", "nc", {"lines": "n", "bytes": "c", "quiet": "q"})
    letter = "c" if "c" in asked.values else "n"
    text = asked.values.get(letter, "10")
    count = whole_number("tail", text.removeprefix("+").removeprefix("-"))

    def start(length: int) -> int:
        return max(count - 1, 0) if text.startswith("+") else max(length - count, 0)

    def chosen(data: bytes) -> bytes:
        if letter == "c":
            return data[start(len(data)) :]
        rows = _lines(data)
        return b"".join(rows[start(len(rows)) :])

    return _parts("tail", place, asked.words, given, chosen, quiet="q" in asked.flags)


def _parts(
    name: str,
    place: Place,
    words: Sequence[str],
    given: bytes,
    chosen: Callable[[bytes], bytes],
    *,
    quiet: bool,
) -> Answer:
    """Print a part of each file, under its name where there are several."""
    found, errors = files_of(name, place, words, given)
    titled = len(words) > 1 and not quiet
    pieces = []
    for file, data in found:
        shown = "standard input" if file == "-" else file
        title = f"==> {shown} <==\n".encode("utf-8", "surrogateescape") if titled else b""
        pieces.append(title + chosen(data))
    return _done((b"\n" if titled else b"").join(pieces), errors)


def wc(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Count lines, words and bytes; -m characters, -L the longest line."""
    names = {"lines": "l", "words": "w", "bytes": "c", "chars": "m", "max-line-length": "L"}
    asked = options("wc", arguments, "lwcmL", names=names)
    found, errors = files_of("wc", place, asked.words, given)
    shown = [letter for letter in "lwmcL" if letter in asked.flags] or ["l", "w", "c"]
    rows = []
    totals: Counter[str] = Counter()
    for name, data in found:
        text = data.decode("utf-8", "replace")
        counts = {
            "l": data.count(b"\n"),
            "w": len(data.split()),
            "c": len(data),
            "m": len(text),
            "L": max(map(len, text.split("\n"))),
        }
        totals.update(counts)
        totals["L"] = max(totals["L"] - counts["L"], counts["L"])
        rows.append((counts, name))
    if len(asked.words) > 1:
        rows.append((dict(totals), "total"))
    # As wide as the sum of the sizes; what comes from a pipe has none.
    width = 7 if any(name == "-" for name, _ in found) else len(str(totals["c"]))
    if len(rows) == 1 and len(shown) == 1:
        width = 1
    text = "".join(
        " ".join(
            [str(counts.get(letter, 0)).rjust(width) for letter in shown]
            + ([name] if asked.words else [])
        )
        + "\n"
        for counts, name in rows
    )
    return _done(text.encode("utf-8", "surrogateescape"), errors)


def cmp(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Say where two files begin to differ; -s nothing."""
    asked = options("cmp", arguments, "s", names={"silent": "s", "quiet": "s"})
    names, (left, right) = _two("cmp", place, asked.words, given)
    if left == right:
        return Answer()
    shorter = min(len(left), len(right))
    at = next((at for at in range(shorter) if left[at] != right[at]), shorter)
    line = left.count(b"\n", 0, at) + 1
    if at == shorter:
        short = names[0] if len(left) < len(right) else names[1]
        said = (f"cmp: EOF on {short} after byte {at}, line {line - 1}",)
        return Answer(errors=() if "s" in asked.flags else said, status=1)
    told = f"{names[0]} {names[1]} differ: byte {at + 1}, line {line}\n"
    return Answer(b"" if "s" in asked.flags else told.encode(), status=1)


def diff(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Say how the lines of two files differ; -q only whether."""
    asked = options("diff", arguments, "q", names={"brief": "q"})
    names, (left, right) = _two("diff", place, asked.words, given)
    if left == right:
        return Answer()
    if "q" in asked.flags:
        return Answer(f"Files {names[0]} and {names[1]} differ\n".encode(), status=1)
    old, new = (_lines(data) for data in (left, right))
    rows: list[bytes] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        letter = {"replace": "c", "delete": "d", "insert": "a"}[kind]
        rows.append(f"{_span(a, b)}{letter}{_span(c, d)}\n".encode())
        rows += [b"< " + _whole(row) for row in old[a:b]]
        rows += [b"---\n"] if kind == "replace" else []
        rows += [b"> " + _whole(row) for row in new[c:d]]
    return Answer(b"".join(rows), status=1)


def _span(first: int, end: int) -> str:
    if end - first <= 1:
        return str(first + 1 if end > first else first)
    return f"{first + 1},{end}"


def _whole(row: bytes) -> bytes:
    return row if row.endswith(b"\n") else row + b"\n\\ No newline at end of file\n"


def _two(
    name: str, place: Place, words: Sequence[str], given: bytes
) -> tuple[Sequence[str], tuple[bytes, bytes]]:
    if len(words) != 2:
        raise ToolError(f"{name}: needs two files.")
    found, errors = files_of(name, place, words, given)
    if errors:
        raise ToolError(errors[0])
    return words, (found[0][1], found[1][1])


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
    """Print the last name of a path, without an ending if one is given; -a -s for several."""
    asked = options("basename", arguments, "a", "s", {"multiple": "a", "suffix": "s"})
    words, ending = list(asked.words), asked.values.get("s", "")
    if not words:
        raise ToolError("basename: needs a path.")
    if "a" not in asked.flags and "s" not in asked.values:
        if len(words) > 2:
            raise ToolError(f"basename: {words[2]} is one path too many.")
        words, ending = words[:1], (words[1:] or [""])[0]
    names = [word.rstrip("/").rpartition("/")[2] or "/" * bool(word) for word in words]
    return _out("".join(f"{_without(name, ending)}\n" for name in names))


def _without(name: str, ending: str) -> str:
    return name if name == ending else name.removesuffix(ending)


def dirname(_place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Print paths without their last names."""
    if not arguments:
        raise ToolError("dirname: needs a path.")
    return _out("".join(f"{_above(word)}\n" for word in arguments))


def _above(path: str) -> str:
    top, slash, _ = path.rstrip("/").rpartition("/")
    if path.startswith("/") and not top.strip("/"):
        return "/"
    return top.rstrip("/") if slash else "."


def _lines(data: bytes) -> list[bytes]:
    """Return lines with their ends; unlike splitlines, only a line feed is one."""
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def _out(text: str) -> Answer:
    return Answer(text.encode("utf-8", "surrogateescape"))


def _done(data: bytes, errors: Sequence[str]) -> Answer:
    return Answer(data, tuple(errors), 1 if errors else 0)
