"""Installed apps, as fake bundles: each is found once, with its dictionary or why it has none."""

import os
import plistlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from making import sdef, whole

from iac_gen import discover, macos, places
from iac_gen.cli import cli
from iac_gen.discover import from_bundles, read_sources
from iac_gen.macos import AppBundle, Unscriptable, installed_bundles
from iac_gen.naming import KeyClaim, assign_keys
from iac_gen.places import Unreached


def bundle(folder: Path, name: str, sdef_name: str = "", **info: Any) -> Path:
    """Make a bundle with an Info.plist of `info`; its dictionary is called `sdef_name`."""
    path = folder / name
    resources = path / "Contents" / "Resources"
    resources.mkdir(parents=True)
    (path / "Contents" / "Info.plist").write_bytes(plistlib.dumps(info))
    if sdef_name:
        (resources / sdef_name).write_bytes(sdef())
    return path


def apps(*folders: Path) -> list[AppBundle | Unscriptable]:
    return installed_bundles(folders, applications=(), additions=())[0]


def only(folder: Path) -> AppBundle:
    (found,) = apps(folder)
    assert isinstance(found, AppBundle), found
    return found


def reason(folder: Path) -> str:
    (found,) = apps(folder)
    assert isinstance(found, Unscriptable), found
    return found.reason


@pytest.mark.parametrize(
    ("declared", "file"),
    [("Diary", "Diary.sdef"), ("Diary.sdef", "Diary.sdef"), ("Diary.v2", "Diary.v2.sdef")],
)
def test_the_dictionary_is_the_resource_that_is_named(
    tmp_path: Path, declared: str, file: str
) -> None:
    path = bundle(
        tmp_path,
        "My Diary.app",
        file,
        CFBundleIdentifier="com.example.Diary",
        CFBundleShortVersionString="4.13",
        OSAScriptingDefinition=declared,
    )
    found = only(tmp_path)
    assert found.dictionary == path / "Contents" / "Resources" / file
    assert (found.name, found.id, found.version) == ("My Diary", "com.example.Diary", "4.13")
    (loaded,) = whole(from_bundles([found]))
    assert loaded.source.stem == "My Diary"
    assert loaded.diagnostics == ()


@pytest.mark.parametrize("declared", ["../../Secret", "../../../Secret.sdef", "/etc/hosts", "link"])
def test_a_dictionary_outside_the_bundle_is_refused(tmp_path: Path, declared: str) -> None:
    path = bundle(tmp_path, "Diary.app", OSAScriptingDefinition=declared)
    for place in (tmp_path, path, path / "Contents"):
        (place / "Secret.sdef").write_bytes(sdef())
    (path / "Contents" / "Resources" / "link.sdef").symlink_to(tmp_path / "Secret.sdef")
    assert reason(tmp_path) == f"its dictionary {declared} is not in its Resources folder"


def test_a_named_dictionary_that_is_missing_is_told(tmp_path: Path) -> None:
    bundle(tmp_path, "Diary.app", OSAScriptingDefinition="Diary.sdef")
    assert reason(tmp_path) == "its dictionary Diary.sdef is not in its Resources folder"


def test_a_bundle_without_a_plist_is_told(tmp_path: Path) -> None:
    (tmp_path / "Diary.app").mkdir()
    assert reason(tmp_path) == "has no Info.plist"


@pytest.mark.parametrize("content", [
    b"", b"<plist>", b"<plist><dict><key>a</key></dict></plist>",
    b"<plist><dict><string/></dict></plist>", b"<plist><integer>x</integer></plist>", b"\x00\xff",
    b"bplist00\x00", b"bplist00" + b"\xff" * 40,
])  # fmt: skip
def test_a_broken_plist_is_told(tmp_path: Path, content: bytes) -> None:
    path = bundle(tmp_path, "Diary.app")
    (path / "Contents" / "Info.plist").write_bytes(content)
    assert reason(tmp_path).startswith("has an Info.plist that cannot be read: ")


def test_a_plist_that_is_no_dictionary_is_told(tmp_path: Path) -> None:
    path = bundle(tmp_path, "Diary.app")
    (path / "Contents" / "Info.plist").write_bytes(plistlib.dumps(["a"]))
    assert reason(tmp_path) == "has an Info.plist that is not a dictionary"


