"""Limits: a file that costs too much is refused, and long lines of classes cost what they must."""

import json
import os
import re
import signal
import socket
import threading
import time
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from click.testing import CliRunner
from golden import standard
from making import DIARY, build, inputs, module, read, sdef, source

from iac_gen import limits
from iac_gen.cli import cli
from iac_gen.limits import DeadlineError, LimitError, read_file, screen_xml, wall_time_limit
from iac_gen.model import Source
from iac_gen.object_api import build_object_api
from iac_gen.pipeline import build_folder
from iac_gen.resolve import resolve_dictionary
from iac_gen.unsupported import find_unsupported
from iac_gen.xml import LoadError, load_dictionary, parse_dictionary


def refused(content: bytes) -> tuple[str, int, str]:
    """Return why the limits refuse a document: code, line, message."""
    with pytest.raises(LimitError) as caught:
        screen_xml(content)
    with pytest.raises(LoadError) as loaded:
        parse_dictionary(content, "app.sdef")
    assert loaded.value.diagnostic.message == str(caught.value)
    return caught.value.code, caught.value.line, str(caught.value)


def spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_a_pipe_a_device_and_a_socket_are_neither_waited_for_nor_read(tmp_path: Path) -> None:
    pipe, listening = tmp_path / "pipe.sdef", tmp_path / "s.sdef"
    os.mkfifo(pipe)
    (tmp_path / "link.sdef").symlink_to(pipe)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(listening))
        for path in (pipe, tmp_path / "link.sdef", Path("/dev/zero"), Path("/dev/stdin"), tmp_path):
            with pytest.raises(LoadError, match="is not a file; check the path"):
                load_dictionary(path)
        with pytest.raises(LoadError, match="cannot be read"):
            load_dictionary(listening)


def test_a_link_to_a_file_is_followed_and_one_to_itself_is_told(tmp_path: Path) -> None:
    good, link, loop = tmp_path / "good", tmp_path / "link.sdef", tmp_path / "loop.sdef"
    good.write_bytes(sdef())
    link.symlink_to(good)
    loop.symlink_to(loop)
    assert load_dictionary(link)[0].suites
    with pytest.raises(LoadError, match="cannot be read: Too many levels"):
        load_dictionary(loop)
    with pytest.raises(LoadError, match="cannot be read: the path is not valid"):
        load_dictionary(Path("a\0b"))
    with pytest.raises(LoadError, match="is not a file"):
        load_dictionary(good / "below")


def test_a_file_that_grows_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "grows"
    path.write_bytes(b"x" * 30)
    small = os.stat_result((0o100644, 0, 0, 1, 0, 0, 5, 0, 0, 0))
    monkeypatch.setattr(os, "fstat", lambda _: small)
    with pytest.raises(LimitError, match="has 21 bytes; the limit is 20"):
        read_file(path, 20)


def test_two_gigabytes_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "big.sdef"
    with path.open("wb") as file:
        file.truncate(2 * 1024**3)
    with pytest.raises(LoadError, match="has 2147483648 bytes; the limit is 4194304"):
        load_dictionary(path)
    with pytest.raises(LoadError, match="limit is"):
        parse_dictionary(sdef() + b" " * limits.MAX_BYTES, "app.sdef")


@pytest.mark.parametrize(("content", "expected"), [
    (b"\n<a>" * 65 + b"</a>" * 65, ("depth", 66, "is nested more than 64 levels deep")),
    (b"<a>" * 200_000, ("depth", 1, "is nested more than 64 levels deep")),
    (b"<a>" + b"<b/>" * 100_000 + b"</a>", ("count", 1, "has more than 100000 elements")),
    (b"<a " + b" ".join(b'a%d=""' % n for n in range(65)) + b"/>",
     ("count", 1, "has an element with more than 64 attributes")),
    (b"<!DOCTYPE a [<!ATTLIST a " + b" ".join(b'a%d CDATA "x"' % n for n in range(65)) + b">]><a/>",
     ("count", 1, "declares more than 64 attributes")),
    (b'<!DOCTYPE a [<!ENTITY x "y">]><a/>',
     ("entity", 1, "declares XML entities, which are not accepted")),
    (b"<a>\n<b>\n</a>", ("xml", 3, "is not well-formed XML: mismatched tag")),
    (b"<?xml version='1.0' encoding='rot13'?><a/>", ("xml", 1, "")),
    (b"<?xml version='1.0' encoding='utf-7'?><a/>", ("xml", 1, "")),
    (b"<?xml version='1.0' encoding='shift_jis'?><a/>", ("xml", 1, "")),
    (b"<?xml version='1.0' encoding='none-such'?><a/>", ("xml", 1, "")),
])  # fmt: skip
def test_a_document_over_a_limit_is_refused(content: bytes, expected: tuple[str, int, str]) -> None:
    code, line, message = refused(content)
    assert (code, line) == expected[:2]
    assert message.startswith(expected[2] or "is not well-formed XML: ")
    assert "\n" not in message


