"""What common scripts use of Foundation; the files they touch are those of the simulated world."""

from pathlib import Path
from typing import Any

import pytest
from test_simulator_habits import script

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
    ("[typeof $.nothingOfC, typeof $.getppid]", ["undefined", "function"]),
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
