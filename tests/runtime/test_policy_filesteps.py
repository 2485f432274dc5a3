"""Files that Finder and System Events name by steps have the path that they lie at."""

import pytest
from policy_calls import DISK, HOME, facts_of

from iac_runtime.language.reader import AppReader
from iac_runtime.policy.file_rules import RuleContext
from iac_runtime.policy.places import FINDER, SYSTEM_EVENTS, path_of_steps

AGENTS = "/Users/me/Library/LaunchAgents"


def path(app: str, text: str) -> str | None:
    import importlib

    from iac_runtime.tools.tables import tables_of

    key = {FINDER: "finder", SYSTEM_EVENTS: "system_events"}[app]
    tables = tables_of(importlib.import_module(f"iac_tools.{key}"))
    return path_of_steps(AppReader(tables).reference(text).steps, app, HOME)


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
