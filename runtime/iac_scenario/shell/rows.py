"""The safe commands that choose, order and change lines and columns."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from iac_scenario.errors import ToolError
from iac_scenario.shell.commands import (
    Answer,
    Options,
    Place,
    files_of,
    options,
    printed,
    rows_of,
    unescaped,
)

__all__ = ["cut", "seq", "sort", "tac", "tr", "uniq"]

_NUMBER: Final = re.compile(rb"[ \t]*(-?\d*\.?\d*)")
_KEY: Final = re.compile(r"(\d+)(?:\.(\d+))?([bdfinr]*)(?:,(\d+)(?:\.(\d+))?([bdfinr]*))?")
_FIELD: Final = re.compile(rb"[ \t]*[^ \t]*")
_FAR: Final = 1 << 30


class _Key(NamedTuple):
    """A piece of a line to sort by: first field and column, last field and column (from 1)."""

    first: int
    column: int
    last: int
    until: int
    flags: frozenset[str]


def sort(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Sort lines by bytes; -r downwards, -n as numbers, -u once, -f without case, -k by fields."""
    names = {
        "reverse": "r", "numeric-sort": "n", "unique": "u", "ignore-case": "f", "key": "k",
        "field-separator": "t", "output": "o", "stable": "s", "check": "c",
        "ignore-leading-blanks": "b",
    }  # fmt: skip
    asked = options("sort", arguments, "rnufsbc", "kto", names)
    found, errors = files_of("sort", place, asked.words, given)
    if errors:
        return Answer(errors=tuple(errors), status=2)
    own = asked.flags & frozenset("rnfb")
    keys = [_key(text, own) for text in asked.all_values.get("k", ())]
    keys = keys or [_Key(1, 1, _FAR, 0, own)]
    separator = asked.values["t"].encode() if "t" in asked.values else None
    if separator == rb"\t":
        separator = b"\t"
    rows = ordered = rows_of(found)
    if not asked.flags & {"s", "u"}:
        ordered = sorted(ordered, reverse="r" in asked.flags)
    for key in reversed(keys):
        ordered = sorted(
            ordered, key=lambda row: _value(row, key, separator), reverse="r" in key.flags
        )
    if "c" in asked.flags:
        wrong = next((at for at, pair in enumerate(zip(rows, ordered)) if pair[0] != pair[1]), None)  # noqa: B905
        name = found[0][0]
        return (
            Answer()
            if wrong is None
            else Answer(errors=(f"sort: {name}: the lines are not in order.",), status=1)
        )
    if "u" in asked.flags:
        values = groupby(ordered, lambda row: [_value(row, key, separator) for key in keys])
        ordered = [next(group) for _, group in values]
    answer = printed(ordered)
    if "o" in asked.values:
        place.sandbox.write(place.parts(asked.values["o"]), answer.out)
        return Answer()
    return answer


def _key(text: str, own: frozenset[str]) -> _Key:
    found = _KEY.fullmatch(text)
    if found is None or found[1] == "0":
        raise ToolError(f"sort: {text!r} is no key; write -k2, -k2,2 or -k2n.")
    flags = frozenset((found[3] or "") + (found[6] or ""))
    return _Key(
        int(found[1]), int(found[2] or 1), int(found[4] or _FAR), int(found[5] or 0), flags or own
    )


def _value(row: bytes, key: _Key, separator: bytes | None) -> tuple[float, bytes]:
    piece = _piece(row, key, separator)
    if "n" in key.flags:
        found = _NUMBER.match(piece)
        text = found[1] if found else b""
        return (float(text) if text.strip(b"-.") else 0.0), b""
    return 0.0, piece.upper() if "f" in key.flags else piece


def _piece(row: bytes, key: _Key, separator: bytes | None) -> bytes:
    if (key.first, key.column, key.last) == (1, 1, _FAR):
        return row.lstrip(b" \t") if "b" in key.flags else row
    # Without a separator the blanks before a field belong to it.
    fields = row.split(separator) if separator else _FIELD.findall(row)
    chosen = fields[key.first - 1 : key.last]
    if not chosen:
        return b""
    if key.until and key.last <= len(fields):
        chosen[-1] = chosen[-1][: key.until]
    if "b" in key.flags:
        chosen[0] = chosen[0].lstrip(b" \t")
    chosen[0] = chosen[0][key.column - 1 :]
    return (separator or b"").join(chosen)


