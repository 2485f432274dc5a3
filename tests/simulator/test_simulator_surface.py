"""The JXA surface: what scripts read, how references look, what goes out as events."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_diary import DIARY, Script
from test_simulator_habits import script

from iac_simulator import Simulator
from iac_simulator.values import ChainStep, format_chain, parse_chain

D = 'const d = Application("Diary"); '


@pytest.mark.parametrize(("source", "value"), [
    ("d.journals[0].name()", "Work"), ("d.journals.at(1).name()", "Home"),
    ('d.journals["Home"].id()', "j-2"), ('d.journals.byName("home").id()', "j-2"),
    ('d.journals.byId("j-1").entries.byId(2).name()', "Tuesday"),
    ("d.journals[-1].name.get()", "Home"),
    ("[d.journals.first.name(), d.journals.last.name()]", ["Work", "Home"]),
    ("d.journals.entries.name()", [["Monday", "Tuesday"], []]),
    ("d.entries.name()", ["Monday", "Tuesday"]), ("d.journals[0].longEntries.name()", ["Tuesday"]),
    ("d.journals.length", 2), ("d.count(d.journals)", 2),
    ('d.count(d.journals[0], {each: "entry"})', 2), ("d.count(d.selection)", 1),
    ("d.currentEntry.body()", "Sun"), ("d.currentEntry.class()", "longEntry"),
    ("d.currentEntry.container().name()", "Work"), ("d.journals[1].index()", 2),
    ("d.journals[1].exists()", True),
    ("[d.exists(d.journals[7]), d.journals.byName('x').exists()]", [False, False]),
    ("d.journals[0].entries[0].tags()", ["wet"]), ("d.journals[0].entries[1].dueDate()", None),
    ("d.journals[0].entries[1].tags()", []), ("d.journals[0].entries[1].done()", False),
    ("d.journals[0].entries[1].mood()", "very good"), ("d.selection()[0].name()", "Monday"),
    ("d.selection[0].name()", "Monday"),
    ("d.journals[0].entries[0].text.paragraphs()", ["One", "Two words"]), ("d.name()", "Diary"),
    ("[d.id(), d.running(), d.frontmost(), d.version()]",
     ["com.example.Diary", True, False, "1.0"]),
    ('Application("com.example.Diary").name()', "Diary"),
    ('Application("/Applications/Diary.app").name()', "Diary"),
    ("d.journals[0].properties().name", "Work"),
    ("[typeof d, typeof d.nonsense, typeof d.nonsense.length]", ["function"] * 3),
    ("d.journals[0] instanceof ObjectSpecifier", True),
    ("[ObjectSpecifier.classOf(d), ObjectSpecifier.classOf(d.journals[0])]",
     ["application", "journal"]),
    ("[ObjectSpecifier.hasInstance(d.name), ObjectSpecifier.hasInstance(1)]", [True, False]),
    ("d.nonsense.hasOwnProperty('x')", True), ("('x' in d.journals) && delete d.journals.x", True),
    ("JSON.stringify([d.journals, {a: d}])", "[null,{}]"),
    ("let k = []; for (const n in d.journals[0]) k.push(n); k.includes('entries')", True),
    ("d.journals.includeStandardAdditions === undefined", False), ("d.strictPropertyScope", False),
    ("String(d.journals[0])", 'Application("Diary").journals.at(0)'), ("`${Path('/x')}`", "/x"),
    ("Path(Path('/x')).toString()", "/x"), ("Progress.totalUnitCount", 0),
])  # fmt: skip
def test_a_script_reads(script: Script, source: str, value: Any) -> None:
    assert script.value(D + source) == value


@pytest.mark.parametrize(("query", "names"), [
    ('{name: "Monday"}', ["Monday"]), ('{name: "monday"}', ["Monday"]),
    ("{rating: {_greaterThan: 2}}", ["Tuesday"]), ('{rating: {">=": 2}}', ["Monday", "Tuesday"]),
    ('{rating: {"<": 5}}', ["Monday"]),
    ("{rating: {_lessThanEquals: 5}, done: false}", ["Tuesday"]),
    ("{_and: [{done: true}, {rating: 2}]}", ["Monday"]),
    ('{_or: [{name: "Monday"}, {name: "Tuesday"}]}', ["Monday", "Tuesday"]),
    ("{_not: [{done: true}]}", ["Tuesday"]), ('{body: {_contains: "ai"}}', ["Monday"]),
    ('{name: {_beginsWith: "Tue"}}', ["Tuesday"]),
    ('{name: {_endsWith: "day"}}', ["Monday", "Tuesday"]),
    ('{tags: {_contains: "wet"}}', ["Monday"]),
    ('{dueDate: {_lessThan: new Date("2027-01-01")}}', ["Monday"]),
    ("{dueDate: null}", ["Tuesday"]),
    ('{_match: [ObjectSpecifier().class, "longEntry"]}', ["Tuesday"]),
    ('{_match: [ObjectSpecifier().text.paragraphs[0], "One"]}', ["Monday"]),
    ('{rating: {_greaterThan: "x"}}', []), ("{rating: {_beginsWith: 2}}", []), ("{done: 1}", []),
])  # fmt: skip
def test_a_filter_passes(script: Script, query: str, names: list[str]) -> None:
    assert script.value(f"{D}d.journals[0].entries.whose({query}).name()") == names


@pytest.mark.parametrize(
    "query",
    ["{}", "3", "{_and: [{done: true}]}", "{_match: [1, 2]}", "{_in: 3}", "{name: {_like: 1}}"],
)
def test_a_filter_that_jxa_lacks_is_refused(script: Script, query: str) -> None:
    assert script.error(f"{D}d.entries.whose({query})") == -1700


@pytest.mark.parametrize(("source", "text"), [
    ("d", 'Application("Diary")'), ("d.journals[0]", 'Application("Diary").journals.at(0)'),
    ('d.journals["a\\"b"]', 'Application("Diary").journals.byName("a\\"b")'),
    ("d.journals.byId(4).name", 'Application("Diary").journals.byId(4).name'),
    ('d.entries.where({done: true, name: {_contains: "x"}})[0].name',
     'Application("Diary").entries.whose({_and: [{_match: [ObjectSpecifier().done, true]}, '
     '{_match: [ObjectSpecifier().name, {_contains: "x"}]}]}).entries.at(0).name'),
    ('d.entries.whose({rating: {">": 1}})',
     'Application("Diary").entries.whose({_match: [ObjectSpecifier().rating, {">": 1}]})'),
    ("d.journals[0].entries.end", 'Application("Diary").journals.at(0).entries.end'),
    ("ObjectSpecifier().a[0]", "ObjectSpecifier().a.at(0)"),
    ("d.journals()",
     '[Application("Diary").journals.byId("j-1"), Application("Diary").journals.byId("j-2")]'),
    ("d.currentEntry()", 'Application("Diary").journals.byId("j-1").entries.byId(2)'),
    ("d.entries()[0]", 'Application("Diary").entries.byId(1)'),
    ("d.documents[0]()", 'Application("Diary").documents.byName("draft")'),
    ("d.Entry({name: 'x'})", 'Application("Diary").entry()'),
    ("[1, 'a', null, undefined, Path('/x'), {a: [true]}]",
     '[1, "a", null, undefined, Path("/x"), {"a":[true]}]'),
    ("$('x')", '$("x")'), ("/x/", "/x/"),
])  # fmt: skip
def test_the_display_form(script: Script, source: str, text: str) -> None:
    assert script.shown(D + source) == text


@pytest.mark.parametrize(("source", "event", "direct", "params"), [
    ("d.journals[0].name()", "coregetd", "journals[0].name", {}),
    ('d.journals["Work"].entries.byId(1).body()', "coregetd",
     'journals["Work"].entries.byId(1).body', {}),
    ("d.entries.whose({done: true})()", "coregetd",
     "entries.whose({_match: [ObjectSpecifier().done, true]})", {}),
    ('d.entries.whose({dueDate: {">": new Date(0)}})()', "coregetd",
     "entries.whose({_match: [ObjectSpecifier().dueDate, "
     '{">": new Date("1970-01-01T00:00:00.000Z")}]})', {}),
    ("d.journals.length", "corecnte", "journals", {"kocl": {"type": "cobj"}}),
    ('d.journals[0].entries[0].mood = "bad"', "coresetd", "journals[0].entries[0].mood",
     {"data": {"enum": "mbad"}}),
    ("d.paperColor.set('blue')", "coresetd", "paperColor", {"data": {"enum": "pblu"}}),
    ("d.set(d.paperColor, {to: 'blue'})", "coresetd", "paperColor", {"data": "blue"}),
    ("d.journals[0].size = {paperWidth: 3}", "coresetd", "journals[0].size",
     {"data": {"record": {"widt": 3}}}),
    ('d.make({new: "entry", at: d.journals[1], withProperties: {name: "x", mood: "bad"}})',
     "corecrel", None,
     {"kocl": {"type": "entr"}, "insh": {"ref": "journals[1]"},
      "prdt": {"record": {"pnam": "x", "mood": {"enum": "mbad"}}}}),
    ('d.make({new: "journal", usingPaper: "blue"})', "corecrel", None,
     {"kocl": {"type": "jour"}, "upap": {"enum": "pblu"}}),
    ("d.publish(d.entries[0], {withMood: 'bad', size: {paperWidth: 1}})", "DIARpubl", "entries[0]",
     {"wimo": {"enum": "mbad"}, "size": {"record": {"widt": 1}}}),
    ("d.entries[0].publish()", "DIARpubl", "entries[0]", {}),
    ("d.publish([d.entries[0], d.entries[1]])", "DIARpubl",
     [{"ref": "entries[0]"}, {"ref": "entries[1]"}], {}),
    ("d.refresh({force: true})", "DIARrefr", None, {"forc": True}),
    ("d.refresh(null, {force: true})", "DIARrefr", None, {"forc": True}),
    ('d.find("x")', "DIARfind", {"text": "x"}, {}),
    ('d.entries[0].find("x")', "DIARfind", {"text": "x"}, {}),
    ("d.open(Path('/a.txt'))", "aevtodoc", {"path": "/a.txt"}, {}),
    ("d.documents[0].close({saving: 'no'})", "coreclos", "documents[0]",
     {"savo": {"enum": "no  "}}),
    ("d.activate()", "miscactv", None, {}), ("d.launch()", "ascrnoop", None, {}),
])  # fmt: skip
def test_what_goes_out(script: Script, source: str, event: str, direct: Any, params: Any) -> None:
    assert script.run(D + source).stderr == b""
    [sent] = script.simulator.events
    assert sent == ("com.example.Diary", event, direct, params, None)


@pytest.mark.parametrize("source", [
    "d.documents[0].save({}, {timeout: 7})", "d.publish(d.entries[0], {}, {timeout: 7})",
    "d.name({timeout: 7})", "d.name.get({timeout: 7})",
])  # fmt: skip
def test_event_modifiers_give_the_time_limit(script: Script, source: str) -> None:
    script.run(D + source)
    assert script.simulator.events[0].timeout == 7


@pytest.mark.parametrize(("source", "value"), [
    ("d.latest().name()", "Monday"), ("d.moodNow()", "very good"), ("d.isOpen()", True),
    ("d.stamp()", "2026-03-02T09:30:00.000Z"), ("d.export().toString()", "/Users/me/Desktop"),
    ("d.report()", {"paperWidth": 0}), ("d.find('x')", []), ("d.publish(d.entries[0])", ""),
    ("d.refresh() === undefined", True),
    ("[new Date().toISOString(), Date.now(), typeof Date()]",
     ["2026-03-02T09:30:00.000Z", 1772443800000, "string"]),
    ("new Date(0).getTime()", 0),
])  # fmt: skip
def test_a_command_answers_by_its_declared_type(script: Script, source: str, value: Any) -> None:
    assert script.value(D + source) == value


A = "const a = Application.currentApplication(); a.includeStandardAdditions = true; "


def test_additions_answer_where_they_are_switched_on(script: Script) -> None:
    assert script.value(A + "a.askQuestion('Well?', {buttons: ['OK']})") == {}
    assert script.value(D + "d.includeStandardAdditions = true; d.whereIs('desktop').toString()")
    assert script.error("Application.currentApplication().askQuestion('x')") == -1708
    assert script.error(D + "d.askQuestion('x')") == -1708
    asked, where = script.simulator.events
    assert asked == ("com.example.gadgets", "HELPaskq", {"text": "Well?"}, {"btns": ["OK"]}, None)
    assert where.direct == {"enum": "desk"}


def test_the_current_application_knows_itself(script: Script) -> None:
    assert script.value(A + "[a.id(), a.name(), a.running()]") == [
        "com.apple.osascript",
        "osascript",
        True,
    ]
    assert script.shown(A + "a") == "Application.currentApplication()"
    assert script.error(A + "a.documents()") == -1708
    assert script.error(A + "a.documents[0].name()") == -1708


@pytest.mark.parametrize(("source", "number"), [
    ("d.journals[9].name()", -1719), ("d.journals[-3].name()", -1719),
    ('d.journals["none"].name()', -1728), ('d.journals.byId("none").name()', -1728),
    ("d.entries.whose({done: 7})[0].name()", -1719), ("d.nonsense()", -1700),
    ("d.nonsense[5].name()", -1700), ("d.journals[0].body()", -1728), ("d.doNonsense(1)", -1708),
    ("d.publish({withMood: 'bad'})", -1700), ("d.publish(d.entries[0], {nonsense: 1})", -1700),
    ("d.publish(undefined)", -1700), ("d.Entry({}).name()", -1728),
    ("d.documents[0].path.x()", -1700), ('Application("Nothing")', -2700),
    ("Application(1234)", -2700), ('Library("x")', -1728),
])  # fmt: skip
def test_errors_have_apples_numbers(script: Script, source: str, number: int) -> None:
    assert script.error(D + source) == number


def test_an_error_can_be_caught_with_its_number(script: Script) -> None:
    source = (
        D + "let r; try { d.journals[9].name() } catch (e) { r = [e.errorNumber, e.message] } r"
    )
    assert script.value(source) == [-1719, "Invalid index."]


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(values.filter(lambda value: value is not None))
def test_a_value_comes_back_from_an_event_as_it_was(value: Any) -> None:
    canned = {"record": value} if isinstance(value, dict) else value
    if isinstance(value, (dict, list)):
        canned = json.loads(json.dumps(value), object_hook=lambda fields: {"record": fields})
    script = Script(Simulator([DIARY], {"diary": {"@results": {"DIARlate": canned}}}))
    assert script.value(D + "d.latest()") == json.loads(json.dumps(value))


names = st.text(min_size=1, max_size=12)
steps = (
    st.builds(ChainStep, st.just("n"), names)
    | st.builds(ChainStep, st.just("i"), st.integers(-5, 99))
    | st.builds(ChainStep, st.just("id"), names | st.integers(0, 10**9))
    | st.builds(ChainStep, st.just("p"), st.from_regex(r"[a-z][A-Za-z0-9]{0,8}", fullmatch=True))
)


@given(st.lists(steps, max_size=6))
def test_a_reference_survives_its_text(chain: list[ChainStep]) -> None:
    whole = (ChainStep("p", "things"), *chain)
    assert parse_chain(format_chain(whole)) == whole


def test_dates_and_paths_go_both_ways(script: Script) -> None:
    moment = datetime(2026, 5, 1, tzinfo=UTC).isoformat()
    source = (
        f"{D}const e = d.entries[0]; e.dueDate = new Date('{moment}'); e.picture = Path('/p.png');"
    )
    assert script.value(source + "[e.dueDate().toISOString(), e.picture().toString()]") == [
        "2026-05-01T00:00:00.000Z",
        "/p.png",
    ]
    assert script.simulator.state()["diary"]["journals"][0]["entries"][0]["picture"] == {
        "path": "/p.png"
    }


# What common scripts use of Foundation; the files they touch are those of the simulated world.


M = "const m = $.NSFileManager.defaultManager; "


@pytest.mark.parametrize(("source", "value"), [
    ("$('Über uns').uppercaseString.js", "ÜBER UNS"),
    ("$('/a/b.tar.gz').lastPathComponent.js", "b.tar.gz"),
    ("$('/a/b.tar.gz').pathExtension.js", "gz"),
    ("$('/a/b').stringByAppendingPathComponent('c').js", "/a/b/c"),
    ("$('/a/b').stringByDeletingLastPathComponent.js", "/a"),
    ("$('/a').stringByDeletingLastPathComponent.js", "/"),
    ("$('~/x').stringByExpandingTildeInPath.js", "/Users/me/x"),
    ("ObjC.deepUnwrap($('a,b,c').componentsSeparatedByString(','))", ["a", "b", "c"]),
    ("$('a b').stringByReplacingOccurrencesOfStringWithString(' ', '-').js", "a-b"),
    ("[$('abc').hasPrefix('a'), $('abc').containsString($('z')), $('abc').length]",
     [True, False, "3"]),
    ("$(['x', 'y']).objectAtIndex(1).js", "y"),
    ("ObjC.deepUnwrap($(['b', 'a']).sortedArrayUsingSelector('compare:'))", ["a", "b"]),
    ("const l = $.NSMutableArray.array; l.addObject($('x')); [l.count, l.firstObject.js]",
     [1, "x"]),
    ("$.NSURL.fileURLWithPath('/Users/me/a b').absoluteString.js", "file:///Users/me/a%20b"),
    ("$.NSURL.fileURLWithPath('~/Desktop').absoluteString.js", "file:///Users/me/Desktop/"),
    ("const u = $.NSURL.URLWithString('https://example.org/a?b=1'); [u.host.js, u.path.js]",
     ["example.org", "/a"]),
    ("$.NSURL.URLWithString('no url').isNil()", True),
    ("/^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$/.test($.NSUUID.UUID.UUIDString.js)", True),
    ("ObjC.bindFunction('pow', ['double', ['double', 'double']]); $.pow(2, 10)", 1024),
    ("ObjC.deepUnwrap($({a: ['x', 1]}))", {"a": ["x", 1]}),
    ("[typeof $.nothingOfC, typeof $.getppid, typeof $.exit]", ["undefined"] * 3),
    ("ObjC.import('unistd'); [typeof $.getppid, typeof $.exit]", ["function", "undefined"]),
    ("ObjC.import('stdlib'); [typeof $.getppid, typeof $.exit]", ["undefined", "function"]),
])  # fmt: skip
def test_what_scripts_use_of_foundation(source: str, value: Any) -> None:
    assert script("finder").value(source) == value


def test_files_are_those_of_the_simulated_world(tmp_path: Path) -> None:
    """What is written is seen by Finder, and nothing of this computer is."""
    real = tmp_path / "real.txt"
    real.write_text("mine")
    world = script("finder", "system_events")
    write = "$('Grüße').writeToFileAtomicallyEncodingError('~/Desktop/New.txt', true, 4, $())"
    assert world.value(write) is True
    read = (
        "$.NSString.stringWithContentsOfFileEncodingError('/Users/me/Desktop/New.txt', 4, $()).js"
    )
    assert world.value(read) == "Grüße"
    finder = "Application('Finder').desktop.files.byName('New.txt').size()"
    assert world.value(finder) == len("Grüße".encode())
    assert world.value(f"{M}m.fileExistsAtPath({str(real)!r})") is False
    gone = (
        f"$('x').writeToFileAtomicallyEncodingError({str(tmp_path / 'made.txt')!r}, true, 4, $())"
    )
    assert world.value(gone) is False
    assert [path.name for path in tmp_path.iterdir()] == ["real.txt"]


def test_folders_are_made_listed_moved_and_removed() -> None:
    steps = (
        "const at = '/Users/me/Documents/In'; const make = (p, all) =>"
        " m.createDirectoryAtPathWithIntermediateDirectoriesAttributesError(p, all, $(), $());"
        " const seen = [false, true, true].map(all => make(at + '/a/b', all));"
        " $('1').writeToFileAtomically(at + '/one.txt', true);"
        " seen.push(m.copyItemAtPathToPathError(at + '/one.txt', at + '/two.txt', $()));"
        " seen.push(m.moveItemAtPathToPathError(at + '/one.txt', at + '/a/one.txt', $()));"
        " seen.push(m.moveItemAtPathToPathError(at + '/none', at + '/x', $()));"
        " const names = p => ObjC.deepUnwrap(m.contentsOfDirectoryAtPathError(p, $()));"
        " seen.push(names(at), names(at + '/a'));"
        " m.removeItemAtPathError(at, $()); seen.push(m.fileExistsAtPath(at));"
        " const error = $(); m.removeItemAtPathError(at, error);"
        " seen.push(error.isNil(), names(at) === undefined); seen"
    )
    assert script("finder").value(M + steps) == [
        *(False, True, True, True, True, False),
        *(["a", "two.txt"], ["b", "one.txt"], False, False, True),
    ]


@pytest.mark.parametrize(("source", "missing"), [
    ("$.NSPasteboard.generalPasteboard", "$.NSPasteboard"),
    ("$('x').stringByFoldingWithOptionsLocale(1, $())", "Objective-C method stringByFolding"),
    ("ObjC.bindFunction('system', ['int', ['char *']])", "C function system"),
    ("ObjC.registerSubclass({name: 'A'})", "ObjC.registerSubclass"),
])  # fmt: skip
def test_what_is_missing_is_named(source: str, missing: str) -> None:
    said = script("finder").run(source).stderr.decode()
    assert f"the simulator has no {missing}" in said
