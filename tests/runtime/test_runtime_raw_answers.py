"""Raw answers as a Mac gives them: by their bytes, in the engine that runs the harness."""

import json
import struct
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from iac_runtime.execution.executor import Executor, load_harness
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator import Simulator

SHIPPED = Path(__file__).parents[2] / "generated" / "iac_tools"
WORDS = {"font": "font face", "mssg": "message"}
HELPERS = """
  function data(text) { return $.NSData.alloc.initWithBase64EncodedStringOptions(text, 0); }
  function bytes(code, text) {
    return $.NSAppleEventDescriptor.descriptorWithDescriptorTypeData(four(code), data(text));
  }
  function spoken(value) { return $.NSAppleEventDescriptor.descriptorWithString(value); }
"""


def number_of(code: str) -> int:
    return int.from_bytes(code.encode("mac_roman"))


def answer(made: str) -> Any:
    """Return what the harness answers for the descriptor that an expression makes."""
    raw = {
        "words": {number_of(code): word for code, word in WORDS.items()},
        "properties": {number_of("pnam"): "name"},
        "elements": {},
    }
    script = f"""{load_harness()}{HELPERS}
      run = function () {{
        var work = {{ raw: {json.dumps(raw)}, root: 'app', notes: [], items: 0, within: [] }};
        return JSON.stringify(plain(work, answered(work, {made}), 0));
      }};"""
    done = Simulator([])(["osascript", "-l", "JavaScript", "-e", script], b"", 10)
    assert done.status == 0, done.stderr
    return json.loads(done.stdout)


def by_bytes(code: str, data: bytes) -> Any:
    return answer(f"bytes('{code}', '{b64encode(data).decode()}')")


def fields(value: Any) -> Any:
    return dict(value["record"])


@pytest.mark.parametrize(("code", "data", "value"), [
    # QuickDraw says the vertical first, in the order of the Mac.
    ("QDpt", struct.pack("<2h", 20, -10), {"x": -10, "y": 20}),
    ("qdrt", struct.pack("<4h", 44, -5, 644, 795), {"x": -5, "y": 44, "width": 800, "height": 600}),
])  # fmt: skip
def test_a_point_and_a_rectangle_are_read_from_their_bytes(
    code: str, data: bytes, value: Any
) -> None:
    assert fields(by_bytes(code, data)) == value


@pytest.mark.parametrize(("code", "data", "value"), [
    ("cRGB", struct.pack("<3H", 65535, 0, 13107), [1, 0, 0.2]),
    ("ushr", struct.pack("<H", 65535), 65535), ("magn", struct.pack("<I", 2**32 - 1), 2**32 - 1),
    ("cstr", b"caf\xc3\xa9\0", "café"), ("cstr", b"caf\x8e\0junk", "café"), ("cstr", b"\0", ""),
    ("pstr", b"\3abc", "abc"), ("url ", b"https://example.com/?a=%20b", "https://example.com/?a=%20b"),
])  # fmt: skip
def test_colors_numbers_and_text_of_c_are_read_from_their_bytes(
    code: str, data: bytes, value: Any
) -> None:
    assert by_bytes(code, data) == value


@pytest.mark.parametrize(("code", "data"), [
    ("qdrt", b"12"), ("cRGB", b""), ("styl", b"\0\1"), ("tdta", b"\0\1\xff"),
    ("alis", b"broken"), ("bmrk", b"book"), ("alis", bytes(8)),
])  # fmt: skip
def test_bytes_that_are_no_such_value_stay_bytes(code: str, data: bytes) -> None:
    assert by_bytes(code, data) == {"opaque": {"type": code, "base64": b64encode(data).decode()}}


def record(type_: str, **values: str) -> str:
    """Return an expression for a record of a type of its own."""
    rows = ", ".join(f"['{code}', {value}]" for code, value in values.items())
    return f"packed('{type_}', [{rows}])"


def test_a_record_of_a_type_of_its_own_is_a_record_of_that_class() -> None:
    assert fields(answer(record("font", pnam="spoken('Times')", abcd="spoken('x')"))) == {
        "name": "Times", "abcd": "x", "class": "font face",
    }  # fmt: skip
    assert fields(answer(record("", pnam="spoken('Times')"))) == {"name": "Times"}


def test_styled_text_is_its_text() -> None:
    made = record("STXT", ktxt="bytes('cstr', 'aGkA')", ksty="bytes('styl', 'AAE=')")
    assert answer(made) == "hi"


def alias(version: int, *tags: tuple[int, bytes]) -> bytes:
    head = bytes(150 - 8 if version == 2 else 58 - 8)
    parts = b"".join(
        struct.pack(">hH", tag, len(data)) + data + bytes(len(data) % 2) for tag, data in tags
    )
    made = head + parts + struct.pack(">hH", -1, 0)
    return struct.pack(">4shh", b"\0" * 4, len(made) + 8, version) + made


def bookmark(*names: str) -> bytes:
    """Return a bookmark with the names of a path, after another item."""

    def item(type_: int, data: bytes) -> bytes:
        return struct.pack("<II", len(data), type_) + data + bytes(-len(data) % 4)

    body, places = bytes(4), []
    for name in names:
        places.append(len(body))
        body += item(0x101, name.encode())
    path = len(body)
    body += item(0x601, struct.pack(f"<{len(places)}I", *places))
    table = struct.pack("<IIIII", 32, 0xFFFFFFFE, 1, 0, 2)
    table += struct.pack("<III", 0x1003, places[0], 0) + struct.pack("<III", 0x1004, path, 0)
    body = struct.pack("<I", len(body)) + body[4:] + table
    return struct.pack("<4sIII", b"book", len(body) + 48, 0x10040000, 48) + bytes(32) + body


@pytest.mark.parametrize(("code", "data", "path"), [
    ("alis", alias(2, (0, b"Docs"), (18, "/Users/Ü.txt".encode()), (19, b"/")), "/Users/Ü.txt"),
    ("alis", alias(2, (18, b"/a/b"), (19, b"/Volumes/Disk")), "/Volumes/Disk/a/b"),
    ("alis", alias(3, (20, b"odd"), (18, b"x/y")), "/x/y"),
    ("bmrk", bookmark("Users", "me", "Grüße.txt"), "/Users/me/Grüße.txt"),
])  # fmt: skip
def test_of_a_file_that_is_gone_the_answer_says_where_it_was(
    code: str, data: bytes, path: str
) -> None:
    assert by_bytes(code, data) == {"path": path}


def test_an_alias_without_a_path_is_no_file() -> None:
    assert by_bytes("alis", alias(2, (0, b"Docs")))["opaque"]["type"] == "alis"


@pytest.mark.parametrize("seconds", [None, 300])
def test_a_rectangle_is_the_same_in_both_forms_of_an_event(seconds: int | None) -> None:
    catalogue = Catalogue([SHIPPED])
    simulator = Simulator([catalogue.load_tables(catalogue.apps["textedit"])])
    gate = Gate(catalogue, Executor(simulator), "DANGEROUS")

    def call(tool: str, **arguments: Any) -> Any:
        done = gate.call(Call(tool, arguments | ({"timeout": seconds} if seconds else {})))
        assert isinstance(done, CompletedCall), done
        return done.value

    bounds = {"x": -20, "y": 40, "width": 640, "height": 480}
    call("textedit_set", target="windows[0]", properties={"bounds": bounds})
    assert call("textedit_get", target="windows[0].bounds") == bounds
    assert call("textedit_get", target="windows[0]")["bounds"] == bounds
