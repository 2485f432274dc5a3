"""Bundles that mean harm: nothing outside them is read, and none stands in another's place."""

import os
import plistlib
import struct
from pathlib import Path

import pytest
from making import sdef
from test_macos import apps, bundle, reason

from iac_gen.macos import AppBundle, Unscriptable, installed_bundles


def plist(folder: Path, content: bytes) -> None:
    path = bundle(folder, "Diary.app")
    (path / "Contents" / "Info.plist").write_bytes(content)


def binary(objects: list[bytes], top: int = 0) -> bytes:
    """Return a binary plist of raw objects with references of two bytes."""
    body, offsets = b"bplist00", []
    for one in objects:
        offsets.append(len(body))
        body += one
    table = b"".join(struct.pack(">I", offset) for offset in offsets)
    return body + table + struct.pack(">6xBBQQQ", 4, 2, len(objects), top, len(body))


def array(*refs: int) -> bytes:
    return bytes([0xA0 | len(refs)]) + b"".join(struct.pack(">H", ref) for ref in refs)


KEY = b"\x5f\x10\x12CFBundleIdentifier"
# Each list holds the next one twice: written out it has 2 ** 60 items.
BUSHY = [array(n + 1, n + 1) for n in range(2, 62)] + [array()]
DEEP = [array(n + 1) for n in range(2, 30_000)] + [array()]

BOMBS = {
    "entities": b'<?xml version="1.0"?><!DOCTYPE plist [<!ENTITY a "aaaaaaaaaa">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(12))
    + b"]><plist><dict><key>a</key><string>&m;</string></dict></plist>",
    "external": b'<!DOCTYPE plist [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    b"<plist><dict><key>OSAScriptingDefinition</key><string>&x;</string></dict></plist>",
    "nested xml": b"<plist>" + b"<array>" * 25_000 + b"</array>" * 4_000 + b"</plist>",
    "itself": binary([b"\xd1\x00\x01\x00\x00", KEY]),
    "bushy": binary([b"\xd1\x00\x01\x00\x02", KEY, *BUSHY]),
    "deep": binary([b"\xd1\x00\x01\x00\x02", KEY, *DEEP]),
    "long array": binary([b"\xaf\x13" + b"\xff" * 8]),
    "huge": b"<plist>" + b" " * 600_000 + b"</plist>",
    "escape": b"<plist><\x1b[31m></plist>",
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", BOMBS)
def test_s30_a_hostile_plist_is_a_reason_and_does_not_hang(tmp_path: Path, name: str) -> None:
    plist(tmp_path, BOMBS[name])
    told = reason(tmp_path)
    assert told.startswith(("has an Info.plist that ", "has no scripting dictionary"))
    assert told.isprintable()
    assert len(told) < 300


def test_a_plist_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = bundle(tmp_path, "Diary.app")
    (path / "Contents" / "Info.plist").unlink()
    os.mkfifo(path / "Contents" / "Info.plist")
    assert reason(tmp_path) == "has no Info.plist"


@pytest.mark.parametrize(
    "declared", ["a\0b", "a" * 5000, ".", "..", "/", "loop", "pipe", "a\u202eb\n", "//etc/passwd"]
)
def test_a_name_of_a_dictionary_leads_nowhere_else(tmp_path: Path, declared: str) -> None:
    path = bundle(tmp_path, "Diary.app", "Diary.sdef")
    resources = path / "Contents" / "Resources"
    (resources / "loop.sdef").symlink_to(resources / "loop.sdef")
    os.mkfifo(resources / "pipe.sdef")
    raw = plistlib.dumps({"OSAScriptingDefinition": "@"}, fmt=plistlib.FMT_BINARY)
    if "\0" in declared:
        content = raw.replace(b"\x51@", b"\x53a\0b")
        # The one object grew by two bytes, and so did the place of the table behind it.
        content = content[:-1] + bytes([content[-1] + 2])
    else:
        content = plistlib.dumps({"OSAScriptingDefinition": declared}, fmt=plistlib.FMT_BINARY)
    (path / "Contents" / "Info.plist").write_bytes(content)
    told = reason(tmp_path)
    assert told.startswith("its dictionary ")
    assert told.endswith(" is not in its Resources folder")
    assert told.isprintable()
    assert len(told) < 130


def test_resources_that_lie_outside_the_bundle_are_not_its_own(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "Diary.sdef").write_bytes(sdef())
    path = bundle(tmp_path / "apps", "Diary.app", OSAScriptingDefinition="Diary")
    (path / "Contents" / "Resources").rmdir()
    (path / "Contents" / "Resources").symlink_to(outside)
    assert reason(tmp_path / "apps") == "its dictionary Diary is not in its Resources folder"


def test_a_bundle_that_links_to_itself_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "Loop.app").symlink_to(tmp_path / "Loop.app")
    bundle(tmp_path, "Diary.app", "Diary.sdef", OSAScriptingDefinition="Diary")
    assert [one.name for one in apps(tmp_path)] == ["Diary"]


@pytest.mark.parametrize("identifier", ["com.apple.mail", "com.apple.Mail", "COM.APPLE.MAIL"])
def test_s32_an_impostor_does_not_take_the_place_of_the_system_s_app(
    tmp_path: Path, identifier: str
) -> None:
    system, downloads = tmp_path / "system", tmp_path / "downloads"
    facts = {"OSAScriptingDefinition": "Mail"}
    bundle(system, "Mail.app", "Mail.sdef", CFBundleIdentifier="com.apple.mail", **facts)
    bundle(downloads, "Aardvark.app", "Mail.sdef", CFBundleIdentifier=identifier, **facts)
    bundle(downloads, "Diary.app", "Mail.sdef", CFBundleIdentifier="com.example.d", **facts)
    mail, impostor, diary = installed_bundles([downloads], [str(system)], [])[0]
    assert isinstance(mail, AppBundle)
    assert isinstance(diary, AppBundle)
    assert isinstance(impostor, Unscriptable)
    assert impostor.path == downloads / "Aardvark.app"
    assert impostor.reason == (
        f"uses {identifier}, which is the bundle id of {system / 'Mail.app'}"
    )
