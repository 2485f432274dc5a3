"""The harness where apps answer oddly, and raw answers as a Mac gives them, by their bytes."""

import json
import struct
from base64 import b64encode
from datetime import UTC, datetime
from typing import Any

import pytest
from defective import Defective
from simulated import TOOLS as SHIPPED

from iac_base.errors import ToolError
from iac_runtime.apple_errors import APPLE_ERRORS
from iac_runtime.execution.executor import Executor, load_harness
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator import Simulator

LOCAL = datetime.fromtimestamp(0, UTC).astimezone().isoformat()
LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).astimezone().isoformat()


def answering(catalogue: Catalogue, expression: str, limits: str = "") -> Any:
    """Call a command that answers what a JavaScript expression gives."""
    defect = (
        f"{limits} command = function (work, request) {{ var app = work.app; "
        f"return single(work, request, {expression}); }};"
    )
    return Defective(catalogue, defect).call("diary_remind")


def test_properties_are_read_one_by_one_where_an_app_cannot_give_all(catalogue: Catalogue) -> None:
    defect = """
      build = (function (real) {
        return function (app, steps) {
          var target = real(app, steps);
          return {
            properties: function () { throw { errorNumber: -10000, message: 'x' }; },
            name: function () { return target.name(); },
            id: function () { return target.id(); },
            owner: function () { throw { errorNumber: -1728, message: 'x' }; },
          };
        };
      })(build);
    """
    done = Defective(catalogue, defect).call("diary_get", target="journals[0]")
    assert done.value == {"name": "Work", "id": "j1"}
    assert "1 of 3 properties could not be read" in done.note


def test_one_property_that_cannot_be_read_does_not_cost_the_others(catalogue: Catalogue) -> None:
    defect = """
      build = (function (real) {
        return function (app, steps) {
          var target = real(app, steps);
          return {
            name: function () { throw { errorNumber: -10000, message: 'x' }; },
            owner: function () { return target.owner(); },
          };
        };
      })(build);
    """
    app = Defective(catalogue, defect)
    done = app.call("diary_get", target="journals[0]", properties=["name", "owner"])
    assert done.value == {"name": None, "owner": "me"}
    assert done.note == '"name" could not be read (-10000)'
    with pytest.raises(ToolError) as caught:
        app.call("diary_get", target="journals[0]", properties=["name"])
    assert caught.value.number == -10000


def test_an_object_that_is_not_there_is_not_an_empty_one(catalogue: Catalogue) -> None:
    with pytest.raises(ToolError) as caught:
        Defective(catalogue).call("diary_get", target='journals["No"]')
    assert caught.value.type == "NOT_FOUND"


@pytest.mark.parametrize(("answer", "value"), [
    ("undefined", None), ("0/0", None), ("-1/0", None), ("'x'", "x"), ("''", ""),
    ("9007199254740993", 9007199254740992), ("0.1", 0.1), ("false", False),
    ("[1, [true, null]]", [1, [True, None]]), ("[]", []), ("({})", {}), ("new Date(0)", LOCAL),
    ("new Date(253402300799000)", LAST), ("new Date(NaN)", None), ("Path('/tmp/x')", "/tmp/x"),
    ("[Path('/a b'), new Date(0)]", ["/a b", LOCAL]), ("app.journals[0]", 'journals.byId("j1")'),
    ("[app.journals[0], app.today]", ["journals[0]", "today"]),
    ("app.journals.whose({name: 'Work'})[0]", 'journals.byId("j1")'), ("app", "application"),
    ("({pageCount: 3, other: {ref: 'x'}})", {"page count": 3, "other": {"ref": "x"}}),
    ("({ref: 'a', date: 'b', path: 'c'})", {"ref": "a", "date": "b", "path": "c"}),
    ("({record: [1], opaque: 2, cut: 3})", {"record": [1], "opaque": 2, "cut": 3}),
    ("'a\\ud800b'", "a\ufffdb"), ("'\\ud83d\\ude00'", "\U0001f600"),
    ("({'a\\u0000b': 'c\\u0007'})", {"ab": "c"}), ("Symbol('x')", {"type": "Symbol(x)"}),
    ("12345678901234567890n", {"type": "12345678901234567890"}),
])  # fmt: skip
def test_answers_of_every_kind_arrive_as_data(
    catalogue: Catalogue, answer: str, value: Any
) -> None:
    assert answering(catalogue, answer).value == value


def test_wrapped_types_are_named_and_their_bytes_told_where_they_can_be_had(
    catalogue: Catalogue,
) -> None:
    wrapped = """[
      $.NSData.data,
      (function () {
        var made = function () {};
        made.descriptorType = 0x74647461;
        made.data = { base64EncodedStringWithOptions: function () { return $('AAEC'); } };
        return made;
      })()
    ]"""
    first, second = answering(catalogue, wrapped).value
    assert set(first) <= {"type", "base64"}
    assert second == {"type": "tdta", "base64": "AAEC"}


def test_depth_and_length_have_limits_that_are_told(catalogue: Catalogue) -> None:
    done = answering(
        catalogue,
        """(function () {
          var deep = []; for (var i = 0; i < 50; i++) deep = [deep];
          var many = ['1234\\ud83d\\ude00567', deep];
          while (many.length < 80) many.push(1);
          return many;
        })()""",
        "MAX_ITEMS = 60; MAX_TEXT = 5;",
    )
    assert done.value[0] == "1234… [truncated]"
    assert "a text was cut at 5 characters" in done.note
    assert "nested deeper than 32 levels" in done.note
    assert "of 80 items were read" in done.note
    inner = done.value[1]
    while isinstance(inner, list):
        (inner,) = inner
    assert inner == {"truncated": "nested deeper than 32 levels"}


