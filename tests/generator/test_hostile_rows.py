"""Hostile dictionaries and bundles by the id of the sample that each was written from.

Each goes through the real pipeline and ends in its safe outcome. The payloads would make the
file CANARY; it must never be there.
"""

import ast
import json
import os
import plistlib
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from click.testing import CliRunner, Result
from dictionaries import HOSTILE
from making import build, imported, inputs, read, sdef, source
from test_doors import app_that_says
from test_macos import apps, bundle, reason

from iac_gen.build_tools import build_module
from iac_gen.cli import cli
from iac_gen.macos import AppBundle, Unscriptable, installed_bundles
from iac_gen.model import Dictionary, SdefClass, SdefCommand, Source
from iac_gen.pipeline import build_folder
from iac_gen.quirks import QuirkDecisions
from iac_gen.render import render_module
from iac_gen.resolve import resolve_dictionary
from iac_gen.snapshot import write_snapshot
from iac_gen.text import clean_text
from iac_gen.verify_output import verify_source
from iac_gen.xml import LoadedDictionary, parse_dictionary

CANARY = Path("/tmp/iac-hostile-canary")
CALL = f"__import__('os').system('touch {CANARY}')"
CALLED = f'__import__("os").system("touch {CANARY}")'


@pytest.fixture(autouse=True)
def nothing_ran() -> Iterator[None]:
    CANARY.unlink(missing_ok=True)
    yield
    assert not CANARY.exists()


def made(items: str | bytes, folder: Path, *, name: str = "Diary") -> tuple[str, list[str]]:
    """Build a dictionary, import its module with and without the app's words, return its text."""
    content = items if isinstance(items, bytes) else sdef(items)
    dictionary, found = parse_dictionary(content, "app.sdef")
    one = source(dictionary, name)
    files, report = build_folder(replace(inputs(), sources=[LoadedDictionary(one, tuple(found))]))
    assert not report.failed
    (app,) = report.apps
    text = files[f"{app.key}.py"]
    module, _ = build_module(
        resolve_dictionary(one, {})[0], QuirkDecisions(), app.key, wording=True
    )
    for written in (text, render_module(module)):
        assert list(verify_source(written)) == []
        assert written.isascii()
        with imported(written, app.key, folder):
            pass
    return text, [str(found) for found in app.diagnostics]


def functions(text: str) -> list[str]:
    return [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]


def run(folder: Path, *arguments: str) -> Result:
    """Run `iac-gen build` into a folder below `folder`."""
    output = ["--output", str(folder / "out" / "tools")]
    return CliRunner().invoke(cli, ["build", *arguments, *output], catch_exceptions=False)


def command(name: str = "go", code: str = "diargogo", inner: str = "", **more: str) -> str:
    facts = "".join(f" {key}={quoteattr(value)}" for key, value in more.items())
    return f"<command name={quoteattr(name)} code={quoteattr(code)}{facts}>{inner}</command>"


BREAKERS = {
    "S01": f'x"""\n    {CALL}\n    """', "S01 b": f"x'''\n{CALL}\n'''",
    "S02": f"x' + str({CALL}) + '", "S02 b": f'x" + str({CALLED}) + "', "S03": f"x\r{CALL}",
    "S03 b": f"x\u2028{CALL}\x85{CALL}", "S06": "ends in one backslash\\", "S06 b": '\\"""',
    "S07": "{{ config.__class__ }}{% for x in y %}", "S11": "-*- coding: utf-7 -*-",
    "S12": "%(a)s {0} ${HOME} $(id) `id`",
}  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("id_", BREAKERS)
@pytest.mark.parametrize("slot", ["description", "name", "value", "class", "property", "title"])
def test_a_text_that_breaks_out_stays_a_text(id_: str, slot: str, tmp_path: Path) -> None:
    text = BREAKERS[id_]
    plain = '<class name="page" code="page"><property name="p" code="pppp" type="text"/></class>'
    items = {
        "description": command(description=text, inner=f"<parameter name='a' code='aaaa' type="
                               f"'text' description={quoteattr(text)}/>"),
        "name": command(f"go {text}"),
        "value": f"<enumeration name={quoteattr(text)} code='enum'><enumerator name="
                 f"{quoteattr(text)} code='valu'/></enumeration>"
                 + command(inner=f"<direct-parameter type={quoteattr(text)}/>"),
        "class": f"<class name={quoteattr(text)} code='clas' plural={quoteattr(text)}/>",
        "property": plain.replace('"p"', quoteattr(text)),
        "title": command(),
    }[slot]  # fmt: skip
    content = sdef(command("first", "diarfirs") + items)
    if slot == "title":
        content = content.replace(b"<dictionary>", f"<dictionary title={quoteattr(text)}>".encode())
    written, _ = made(content, tmp_path, name=text if slot == "title" else "Diary")
    assert written.startswith('"""Tools for ')
    assert not any(CALL[:12] in line and line.lstrip().startswith("#") for line in written.split())
    compile(written, "diary.py", "exec")


