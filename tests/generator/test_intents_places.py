"""Where App Intents lie, whose they are, and all real files that are at hand."""

import json
import plistlib
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from builds import Built, build, once
from click.testing import CliRunner
from metadata import ENTRY, action, content, parameter

from iac_gen import macos
from iac_gen.cli import cli
from iac_gen.discover import DiscoveredSources, from_intents, pick_sources, read_sources
from iac_gen.intents import read
from iac_gen.model import GeneratorError
from iac_gen.verify_output import verify_classes, verify_schema, verify_source


def bundle(path: Path, raw: bytes, bundle_id: str, where: str = "Contents/Resources") -> Path:
    """Make a bundle with metadata; return the folder of its resources."""
    resources = path / where
    folder = resources / "Metadata.appintents"
    folder.mkdir(parents=True)
    (folder / "extract.actionsdata").write_bytes(raw)
    info = {"CFBundleIdentifier": bundle_id, "CFBundleShortVersionString": "4.2"}
    beside = path / "Contents" if where.startswith("Contents") else resources
    (beside / "Info.plist").write_bytes(plistlib.dumps(info))
    return resources


def found(*paths: Path) -> dict[str, list[str]]:
    """Return bundle id -> identifiers of the actions that are its own."""
    discovered = from_intents(paths)
    loaded, failed = read_sources(discovered)
    assert not failed
    return {one.source.id: actions(one.source.dictionary) for one in loaded}


def actions(dictionary: Any) -> list[str]:
    return [row.code for row in dictionary.declared_items() if getattr(row, "intent", None)]


def test_an_extension_s_copy_is_the_app_s(tmp_path: Path) -> None:
    app = tmp_path / "Diary.app"
    bundle(app, content(action("GetIntent")), "com.example.diary")
    more = content(action("GetIntent"), action("MoreIntent"))
    bundle(app / "Contents/PlugIns/Widget.appex", more, "com.example.diary.widget")
    assert found(tmp_path) == {"com.example.diary": ["GetIntent", "MoreIntent"]}
    (source,) = from_intents([tmp_path]).sources
    assert (source.name, source.version, source.kind) == ("Diary", "4.2", "intents")


def test_a_framework_of_macos_gives_an_app_what_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "SYSTEM", (f"{tmp_path}/System/",))
    named = action("OtherIntent", attributionBundleIdentifier="com.apple.diary")
    raw = content(action("InnerIntent"), named)
    framework = tmp_path / "System/Frameworks/DiaryLink.framework"
    bundle(framework, raw, "com.apple.diarylink", "Versions/A/Resources")
    bundle(tmp_path / "System/Diary.app", content(action("GetIntent")), "com.apple.diary")
    expected = {
        "com.apple.diary": ["GetIntent", "OtherIntent"],
        "com.apple.diarylink": ["InnerIntent"],
    }
    assert found(tmp_path / "System") == expected


def test_nobody_else_gives_an_app_an_action(tmp_path: Path) -> None:
    raw = content(action("EvilIntent", attributionBundleIdentifier="com.apple.Notes"))
    bundle(tmp_path / "Evil.app", raw, "com.evil.app")
    fake = content(action("FakeIntent", attributionBundleIdentifier="com.apple.Notes"))
    bundle(tmp_path / "Fake.app", fake, "com.apple.fake")
    assert found(tmp_path) == {"com.apple.fake": ["FakeIntent"], "com.evil.app": ["EvilIntent"]}


def test_the_first_bundle_of_an_id_is_the_app(tmp_path: Path) -> None:
    bundle(tmp_path / "a/Diary.app", content(action("GetIntent")), "com.example.diary")
    bundle(tmp_path / "b/Copy.app", content(action("EvilIntent")), "com.example.diary")
    discovered = from_intents([tmp_path / "a", tmp_path / "b"])
    assert len(discovered.sources) == 1
    assert "uses com.example.diary, which is the bundle id of" in discovered.unscriptable[0].reason


