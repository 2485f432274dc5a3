"""The command line: arguments, streams, results, errors, as a caller of osascript meets them."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from programs import CATALOGUE, jar
from simulated_diary import Script

from iac_simulator import Simulator, osascript

D = 'const d = Application("Diary"); '
ARGV = "function run(argv) { return JSON.stringify(argv) }"


def call(script: Script, *args: str, stdin: bytes = b"") -> tuple[str, str, int]:
    done = script.simulator(["osascript", *args], stdin, 10)
    return done.stdout.decode(), done.stderr.decode(), done.status


JS = ("-l", "JavaScript")


def test_where_the_script_comes_from(script: Script, tmp_path: Path) -> None:
    file = tmp_path / "a.js"
    file.write_text("#!/usr/bin/osascript -l JavaScript\n" + ARGV, "utf-8")
    assert call(script, *JS, str(file), "--", "-e", "é")[0] == '["--","-e","é"]\n'
    assert call(script, *JS, "-e", ARGV, "--", "-x", "")[0] == '["-x",""]\n'
    assert call(script, *JS, "-e", "const a = 40;", "-e", "a + 2")[0] == "42\n"
    assert call(script, *JS, stdin=b"6 * 7")[0] == "42\n"
    assert call(script, *JS, "-", "a", "b", stdin=ARGV.encode())[0] == '["a","b"]\n'
    assert call(script, "-lJavaScript", "-e1")[0] == "1\n"


@pytest.mark.parametrize(("source", "human", "plain"), [
    ("'abc'", "abc", '"abc"'), ("JSON.stringify({a: 1})", '{"a":1}', '"{\\"a\\":1}"'),
    ("[1, ['a', [true]]]", "1, a, true", '[1, ["a", [true]]]'),
    ("({a: 'x', b: true})", "a:x, b:true", '{"a":"x", "b":true}'),
    ("Path('/x y')", "/x y", 'Path("/x y")'), ("1 / 3", "0.3333333333333333", "0.3333333333333333"),
    ("null", "null", "null"), ("undefined", "undefined", "undefined"),
    ("$('x')", '$("x")', '$("x")'),
    ("function run() { return 'from run' }\n'not this'", "from run", '"from run"'),
    ("'use strict'; const run = () => 5", "5", "5"),
    ("async function run() { return 5 }", "[object Promise]", "[object Promise]"),
])  # fmt: skip
def test_how_a_result_is_printed(script: Script, source: str, human: str, plain: str) -> None:
    assert call(script, *JS, "-e", source) == (f"{human}\n", "", 0)
    assert call(script, *JS, "-ss", "-e", source) == (f"{plain}\n", "", 0)


def test_a_script_without_a_result_prints_nothing(script: Script) -> None:
    assert call(script, *JS, "-e", "function _run() { return 1 }") == ("", "", 0)


@pytest.mark.parametrize(("source", "text"), [
    ("throw new Error('boom')", "Error: boom (-2700)"),
    ("throw {errorNumber: 42, message: 'm'}", "[object Object] (42)"),
    ("throw 'plain'", "plain (-2700)"), ("throw Object.create(null)", "[object Object] (-2700)"),
    ("foo", "ReferenceError: Can't find variable: foo (-2700)"),
    ("let a = null;\na.b", "TypeError: null is not an object (evaluating 'a.b') (-2700)"),
    ("let o = {};\no.p.q = 1",
     "TypeError: undefined is not an object (evaluating 'o.p.q = 1') (-2700)"),
    ("let o = {}; o.go(1, (2))",
     "TypeError: o.go is not a function. (In 'o.go(1, (2))', 'o.go' is undefined) (-2700)"),
    ("[1].map(3)", "TypeError: undefined is not a function (-2700)"),
    ("let x = ;", "SyntaxError: Unexpected token ';' (-2700)"),
    ("new Array(-1)", "RangeError: invalid array length (-2700)"),
    (D + "d.journals[9].name()", "Error: Invalid index. (-1719)"),
])  # fmt: skip
def test_an_error_is_one_line_with_its_number(script: Script, source: str, text: str) -> None:
    out, err, status = call(script, *JS, "-e", source)
    assert (out, status) == ("", 1)
    if "map" in source:
        assert err.startswith("execution error: Error: TypeError: ")
        assert err.endswith(" (-2700)\n")
    else:
        assert err == f"execution error: Error: {text}\n"


def test_errors_can_go_to_stdout_and_name_the_file(script: Script, tmp_path: Path) -> None:
    file = tmp_path / "bad.js"
    file.write_text("throw new Error('boom')", "utf-8")
    line = f"{file}: execution error: Error: Error: boom (-2700)\n"
    assert call(script, *JS, "-s", "so", str(file)) == (line, "", 1)


@pytest.mark.parametrize(("args", "text", "status"), [
    (("-h",), "osascript: illegal option -- h\n", 64),
    (("-l",), "osascript: option requires an argument -- l\n", 64),
    (("-s", "x"), "osascript: unknown flag 'x' for -s\n", 64),
    (("-l", "Ruby", "-e", "beep"),
     "osascript: the simulator runs JavaScript and AppleScript, and line by line JavaScript only:"
     " not Ruby\n", 1),
    ((*JS, "/no/such/file.js"), "osascript: /no/such/file.js: No such file or directory\n", 1),
])  # fmt: skip
def test_bad_arguments_give_one_line(
    script: Script, args: tuple[str, ...], text: str, status: int
) -> None:
    assert call(script, *args) == ("", text, status)


def test_a_script_that_is_no_text_gives_one_line(script: Script) -> None:
    assert call(script, *JS, stdin=b"\xff\xfe") == ("", "osascript: stdin: is not UTF-8 text\n", 1)


def test_console_has_log_and_nothing_else(script: Script) -> None:
    logged = call(
        script,
        *JS,
        "-e",
        "console.log('a', [1, 2], {a: 1}, Symbol('s'), null); Automation.log(1); 1",
    )
    assert logged == ("1\n", "a 1,2 [object Object] Symbol(s) null\n1\n", 0)
    absent = "[typeof console.error, typeof setTimeout, typeof fetch, typeof performance].join()"
    assert call(script, *JS, "-e", absent)[0] == ",".join(["undefined"] * 4) + "\n"


def test_streams_of_a_script(script: Script) -> None:
    source = """
        ObjC.import('Foundation');
        const input = $.NSFileHandle.fileHandleWithStandardInput.readDataToEndOfFile;
        const text = $.NSString.alloc.initWithDataEncoding(input, 4);
        const utf8 = $.NSUTF8StringEncoding;
        const write = (handle, s) => handle.writeData($(s).dataUsingEncoding(utf8));
        write($.NSFileHandle.fileHandleWithStandardOutput, text.js + '|');
        write($.NSFileHandle.fileHandleWithStandardError, 'e');
        write($.NSFileHandle.alloc.initWithFileDescriptor(1), ObjC.unwrap(text));
        const data = $.NSMutableData.data; data.appendData(input);
        [typeof input.length, Number(input.length), data.length, text.isNil(), $().isNil(), $().js,
         ObjC.deepUnwrap($([1])), ObjC.unwrap(3), $(text) === text,
         $.NSString.stringWithString('x').UTF8String].join()
    """
    out, err, status = call(script, *JS, "-e", source, stdin="né\n".encode())
    assert (out, err, status) == ("né\n|né\nstring,4,4,false,true,,1,3,true,x\n", "e", 0)


def test_input_can_be_read_in_pieces(script: Script) -> None:
    source = """
        const input = $.NSFileHandle.fileHandleWithStandardInput;
        const text = (d) => $.NSString.alloc.initWithDataEncoding(d, 4).js;
        [text(input.readDataOfLength(2)), text(input.availableData), input.availableData.length,
         $.NSString.alloc.initWithDataEncoding($.NSData.data, 4).length].join()
    """
    assert call(script, *JS, "-e", source, stdin=b"abcd")[0] == "ab,cd,0,0\n"
    bad = (
        "const input = $.NSFileHandle.fileHandleWithStandardInput;"
        "$.NSString.alloc.initWithDataEncoding(input.availableData, 4).isNil()"
    )
    assert call(script, *JS, "-e", bad, stdin=b"\xc3")[0] == "true\n"


STDLIB = "ObjC.import('stdlib');"


def test_exit_and_environment(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IAC_TEST_WORD", "hello")
    read = STDLIB + "[$.getenv('IAC_TEST_WORD'), $.getenv('IAC_NONE')].join()"
    assert call(script, *JS, "-e", read)[0] == "hello,\n"
    assert call(script, *JS, "-e", STDLIB + "try { $.exit(3) } catch (e) {} 'late'") == ("", "", 3)


def test_waiting_takes_no_time_but_counts(script: Script) -> None:
    assert script.run("delay(5); delay(); 1", timeout=60).stdout == b"1\n"
    late = script.run(D + "d.refresh(); delay(61); d.refresh()", timeout=60)
    assert late.timed_out
    assert [event.event for event in script.simulator.events] == ["DIARrefr"]


def test_deep_recursion_ends_the_script_not_the_process(script: Script) -> None:
    out, err, status = call(script, *JS, "-e", "function f() { return f() + 1 }\nf()")
    assert (out, status) == ("", 1)
    assert err.startswith("execution error: ")


def test_a_script_that_eats_memory_ends_with_an_error(script: Script) -> None:
    done = call(script, *JS, "-e", "const a = []; for (;;) a.push(new Array(1e6).fill(1))")
    assert (done[0], done[2]) == ("", 1)
    assert "out of memory" in done[1]


def test_a_fixed_clock_moves_by_what_a_script_waits(script: Script) -> None:
    source = "const end = Date.now() + 2000; while (Date.now() < end) delay(0.5); "
    assert script.shown(source + "new Date().toISOString()") == '"2026-03-02T09:30:02.000Z"'


def test_threads_share_one_world(script: Script) -> None:
    def make(_: int) -> int:
        return script.run(D + "d.make({new: 'entry'}); 1").status

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(make, range(24))) == {0}
    assert script.value(D + "d.entries.id().sort((a, b) => a - b).length") == 26
    assert len(set(script.value(D + "d.entries.id()"))) == 26
    assert threading.active_count() >= 1


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    return jar(tmp_path / "tools")


ADD = "const j = Application('Jar'); j.coins.push(j.Coin({name: 'c'})); j.coins.length"


def program(tools: Path, state: Path | None, *args: str) -> subprocess.CompletedProcess[str]:
    settings = {"IAC_SIMULATOR_TOOLS": str(tools), "PYTHONPATH": os.pathsep.join(sys.path)}
    if state is not None:
        settings |= {
            "IAC_SIMULATOR_STATE": str(state),
            "IAC_SIMULATOR_EVENTS": str(state) + ".events",
        }
    command = [sys.executable, "-m", "iac_simulator.osascript", "-l", "JavaScript", *args]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **settings}, check=False
    )


@pytest.mark.process
def test_the_program_keeps_its_state_and_loses_no_update(tools: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    state.write_text('{"jar": {"coins": []}}', "utf-8")
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: program(tools, state, "-e", ADD), range(4)))
    assert [d.stderr for d in done] == [""] * 4
    assert len(json.loads(state.read_text("utf-8"))["jar"]["coins"]) == 4
    events = [json.loads(line) for line in Path(f"{state}.events").read_text("utf-8").splitlines()]
    assert [event["event"] for event in events].count("corecrel") == 4
    assert events[0]["app"] == "com.example.Jar"


@pytest.mark.process
def test_the_program_reads_its_input_and_writes_its_streams(tools: Path) -> None:
    done = program(
        tools, None, "-e", "console.log('log'); delay(0); Application('Jar').coins.name()"
    )
    assert (done.stdout, done.stderr, done.returncode) == ("Coin 1, Coin 2\n", "log\n", 0)


def run_main(monkeypatch: pytest.MonkeyPatch, *args: str, **settings: str) -> int:
    monkeypatch.setattr(sys, "argv", ["osascript", "-l", "JavaScript", *args])
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return osascript.main()


def test_an_apps_state_file_is_begun_and_kept(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    state, log = tmp_path / "new.toml", tmp_path / "events.jsonl"
    settings = {
        "IAC_SIMULATOR_TOOLS": str(tools),
        "IAC_SIMULATOR_STATE": str(state),
        "IAC_SIMULATOR_EVENTS": str(log),
    }
    assert run_main(monkeypatch, "-e", "Application('Jar').coins.length", **settings) == 0
    assert not state.exists()
    assert run_main(monkeypatch, "-e", ADD, **settings) == 0
    assert run_main(monkeypatch, "-e", ADD, **settings) == 0
    assert capfd.readouterr().out == "2\n3\n4\n"
    assert len(log.read_text("utf-8").splitlines()) == 5
    bad = "$.NSFileHandle.alloc.initWithFileDescriptor(987).writeData($('x').dataUsingEncoding(4))"
    assert run_main(monkeypatch, "-e", bad, **settings) == 1
    assert "Bad file descriptor (-2700)" in capfd.readouterr().err


OTHER_APP = json.dumps(CATALOGUE).replace("jar", "cup")


@pytest.mark.parametrize(("name", "content", "said", "code"), [
    ("catalogue.json", "{", "osascript: {0}/catalogue.json is damaged", 1),
    ("catalogue.json", OTHER_APP, '{0}: "cup.py" is left out: {0}/cup.py cannot be imported', 0),
    ("jar.py", "x = 1\n", '{0}: "jar.py" is left out: {0}/jar.py is damaged', 0),
])  # fmt: skip
def test_a_bad_tools_folder_gives_one_line(
    tools: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    name: str,
    content: str,
    said: str,
    code: int,
) -> None:
    (tools / name).write_text(content, "utf-8")
    assert run_main(monkeypatch, "-e", "1", IAC_SIMULATOR_TOOLS=str(tools)) == code
    # The log has it where something is left out, and standard error where nothing is answered.
    [line] = caplog.messages or capfd.readouterr().err.splitlines()
    assert line.startswith(said.format(tools))
    assert "iac-gen build" in line


def test_the_shipped_tools_are_the_default(
    monkeypatch: pytest.MonkeyPatch, generated: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("TOOLS", "STATE", "EVENTS"):
        monkeypatch.delenv(f"IAC_SIMULATOR_{name}", raising=False)
    assert run_main(monkeypatch, "-e", "Application('Notes').notes.length") == 0
    assert capfd.readouterr().out == "3\n"


def test_an_unreadable_state_gives_one_line(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state.json"
    state.write_text('{"jar": {"coyns": []}}', "utf-8")
    settings = {"IAC_SIMULATOR_TOOLS": str(tools), "IAC_SIMULATOR_STATE": str(state)}
    assert run_main(monkeypatch, "-e", "1", **settings) == 1
    said = 'osascript: jar: "coyns" is not a property or element of application. Nearest: coins.\n'
    assert capfd.readouterr().err == said


def test_without_tools_plain_scripts_still_run() -> None:
    assert Simulator([])(["osascript", "-l", "JavaScript", "-e", "1"], b"", 1).stdout == b"1\n"