def test_s08_half_a_character_costs_one_text_and_other_apps_still_build(tmp_path: Path) -> None:
    for name, description in (("Good", ""), ("Odd", "a\ud800b")):
        item = {"is": "Command", "name": "go", "code": "diargogo", "description": description}
        suites = [{"is": "Suite", "name": "S", "code": "diar", "items": [item]}]
        head = {"format": 1, "name": name, "id": f"com.example.{name}", "stem": name}
        rest = {"version": "", "kind": "application", "digest": "0" * 64, "title": ""}
        (tmp_path / f"{name}.json").write_text(json.dumps({**head, **rest, "suites": suites}))
    (tmp_path / "bad.sdef").write_bytes(sdef().replace(b"reread", b"\xed\xa0\x80"))
    result = run(tmp_path, "--dictionary", str(tmp_path))
    assert result.exit_code == 1
    assert "bad.sdef:" in result.stderr
    assert {"good.py", "odd.py"} <= {path.name for path in (tmp_path / "out" / "tools").iterdir()}


@pytest.mark.parametrize(("names", "count"), [
    (("a b", "a-b", "a_b"), 3), (("get URL", "GetURL"), 2), (("go\u200b on", "go on", "GO ON"), 3),
])  # fmt: skip
def test_s13_names_that_become_one_stay_apart(
    names: Sequence[str], count: int, tmp_path: Path
) -> None:
    items = [command(name, f"diargog{n}") for n, name in enumerate(names)]
    text, _ = made("".join(items), tmp_path)
    assert len(set(functions(text))) == len(functions(text)) == count
    assert functions(text) == functions(made("".join(items), tmp_path)[0])


@pytest.mark.parametrize("code", ['"\n', "abc", "abcde", "\u202eabc", "\u6f22\u5b57ab", ""])
def test_s16_a_code_that_is_none_costs_the_item(code: str, tmp_path: Path) -> None:
    items = (
        f"<enumeration name='mood' code='mood'><enumerator name='bad' code={quoteattr(code)}/>"
        "<enumerator name='glad' code='glad'/></enumeration>"
        f"<class name='page' code={quoteattr(code)}/>" + command() + command("lost", code * 2)
    )
    text, told = made(items, tmp_path)
    assert functions(text) == ["go"]
    assert '"bad"' not in text
    assert sum(": error: " in one and "[code]" in one for one in told) == 3


