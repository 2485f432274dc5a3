"""What an AppleScript sends is what was predicted, for straight lines to one app.

The simulator runs no AppleScript. So each act is made twice from one row: as AppleScript, in ways
of writing that hide it, for the analysis; and as the JavaScript that sends the same events, for the
simulator, which records them. Covered: get, set, copy, count, exists, make, delete and commands,
on objects written out, held in variables, told, or of `it`, inside blocks, handlers and script
objects. Not covered: what computes its words (`run script`), and how macOS resolves a term.
"""

import os
import re

import pytest
from hypothesis import event as note
from hypothesis import given, settings
from hypothesis import strategies as st
from test_script_predicted import READS, Levels

from iac_applescript.analysis.analyser import ScriptAnalyzer
from iac_runtime.tool import LEVELS
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator.simulator import Simulator
from iac_simulator.values import SentEvent

EXAMPLES = (
    20_000
    if os.environ.get("IAC_HYPOTHESIS") == "stress"
    else settings.default.max_examples * 3 // 4
)

FOLDER = re.compile(r"(?:folders\[0\]|home|trash|windows\[0\])$")
STARTS = ("miscactv", "ascrnoop", "aevtoapp", "aevtrapp")
"""Events that start an app or show it; that one starts is counted when it is known what runs."""

OBJECTS = {
    "Finder": {"home": "home", "file 1 of desktop": "desktop.files[0]", "trash": "trash",
     "folder 1 of desktop": "desktop.folders[0]", "window 1": "windows[0]",
     "first folder of home": "home.folders[0]"},
    "Music": {"current track": "currentTrack", "playlist 1": "playlists[0]",
     "track 1 of playlist 1": "playlists[0].tracks[0]"},
    "Notes": {"note 1": "notes[0]", "folder 1": "folders[0]", "last note": "notes.at(-1)"},
    "Safari": {"document 1": "documents[0]", "tab 1 of window 1": "windows[0].tabs[0]"},
}  # fmt: skip
ACTS = {
    "get name of O": "O.name()", "name of O": "O.name()", "get O": "O()", "O's name": "O.name()",
    "exists O": "O.exists()", "get properties of O": "O.properties()",
    "set name of O to V": "O.name = 'x'", "set O's name to V": "O.name = 'x'",
    "copy V to name of O": "O.name = 'x'", "set {name of O} to {V}": "O.name = 'x'",
    "set comment of O to V": "O.comment = 'x'", "set body of O to V": "O.body = 'x'",
    "set rating of O to 20": "O.rating = 20", "set URL of O to V": "O.url = 'x'",
    "set index of O to 1": "O.index = 1", "set sound volume to 1": "A.soundVolume = 1",
    "delete O": "A.delete(O)", "duplicate O": "A.duplicate(O)", "open O": "A.open(O)",
    "close O": "A.close(O)", "reveal O": "A.reveal(O)", "select O": "A.select(O)",
    "play O": "A.play(O)", "show O": "A.show(O)", "move O to trash": "A.move(O, {to: A.trash})",
    "print O": "A.print(O)", "activate": "A.activate()", "quit": "A.quit()", "launch": "A.launch()",
    "empty trash": "A.empty()", "empty": "A.empty()", "eject O": "A.eject(O)",
    "restart": "A.restart()", "pause": "A.pause()", "next track": "A.nextTrack()",
    "count windows": "A.windows.length", "count of windows": "A.windows.length",
    "make new folder": "A.make({new: 'folder'})", "make new note": "A.make({new: 'note'})",
    "make new playlist with properties {name:V}":
        "A.make({new: 'playlist', withProperties: {name: 'x'}})",
    "make new folder at desktop with properties {name:V}":
        "A.make({new: 'folder', at: A.desktop, withProperties: {name: 'x'}})",
    "run": "A.run()", "reopen": "A.reopen()",
}  # fmt: skip
HELD = (
    "T", "tell O to T", "set o to O\nU", "set o to a reference to O\nU", "set {o, p} to {O, 1}\nU",
)  # fmt: skip
BLOCKS = (
    "S", "S", "try\nS\nend try", "with timeout of 9 seconds\nS\nend timeout",
    "ignoring application responses\nS\nend ignoring", "considering case\nS\nend considering",
    "repeat 1 times\nS\nend repeat", "if true then\nS\nend if",
    "repeat with i from 1 to 1\nS\nend repeat",
    "try\nerror\non error\nS\nend try", "if false then\nbeep\nelse\nS\nend if",
    "repeat with o in {O}\nS\nend repeat", "set x to 1\nS\nset y to {delete:1, play:2}",
)  # fmt: skip
TELLS = (
    'tell application "N"\nS\nend tell', 'tell application id "I"\nS\nend tell',
    'tell app "N"\nS\nend tell',
    'using terms from application "N"\ntell application "N"\nS\nend tell\nend using terms from',
    'set a to application "N"\ntell a\nS\nend tell',
    'tell application "Finder"\ntell application "N"\nS\nend tell\nend tell',
    'on f()\ntell application "N"\nS\nend tell\nend f\nf()',
    'on f(o, v)\ntell application "N"\nS\nend tell\nend f\nf(1, 2)',
    'script t\non f()\ntell application "N"\nS\nend tell\nend f\nend script\nt\'s f()',
    'on run\ntell application "N"\nS\nend tell\nend run',
    'property N : "x"\ntell application "N"\nS\nend tell',
    'set theName to "N"\ntell application theName\nS\nend tell',
)  # fmt: skip
BETWEEN = (" ", " ", " ", " ", "  ", " ¬\n", " (* delete *) ", " the ")


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, str, str]:
    """Return an app, an AppleScript and the JavaScript that sends the same."""
    app = draw(st.sampled_from(sorted(OBJECTS)))
    thing = draw(st.sampled_from(sorted(OBJECTS[app])))
    said = draw(st.sampled_from(sorted(ACTS)))
    does = ACTS[said].replace("O", f"a.{OBJECTS[app][thing]}").replace("A.", "a.")
    said = said.replace("V", draw(st.sampled_from(('"x"', '("x" & "")', "x"))))
    held = draw(st.sampled_from(HELD)).replace(
        "T", said.replace("O", "it" if "tell" in said else "O")
    )
    held = held.replace("tell O to " + said, "tell O to " + said.replace("O", "it"))
    held = held.replace("U", said.replace("O", "o"))
    block = draw(st.sampled_from(BLOCKS)).replace("S", held)
    if "o in {O}" in block:
        block = block.replace(held, said.replace("O", "o"))
    block = block.replace("O", thing)
    spaced = "".join(
        draw(st.sampled_from(BETWEEN)) if char == " " and draw(st.integers(0, 9)) == 0 else char
        for char in block
    )
    found = draw(st.sampled_from(TELLS)).replace("S", spaced, 1).replace("I", "ID")
    return app, found.replace("N", app), f"const a = Application('{app}'); {does}"