def uniq(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Print each run of equal lines once; -c its length, -d only repeated, -u only single, -i."""
    names = {"count": "c", "repeated": "d", "unique": "u", "ignore-case": "i"}
    asked = options("uniq", arguments, "cdui", names=names)
    if len(asked.words) > 1:
        raise ToolError("uniq: a second file, to write to, is not interpreted here.")
    found, errors = files_of("uniq", place, asked.words, given)
    rows = []
    fold = "i" in asked.flags
    for _, group in groupby(rows_of(found), lambda row: row.lower() if fold else row):
        run = list(group)
        if ("d" in asked.flags and len(run) == 1) or ("u" in asked.flags and len(run) > 1):
            continue
        rows.append(b"%7d %s" % (len(run), run[0]) if "c" in asked.flags else run[0])
    return printed(rows, errors)


def tac(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Print lines from the last to the first."""
    found, errors = files_of("tac", place, options("tac", arguments).words, given)
    # A last line without an end is joined to the one that comes after it.
    rows = [re.findall(rb"[^\n]*\n|[^\n]+", data)[::-1] for _, data in found]
    return Answer(b"".join(map(b"".join, rows)), tuple(errors), int(bool(errors)))


def seq(_place: Place, arguments: Sequence[str], _given: bytes) -> Answer:
    """Print whole numbers: LAST, FIRST LAST or FIRST STEP LAST; -s between them, -w as wide."""
    asked = options("seq", _guarded(arguments), "w", "s")
    numbers = [word.removeprefix("+") for word in asked.words]
    if not 1 <= len(numbers) <= 3 or not all(re.fullmatch(r"-?\d{1,9}", one) for one in numbers):
        raise ToolError("seq: takes one to three whole numbers.")
    first, step, last = 1, 1, int(numbers[-1])
    if len(numbers) > 1:
        first = int(numbers[0])
    if len(numbers) == 3:
        step = int(numbers[1])
    if not step or abs(last - first) // abs(step) > 1_000_000:
        raise ToolError("seq: makes too many numbers.")
    found = [str(number) for number in range(first, last + (1 if step > 0 else -1), step)]
    if "w" in asked.flags and found:
        width = max(map(len, found))
        found = [number.zfill(width) for number in found]
    text = asked.values.get("s", "\n").join(found)
    return Answer(f"{text}\n".encode() if found else b"")


def _guarded(arguments: Sequence[str]) -> list[str]:
    """Put `--` before the first number, so that one below zero is no option."""
    at = next((at for at, word in enumerate(arguments) if re.fullmatch(r"-?\d+", word)), None)
    if at is None or "--" in arguments or arguments[at - 1 : at] == ["-s"]:
        return list(arguments)
    return [*arguments[:at], "--", *arguments[at:]]


def cut(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Print fields (-f, between -d) or characters (-c, -b) of each line; -s only lines with -d."""
    names = {
        "delimiter": "d", "fields": "f", "characters": "c", "bytes": "b", "only-delimited": "s",
    }  # fmt: skip
    asked = options("cut", arguments, "s", "dfcb", names)
    chosen = [letter for letter in "fcb" if letter in asked.values]
    if len(chosen) != 1:
        raise ToolError("cut: give one of -f, -c and -b.")
    wanted = _ranges(asked.values[chosen[0]])
    found, errors = files_of("cut", place, asked.words, given)
    rows = []
    for row in rows_of(found):
        if chosen[0] == "f":
            mark = _mark(asked)
            if mark not in row:
                rows += [] if "s" in asked.flags else [row]
                continue
            fields = row.split(mark)
            rows.append(mark.join(_taken(fields, wanted)))
        else:
            rows.append(b"".join(_taken([row[at : at + 1] for at in range(len(row))], wanted)))
    return printed(rows, errors)


def _mark(asked: Options) -> bytes:
    mark = asked.values.get("d", "\t").encode()
    if len(mark) != 1:
        raise ToolError("cut: the delimiter must be one character.")
    return mark


def _ranges(text: str) -> list[tuple[int, int]]:
    found = []
    for piece in text.split(","):
        first, dash, last = piece.partition("-")
        if not (first or last) or not (first + last).isdigit() or first == "0":
            raise ToolError(f"cut: {text!r} is no list of numbers.")
        low = int(first or 1)
        found.append((low, int(last) if last else (_FAR if dash else low)))
    return found


def _taken(pieces: Sequence[bytes], ranges: Iterable[tuple[int, int]]) -> list[bytes]:
    wanted = list(ranges)
    return [
        piece
        for number, piece in enumerate(pieces, 1)
        if any(low <= number <= high for low, high in wanted)
    ]


_SETS: Final = {
    "alpha": b"A-Za-z", "digit": b"0-9", "alnum": b"0-9A-Za-z", "upper": b"A-Z", "lower": b"a-z",
    "space": b"\t\n\v\f\r ", "blank": b"\t ", "punct": b"!-/:-@[-`{-~", "xdigit": b"0-9A-Fa-f",
}  # fmt: skip


def tr(_place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Exchange bytes of one set for those of another; -d without them, -s runs once, -c others."""
    names = {"delete": "d", "squeeze-repeats": "s", "complement": "c"}
    asked = options("tr", arguments, "dscC", names=names)
    flags = asked.flags
    needed = 1 if ("d" in flags) != ("s" in flags) else 2
    sets = [_set(word) for word in asked.words]
    if len(sets) != needed and not (needed == 1 and "s" in flags and len(sets) == 2):
        raise ToolError(f"tr: needs {needed} set{'s' if needed > 1 else ''} of characters.")
    first = sets[0]
    if flags & {"c", "C"}:
        first = bytes(code for code in range(256) if code not in first)
    if "d" in flags:
        given = given.translate(None, first)
    elif len(sets) == 2:
        if not sets[1]:
            raise ToolError("tr: the second set is empty.")
        second = sets[1] + sets[1][-1:] * max(len(first) - len(sets[1]), 0)
        # Of a character given twice the last counts.
        given = given.translate(bytes.maketrans(first, second[: len(first)]))
    if "s" in flags:
        once = sets[-1] if len(sets) == 2 else first
        given = b"".join(
            bytes([code]) if code in once else bytes(run)
            for code, run in groupby(given)
        )  # fmt: skip
    return Answer(given)


def _set(text: str) -> bytes:
    data = re.sub(
        r"\[:(\w+):\]", lambda hit: _named_set(hit[1]).decode("latin-1"), unescaped(text)
    ).encode("utf-8", "surrogateescape")
    found = bytearray()
    at = 0
    while at < len(data):
        if data[at + 1 : at + 2] == b"-" and at + 2 < len(data):
            if data[at] > data[at + 2]:
                raise ToolError(f"tr: {text!r} holds a range that runs backwards.")
            found += bytes(range(data[at], data[at + 2] + 1))
            at += 3
        else:
            found.append(data[at])
            at += 1
    return bytes(found)


def _named_set(name: str) -> bytes:
    if name not in _SETS:
        raise ToolError(f"tr: [:{name}:] is no class of characters.")
    return _SETS[name]