def test_an_app_without_intents_keeps_its_id(tmp_path: Path) -> None:
    info = plistlib.dumps({"CFBundleIdentifier": "com.example.diary"})
    (tmp_path / "a/Diary.app/Contents").mkdir(parents=True)
    (tmp_path / "a/Diary.app/Contents/Info.plist").write_bytes(info)
    bundle(tmp_path / "b/Other.app", content(action("GetIntent")), "com.example.other")
    bundle(tmp_path / "b/Fake.app", content(action("EvilIntent")), "com.example.diary")
    assert found(tmp_path / "a", tmp_path / "b") == {"com.example.other": ["GetIntent"]}


def test_a_bundle_behind_a_link_is_found_once_and_a_circle_ends(tmp_path: Path) -> None:
    bundle(tmp_path / "Cryptex/Browser.app", content(action("GetIntent")), "com.example.browser")
    (tmp_path / "Applications").mkdir()
    (tmp_path / "Applications/Browser.app").symlink_to(tmp_path / "Cryptex/Browser.app")
    (tmp_path / "Applications/Round").symlink_to(tmp_path)
    assert found(tmp_path / "Applications") == {"com.example.browser": ["GetIntent"]}


def test_the_older_place_and_the_bundle_of_a_phone_are_known(tmp_path: Path) -> None:
    old = tmp_path / "Old.app/Contents/Resources/Link.data"
    old.mkdir(parents=True)
    (old / "extract.actionsdata").write_bytes(content(action("GetIntent")))
    bundle(tmp_path / "Phone.app", content(action("PutIntent")), "com.example.phone", "")
    assert found(tmp_path) == {"com.example.phone": ["PutIntent"], "local.old": ["GetIntent"]}


@pytest.mark.parametrize("form", ["loctable", "strings", "text"])
def test_titles_that_are_keys_are_looked_up_beside_the_file(tmp_path: Path, form: str) -> None:
    row = action("GetIntent", title="GET_ENTRY_TITLE")
    resources = bundle(tmp_path / "Diary.app", content(row), "com.example.diary")
    rows = {"GET_ENTRY_TITLE": "Fetch the entry"}
    if form == "loctable":
        (resources / "Localizable.loctable").write_bytes(plistlib.dumps({"en": rows}))
    else:
        (resources / "en.lproj").mkdir()
        text = b'/* of the app */\n"GET_ENTRY_TITLE" = "Fetch the entry";\n'
        raw = plistlib.dumps(rows, fmt=plistlib.FMT_BINARY) if form == "strings" else text
        (resources / "en.lproj/Localizable.strings").write_bytes(raw)
    (loaded,) = read_sources(from_intents([tmp_path]))[0]
    (command,) = [
        row for row in loaded.source.dictionary.declared_items() if row.code == "GetIntent"
    ]
    assert command.description == "Fetch the entry"


def database(path: Path, name: str) -> Path:
    """Make a tool database of the columns that are read, with one action."""
    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE Tools(rowId INTEGER PRIMARY KEY, id, sourceContainerId);"
            "CREATE TABLE LinkActionIdentifiers(toolId, identifier);"
            "CREATE TABLE ContainerMetadata(rowId INTEGER PRIMARY KEY, id);"
            "CREATE TABLE ToolLocalizations(toolId, locale, name, descriptionSummary);"
            "INSERT INTO Tools VALUES(1, 'com.example.diary.GetIntent', 7);"
            "INSERT INTO LinkActionIdentifiers VALUES(1, 'GetIntent');"
            "INSERT INTO ContainerMetadata VALUES(7, 'com.example.diary');"
        )
        row = (1, "en", name, "It is read aloud.")
        connection.execute("INSERT INTO ToolLocalizations VALUES(?, ?, ?, ?)", row)
    connection.close()
    return path


def test_the_tool_database_has_words_for_titles_that_are_keys(tmp_path: Path) -> None:
    row = action("GetIntent", title="GET_ENTRY_TITLE", outputType=ENTRY)
    bundle(tmp_path / "in/Diary.app", content(row), "com.example.diary")
    tools = database(tmp_path / "Tools-prod.v80.sqlite", "Send the entry")
    given = from_intents([tmp_path / "in", tools])
    (loaded,) = read_sources(given)[0]
    (command,) = [
        row for row in loaded.source.dictionary.declared_items() if row.code == "GetIntent"
    ]
    assert command.description == "Send the entry. It is read aloud"
    assert given.sources[0].digest != from_intents([tmp_path / "in"]).sources[0].digest