@pytest.mark.parametrize("doctype", [
    '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    '<!DOCTYPE d [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x.dtd"> %p;]>',
    '<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>',
    '<!DOCTYPE d [<!ENTITY x PUBLIC "-//x" "file:///etc/passwd" NDATA gif>]>',
], ids=["S17", "S18", "S19", "S19 b"])  # fmt: skip
def test_s17_s18_entities_cost_the_app(doctype: str, tmp_path: Path) -> None:
    body = sdef().replace(b"reread", b"reread" if "% p" in doctype else b"&x;").decode()
    (tmp_path / "bad.sdef").write_text(body.replace("?>", f"?>{doctype}", 1))
    (tmp_path / "good.sdef").write_bytes(sdef())
    result = run(tmp_path, "--dictionary", str(tmp_path))
    assert result.exit_code == 1
    assert "bad.sdef" in result.stderr
    assert "declares XML entities, which are not accepted" in result.stderr
    assert "root:" not in (tmp_path / "out" / "tools" / "listing.jsonl").read_text()
    assert (tmp_path / "out" / "tools" / "good.py").is_file()


def test_s20_the_usual_document_type_is_accepted_and_never_opened(tmp_path: Path) -> None:
    for place in ("file://localhost/System/Library/DTDs/sdef.dtd", "http://127.0.0.1:9/x.dtd"):
        doctype = f'?><!DOCTYPE dictionary SYSTEM "{place}">'
        made(sdef().decode().replace("?>", doctype, 1).encode(), tmp_path)


@pytest.mark.parametrize("href", [
    'href="file:///Users/me/.ssh/id_rsa" parse="text"',
    'href="file:///System/Library/ScriptingDefinitions/../../../etc/passwd"',
    'href="file:///etc/passwd"', 'href="http://127.0.0.1:9/x.sdef"', 'href="app.sdef"', 'href=""',
], ids=["S21", "S22", "S22 b", "S22 c", "S23", "S23 b"])  # fmt: skip
def test_s21_s22_an_include_of_anything_else_is_told(href: str, tmp_path: Path) -> None:
    include = f'<xi:include xmlns:xi="http://www.w3.org/2003/XInclude" {href}/>'
    text, told = made(f"{include}{command()}", tmp_path)
    assert functions(text) == ["go"]
    assert any("[include" in one for one in told)


def test_s23_ten_thousand_includes_end_at_once(tmp_path: Path) -> None:
    one = '<xi:include xmlns:xi="http://www.w3.org/2003/XInclude" href="file:///x%d.sdef"/>'
    text, told = made("".join(one % n for n in range(10_000)) + command(), tmp_path)
    assert functions(text) == ["go"]
    storm = [found for found in told if "refused" in found or "more than 16 includes" in found]
    assert len(storm) == 11
    assert "9974 more includes are refused" in storm[-1]


@pytest.mark.parametrize("start", ["file://localhost", "file://"])
def test_s24_the_standard_suites_are_included_in_both_spellings(start: str, tmp_path: Path) -> None:
    path = "/System/Library/ScriptingDefinitions/CocoaStandard.sdef"
    include = f'<xi:include xmlns:xi="http://www.w3.org/2003/XInclude" href="{start}{path}"/>'
    content = sdef(command()).replace(b"<suite", f"{include}<suite".encode(), 1)
    text, _ = made(content, tmp_path)
    assert {"go", "close", "save"} <= set(functions(text))


def test_s26_deep_and_circular_classes_end(tmp_path: Path) -> None:
    (tmp_path / "deep.sdef").write_bytes(sdef("<class>" * 200_000))
    result = run(tmp_path, "--dictionary", str(tmp_path))
    assert result.exit_code == 1
    assert "is nested more than 64 levels deep" in result.stderr
    row = '<class name="%s" code="%s" inherits="%s"><element type="%s"/></class>'
    rows = [row % one for one in (("a", "aaaa", "a", "b"), ("b", "bbbb", "c", "b"))]
    text, told = made("".join([*rows, row % ("c", "cccc", "b", "a"), command()]), tmp_path)
    assert "go" in functions(text)
    assert any("[cycle]" in one for one in told)


def test_s27_what_is_too_large_or_no_file_is_skipped(tmp_path: Path) -> None:
    long, many, good = (tmp_path / f"{name}.sdef" for name in ("long", "many", "good"))
    long.write_bytes(sdef(command(description="x" * 20_000_000)))
    many.write_bytes(sdef('<command name="a" code="abcdefgh"/>' * 100_001))
    good.write_bytes(sdef())
    (tmp_path / "zero.sdef").symlink_to("/dev/zero")
    result = run(tmp_path, "--dictionary", str(tmp_path), "--dictionary", "/dev/zero")
    assert result.exit_code == 2
    paths = [one for name in ("long", "many", "good", "zero") for one in
             ("--dictionary", str(tmp_path / f"{name}.sdef"))]  # fmt: skip
    result = run(tmp_path, *paths)
    assert result.exit_code == 1
    for line in ("long.sdef: error: has 200", "many.sdef:", "zero.sdef: error: is not a file"):
        assert line in result.stderr
    assert (tmp_path / "out" / "tools" / "good.py").is_file()


@pytest.mark.parametrize("claimed", ["com.apple.mail", "com.aardvark.mail"])
def test_s32_an_app_that_was_there_keeps_its_key(claimed: str, tmp_path: Path) -> None:
    mail = replace(source(read(sdef()), "Mail"), id="com.apple.mail")
    other = replace(source(read(sdef(command())), "Mail"), id=claimed, version="0")
    for name, one in (("b", mail), ("a", other)):
        (tmp_path / f"{name}.json").write_text(write_snapshot(one))
    assert run(tmp_path, "--dictionary", str(tmp_path / "b.json")).exit_code == 0
    out = tmp_path / "out" / "tools"
    before = (out / "mail.py").read_text()
    assert run(tmp_path, "--dictionary", str(tmp_path)).exit_code == 0
    assert (out / "mail.py").read_text() == before
    assert (out / "mail_2.py").is_file()


@pytest.mark.parametrize("items", [
    command("do script", "diargogo", "<direct-parameter type='text'/>", description="SAFE:"),
    command("refresh", "coredosc"), command("safe read only", "coredelo"),
], ids=["S35", "S36", "S36 b"])  # fmt: skip
def test_s35_s36_a_level_follows_structure_never_a_text(items: str, tmp_path: Path) -> None:
    text, _ = made(items, tmp_path)
    assert 'level="DANGEROUS"' in text
    hidden = items.replace("<command", '<command hidden="yes"', 1)
    assert functions(made(hidden + command("other", "diaroth1"), tmp_path)[0]) == ["other"]


def test_s37_a_command_of_another_meaning_under_one_name_is_another_tool() -> None:
    digests = []
    for code in ("diargogo", "coredosc"):
        files, _ = build_folder(inputs(source(read(sdef(command("refresh", code))))))
        digests.append(json.loads(files["tools.lock"])["tools"]["diary_refresh"])
    assert digests[0] != digests[1]


def test_every_sample_of_this_class_has_a_test_here(corpus: Path) -> None:
    here = Path(__file__).read_text()
    rows = (corpus / "hostile-inputs.tsv").read_text().splitlines()[1:]
    ids = [row.split("\t")[0] for row in rows if row.split("\t")[1] == "sdef/build"]
    assert len(ids) >= 20
    assert [id_ for id_ in ids if id_ not in here and id_.lower() not in here] == []


def test_a_module_of_hostile_text_says_what_was_cleaned() -> None:
    one = source(read(sdef(command("go", description="a\u202eb"))))
    assert isinstance(one, Source)
    assert isinstance(one.dictionary, Dictionary)
    (item,) = one.dictionary.declared_items()
    assert isinstance(item, SdefCommand | SdefClass)
    assert item.description == clean_text("a\u202eb")


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


ROOT = Path(__file__).parent.parent.parent
# A fresh interpreter reports every audit event but those of the importer itself. What modules
# share is imported first: the contract and `typing` are ours and Python's, not generated.
AUDIT = r"""
import collections.abc, importlib, json, os, sys, typing
import iac_runtime.tool
sys.path.insert(0, sys.argv[1])
found = []
reading = os.O_ACCMODE

def hook(event, arguments):
    if event == "import" or event == "marshal.loads" or event == "os.listdir":
        return
    if event in ("compile", "exec"):
        where = getattr(arguments[-1], "co_filename", arguments[-1])
        if str(where).endswith(".py"):
            return
    if event == "open":
        path, _, flags = arguments
        name = os.fsdecode(path) if isinstance(path, (str, bytes)) else str(path)
        if name.endswith((".py", ".pyc")) and not (flags & reading):
            return
    if event == "sys._getframe":
        # How `NamedTuple`, `TypeVar` and the like find the module that they stand in.
        return
    found.append([event, repr(arguments)[:200]])

sys.addaudithook(hook)
for name in sys.argv[2].split(","):
    importlib.import_module(name)
done = list(found)
print(json.dumps(done))
"""


def events(folder: Path, *names: str) -> list[list[str]]:
    """Return what importing modules from `folder` does beside reading them."""
    # What objects of apps are made from is ours, and looks at itself where it is imported.
    begins = f"import sys\nsys.path[:0] = {paths()!r}\nimport iac_runtime.objects\n"
    ran = subprocess.run(
        [sys.executable, "-B", "-I", "-c", f"{begins}{AUDIT}", str(folder), ",".join(names)],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return list(json.loads(ran.stdout))


def paths() -> list[str]:
    return [str(ROOT / "runtime")]


@pytest.mark.process
def test_importing_every_committed_module_only_reads_modules(generated: Path) -> None:
    names = [path.stem for path in sorted(generated.glob("*.py")) if path.stem != "__init__"]
    assert len(names) > 10
    assert events(generated, *names) == []


@pytest.mark.slow
@pytest.mark.process
def test_importing_modules_of_hostile_text_only_reads_modules(tmp_path: Path) -> None:
    names = []
    for number, text in enumerate(HOSTILE):
        files = build(app_that_says(text))
        (key,) = (name for name in files if f"{name[:-3]}_objects.py" in files)
        (tmp_path / f"hostile_{number}.py").write_text(files[key])
        names.append(f"hostile_{number}")
    assert events(tmp_path, *names) == []


@pytest.mark.sweep
@pytest.mark.process
@pytest.mark.parametrize(("text", "event"), [
    ("open('/etc/hosts')", "open"), ("import os; os.system('true')", "os.system"),
    ("exec('1')", "compile"), ("import socket; socket.socket()", "socket.__new__"),
])  # fmt: skip
def test_the_audit_sees_what_a_module_must_not_do(tmp_path: Path, text: str, event: str) -> None:
    (tmp_path / "bad.py").write_text(f"{text}\n")
    assert event in [one for one, _ in events(tmp_path, "bad")]
