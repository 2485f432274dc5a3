"""What a script sends is what was predicted: made programs run in the simulator.

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
from script_cases import read_cases

from iac_applescript.analysis.analyser import JavaScriptBounds, ScriptAnalyzer
from iac_applescript.wrapping import wrap_javascript
from iac_runtime.tool import LEVELS
from iac_runtime.tools.catalogue import Catalogue
from iac_simulator.simulator import Simulator
from iac_simulator.values import SentEvent

EXAMPLES = 20_000 if os.environ.get("IAC_HYPOTHESIS") == "stress" else settings.default.max_examples
APPS = ("finder", "music", "notes", "safari", "standard_additions")
READS = ("coregetd", "corecnte", "coredoex")

_HIDES = """
(#)|[#][0]|({a: #}).a|(() => #)()|(function () { return # })()|((x) => x)(#)|(1 ? # : 2)|(0, #)
[#].map(x => x)[0]|[#].find(() => true)|(({a}) => a)({a: #})|(([a]) => a)([#])|[...[#]][0]
Array.from([#])[0]|(null ?? #)|[#].concat([])[0]|((o) => o?.a)({a: #})
new Map([["k", #]]).get("k")|((...r) => r[0])(#)|({...{a: #}}).a|((a, ...[b]) => b)(1, #)
(() => { try { throw # } catch (x) { return x } })()|(() => { for (const x of [#]) return x })()
(() => { let x; x = #; return x })()|(() => { var o = {}; o["k"] = #; return o.k })()
(class { static f() { return # } }).f()|({get a() { return # }}).a|[#].reduce((a, b) => b)
[1, #].reduce((a, b) => b)|Object.values({a: #})[0]|Object.entries({a: #})[0][1]|[[#]].flat()[0]
((a, b = a) => b)(#)|[null, #].pop()|[#].slice(0)[0]|[["k", #]].map(([k, v]) => v)[0]
Object.fromEntries([["a", #]]).a|(({a: {b}}) => b)({a: {b: #}})|[#].filter(() => true)[0]
(() => { const {["k"]: x} = {k: #}; return x })()|(() => { const [, x] = [1, #]; return x })()
({a: {b: #}}).a.b|({a: #})["a"]|({f(x) { return x }}).f(#)|[#, 1].sort(() => 0)[0]|[#].at(-1)
(() => { let r; [#].forEach(x => { r = x }); return r })()|(() => { const s = []; s.push(#); return s[0] })()
(function f(n) { return n ? f(n - 1) : # })(2)|(() => { switch (1) { case 1: return # } })()
new (class { constructor() { this.x = # } })().x|({set a(x) { this.b = x }, b: #}).b
"""  # noqa: E501
HIDES = tuple(part for line in _HIDES.splitlines() for part in line.split("|") if "#" in part)
SPELLS = (
    '"K"', "`K`", '["K1", "K2"].join("")', '"K1" + "K2"', '"xK".slice(1)', '`K1${"K2"}`',
    '"K".concat("")', 'Object.keys({"K": 1})[0]', '"K,a".split(",")[0]', '"KX".replace("X", "")',
    'JSON.parse(\'"K"\')', '"K2".replace(/^/, "K1")', 'decodeURI("K")', 'String("K")',
)  # fmt: skip
OBJECTS = {
    "Finder": ("A.home", "A.desktop.files[0]", "A.desktop.folders[0]", "A.windows[0]", "A.trash"),
    "Music": ("A.currentTrack()", "A.playlists[0].tracks[0]", "A.playlists[0]"),
    "Notes": ("A.notes[0]", "A.folders[0]", "A.accounts[0].folders[0].notes[0]"),
    "Safari": ("A.documents[0]", "A.windows[0].tabs[0]"),
}
MEMBERS = (
    *("name", "id", "activate", "count", "exists", "name", "id", "play", "reveal", "duplicate"),
    *("close", "move", "make", "open", "show", "select", "comment", "rating", "index", "url"),
    *("delete", "quit", "empty", "restart", "doShellScript", "doJavaScript", "body"),
)
USES = (
    "O[K]()", "O.M()", "const f = O.M; f()", "const {M: f} = O; f()", "O[K](R)", "O.M(R)",
    "O.M = V", "O[K] = V", "[O.M] = [V]", "({a: O.M} = {a: V})",
    "O.M += V", "for (O.M of [V]) {}", "A[K]()", "A.M()", "A.M(O)", "A[K](O)",
    "[O].map(o => o.M())",
    "[K].forEach(k => O[k]())", "const g = (o, k) => o[k](); g(O, K)", "O?.[K]?.()", "O.M``",
    "O[K].call(O)", "new O.M()", "A.includeStandardAdditions = true; A.M(V)",
    "const p = {k: K}; for (const q in {M: 1}) O[q]()", "A.Folder({name: V}).make()",
    "O.M.set(V)", "O[K].set(V)", "O.M.set.call(0, V)", "A.M.apply(A, [O])", "A[K].bind(A)(O)",
)  # fmt: skip


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Return a program that does one or more things to an app in ways that hide them."""

    def hidden(text: str) -> str:
        for _ in range(max(0, draw(st.integers(-2, 2)))):
            text = draw(st.sampled_from(HIDES)).replace("#", text, 1)
        return text

    def spelled(word: str) -> str:
        how = draw(st.sampled_from(SPELLS))
        half = len(word) // 2
        parts = (("K1", word[:half]), ("K2", word[half:]), ("K", word))
        for key, part in parts:
            how = how.replace(key, part)
        return hidden(how)

    app = draw(st.sampled_from(sorted(OBJECTS)))
    name = draw(st.sampled_from((f'"{app}"',) * 6 + (spelled(app),)))
    asked = f"Application({name})"
    lines = [f"const a = {draw(st.sampled_from((hidden(asked), asked)))};"]
    for _ in range(draw(st.integers(1, 2))):
        member = draw(st.sampled_from(MEMBERS))
        made = {
            "O": hidden(draw(st.sampled_from(OBJECTS[app]))), "A": "a", "K": spelled(member),
            "M": member, "R": hidden("{}"), "V": hidden('"x"'),
        }  # fmt: skip
        use = "".join(made.get(part, part) for part in _parts(draw(st.sampled_from(USES))))
        around = draw(st.sampled_from(("{ # }", "try { # } catch (e) {}", "(() => { # })();")))
        lines.append(around.replace("#", use.replace("A.", "a."), 1))
    return "\n".join(lines)


def _parts(use: str) -> list[str]:
    """Return a use cut at the letters that stand for something."""
    found, word = [], ""
    for place, char in enumerate(use):
        alone = not (use[place + 1 : place + 2].isalpha() or use[place - 1 : place].isalpha())
        if char in "OAKMRV" and alone:
            found += [word, char]
            word = ""
        else:
            word += char
    return [*found, word]


class Levels:
    """What each event needs by the dictionaries."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.tables = {app: catalogue.load_tables(catalogue.apps[app]) for app in APPS}
        self.of: dict[tuple[str, str], str] = {}
        for tables in self.tables.values():
            for tool in tables.tools.values():
                if tool.op == "command" and not tool.bind:
                    self.of[tables.app.id, tool.event] = tool.level

    def level(self, event: SentEvent) -> str:
        if event.event in ("coredelo", "aevtquit"):
            return "DANGEROUS"
        if event.event in READS:
            return "SAFE"
        return self.of.get((event.app, event.event), "MODIFY")


@pytest.fixture(scope="module")
def levels(catalogue: Catalogue) -> Levels:
    return Levels(catalogue)


@pytest.fixture(scope="module")
def simulator(levels: Levels) -> Simulator:
    return Simulator(list(levels.tables.values()))


def sent(simulator: Simulator, script: str, asked: JavaScriptBounds) -> tuple[list[SentEvent], str]:
    """Return what a script sends behind the bridge, and what osascript complains of."""
    simulator.events.clear()
    argv = ["osascript", "-l", "JavaScript", "-"]
    done = simulator(argv, wrap_javascript(script, asked).encode(), 5)
    return list(simulator.events), done.stderr.decode()


@settings(max_examples=EXAMPLES, deadline=None)
@given(script=programs())
def test_nothing_is_sent_above_what_was_predicted(
    script: str, analyser: ScriptAnalyzer, levels: Levels, simulator: Simulator
) -> None:
    found = analyser.analyze_script(script, "javascript")
    assert found.bounds is not None
    if found.level == "DANGEROUS":
        nothing = JavaScriptBounds(tuple(OBJECTS), (), (), open=False, code=False, bridge=False)
        events, _ = sent(simulator, script, nothing)
        assert all(event.event in READS for event in events), script
        return
    events, _ = sent(simulator, script, found.bounds)
    for event in events:
        needed = levels.level(event)
        assert LEVELS.index(needed) <= LEVELS.index(found.level), (event, script)
        assert event.app in found.targets or event.app not in levels.tables, (event, script)
        if event.event not in READS:
            done = [row for row in found.effects if row.app == event.app and row.verb != "read"]
            assert done or needed == "SAFE", (event, found.effects, script)


def test_what_a_text_does_not_show_is_held_by_the_bridge(
    analyser: ScriptAnalyzer, levels: Levels, simulator: Simulator
) -> None:
    cases = [*read_cases("dangerous.txt"), *read_cases("dangerous_more.txt")]
    held = 0
    for case in cases:
        if case.language == "javascript":
            found = analyser.analyze_script(case.script, "javascript")
            if found.level != "DANGEROUS":
                assert found.bounds is not None
                events, _ = sent(simulator, case.script, found.bounds)
                worst = [event for event in events if levels.level(event) == "DANGEROUS"]
                assert not worst, case.script
                held += 1
    assert held


@pytest.mark.parametrize(("script", "says"), [
    ('const s = Application("Safari"); const u = "https://" + s.name(); s.documents[0].url = u',
     "which the script does not spell out"),
    ('let p = "/Library/Launch"; p += "Agents"; const f = Application("Finder");'
     " f.duplicate(f.home.files[0], {to: f.folders.byName(p)})", "does not spell out"),
    ('const p = ["/Library/Launch", "Agents"].join(""); const f = Application("Finder");'
     " f.duplicate(f.home.files[0], {to: Path(p)})", "does not spell out"),
    ('const e = RegExp.prototype.exec; RegExp.prototype.exec = () => null;'
     ' const p = ["/Library/Launch", "Agents"].join(""); const f = Application("Finder");'
     " f.duplicate(f.home.files[0], {to: Path(p)})", "does not spell out"),
    ('const n = Application("Notes"), f = Application("Finder"); f.home.name();'
     " n.notes().concat(f.windows()).pop().close(); n.notes[0].name = 'x'", "close in Finder"),
    ('const f = Application("Finder"); [f.home][0].count = "x"; f.home["count"]()',
     "setting count in Finder"),
    ('const f = Application("Finder"); f.home.name(); f.activate();'
     ' [f.home][0].comment.set("x"); [][0].comment = 1', "set was not approved"),
    ('const n = Application("Notes"); for (let i = 0; i < 200; i++) n.notes[0].name = "x"',
     "more than 100 objects of Notes"),
])  # fmt: skip
def test_a_value_or_a_count_beyond_the_text_ends_the_script(
    simulator: Simulator, analyser: ScriptAnalyzer, script: str, says: str
) -> None:
    bounds = analyser.analyze_script(script, "javascript").bounds
    assert bounds is not None
    events, complaint = sent(simulator, script, bounds)
    assert says in complaint
    assert all(event.event not in ("coreclon", "coreclos") for event in events)
    assert sum(event.event == "coresetd" for event in events) <= 100


@pytest.mark.parametrize(("script", "refused"), [
    ('Application("Finder").quit()', "quit"), ('Application("Mail").name()', "Application(Mail)"),
    ('Application("Finder").home.name = "x"', "setting name"),
    ('Application("Finder").home.name.set("x")', "set"),
    ('Application("Finder").quit.call(0)', "quit"),
    ('const a = Application.currentApplication(); a.doShellScript("id")', "doShellScript"),
    ('eval("1")', "eval"), ('(() => {}).constructor("return 1")()', "Function"),
    ('(async () => {}).constructor("return 1")()', "Function"), ("$.NSTemporaryDirectory()", "$"),
    ('ObjC.import("Foundation")', "ObjC"),
    ('try { Application("Finder").quit() } catch (e) {} Application("Finder").name()', "quit"),
    ('Reflect.apply(Application("Finder").quit, null, [])', "quit"),
    ('Application("Finder").home["de" + "lete"]()', "delete"),
    ("Set.prototype.has = WeakMap.prototype.has = Array.prototype.at = () => true;"
     "Application('Finder').quit()", "quit"),
    ("function run() { return Application('Finder') } run().quit()", "quit"),
    ("var own = 0; function run() { return own++ ? Application('Finder') : run().quit() }", "quit"),
    ("for (const k of ['quit']) [Application('Finder')].map((a) => a[k]())", "quit"),
])  # fmt: skip
def test_what_was_not_approved_ends_the_script(
    simulator: Simulator, script: str, refused: str
) -> None:
    asked = JavaScriptBounds(("Finder",), ("name",), (), open=False, code=False, bridge=False)
    events, complaint = sent(simulator, script, asked)
    assert f"{refused} was not approved" in complaint
    assert all(event.event in READS for event in events)


@pytest.mark.parametrize(("script", "printed"), [
    ('Application("Finder").home', 'Application("Finder").home'),
    ('"use strict"; [Application("Finder").home, 1]', '[Application("Finder").home, 1]'),
    ('function run() { return Application("Finder").home.name() }', '"me"'), ("let a = 1", ""),
    ("#!/usr/bin/osascript\n1 + 1;", "2"), ('Application("Finder").home.name() // the end', '"me"'),
    ('JSON.stringify({a: [null, new Date(0), Path("/x").toString()]}) ; ', None),
    ('Application("Finder") instanceof ObjectSpecifier', None),
    ('Automation.getDisplayString(Application("Finder").home)', None),
    ('ObjectSpecifier.classOf(Application("Finder").home)', None),
    ('"name" in Application("Finder").home', None),
    ('Application("Finder").windows.whose({name: "x"}).length', None),
    ("throw new Error('x')", None),
])  # fmt: skip
def test_the_bridge_changes_nothing_of_what_was_approved(
    simulator: Simulator, analyser: ScriptAnalyzer, script: str, printed: str | None
) -> None:
    asked = analyser.analyze_script(script, "javascript").bounds
    assert asked is not None
    argv = ["osascript", "-l", "JavaScript", "-s", "s", "-"]
    plain, held = (
        simulator(argv, text.encode(), 5) for text in (script, wrap_javascript(script, asked))
    )
    assert held.stdout == plain.stdout
    assert held.stderr == plain.stderr
    if printed is not None and printed != '"me"':
        assert plain.stdout.decode().strip() == printed


FOLDER = re.compile(r"(?:folders\[0\]|home|trash|windows\[0\])$")
STARTS = ("miscactv", "ascrnoop", "aevtoapp", "aevtrapp")
"""Events that start an app or show it; that one starts is counted when it is known what runs."""

TOLD_OBJECTS = {
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
def told_programs(draw: st.DrawFn) -> tuple[str, str, str]:
    """Return an app, an AppleScript and the JavaScript that sends the same."""
    app = draw(st.sampled_from(sorted(TOLD_OBJECTS)))
    thing = draw(st.sampled_from(sorted(TOLD_OBJECTS[app])))
    said = draw(st.sampled_from(sorted(ACTS)))
    does = ACTS[said].replace("O", f"a.{TOLD_OBJECTS[app][thing]}").replace("A.", "a.")
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


def told_events(simulator: Simulator, script: str) -> list[SentEvent]:
    simulator.events.clear()
    simulator(["osascript", "-l", "JavaScript", "-"], script.encode(), 5)
    return list(simulator.events)


@settings(max_examples=EXAMPLES * 3 // 4, deadline=None)
@given(made=told_programs())
def test_no_event_is_above_the_verdict(
    made: tuple[str, str, str], analyser: ScriptAnalyzer, levels: Levels, simulator: Simulator
) -> None:
    app, script, same = made
    bundle = next(t.app.id for t in levels.tables.values() if t.app.name == app)
    found = analyser.analyze_script(script.replace("ID", bundle), "applescript")
    note(found.level)
    if found.level == "DANGEROUS":
        return
    for event in told_events(simulator, same):
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
