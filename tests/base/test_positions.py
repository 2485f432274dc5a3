"""Where keys stand in TOML and JSON, whatever the spelling."""

import json
import time
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iac_base.positions import PositionedDocument, TextError, read_json, read_toml

SPELLINGS = '''\
a.b.c = 1
# x = 1

d = """
q = 1
"""
[[t]]
u = [
  1, # ]
  "]",
  { v = 2,"w.x" = [[], [3]] } ]
[[t]]
"\\u00e9\\"" = {w = 3, y.z = 1979-05-27 07:32:00}
[[t.s]]
e = \'\'\'it''s'\'\'\'\'
f = """"two"" \\
  [no]""\\""""""
[t.s.g]
h = ''
'i#' = ""   # [j]
[k . "l m"]
"" = +inf
'''


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_is_found_whatever_the_spelling(end: str) -> None:
    document = read_toml(SPELLINGS.replace("\n", end))
    places: list[tuple[tuple[str | int, ...], int]] = [
        (("a",), 1), (("a", "b", "c"), 1), (("d",), 4), (("t",), 7), (("t", 0), 7),
        (("t", 0, "u"), 8), (("t", 0, "u", 0), 9), (("t", 0, "u", 1), 10),
        (("t", 0, "u", 2, "w.x", 1, 0), 11), (("t", 1), 12), (("t", 1, 'é"', "y", "z"), 13),
        (("t", 1, "s", 0), 14), (("t", 1, "s", 0, "e"), 15), (("t", 1, "s", 0, "f"), 16),
        (("t", 1, "s", 0, "g"), 18), (("t", 1, "s", 0, "g", "i#"), 20), (("k",), 21),
        (("k", "l m", ""), 22),
    ]  # fmt: skip
    assert {path: document.line_of(path) for path, _ in places} == dict(places)


def test_what_is_not_there_stands_where_the_nearest_parent_does() -> None:
    document = read_toml("\n[a]\nb = [1]\n")
    assert document.line_of(("a", "c", "d")) == 2
    assert document.line_of(("a", "b", 7)) == 3
    assert document.line_of(("q",)) == 0
    assert document.line_of(()) == 0


def test_of_a_key_of_json_given_twice_the_last_one_counts() -> None:
    document = read_json('{"a": {"x": 1},\n"a": {"y": 2}, "\\ud83d\\ude00": [\n[], {}]}')
    assert document.value["a"] == {"y": 2}
    assert document.line_of(("a", "y")) == 2
    assert document.line_of(("a", "x")) == 2
    assert document.line_of(("😀", 1)) == 3


@pytest.mark.parametrize(("read", "text", "place", "reason"), [
    (read_toml, "a = 1\nb = nope", (2, 5), "Invalid value"),
    (read_toml, "a = 1\n\nb = ", (3, 4), "Invalid value"),
    (read_toml, "x = 1\nx = 2\n", (2, 6), "Cannot overwrite a value"),
    (read_toml, f"x = {'[' * 9000}", (0, 0), "it is nested too deeply"),
    (read_json, '{"a":\n  nope}', (2, 3), "Expecting value"),
    (read_json, "", (1, 1), "Expecting value"),
    (read_json, f"[{'9' * 5000}]", (0, 0), "Exceeds the limit"),
])  # fmt: skip
def test_what_is_wrong_has_a_place(
    read: Callable[[str], PositionedDocument], text: str, place: tuple[int, int], reason: str
) -> None:
    with pytest.raises(TextError) as caught:
        read(text)
    assert (caught.value.line, caught.value.column) == place
    assert caught.value.reason.startswith(reason)
    assert "(at " not in caught.value.reason


@pytest.mark.sweep
@pytest.mark.parametrize(("read", "text"), [
    (read_toml, "a = 1\n" + "".join(f"[[t]]\nk{n} = {{ v = [1] }}\n" for n in range(4000))),
    (read_toml, 'a = """' + "x" * 999_000 + '"""\n'),
    (read_toml, "a = '''" + "''x" * 330_000 + "'''\n"),
    (read_toml, "a = 1 #" + "=[" * 490_000 + "\n" * 9_000),
    (read_json, json.dumps({str(n): [n] for n in range(60_000)}, indent=1)),
    (read_json, '"' + '\\\\\\"' * 240_000 + '"'),
], ids=["tables", "text", "quotes", "comment", "keys", "escapes"])  # fmt: skip
@pytest.mark.uncounted
def test_a_long_text_is_read_in_linear_time(
    read: Callable[[str], PositionedDocument], text: str
) -> None:
    begun = time.process_time()
    read(text)
    assert time.process_time() - begun < 5


KEYS = st.text(max_size=4) | st.sampled_from(
    ["a", "b-1", "é", "x.y", "#", "=", "[[", 'q"', "q'", "\\", "\n", "", "0", "😀", "\u2028"]
)
LEAVES = (
    st.integers(-9, 99)
    | st.booleans()
    | st.sampled_from([1.5, "1979-05-27", "]]", '"""', "'''", '""', "''", "# no", "a = 1\n[b]\n"])
    | st.text(max_size=6)
)
INLINE = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
TABLES = st.recursive(
    st.dictionaries(KEYS, INLINE, max_size=4),
    lambda table: st.dictionaries(
        KEYS, INLINE | table | st.lists(table, min_size=1, max_size=3), max_size=4
    ),
    max_leaves=6,
)