def test_an_app_that_says_nothing_of_scripting_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(macos, "copy_definition", lambda path: pytest.fail("asked"))
    bundle(tmp_path, "Diary.app", NSAppleScriptEnabled=False)
    assert reason(tmp_path) == "has no scripting dictionary"


@pytest.mark.parametrize("enabled", [True, "YES", "true", "1"])
def test_an_enabled_app_without_a_file_is_asked_through_macos(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enabled: object
) -> None:
    bundle(tmp_path, "Diary.app", NSAppleScriptEnabled=enabled, CFBundleIdentifier="com.example.d")
    monkeypatch.setattr(macos, "copy_definition", lambda path: None)
    assert reason(tmp_path) == "has no scripting dictionary that macOS can read"
    monkeypatch.setattr(macos, "copy_definition", lambda path: sdef())
    (loaded,) = whole(from_bundles([only(tmp_path)]))
    assert loaded.source.id == "com.example.d"
    assert list(loaded.source.dictionary.declared_items())


def test_elsewhere_there_is_no_such_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert macos.copy_definition(tmp_path) is None


def test_a_scripting_addition_is_of_its_own_kind(tmp_path: Path) -> None:
    bundle(tmp_path, "Extra.osax", "Extra.sdef", OSAScriptingDefinition="Extra")
    bundle(tmp_path, "Diary.app", "Diary.sdef", OSAScriptingDefinition="Diary")
    found, _ = installed_bundles((), applications=[str(tmp_path)], additions=[str(tmp_path)])
    assert [(one.name, one.kind) for one in found if isinstance(one, AppBundle)] == [
        ("Diary", "application"),
        ("Extra", "addition"),
    ]