def test_what_is_at_a_limit_passes() -> None:
    screen_xml(b"<a>" * 64 + b"</a>" * 64)
    screen_xml(b"<a>" + b"<b/>" * 99_999 + b"</a>")
    screen_xml(b"<a " + b" ".join(b'a%d=""' % n for n in range(64)) + b"/>")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "mac-roman"])
def test_the_encodings_that_dictionaries_may_have_are_read(encoding: str) -> None:
    declared = encoding.removesuffix("-sig").replace("mac-roman", "macintosh")
    text = f'<?xml version="1.0" encoding="{declared}"?>' + sdef().decode().partition("?>")[2]
    dictionary = read(text.replace("reread", "r\u00e9read").encode(encoding))
    assert "r\u00e9read" in [getattr(one, "name", "") for one in dictionary.declared_items()]


@pytest.mark.parametrize(("attributes", "expected"), [
    ('href="file:///etc/passwd" parse="text"', "an include of plain text is refused"),
    ('href="file:///System/Library/ScriptingDefinitions/../../../etc/passwd"',
     "an include that leaves its folder is refused: file:///System/Library/"),
    ('href="%2e%2e/x.sdef"', "an include that leaves its folder is refused: %2e%2e/x.sdef"),
    ('href="..\\x.sdef"', "an include that leaves its folder is refused"),
])  # fmt: skip
@pytest.mark.parametrize("year", ["2001", "2003"])
def test_an_include_that_no_dictionary_needs_is_refused_and_told(
    attributes: str, expected: str, year: str
) -> None:
    include = f'<xi:include xmlns:xi="http://www.w3.org/{year}/XInclude" {attributes}/>'
    dictionary, (told,) = parse_dictionary(
        sdef(f'{include}\n<class name="a" code="aaaa"/>'), "app.sdef"
    )
    assert len(list(dictionary.declared_items())) == 1
    assert (told.line, told.level) == (3, "error")
    assert told.message.startswith(expected)


def test_more_includes_than_any_dictionary_has_are_told_one_by_one() -> None:
    include = '<xi:include xmlns:xi="http://www.w3.org/2003/XInclude" href="file:///x"/>'
    dictionary, told = parse_dictionary(sdef(include * 20), "app.sdef")
    assert len(list(dictionary.declared_items())) == 16
    assert [one.message for one in told] == [
        "there are more than 16 includes; this one is left out"
    ] * 4


def test_work_ends_at_its_deadline() -> None:
    with (
        pytest.raises(DeadlineError, match=r"took longer than 0\.05 s") as caught,
        wall_time_limit(0.05),
    ):
        spin(5)
    assert caught.value.seconds == 0.05


def test_work_that_swallows_the_deadline_meets_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_AGAIN", 0.02)
    with pytest.raises(DeadlineError), wall_time_limit(0.02):
        swallow()


def swallow() -> None:
    try:
        spin(5)
    except DeadlineError:
        spin(5)


def test_work_in_time_leaves_no_alarm_behind_and_an_outer_one_in_force() -> None:
    handler = signal.getsignal(signal.SIGALRM)
    with wall_time_limit(30):
        inner = signal.getsignal(signal.SIGALRM)
        with wall_time_limit(20):
            assert signal.getsignal(signal.SIGALRM) is not inner
        assert signal.getsignal(signal.SIGALRM) is inner
        assert 20 < signal.getitimer(signal.ITIMER_REAL)[0] <= 30
    assert signal.getsignal(signal.SIGALRM) is handler


def test_an_outer_deadline_that_passed_meanwhile_strikes_when_the_inner_one_is_done() -> None:
    with pytest.raises(DeadlineError, match=r"0\.03"), wall_time_limit(0.03):
        overstay()


def overstay() -> None:
    with wall_time_limit(20):
        spin(0.05)
    spin(5)


def test_another_thread_is_told_that_it_can_have_no_deadline() -> None:
    found: list[BaseException] = []

    def work() -> None:
        try:
            with wall_time_limit(1):
                pass
        except RuntimeError as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [str(error) for error in found] == ["a deadline needs the main thread"]


def storm(items: str) -> tuple[dict[str, Any], list[str], dict[str, str]]:
    """Build an app of `items` that makes one long entry: it, what is told of it, the files."""
    files, report = build_folder(inputs(source(read(sdef(items)))))
    (line,) = [row for row in files["listing.jsonl"].splitlines() if '"diary_burn"' in row]
    assert len(line) <= 8000
    told = [str(one) for app in report.apps for one in app.diagnostics if one.code == "long-entry"]
    return json.loads(line), told, files


