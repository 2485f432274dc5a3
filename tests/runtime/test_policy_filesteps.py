"""Files that Finder and System Events name by steps have the path that they lie at."""

import importlib

import pytest
from policy_calls import DISK, HOME, facts_of

from iac_runtime.language.reader import AppReader
from iac_runtime.policy.escalation import RuleContext
from iac_runtime.policy.places import (
    FINDER,
    SYSTEM_EVENTS,
    find_protected_place,
    find_specifier_path,
    is_document,
    is_executable,
    parse_file_url,
    path_identity,
)
from iac_runtime.tools.tables import tables_of

AGENTS = "/Users/me/Library/LaunchAgents"


def path(app: str, text: str) -> str | None:
    key = {FINDER: "finder", SYSTEM_EVENTS: "system_events"}[app]
    tables = tables_of(importlib.import_module(f"iac_tools.{key}"))
    return find_specifier_path(AppReader(tables).read_reference(text).steps, app, HOME)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("home", HOME),
        ("desktop.files[0]", "/Users/me/Desktop/?"),
        ('files["a"]', "/Users/me/Desktop/a"),
        ('disks["USB"].folders["a"]', "/Volumes/USB/a"),
        ('disks["USB"].folders["a"].disk', "/Volumes/USB"),
        ("home.folders[0].disk", "/"),
        ("startupDisk", "/"),
        ('home.folders["a/b"]', "/Users/me/a:b"),
        ('home.folders["Documents"].container', HOME),
        ("home.folders[3].container", HOME),
        ('home.folders["Documents"].container.folders["Library"]', "/Users/me/Library"),
        ('folders["Macintosh HD:Users:me:Library:LaunchAgents:"]', AGENTS),
        ('folders["USB:a"]', "/Volumes/USB/a"),
        ('home.folders["Library:LaunchAgents"]', AGENTS),
        ('home.folders["Documents::Library:LaunchAgents"]', AGENTS),
        ('home.folders[":Library:LaunchAgents"]', AGENTS),
        ('home.folders["Library"].folders["LaunchAgents"].items.end', AGENTS),
        ('home.files["a"].name', "/Users/me/a"),
        ('home.folders["Library:X:"]', "/Users/me/Library/X"),
        ("files", "/Users/me/Desktop"),
        ("disks", "/Volumes"),
        ("windows[0].target", None),
        ("selection", None),
        ("aliasFiles[0].originalItem", None),
        ("folders.byId(3)", None),
        ("application", None),
    ],
)
def test_of_finder(text: str, expected: str | None) -> None:
    assert path(FINDER, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'folders["{AGENTS}"]', AGENTS),
        ('folders["~/Library/LaunchAgents"]', AGENTS),
        ('folders["~/Documents/../Library/LaunchAgents"]', AGENTS),
        ('diskItems["Macintosh HD:Users:me:Library:LaunchAgents"]', AGENTS),
        ('homeFolder.folders["Library/LaunchAgents"]', AGENTS),
        ("userDomain.libraryFolder", "/Users/me/Library"),
        ("localDomain.libraryFolder", "/Library"),
        ("systemDomain.libraryFolder", "/System/Library"),
        (f'propertyListFiles["{AGENTS}/a.plist"].contents.propertyListItems["x"]',
         f"{AGENTS}/a.plist"),
        ('folders["a"]', None),
        ("files[0]", None),
        ("files", None),
        ('processes["Notes"].windows[0]', None),
    ],
)  # fmt: skip
def test_of_system_events(text: str, expected: str | None) -> None:
    assert path(SYSTEM_EVENTS, text) == expected


@pytest.mark.parametrize("to", [f'folders["{AGENTS}"]', 'folders["~/Library/LaunchAgents"].items'])
def test_a_path_in_the_place_of_a_name_is_judged_as_a_path(to: str) -> None:
    given = {"target": "~/Documents/a.txt", "to": to}
    raised = facts_of("system_events move", given, RuleContext(DISK)).raised
    assert "protected-place" in [row.rule for row in raised]


def test_other_apps_have_no_files() -> None:
    steps = (
        AppReader(tables_of(importlib.import_module("iac_tools.finder")))
        .read_reference("home")
        .steps
    )
    assert find_specifier_path(steps, "COM.apple.FINDER", HOME) == HOME
    assert find_specifier_path(steps, "com.apple.Notes", HOME) is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("file:///Users/me/a%20b", "/Users/me/a b"),
        (" FILE://localhost/a%2541 ", "/a%41"),
        ("https://example.org/etc/passwd", None),
        ("/etc/passwd", None),
        ("file://[", None),
    ],
)
def test_only_a_file_url_has_a_path(url: str, expected: str | None) -> None:
    assert parse_file_url(url) == expected


@pytest.mark.parametrize(
    ("path", "one"),
    [
        ("/Xcode/X", "/xcode/x"),
        ("//a/./b/../c/", "/a/c"),
        ("/private/var/x", "/var/x"),
        ("/System/Volumes/Data/private/tmp/x", "/tmp/x"),
        ("/privateer/x", "/privateer/x"),
    ],
)
def test_a_path_is_compared_in_one_form(path: str, one: str) -> None:
    assert path_identity(path) == one


@pytest.mark.parametrize(
    ("path", "runs", "shows"),
    [
        ("/a/b.txt", False, True),
        ("/a.b.app/c.d.txt", True, True),
        ("/a/x.tar.command", True, False),
        ("/a/letter.v2.TXT", False, True),
        ("/a/.command", True, False),
        ("/a/command", False, False),
        ("/a/txt", False, False),
        ("/a/x.app. \u00a0", True, False),
        ("/a/x.applet", False, False),
        ("/a.txt/b", False, False),
    ],
)
def test_the_end_of_a_name_tells_what_opens(path: str, runs: bool, shows: bool) -> None:
    assert (is_executable(path), is_document(path)) == (runs, shows)


@pytest.mark.parametrize("path", ["/Users/me/.ssh", "/users/ME/.SSH/id", "/x/a/.git/hooks/y"])
def test_a_protected_place_is_one_wherever_it_lies(path: str) -> None:
    assert find_protected_place(path) is not None
    assert find_protected_place(path.replace(".", "x.")) is None
