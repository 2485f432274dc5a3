"""The stand-in as a worker: one process that reads requests and answers on descriptors."""

import json
import os
from pathlib import Path

import pytest
from programs import jar, started
from simulated_diary import Script

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