def test_what_contains_itself_ends(catalogue: Catalogue) -> None:
    done = answering(
        catalogue,
        "(function () { var a = {x: 1}; a.me = [a]; var b = {y: 2}; return [a, b, b]; })()",
    )
    assert done.value == [
        {"x": 1, "me": [{"truncated": "contains itself"}]},
        {"y": 2},
        {"y": 2},
    ]
    assert "contains itself" in done.note


def test_what_was_set_before_a_failure_is_said(catalogue: Catalogue) -> None:
    defect = """
      convert = (function (real) {
        return function (app, value) { return value === 'bad' ? app.nonsense : real(app, value); };
      })(convert);
    """
    with pytest.raises(ToolError) as caught:
        Defective(catalogue, defect).call(
            "diary_set", target="journals[0]", properties={"owner": "good", "name": "bad"}
        )
    assert "owner was set before" in caught.value.original


def test_no_argument_becomes_source_text(catalogue: Catalogue) -> None:
    nasty = '"); app.quit(); ("</iac:\'\\u2028\n${x}'
    app = Defective(catalogue)
    made = app.call("diary_make", element="entry", properties={"name": nasty})
    read = app.call("diary_get", target=made.value, properties=["name"])
    assert read.value == {"name": nasty}
    assert "aevtquit" not in {event.event for event in app.simulator.events}


STOPS = [number for number, row in APPLE_ERRORS.items() if row.harness == "stop"]


@pytest.mark.parametrize("number", STOPS)
def test_a_number_of_the_table_that_stops_ends_the_request_at_once(
    catalogue: Catalogue, number: int
) -> None:
    defect = f"""
      build = (function (real) {{
        return function (app, steps) {{
          var target = real(app, steps);
          return {{
            name: function () {{ throw {{ errorNumber: {number}, message: 'x' }}; }},
            owner: function () {{ return target.owner(); }},
          }};
        }};
      }})(build);
    """
    with pytest.raises(ToolError) as caught:
        Defective(catalogue, defect).call(
            "diary_get", target="journals[0]", properties=["name", "owner"]
        )
    assert caught.value.number == number


def test_the_harness_is_ascii_whatever_osascript_reads_files_as() -> None:
    assert load_harness().isascii()


UNSCOPED = """
  step = (function (real) {
    return function (work, here, one) {
      var first = one[0] === 'id' && one[1] === 7;
      return real(work, first ? work.app.mailboxes[0].messages : here, one);
    };
  })(step);
"""
BOXES = {
    "mailboxes": [
        {"name": "In", "messages": [{"id": 7, "subject": "S", "readStatus": False}]},
        {"name": "Old", "messages": [{"id": 8, "subject": "T", "readStatus": False}]},
    ]
}


@pytest.mark.parametrize(("target", "held"), [
    ('mailboxes["In"].messages.byId(7)', True), ('mailboxes["Old"].messages.byId(7)', False),
    ("mailboxes[1].messages.byId(8)", True), ("mailboxes[1].messages.byId(9)", False),
])  # fmt: skip
def test_a_write_asks_the_container_whether_it_holds_what_the_id_finds(
    target: str, held: bool
) -> None:
    app = Defective(Catalogue([SHIPPED]), UNSCOPED, BOXES, key="mail")
    if held:
        app.call("mail_set", target=target, properties={"read status": True})
    else:
        with pytest.raises(ToolError, match="does not hold the message with the id") as caught:
            app.call("mail_set", target=target, properties={"read status": True})
        assert caught.value.type == "NOT_FOUND"
    writes = [sent for sent in app.sent if sent.startswith("coresetd")]
    assert len(writes) == held
    # One event, whatever the app makes of a filter by id.
    assert [sent for sent in app.sent if "whose" in sent and "messages" in sent] == []


@pytest.mark.parametrize("timeout", [30, 300])
def test_a_count_says_what_is_counted(timeout: int) -> None:
    # Finder, Music and Illustrator require it.
    app = Defective(Catalogue([SHIPPED]), "", {}, key="finder")
    app.call("finder_count", element="folder", timeout=timeout)
    (sent,) = app.simulator.events
    assert (sent.event, sent.params) == ("corecnte", {"kocl": {"type": "cobj"}})


def test_a_clock_that_is_set_makes_no_look_late(catalogue: Catalogue) -> None:
    steps = "var now = 0; Date.now = function () { now += 1e7; return now; };"
    for defect in ("", steps):
        done = Defective(catalogue, defect).call(
            "diary_set", target="journals[0]", properties={"owner": "you"}
        )
        assert done.outcome is not None
        assert done.outcome.state == "confirmed"


def test_no_framework_is_loaded_that_could_put_osascript_into_the_dock(
    catalogue: Catalogue,
) -> None:
    loaded = """
      ObjC.import = (function (real) {
        return function (name) { LOADED.push(name); return real(name); };
      })(ObjC.import);
      command = function (work) { examine('com.apple.finder'); isHelper('a'); return LOADED; };
    """
    done = Defective(catalogue, f"globalThis.LOADED = []; {loaded}").call("diary_remind")
    assert "CoreServices" in done.value
    assert not {"AppKit", "Cocoa"} & set(done.value)


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