@pytest.mark.slow
def test_an_entry_of_nine_hundred_parameters_is_cut_and_names_the_way_to_the_rest() -> None:
    optional = ' optional="yes"'
    rows = "".join(
        f'<parameter name="option {n}" code="{n:04d}" type="text"{optional if n != 899 else ""}/>'
        for n in range(900)
    )
    command = f'<command name="burn" code="diarburn">{rows}</command>'
    entry, (told,), files = storm(command)
    assert "iac://tools/diary_burn" in entry["description"]
    shown = entry["inputSchema"]["properties"]
    assert {"option_899", "option_0"} <= shown.keys()
    assert entry["inputSchema"]["required"] == ["option_899"]
    assert f"shows {len(shown)} of 900 parameters of diary_burn" in told
    assert "option_471" in files["diary.py"]


def test_an_entry_with_a_very_long_choice_does_not_list_it() -> None:
    values = "".join(f'<enumerator name="hue {n}" code="{n:04d}"/>' for n in range(3000))
    entry, told, _ = storm(
        f'<enumeration name="hue" code="hueh">{values}</enumeration>'
        '<command name="burn" code="diarburn"><parameter name="hue" code="hueh" type="hue"/>'
        "</command>"
    )
    assert entry["inputSchema"]["properties"]["hue"]["type"] == "string"
    assert entry["inputSchema"]["required"] == ["hue"]
    assert len(told) == 1


@pytest.mark.parametrize("word", ["parse='text'", "href='../../x.sdef'"])
def test_a_storm_of_includes_is_ten_lines_and_a_count(word: str) -> None:
    includes = f"<xi:include xmlns:xi='http://www.w3.org/2001/XInclude' {word}/>" * 4000
    _, told = parse_dictionary(sdef(includes), "app.sdef")
    assert len(told) == 11
    assert told[-1].message == "3990 more includes are refused"


def test_a_storm_of_findings_is_ten_lines_and_a_count(tmp_path: Path) -> None:
    (tmp_path / "Diary.sdef").write_bytes(sdef(DIARY + "<command name='ab' code='x'/>" * 40))
    options = ["build", "--dictionary", tmp_path / "Diary.sdef", "--output", tmp_path / "tools"]
    lines = CliRunner().invoke(cli, list(map(str, options))).stderr.splitlines()
    storm = [line for line in lines if line.endswith("[code]")]
    assert len(storm) == 10, lines[:4]
    assert lines[-1] == (
        f"iac-gen: {tmp_path / 'Diary.sdef'}: 30 more of this kind [code]; --json lists all"
    )


def code(number: int) -> str:
    return "".join(chr(97 + number // 26**place % 26) for place in range(4))


def line_of_classes(count: int) -> Source:
    """Return an app in which each of `count` classes inherits from the one before."""
    rows = "".join(
        f'<class name="k{at}" code="{code(at)}"{f""" inherits="k{at - 1}" """ if at else ""}>'
        f'<property name="p{at}" code="{code(at)}" type="text"/></class>'
        for at in range(count)
    )
    first = '<class name="application" code="capp"><element type="k0"/></class>'
    return source(read(sdef(first + rows)))


def seconds_for(count: int) -> float:
    made, _ = module(line_of_classes(count))
    began = process_time()
    build_object_api(made)
    resolve_dictionary(line_of_classes(count), standard())
    return process_time() - began


def test_four_times_the_classes_cost_some_four_times() -> None:
    seconds_for(50)
    assert seconds_for(2000) < 10 * seconds_for(500)


def test_a_line_is_cut_only_in_python_and_this_is_told() -> None:
    app = line_of_classes(300)
    objects = build(app)["diary_objects.py"]
    heads = re.findall(r"^class (K\d+)\((\w+)\):", objects, re.MULTILINE)
    assert [name for name, base in heads if base == "Object"] == ["K0", "K128", "K256"]
    assert all(f"    p{at}: " in objects for at in range(300))
    made, _ = module(app)
    assert [row.inherits for row in made.classes.values()][1:4] == [None, "k0", "k1"]
    assert made.classes["k128"].inherits == "k127"
    resolved, notes = resolve_dictionary(app, standard())
    told = [row for row in find_unsupported(resolved, notes) if row.kind == "class"]
    assert [row.term for row in told] == ["k128", "k256"]
    assert told[0].reason.startswith("it inherits through too many classes")


@pytest.mark.slow
def test_three_thousand_classes_in_a_line_are_built() -> None:
    files, report = build_folder(inputs(line_of_classes(3000)))
    assert report.lost == []
    assert files["diary_objects.py"].count("\nclass K") >= 3000