@pytest.mark.parametrize("raw", [b"", b"SQLite format 3\0", b"no database at all" * 99])
def test_what_is_no_tool_database_is_one_line(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "Tools.sqlite").write_bytes(raw)
    bundle(tmp_path / "Diary.app", content(action("GetIntent")), "com.example.diary")
    with pytest.raises(GeneratorError, match="not a tool database"):
        from_intents([tmp_path / "Diary.app", tmp_path / "Tools.sqlite"])


def test_a_key_that_nobody_knows_is_no_title(tmp_path: Path) -> None:
    path = tmp_path / "diary.actionsdata"
    path.write_bytes(content(action("GetIntent", title="GET_ENTRY_TITLE")))
    (loaded,) = read_sources(from_intents([path]))[0]
    (command,) = [
        row for row in loaded.source.dictionary.declared_items() if row.code == "GetIntent"
    ]
    assert (command.name, command.description) == ("get", "")


def test_a_file_is_read_again_only_when_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[Path] = []
    real = macos.read_file
    monkeypatch.setattr(macos, "read_file", lambda path: (reads.append(path), real(path))[1])
    resources = bundle(tmp_path / "Diary.app", content(action("GetIntent")), "com.example.diary")
    first, again = from_intents([tmp_path]), from_intents([tmp_path])
    assert (len(reads), first) == (1, again)
    file = resources / "Metadata.appintents/extract.actionsdata"
    file.write_bytes(content(action("GetIntent"), action("PutIntent")))
    assert from_intents([tmp_path]) != first


def test_what_holds_none_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(GeneratorError, match="contains no App Intents metadata"):
        from_intents([tmp_path])


def test_intents_and_dictionary_of_an_app_have_keys_of_their_own(tmp_path: Path) -> None:
    bundle(tmp_path / "Diary.app", content(action("GetIntent")), "com.example.diary")
    chosen = pick_sources(from_intents([tmp_path]), ["diary_intents"])
    assert [one.id for one in chosen.sources] == ["com.example.diary"]


# All real files. The reader below knows what the sheet says of them, and nothing of our code.

_PLAIN = {str(code) for code in range(13)}
_OURS = {str(code) for code in range(15)}


def known(kind: Any) -> bool:
    """Say whether the sheet names a value type."""
    (name, payload), *_ = kind.items()
    held = payload["wrapper"]
    if name == "array":
        return known(held["memberValueType"])
    if name in ("primitive", "intents"):
        return str(held["typeIdentifier"]) in (_PLAIN if name == "primitive" else _OURS)
    return name in ("entity", "linkEnumeration", "measurement")


def counted(path: Path) -> Counter[str]:
    """Count in the JSON itself."""
    counts: Counter[str] = Counter()
    data = json.loads(path.read_text())
    for row in data["actions"].values():
        counts["actions"] += 1
        names = {one.rpartition(".")[2] for one in row.get("systemProtocols", ())}
        shown = row.get("visibilityMetadata", {})
        on = row.get("availabilityAnnotations", {})
        tool = (
            row["isDiscoverable"]
            and shown.get("isDiscoverable", True)
            and not shown.get("assistantOnly", False)
            and not names & {"WidgetConfiguration", "ControlConfiguration", "FocusConfiguration"}
            and (not on or {"LNPlatformNameWildcard", "LNPlatformNameMACOS"} & on.keys())
        )
        counts["tools" if tool else "left out"] += 1
        for one in row["parameters"] if tool else ():
            default = "LNValueTypeSpecificMetadataKeyDefaultValue" in one["typeSpecificMetadata"]
            counts["typed" if known(one["valueType"]) else "unknown"] += 1
            counts["required"] += not one["isOptional"] and not default
        counts["answers"] += bool(tool and row.get("outputType"))
    return counts


@pytest.fixture(scope="module")
def real(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], Built]:
    """The real files, and the build of all of them."""
    folder = corpus / "app-intents"
    if not folder.is_dir():
        pytest.skip("needs shared/corpus/app-intents beside the checkout")
    files = sorted(folder.glob("*.actionsdata"))

    def make() -> Built:
        made = build(DiscoveredSources(from_intents([folder]).sources))
        return made._replace(files=dict(made.files))

    return files, once(tmp_path_factory, "real-intents", make)