def test_folders_that_are_not_there_and_links_to_one_bundle_are_no_matter(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    path = bundle(here, "Diary.app", "Diary.sdef", OSAScriptingDefinition="Diary")
    there.mkdir()
    (there / "Diary.app").symlink_to(path)
    (there / "Note.app").write_text("no folder")
    assert len(apps(here, there, tmp_path / "none")) == 1


def test_one_app_in_two_folders_is_told_apart_by_version(tmp_path: Path) -> None:
    for folder, version in (("new", "2.0"), ("old", "1.0")):
        bundle(
            tmp_path / folder,
            "Diary.app",
            "Diary.sdef",
            CFBundleIdentifier="com.example.Diary",
            CFBundleShortVersionString=version,
            OSAScriptingDefinition="Diary",
        )
    found = from_bundles(apps(tmp_path / "new", tmp_path / "old"))
    rows = assign_keys([KeyClaim(raw.name, raw.id, raw.version) for raw in found.sources], {})
    assert [(row.key, row.identity) for row in rows] == [
        ("diary_2", "com.example.Diary@2.0"),
        ("diary", "com.example.Diary"),
    ]


@pytest.mark.parametrize("identifier", ["", "com.example/../x", "a" * 300, "com.example.\u202ex"])
def test_an_odd_bundle_id_makes_the_app_a_local_one(tmp_path: Path, identifier: str) -> None:
    bundle(
        tmp_path,
        "My Diary.app",
        "Diary.sdef",
        CFBundleIdentifier=identifier,
        OSAScriptingDefinition="Diary",
    )
    (loaded,) = whole(from_bundles(apps(tmp_path)))
    assert loaded.source.id == "local.my_diary"
    assert not loaded.source.known
    (told,) = loaded.diagnostics
    assert told.code == "bundle-id"
    assert "is not a valid bundle id; the app gets a local one" in told.message
    assert str(told).isprintable()


def test_what_cannot_be_built_comes_back_as_a_reason(tmp_path: Path) -> None:
    broken = bundle(tmp_path, "Broken.app", "D.sdef", OSAScriptingDefinition="D")
    (broken / "Contents" / "Resources" / "D.sdef").write_text("<dictionary>\n<suite")
    (tmp_path / "Plain.app").mkdir()
    found = from_bundles(apps(tmp_path))
    loaded, (failed,) = read_sources(found)
    assert loaded == []
    assert (failed.line, failed.code) == (2, "xml")
    assert [one.name for one in found.unscriptable] == ["Plain"]


def test_a_mac_s_own_standard_suites_come_before_the_bundled_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "CocoaStandard.sdef"
    monkeypatch.setattr(discover, "STANDARD", str(path))
    (bundled,) = discover.load_includes().values()
    assert bundled.suites
    path.write_bytes(sdef())
    assert discover.load_includes()[str(path)].file == str(path)
    path.write_text("<dictionary>")
    (fallen_back,) = discover.load_includes().values()
    assert fallen_back == bundled


def make_bundle(path: Path, dictionary: str = "D.sdef", **info: Any) -> Path:
    """Make a bundle whose dictionary lies at `dictionary` below its resources."""
    resources = path / "Contents" / "Resources"
    resources.mkdir(parents=True)
    facts = {"CFBundleIdentifier": f"com.example.{path.stem}", **info}
    if dictionary:
        facts.setdefault("OSAScriptingDefinition", "D")
        (resources / dictionary).parent.mkdir(exist_ok=True)
        (resources / dictionary).write_bytes(sdef())
    (path / "Contents" / "Info.plist").write_bytes(plistlib.dumps(facts))
    return path


@pytest.fixture
def mac(tmp_path: Path) -> Path:
    """Make the places of a Mac."""
    system, apps = tmp_path / "System/Applications", tmp_path / "Applications"
    services = tmp_path / "System/Library/CoreServices"
    for path in (
        system / "Notes.app", system / "Utilities/Terminal.app", services / "Finder.app",
        services / "Applications/Archive.app", apps / "Setapp/Ulysses.app", apps / "Loud.APP",
        apps / "Vendor/Suite 2026/Tools/Deep.app", apps / "Xcode.app",
        apps / "Xcode.app/Contents/Applications/Instruments.app",
        apps / "Xcode.app/Contents/Developer/Applications/Simulator.app",
    ):  # fmt: skip
        make_bundle(path)
    make_bundle(apps / "Xcode.app/Contents/Library/Helper.app")
    make_bundle(apps / "Local.app", "fr.lproj/D.sdef")
    make_bundle(apps / "Both.app", "de.lproj/D.sdef")
    english = apps / "Both.app/Contents/Resources/en.lproj"
    english.mkdir()
    (english / "D.sdef").write_bytes(sdef())
    make_bundle(apps / "Plain.app", "")
    phone = make_bundle(apps / "Phone.app/Wrapper/Inner.app", "")
    (apps / "Phone.app/WrappedBundle").symlink_to(phone)
    (apps / "Link.app").symlink_to(system / "Notes.app")
    (apps / "Around").symlink_to(apps)
    (apps / "Itself").symlink_to(apps / "Itself")
    make_bundle(tmp_path / "Library/ScriptingAdditions/Extra.osax")
    make_bundle(tmp_path / "Library/Script Libraries/Strings.scptd")
    cryptex = tmp_path / "Cryptexes/App/System/Applications"
    make_bundle(cryptex / "Safari.app")
    (system / "Safari.app").symlink_to(cryptex / "Safari.app")
    return tmp_path


def search(
    mac: Path, answers: Sequence[str] = ("", "")
) -> tuple[dict[str, AppBundle | Unscriptable], list[Unreached]]:
    """Search the places; the databases give these answers, in their order."""
    left = iter(answers)
    found, unreached = installed_bundles(
        (),
        [str(mac / one) for one in ("System/Applications", "Applications",
         "System/Library/CoreServices", "Cryptexes/App/System/Applications")],
        [str(mac / "Library/ScriptingAdditions"), str(mac / "Library/Script Libraries")],
        lambda command: next(left),
    )  # fmt: skip
    names = [one.name for one in found]
    assert len(names) == len({*names}), names
    return {one.name: one for one in found}, unreached


def reasons(found: dict[str, AppBundle | Unscriptable]) -> dict[str, str]:
    return {name: one.reason for name, one in found.items() if isinstance(one, Unscriptable)}


def test_every_app_of_the_tree_is_found_once(mac: Path) -> None:
    found, unreached = search(mac)
    assert reasons(found) == {
        "Plain": "has no scripting dictionary",
        "Phone": "is an iOS app, which has no scripting dictionary",
        "Strings": "is a script library, which only a script can load",
    }
    kinds = {name: one.kind for name, one in found.items() if isinstance(one, AppBundle)}
    assert kinds == dict.fromkeys(
        "Notes Terminal Finder Archive Ulysses Loud Deep Xcode Instruments Simulator Local Both"
        " Safari".split(),
        "application",
    ) | {"Extra": "addition"}
    both = found["Both"]
    assert isinstance(both, AppBundle)
    assert both.dictionary.parent.name == "en.lproj"
    assert unreached == []
    result = from_bundles([*found.values()]).search_result()
    assert result == "14 found, 3 without a dictionary, 0 not reached"


def test_what_only_a_database_knows_is_found_too(mac: Path) -> None:
    far = make_bundle(mac / "Elsewhere/Far.app")
    near = make_bundle(mac / "Elsewhere/Near.app")
    make_bundle(mac / "Elsewhere/Twin.app", CFBundleIdentifier="com.example.Notes")
    make_bundle(mac / ".Trash/Gone.app")
    inner = make_bundle(far / "Contents/Helpers/Part.app")
    register = (
        f"bundle id: 1\npath:                       {far} (0x1a2)\n"
        f"path:   {inner} (0x2)\npath: {mac}/System/Applications/Notes.app (0x3)\n"
        f"path: {mac}/Elsewhere/Twin.app (0x4)\npath: {mac}/None.app (0x5)\n"
    )
    spotlight = f"{near}\n{far}\n{mac}/.Trash/Gone.app\n{mac}/Elsewhere/../Elsewhere/Far.app\n"
    before = search(mac)[0]
    found, _ = search(mac, (register, spotlight))
    assert found.keys() - before.keys() == {"Far", "Near", "Twin"}
    assert "which is the bundle id of" in reasons(found)["Twin"]


def test_what_is_not_reached_is_told_with_the_reason(
    mac: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_bundle(mac / "Applications/a/b/c/d/e/f/g/h/Lost.app")
    real = os.scandir

    def scan(path: Any) -> Any:
        if Path(path).name == "Setapp":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", scan)

    def ask(command: Sequence[str]) -> str:
        raise subprocess.TimeoutExpired(command[0], 20)

    found, unreached = installed_bundles((), [str(mac / "Applications")], [], ask)
    assert not {"Ulysses", "Lost"} & {one.name for one in found}
    told = {Path(one.name).name: one.reason for one in unreached}
    assert told["Setapp"] == "cannot be read: Permission denied"
    assert told["g"] == "lies deeper than 6 folders"
    assert told["Spotlight"].startswith("did not answer: ")
    result = from_bundles(found, unreached).search_result()
    assert ", 4 not reached: " in result
    assert "Setapp cannot be read: Permission denied" in result


def test_a_search_ends_where_there_are_too_many_folders(
    mac: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "MOST_FOLDERS", 3)
    looked = places.BundleSearch(_left=3)
    assert "Deep" not in {path.stem for path in looked.walk([mac], [".app"])}
    assert any("lies beyond 3 folders" in one.reason for one in looked.unreached)


@pytest.mark.parametrize("file", ["Old.scriptSuite", "Old.rsrc"])
def test_an_old_dictionary_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    path = make_bundle(tmp_path / "Old.app", "")
    (path / "Contents/Resources" / file).write_text("")
    monkeypatch.setattr(macos, "copy_definition", lambda path: sdef())
    ((found,), _) = installed_bundles((), [str(tmp_path)], [])
    assert isinstance(found, AppBundle)
    assert found.content == sdef()


def test_a_list_ends_with_what_the_search_came_to(
    mac: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, unreached = search(mac)
    missed = [*unreached, Unreached("Spotlight", "did not answer: it is off")]
    monkeypatch.setattr(macos, "installed_bundles", lambda search: ([*found.values()], missed))
    result = CliRunner().invoke(cli, ["list", "--search", str(mac)])
    assert result.stdout.splitlines()[-1] == (
        "14 found, 3 without a dictionary, 1 not reached: Spotlight did not answer: it is off"
    )
