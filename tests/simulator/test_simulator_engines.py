"""The JavaScript engine, and its oracle, JavaScriptCore: equal in what scripts can see."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from programs import jar, started
from simulated_diary import DIARY, WORLD, Script

from iac_base.errors import ErrorType, ToolError
from iac_runtime.apple_errors import APPLE_ERRORS
from iac_runtime.execution.executor import Executor, load_harness, request_bytes
from iac_runtime.language.steps import AllElements, Column, Event, PropertyStep
from iac_simulator import FaultScenario, MissingEngineError, Simulator, errors

D = 'const d = Application("Diary"); '


@pytest.fixture
def on(engine: str) -> Script:
    return Script(Simulator([DIARY], {"diary": WORLD}))


def test_without_quickjs_the_line_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "quickjs", None)
    with pytest.raises(MissingEngineError, match="pip install quickjs-ng"):
        Simulator([]).check_engine()
    done = Script(Simulator([])).run("1")
    assert b"pip install quickjs-ng" in done.stderr
    assert done.status == 1


@pytest.mark.parametrize(("source", "text"), [
    ("Promise.resolve().then(() => console.log('ran')); 1", "1"), ("'\\ud800'.length", "1"),
    ("JSON.stringify('\\ud800é😀')", '"\\"\\\\ud800é😀\\""'),
    ("[typeof print, typeof performance, typeof gc, typeof navigator].join()",
     '"undefined,undefined,undefined,undefined"'),
])  # fmt: skip
def test_both_engines_show_the_same(on: Script, source: str, text: str) -> None:
    done = on.run(source, "-s", "s")
    assert done.stdout.decode().removesuffix("\n").startswith(text)
    assert done.stderr == b""


ERRORS = {
    "foo": "ReferenceError: Can't find variable: foo",
    "null.x": "TypeError: null is not an object (evaluating 'null.x')",
    "let o = {};\no.p.q = 1": "TypeError: undefined is not an object (evaluating 'o.p.q = 1')",
    "let o = {}; o.f(1)": "TypeError: o.f is not a function. (In 'o.f(1)', 'o.f' is undefined)",
    "let x = ;": "SyntaxError: Unexpected token ';'",
}


@pytest.mark.parametrize("source", ERRORS)
def test_both_engines_use_the_words_of_javascriptcore(on: Script, source: str) -> None:
    line = f"execution error: Error: {ERRORS[source]} (-2700)\n"
    assert on.run(source).stderr.decode() == line


def test_both_engines_change_the_same_world(on: Script) -> None:
    source = D + "const e = d.Entry({name: 'é😀'}); d.journals[0].entries.push(e); e.name()"
    assert on.value(source) == "é😀"
    assert [event.event for event in on.simulator.events] == ["corecrel", "coregetd"]


def test_an_error_of_the_host_ends_the_script(on: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> object:
        raise RuntimeError("broken")

    monkeypatch.setattr("iac_simulator.dispatcher.Dispatcher.answer_request", fails)
    run: Callable[[str], object] = on.run
    with pytest.raises(RuntimeError, match="broken"):
        run(D + "try { d.name() } catch (e) {} 1")


# The stand-in as a worker: one process that reads requests and answers on descriptors.


LOOP = """
function run(argv) {
  const input = $.NSFileHandle.alloc.initWithFileDescriptor(Number(argv[0]))
  const output = $.NSFileHandle.alloc.initWithFileDescriptor(Number(argv[1]))
  let rest = ''
  for (;;) {
    const data = input.availableData
    if (Number(data.length) === 0) break
    const lines = (rest + $.NSString.alloc.initWithDataEncoding(data, 4).js).split('\\n')
    rest = lines.pop()
    for (const line of lines) {
      const {id, name} = JSON.parse(line)
      const jar = Application('Jar')
      jar.coins.push(jar.Coin({name}))
      const answer = JSON.stringify({id, names: jar.coins.name()}) + '\\n'
      output.writeData($(answer).dataUsingEncoding(4))
    }
  }
  output.closeFile
  return 'over'
}
"""


@pytest.mark.process
def test_a_worker_answers_until_its_requests_end(tmp_path: Path, engine: str) -> None:
    script = tmp_path / "loop.js"
    script.write_text(LOOP.replace("\\\\", "\\"), "utf-8")
    state, events = tmp_path / "state.json", tmp_path / "events.jsonl"
    state.write_text('{"jar": {"coins": []}}', "utf-8")
    asked, answers = os.pipe(), os.pipe()
    worker = started(
        jar(tmp_path / "tools"), str(script), str(asked[0]), str(answers[1]),
        passed=(asked[0], answers[1]), state=str(state), events=str(events), engine=engine,
    )  # fmt: skip
    os.close(asked[0])
    os.close(answers[1])
    with os.fdopen(answers[0], encoding="utf-8") as replies:
        for number, names in ((1, ["é"]), (2, ["é", "b"])):
            line = json.dumps({"id": number, "name": names[-1]}) + "\n"
            half = len(line) // 2
            os.write(asked[1], line[:half].encode())
            os.write(asked[1], line[half:].encode())
            assert json.loads(replies.readline()) == {"id": number, "names": names}
            # While the worker runs on, its world is saved and its events are written down.
            kept = json.loads(state.read_text("utf-8"))["jar"]["coins"]
            assert [coin["name"] for coin in kept] == names
            assert len(events.read_text("utf-8").splitlines()) == 2 * number
        os.close(asked[1])
        assert replies.read() == ""
    out, err = worker.communicate(timeout=30)
    assert (out, err, worker.returncode) == (b"over\n", b"", 0)


@pytest.mark.parametrize("use", [
    "initWithFileDescriptor(3).availableData",
    "initWithFileDescriptor(4).writeData($('x').dataUsingEncoding(4))",
    "initWithFileDescriptor(3).closeFile",
])  # fmt: skip
def test_inside_a_program_its_descriptors_are_refused(script: Script, use: str) -> None:
    done = script.run(f"$.NSFileHandle.alloc.{use}")
    assert done.status == 1
    assert b"does not exist in a simulator inside a program: run iac-osascript" in done.stderr


def test_standard_streams_can_be_closed_and_read_in_parts(script: Script) -> None:
    source = (
        "const i = $.NSFileHandle.fileHandleWithStandardInput; const a = i.readDataOfLength(2);"
        "const text = (d) => $.NSString.alloc.initWithDataEncoding(d, 4).js;"
        "const b = i.availableData; i.closeFile; [text(a), text(b), i.availableData.length].join()"
    )
    assert script.run(source, stdin=b"abcd").stdout == b"ab,cd,0\n"


def test_launch_services_are_asked_without_an_event(script: Script) -> None:
    source = """
        ObjC.import('AppKit'); ObjC.import('unistd');
        const space = $.NSWorkspace.sharedWorkspace;
        const found = space.URLForApplicationWithBundleIdentifier('com.example.Diary');
        [found.isNil(), found.path.js,
         space.URLForApplicationWithBundleIdentifier('com.example.None').isNil(),
         space.runningApplications.js.map(a => a.bundleIdentifier.js + a.localizedName.js).join(),
         $.NSProcessInfo.processInfo.processIdentifier === $.getpid(),
         $.NSProcessInfo.processInfo.environment.objectForKey('PATH').js.length > 0,
         $.NSProcessInfo.processInfo.environment.objectForKey('NONE_SUCH').isNil()]
    """
    assert script.value(source) == [
        False, "/Applications/Diary.app", True, "com.example.DiaryDiary", True, True, True,
    ]  # fmt: skip
    assert script.simulator.events == []


def test_the_mac_says_what_its_apps_were_told(script: Script) -> None:
    source = """
        ObjC.import('AppKit'); ObjC.import('unistd');
        const space = $.NSWorkspace.sharedWorkspace;
        Application('Diary').activate();
        const front = space.frontmostApplication;
        const all = space.runningApplications;
        [front.localizedName.js, front.active, Application('Diary').frontmost(), all.count,
         all.objectAtIndex(0).bundleIdentifier.js, $.NSScreen.screens.count,
         $.NSUserDefaults.standardUserDefaults.stringForKey('AppleInterfaceStyle').isNil()]
    """
    expected = ["Diary", True, True, 1, "com.example.Diary", 1, True]
    assert script.value(source) == expected


# A server that is killed leaves no osascript behind that goes on with its work.


SERVER = """
import subprocess, sys, time
argv = [sys.executable, "-m", "iac_simulator.osascript", "-l", "JavaScript", "-e", sys.argv[1]]
child = subprocess.Popen(argv, stdin=subprocess.PIPE)
child.stdin.write(open(sys.argv[2], "rb").read())
child.stdin.close()
print(child.pid, flush=True)
time.sleep(600)
"""


def test_what_a_killed_server_started_ends_between_two_events(tmp_path: Path) -> None:
    faults, log, request = (tmp_path / name for name in ("f.json", "events", "request"))
    faults.write_text(json.dumps({"fault": [{"times": 0, "delay": 0.5}]}))
    columns = tuple(Column(name, name) for name in ("name", "body", "id") * 40)
    wanted = Event(
        "com.apple.Notes", "application", "columns", "coregetd", target=(AllElements("notes"),),
        columns=columns, writes=False,
    )  # fmt: skip
    request.write_bytes(request_bytes(wanted, "mark"))
    environment = {
        **os.environ, "IAC_SIMULATOR_FAULTS": str(faults), "IAC_SIMULATOR_EVENTS": str(log),
    }  # fmt: skip
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, load_harness(), str(request)],
        stdout=subprocess.PIPE,
        env=environment,
    )
    with server:
        assert server.stdout is not None
        child = psutil.Process(int(server.stdout.readline()))
        while not log.exists() or not log.read_text():
            assert child.is_running()
        server.send_signal(signal.SIGKILL)
    # Two minutes of events were still to come.
    psutil.wait_procs([child], timeout=30)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    assert len(log.read_text().splitlines()) < len(columns)


# The interactive mode, the error lines of old systems, and other languages than English.


def script(**machine: Any) -> Script:
    return Script(Simulator([DIARY], {"diary": WORLD}, faults=FaultScenario(**machine)))


@pytest.mark.usefixtures("engine")
def test_lines_are_answered_one_by_one() -> None:
    text = "let a = [1, 'x']\na\n\nDIARY.journals[9].name()\nDIARY\nf()"
    lines = text.replace("DIARY", "Application('Diary')").encode()
    argv = ["osascript", "-l", "JavaScript", "-i", "-e", "function f() { return 7 }"]
    done = script().simulator(argv, lines, 10)
    assert done.stdout.decode().splitlines() == [
        ">> => undefined", '>> => [1, "x"]', ">> !! Error on line 1: Error: Invalid index.",
        '>> => Application("Diary")', ">> => 7", ">> ",
    ]  # fmt: skip
    assert (done.stderr, done.status) == (b"", 0)


@pytest.mark.usefixtures("engine")
def test_i_may_stand_with_other_letters() -> None:
    argv = ["osascript", "-il", "JavaScript"]
    assert script().simulator(argv, b"1", 10).stdout == b">> => 1\n>> \n"


@pytest.mark.parametrize(("source", "line"), [
    ("let a = 1;\nfoo",
     "11:14: execution error: Error on line 2: ReferenceError:"
     " Can't find variable: foo (-2700)\n"),
    (D + "\nfunction run() {\n  return d.journals[9].name()\n}",
     "51:80: execution error: Error on line 3: Error: Invalid index. (-1719)\n"),
])  # fmt: skip
@pytest.mark.usefixtures("engine")
def test_old_systems_name_the_place(source: str, line: str) -> None:
    done = script(error_lines="old").run(source)
    if "run()" in source:
        assert done.stderr.decode().endswith(line.partition(" Error on")[2].partition(":")[2])
        assert b"execution error: Error on line " in done.stderr
    else:
        assert done.stderr.decode() == line


@pytest.mark.parametrize("language", errors.LANGUAGES[1:])
def test_another_language_changes_every_text_and_no_number(language: str) -> None:
    english, other = (
        {n: errors.error_message(n, "Diary", said) for n in [*range(-11000, 1003), -25211]}
        for said in ("en", language)
    )
    assert [n for n in english if english[n] == other[n]] == []


@pytest.mark.parametrize("language", errors.LANGUAGES[1:])
@pytest.mark.parametrize(
    ("source", "number"),
    [("d.journals[9].name()", -1719), ("d.doNonsense(1)", -1708), ("Application('None')", -2700)],
)
def test_a_script_meets_the_language(source: str, number: int, language: str) -> None:
    english, other = script(), script(language=language)
    assert english.error(D + source) == other.error(D + source) == number
    assert english.run(D + source).stderr != other.run(D + source).stderr


@pytest.mark.parametrize(("source", "said"), [
    ("d.journals[0].bodi()", "Diary: journals[0].bodi: bodi is not in the dictionary"),
    ("d.nonsense[5].name()", "Diary: nonsense[5].name: nonsense is not in the dictionary"),
    ("d.journals[0].name()", None), ("d.publish(d.entries[0])", None), ("d.journals.x", None),
])  # fmt: skip
def test_the_strict_variant_tells_names_that_the_dictionary_lacks(
    source: str, said: str | None
) -> None:
    strict = Script(Simulator([DIARY], {"diary": WORLD}, faults=FaultScenario(strict=True)))
    err = strict.run(D + source).stderr.decode()
    assert [line for line in err.splitlines() if line.startswith("warning: ")] == (
        [f"warning: {said}"] if said else []
    )


def type_in(language: str, number: int) -> ErrorType:
    """Return the type of error that a caller gets where the app answers this number."""
    event = Event(
        "com.example.Diary", "application", "get", "coregetd", target=(PropertyStep("name"),)
    )
    world = {"diary": {"@errors": {"coregetd": number}}}
    simulator = Simulator([DIARY], world, faults=FaultScenario(language=language))
    with pytest.raises(ToolError) as caught:
        Executor(simulator).execute(event, app="Diary", command="diary_get")
    return caught.value.type


ONE_OF_EACH = {row.type: number for number, row in APPLE_ERRORS.items()}


@pytest.mark.parametrize("language", errors.LANGUAGES[1:])
@pytest.mark.parametrize("numbers", [
    pytest.param(sorted(ONE_OF_EACH.values()), id="one-of-each-type"),
    pytest.param(list(APPLE_ERRORS), id="all", marks=pytest.mark.stress),
])  # fmt: skip
def test_a_number_is_of_its_type_in_every_language(language: str, numbers: list[int]) -> None:
    for number in numbers:
        assert type_in(language, number) == APPLE_ERRORS[number].type


def test_the_words_are_those_of_the_language() -> None:
    """Each table says of each common number something of its own."""
    for number in (-43, -128, -600, -609, -1700, -1708, -1712, -1719, -1728, -1743, -10000):
        said = {errors.error_message(number, "Mail", language) for language in errors.LANGUAGES}
        assert len(said) == len(errors.LANGUAGES), said