@pytest.fixture(scope="module")
def levels(catalogue: Catalogue) -> Levels:
    return Levels(catalogue)


@pytest.fixture(scope="module")
def simulator(levels: Levels) -> Simulator:
    return Simulator(list(levels.tables.values()))


def sent(simulator: Simulator, script: str) -> list[SentEvent]:
    simulator.events.clear()
    simulator(["osascript", "-l", "JavaScript", "-"], script.encode(), 5)
    return list(simulator.events)


@settings(max_examples=EXAMPLES, deadline=None)
@given(made=programs())
def test_no_event_is_above_the_verdict(
    made: tuple[str, str, str], analyser: ScriptAnalyzer, levels: Levels, simulator: Simulator
) -> None:
    app, script, same = made
    bundle = next(t.app.id for t in levels.tables.values() if t.app.name == app)
    found = analyser.analyze_script(script.replace("ID", bundle), "applescript")
    note(found.level)
    if found.level == "DANGEROUS":
        return
    for event in sent(simulator, same):
        needed = "SAFE" if event.event in STARTS else levels.level(event)
        if (app, event.event) == ("Finder", "aevtodoc") and FOLDER.search(str(event.direct)):
            # Of a folder Finder shows a window; of a file its app starts.
            needed = "MODIFY"
        assert LEVELS.index(needed) <= LEVELS.index(found.level), (event, script)
        assert event.app in found.targets, (event, script)
        if event.event not in READS:
            done = [row for row in found.effects if row.app == event.app and row.verb != "read"]
            assert done or needed == "SAFE", (event, found.effects, script)


@pytest.mark.parametrize(("act", "app", "level"), [
    ("get name of note 1", "Notes", "SAFE"), ("count notes", "Notes", "SAFE"),
    ("set name of note 1 to \"x\"", "Notes", "MODIFY"), ("make new note", "Notes", "MODIFY"),
    ("play track 1 of playlist 1", "Music", "SAFE"), ("delete note 1", "Notes", "DANGEROUS"),
    ("empty trash", "Finder", "DANGEROUS"),
])  # fmt: skip
def test_the_verdict_is_no_higher_than_it_must_be(
    act: str, app: str, level: str, analyser: ScriptAnalyzer
) -> None:
    found = analyser.analyze_script(f'tell application "{app}"\n{act}\nend tell', "applescript")
    assert found.level == level