def test_every_real_file_gives_a_module_that_passes_its_proof(
    real: tuple[list[Path], Built],
) -> None:
    files, built = real
    assert not built.report.failed
    assert len(built.report.apps) == len(files)
    for name, text in built.files.items():
        if name.endswith("_objects.py"):
            assert [*verify_classes(text)] == [], name
        elif name.endswith(".py") and name != "__init__.py":
            assert [*verify_source(text)] == [], name
    for line in built.files["listing.jsonl"].splitlines():
        assert verify_schema(json.loads(line)["inputSchema"]) == []


def test_counts_agree_with_another_reader(real: tuple[list[Path], Built]) -> None:
    files, built = real
    expected = sum(map(counted, files), Counter[str]())
    entries = [json.loads(line) for line in built.files["listing.jsonl"].splitlines()]
    schemas = [entry["inputSchema"] for entry in entries]
    unknown = [d for app in built.report.apps for d in app.diagnostics if d.code == "unknown-kind"]
    left_out = [d for app in built.report.apps for d in app.diagnostics if d.code == "left-out"]
    assert len(entries) == expected["tools"]
    assert len(left_out) == expected["left out"]
    assert sum(len(one["properties"]) for one in schemas) == expected["typed"] + expected["unknown"]
    assert len(unknown) == expected["unknown"]
    assert sum(len(one.get("required", ())) for one in schemas) == expected["required"]
    sent = json.loads(built.files["tools.lock"])["sent"].values()
    assert sum(row[0] != "" for row in sent) == expected["answers"]


@pytest.mark.slow
def test_real_modules_type_check(real: tuple[list[Path], Built], tmp_path: Path) -> None:
    _, built = real
    package = tmp_path / "diaries"
    package.mkdir()
    for name, text in built.files.items():
        (package / name).write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "diaries"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == ""


def test_the_command_line_builds_and_lists_them(tmp_path: Path) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(cli, [*arguments, "--intents", f"{tmp_path}/in"])
        return done.exit_code, done.output

    row = action("GetIntent", parameter("entry", ENTRY))
    bundle(tmp_path / "in/Diary.app", content(row, enums=[]), "com.example.diary")
    assert run("build", "--output", f"{tmp_path}/out")[0] == 0
    assert (tmp_path / "out/diary_intents.py").is_file()
    assert run("check", "--output", f"{tmp_path}/out") == (0, "")
    linted = CliRunner().invoke(cli, ["lint", f"{tmp_path}/in/Diary.app"])
    assert (linted.exit_code, linted.stdout) == (0, "")
    assert run("list") == (0, "diary_intents  Diary 4.2  com.example.diary\n")


def test_an_unknown_format_is_told_and_read_all_the_same(tmp_path: Path) -> None:
    resources = bundle(tmp_path / "Diary.app", content(action("GetIntent")), "com.example.diary")
    (resources / "Metadata.appintents/version.json").write_text('{"version": "9.1"}')
    (loaded,) = read_sources(from_intents([tmp_path]))[0]
    assert [(one.code, one.level) for one in loaded.diagnostics] == [("format", "warning")]
    assert "9.1" in loaded.diagnostics[0].message
    assert actions(loaded.source.dictionary) == ["GetIntent"]


def test_snapshots_of_both_sources_lie_side_by_side(tmp_path: Path) -> None:
    bundle(tmp_path / "Diary.app", content(action("GetIntent")), "com.example.diary")
    given = ["snapshot", f"{tmp_path}/Diary.app", "--facts", "--output", f"{tmp_path}/out"]
    assert CliRunner().invoke(cli, given).exit_code == 0
    assert [one.name for one in (tmp_path / "out").glob("*.json")] == ["Diary_intents.json"]
    built = ["build", "--dictionary", f"{tmp_path}/out", "--output", f"{tmp_path}/tools"]
    assert CliRunner().invoke(cli, built).exit_code == 0
    assert (tmp_path / "tools/diary_intents.py").is_file()