class Writer:
    """Writes a value in spellings that were drawn, and notes the line of each key."""

    def __init__(self, pick: Callable[[int], int]) -> None:
        self.text = ""
        self.lines: dict[tuple[str | int, ...], int] = {}
        self._pick = pick

    def note(self, path: tuple[str | int, ...]) -> None:
        for end in range(1, len(path) + 1):
            self.lines.setdefault(path[:end], self.text.count("\n") + 1)

    def gap(self, *, within: bool) -> None:
        choices = ["", " ", "\t", "\n", " # [x] = {\n", "\n\n"] if within else ["", " ", "\t"]
        self.text += choices[self._pick(len(choices))]

    def quoted(self, text: str, *, key: bool) -> str:
        escaped = json.dumps(text).replace("\x7f", "\\u007f")
        if any(ord(one) > 0xFFFF for one in text):
            escaped = '"' + "".join(f"\\U{ord(one):08x}" for one in text) + '"'
        ways = [escaped]
        plain = not any(ord(one) < 32 or one == "\x7f" for one in text)
        if plain and "'" not in text:
            ways.append(f"'{text}'")
        if key and text and all(one.isascii() and (one.isalnum() or one in "-_") for one in text):
            ways.append(text)
        lines = not any((ord(one) < 32 and one != "\n") or one == "\x7f" for one in text)
        if not key and lines and "\\" not in text and '"""' not in text:
            # A quote may stand before the fence; a third one would end the text.
            ways.append('"""\n' + text + '"""')
        if not key and lines and "'''" not in text:
            ways.append("'''\n" + text + "'''")
        return ways[self._pick(len(ways))]

    def value(self, value: Any, path: tuple[str | int, ...], *, lines: bool = True) -> None:
        if isinstance(value, dict):
            self.text += "{"
            for number, (key, part) in enumerate(value.items()):
                self.text += "," if number else ""
                self.gap(within=False)
                self.pair(key, part, path)
                self.gap(within=False)
            self.text += "}"
        elif isinstance(value, list):
            self.text += "["
            for number, part in enumerate(value):
                self.gap(within=True)
                self.note((*path, number))
                self.value(part, (*path, number))
                self.gap(within=True)
                self.text += ","
            self.gap(within=True)
            self.text += "]"
        elif isinstance(value, str):
            self.text += self.quoted(value, key=False)
        else:
            self.text += json.dumps(value)

    def pair(self, key: str, value: Any, path: tuple[str | int, ...]) -> None:
        self.note((*path, key))
        self.text += self.quoted(key, key=True)
        path = (*path, key)
        while isinstance(value, dict) and len(value) == 1 and self._pick(2):
            ((key, value),) = value.items()
            path = (*path, key)
            self.note(path)
            self.gap(within=False)
            self.text += "."
            self.gap(within=False)
            self.text += self.quoted(key, key=True)
        self.gap(within=False)
        self.text += "="
        self.gap(within=False)
        self.value(value, path)

    def table(
        self, table: dict[str, Any], path: tuple[str | int, ...], names: tuple[str, ...]
    ) -> None:
        below = [key for key in table if self._has_header(table[key])]
        for key, value in table.items():
            if key not in below:
                self.gap(within=True)
                self.pair(key, value, path)
                self.text += "\n"
        for key in below:
            value, name = table[key], (*names, key)
            if isinstance(value, dict):
                self.header(name, (*path, key), "[", "]")
                self.table(value, (*path, key), name)
                continue
            for number, part in enumerate(value):
                self.header(name, (*path, key, number), "[[", "]]")
                self.table(part, (*path, key, number), name)

    def _has_header(self, value: Any) -> bool:
        tables = [value] if isinstance(value, dict) else value
        if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
            return False
        return bool(tables) and bool(self._pick(2))

    def header(
        self, names: tuple[str, ...], path: tuple[str | int, ...], opening: str, closing: str
    ) -> None:
        self.gap(within=True)
        self.note(path)
        dot = [".", " . ", "\t."][self._pick(3)]
        self.text += opening + dot.join(self.quoted(name, key=True) for name in names) + closing
        self.text += [" # [[no]]\n", "\n"][self._pick(2)]


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths of all that a value holds."""
    parts = value.items() if isinstance(value, dict) else ()
    for key, part in enumerate(value) if isinstance(value, list) else parts:
        yield (*path, key)
        yield from paths(part, (*path, key))


@given(TABLES, st.data(), st.sampled_from(["\n", "\r\n"]))
def test_each_key_stands_on_the_line_that_is_told(
    table: dict[str, Any], data: st.DataObject, end: str
) -> None:
    writer = Writer(lambda count: data.draw(st.integers(0, count - 1)))
    writer.table(table, (), ())
    text = writer.text.replace("\n", end)
    document = read_toml(text)
    assert document.value == tomllib.loads(text) == table
    assert {path: document.line_of(path) for path in paths(table)} == writer.lines
    assert set(paths(document.value)) == set(marked(document.root))


def marked(mark: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths that a document knows lines of."""
    for key, part in mark.parts.items():
        yield (*path, key)
        yield from marked(part, (*path, key))


@given(INLINE, st.sampled_from([None, 0, 1, "\t"]), st.booleans())
def test_the_keys_of_json_are_all_found(value: Any, indent: Any, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    document = read_json(text)
    assert document.value == value
    assert set(paths(value)) == set(marked(document.root))
    lines = text.split("\n")
    for path in paths(value):
        line = lines[document.line_of(path) - 1]
        if isinstance(path[-1], str):
            assert json.dumps(path[-1], ensure_ascii=ascii_only) in line
