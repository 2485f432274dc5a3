"""A tree as on a Mac: each app in it is found once, and what is not looked into is told."""

import os
import plistlib
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from making import sdef

from iac_gen import macos, places
from iac_gen.cli import cli
from iac_gen.discover import from_bundles
from iac_gen.macos import AppBundle, Unscriptable, installed_bundles
from iac_gen.places import Unreached


def bundle(path: Path, dictionary: str = "D.sdef", **info: Any) -> Path:
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
        bundle(path)
    bundle(apps / "Xcode.app/Contents/Library/Helper.app")
    bundle(apps / "Local.app", "fr.lproj/D.sdef")
    bundle(apps / "Both.app", "de.lproj/D.sdef")
    english = apps / "Both.app/Contents/Resources/en.lproj"
    english.mkdir()
    (english / "D.sdef").write_bytes(sdef())
    bundle(apps / "Plain.app", "")
    phone = bundle(apps / "Phone.app/Wrapper/Inner.app", "")
    (apps / "Phone.app/WrappedBundle").symlink_to(phone)
    (apps / "Link.app").symlink_to(system / "Notes.app")
    (apps / "Around").symlink_to(apps)
    (apps / "Itself").symlink_to(apps / "Itself")
    bundle(tmp_path / "Library/ScriptingAdditions/Extra.osax")
    bundle(tmp_path / "Library/Script Libraries/Strings.scptd")
    cryptex = tmp_path / "Cryptexes/App/System/Applications"
    bundle(cryptex / "Safari.app")
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
    far = bundle(mac / "Elsewhere/Far.app")
    near = bundle(mac / "Elsewhere/Near.app")
    bundle(mac / "Elsewhere/Twin.app", CFBundleIdentifier="com.example.Notes")
    bundle(mac / ".Trash/Gone.app")
    inner = bundle(far / "Contents/Helpers/Part.app")
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
    bundle(mac / "Applications/a/b/c/d/e/f/g/h/Lost.app")
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
    path = bundle(tmp_path / "Old.app", "")
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
