"""Apps that were installed or updated since their tools were built."""

import os
from pathlib import Path

import pytest
from apps import build_tools, install_app

from iac_runtime.tools.catalogue import read_tool_folders
from iac_runtime.tools.freshness import Freshness, check_freshness, scriptable_apps


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path / "Applications"


def looked(here: Path, *folders: Path) -> Freshness:
    return check_freshness(read_tool_folders(folders), [str(here)])


def test_an_update_that_leaves_the_dictionary_alone_needs_no_build(
    tmp_path: Path, here: Path
) -> None:
    install_app(here, "Notes", "com.apple.Notes", CFBundleShortVersionString="3.0")
    tools = build_tools(tmp_path / "tools", {"Notes": ("com.apple.notes", b"<dictionary/>")})
    assert looked(here, tools) == Freshness((), fresh=1)


def test_another_dictionary_is_named_with_the_command_that_builds_it(
    tmp_path: Path, here: Path
) -> None:
    install_app(here, "Notes", "com.apple.Notes", b"<dictionary new=''/>")
    tools = build_tools(tmp_path / "tools", {"Notes": ("com.apple.Notes", b"<dictionary/>")})
    found = looked(here, tools)
    assert [(app.why, app.key, app.built, app.installed) for app in found.stale] == [
        ("updated", "notes", "1.0", "2.0")
    ]
    assert found.stale[0].line == (
        "the dictionary of Notes (now 2.0) has changed since its tools were built;"
        " build them with: iac-gen build com.apple.Notes"
    )


def test_an_app_that_came_after_the_build_is_new_and_older_ones_are_counted(
    tmp_path: Path, here: Path
) -> None:
    install_app(here, "Old", "com.example.old")
    tools = build_tools(tmp_path / "tools", {"Notes": ("com.apple.Notes", b"")})
    assert looked(here, tools) == Freshness((), without=1)
    past = here.stat().st_mtime - 3600
    os.utime(tools / "catalogue.json", (past, past))
    found = looked(here, tools)
    assert [(app.why, app.name) for app in found.stale] == [("new", "Old")]
    assert "iac-gen build com.example.old" in found.stale[0].line


def test_shipped_tools_alone_say_nothing_of_what_is_new_here(
    tmp_path: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = build_tools(tmp_path / "shipped", {"Notes": ("com.apple.Notes", b"")})
    monkeypatch.setattr("iac_runtime.tools.freshness.shipped_folder", lambda: tools)
    os.utime(tools / "catalogue.json", (0, 0))
    install_app(here, "Omni", "com.example.omni")
    assert looked(here, tools) == Freshness((), without=1)


def test_the_first_folder_of_tools_counts(tmp_path: Path, here: Path) -> None:
    install_app(here, "Notes", "com.apple.Notes", b"new")
    own = build_tools(tmp_path / "own", {"Notes": ("com.apple.Notes", b"new")})
    shipped = build_tools(tmp_path / "shipped", {"Notes": ("com.apple.Notes", b"old")})
    assert looked(here, own, shipped).stale == ()
    assert len(looked(here, shipped, own).stale) == 1


def test_bundles_that_are_not_right_cost_only_themselves(here: Path) -> None:
    install_app(here, "Fine", "com.example.fine")
    install_app(here, "Twice", "com.example.FINE")
    install_app(here, "Outside", "com.example.out", OSAScriptingDefinition="../../x.sdef")
    install_app(here, "Nameless", "")
    install_app(here, "Odd", "com.example.odd", OSAScriptingDefinition=["x"])
    install_app(here, "Broken", "com.example.broken")
    (here / "Broken.app/Contents/Info.plist").write_bytes(b"bplist00\xff")
    (here / "Empty.app").mkdir()
    (here / "Round.app").symlink_to(here / "Round.app")
    assert [app.name for app in scriptable_apps([str(here), "~nobody-of-this-name/Apps"])] == [
        "Fine"
    ]


def test_a_name_that_acts_on_a_terminal_or_a_shell_does_not(tmp_path: Path, here: Path) -> None:
    install_app(here, "E\x1b[2Jvil", "com.example; rm")
    tools = build_tools(tmp_path / "tools", {"Notes": ("com.apple.Notes", b"")})
    os.utime(tools / "catalogue.json", (0, 0))
    line = looked(here, tools).stale[0].line
    assert "\x1b" not in line
    assert line.endswith("iac-gen build 'com.example; rm'")


def test_a_lock_that_cannot_be_read_leaves_the_version_out(tmp_path: Path, here: Path) -> None:
    install_app(here, "Notes", "com.apple.Notes", b"new")
    tools = build_tools(tmp_path / "tools", {"Notes": ("com.apple.Notes", b"old")})
    (tools / "tools.lock").write_text("{")
    assert looked(here, tools).stale[0].built == ""
