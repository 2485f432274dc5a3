"""The short cut for answers on the bus reads what the library reads."""

import os
import socket
import subprocess
from pathlib import Path

import pytest
import ui_stack as stack
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("jeepney")

from jeepney import DBusAddress, new_method_call, new_method_return
from jeepney.low_level import Endianness, Message

from iac_accessibility.atspi import apps
from iac_accessibility.atspi.apps import is_installed, process_start_time, program_identity
from iac_accessibility.atspi.wire import (
    ITEMS,
    ConnectionPool,
    ReplyParser,
    decode_items,
    decode_reply,
)
from iac_accessibility.model import AppNotResponding

_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
_PATH = st.from_regex(r"(/[A-Za-z0-9_]{1,8}){1,4}", fullmatch=True)
_REF = st.tuples(st.from_regex(r":1\.[0-9]{1,4}", fullmatch=True), _PATH)
_INT = st.integers(-(2**31), 2**31 - 1)
_WORD = st.integers(0, 2**32 - 1)
_ROW = st.tuples(
    *(_REF, _REF, _REF, _INT, _INT),
    *(st.lists(_TEXT, max_size=3), _TEXT, _WORD, _TEXT, st.lists(_WORD, max_size=3)),
)
_BODIES = st.one_of(
    st.just(("", ())),
    st.tuples(st.just("s"), st.tuples(_TEXT)),
    st.tuples(st.just("u"), st.tuples(_WORD)),
    st.tuples(st.just("i"), st.tuples(_INT)),
    st.tuples(st.just("b"), st.tuples(st.booleans())),
    st.tuples(st.just("au"), st.tuples(st.lists(_WORD, max_size=4))),
    st.tuples(st.just("a(so)"), st.tuples(st.lists(_REF, max_size=5))),
    st.tuples(st.just("(so)"), st.tuples(_REF)),
    st.tuples(st.just("a(sss)"), st.tuples(st.lists(st.tuples(_TEXT, _TEXT, _TEXT), max_size=3))),
    st.tuples(st.just("a{ss}"), st.tuples(st.dictionaries(_TEXT, _TEXT, max_size=4))),
    st.tuples(
        st.just("a(ua(so))"),
        st.tuples(st.lists(st.tuples(_WORD, st.lists(_REF, max_size=3)), max_size=3)),
    ),
    st.tuples(st.just("v"), st.tuples(st.tuples(st.just("s"), _TEXT))),
    st.tuples(st.just("v"), st.tuples(st.tuples(st.just("i"), _INT))),
    st.tuples(st.just("v"), st.tuples(st.tuples(st.just("d"), st.floats(allow_nan=False)))),
    st.tuples(st.just("v"), st.tuples(st.tuples(st.just("b"), st.booleans()))),
    st.tuples(st.just("ss"), st.tuples(_TEXT, _TEXT)),
)


def answer(signature: str, body: tuple[object, ...]) -> bytes:
    """Return an answer as it comes over the bus."""
    call = new_method_call(DBusAddress("/a", ":1.2", "x.y"), "M")
    call.header.serial = 77
    reply = new_method_return(call, signature, body)
    return bytes(reply.serialise(serial=5))


@given(_BODIES)
def test_answers_of_all_forms(row: tuple[str, tuple[object, ...]]) -> None:
    raw = answer(*row)
    mine = decode_reply(raw)
    if mine is not None:
        assert mine == (77, Message.from_buffer(raw).body)
    else:
        assert row[0] in ("ss", "v")


@given(st.lists(_ROW, max_size=3))
def test_snapshots(rows: list[tuple[object, ...]]) -> None:
    raw = answer(ITEMS, (rows,))
    mine = decode_reply(raw)
    assert mine is not None
    (theirs,) = Message.from_buffer(raw).body
    assert [row[:5] + row[6:9] + (list(row[9]),) for row in mine.body[0]] == [
        (*row[:5], *row[6:]) for row in theirs
    ]


@given(st.binary(max_size=200))
def test_a_snapshot_that_is_none_is_told(raw: bytes) -> None:
    try:
        decode_items(raw, 0)
    except ValueError as error:
        assert str(error)


def test_messages_come_whole_however_they_are_cut() -> None:
    parser = ReplyParser()
    other = new_method_call(DBusAddress("/a", ":1.2", "x.y"), "M", "s", ("d",))
    other.header.endianness = Endianness.big
    data = answer("s", ("a",)) + answer("ss", ("b", "c")) + answer("u", (3,))
    data += bytes(other.serialise(serial=6))
    found = []
    for at in range(len(data)):
        parser.add_data(data[at : at + 1])
        while (message := parser.get_next_message()) is not None:
            found.append(message.body)
    assert found == [("a",), ("b", "c"), (3,), ("d",)]


def test_nobody_on_the_bus_is_told(tmp_path: Path) -> None:
    pool = ConnectionPool(f"unix:path={tmp_path / 'none'}")
    from iac_accessibility.atspi.nodes import method_call

    with pytest.raises(AppNotResponding):
        pool.call(method_call((":1.1", "/a"), "Accessible", "GetRole"), 0.2)
    with socket.socket(socket.AF_UNIX) as quiet:
        quiet.bind(str(tmp_path / "quiet"))
        quiet.listen()
        with pytest.raises(AppNotResponding):
            ConnectionPool(f"unix:path={tmp_path / 'quiet'}").call_all(
                [method_call((":1.1", "/a"), "Accessible", "GetRole")], 0.2
            )


def test_who_a_process_is() -> None:
    assert program_identity(os.getpid()).startswith("local.python")
    assert program_identity(2**30) == ""
    assert process_start_time(os.getpid()) == process_start_time(os.getpid())
    assert process_start_time(2**30) is None
    assert is_installed("sh")
    assert not is_installed("no-such-program-anywhere")


def test_a_program_is_the_one_whose_desktop_file_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, own, script = tmp_path / "shared", tmp_path / "own", tmp_path / "notes.py"
    files = {
        "shared/files-settings": "sleep --settings",
        "shared/files": "sleep %U",
        "shared/org.example.Notes": f"env LANG=C /usr/bin/python3 {script} %F",
        "own/org.evil.Calm": "sleep",
    }
    for name, command in files.items():
        file = tmp_path / name.replace("/", "/applications/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_name(f"{file.name}.desktop").write_text(
            f"[Desktop Entry]\nName={file.name} shown\nExec={command}\n"
        )
    monkeypatch.setenv("XDG_DATA_DIRS", str(shared))
    monkeypatch.setenv("XDG_DATA_HOME", str(own))
    script.write_text("input()")
    apps._desktop_files.cache_clear()
    try:
        for command, identity, name in (
            (["sleep", "60"], "local.sleep", "files shown"),
            (["/usr/bin/python3", str(script)], "org.example.Notes", "org.example.Notes shown"),
            (["/usr/bin/python3", "-c", "input()"], "local.python", ""),
        ):
            with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
                try:
                    # Arguments can be read a moment after the program began.
                    said = Path(f"/proc/{process.pid}/cmdline")
                    stack.wait_until(said.read_bytes, "the arguments")
                    assert program_identity(process.pid).startswith(identity)
                    assert not name or name in apps.program_names(process.pid)
                finally:
                    process.kill()
    finally:
        apps._desktop_files.cache_clear()
