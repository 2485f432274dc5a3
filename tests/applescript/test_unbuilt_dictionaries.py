"""Scripts for apps without tools are judged by the dictionary that is installed or shipped."""

import plistlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from iac_applescript.analysis.analyser import ScriptAnalyzer
from iac_applescript.toolset import ScriptToolset
from iac_runtime.execution import unbuilt
from iac_runtime.tools.catalogue import Catalogue

SLIDE = 'tell application "Keynote" to make new slide at end of slides of front document'
SDEF = """<?xml version="1.0"?>
<!DOCTYPE dictionary SYSTEM "file://localhost/System/Library/DTDs/sdef.dtd">
<dictionary title="Diary"><suite name="Diary" code="Diar">
  <command name="discard" code="Diardisc"><direct-parameter type="text"/></command>
  <class name="application" code="capp"><property name="motto" code="mott" type="text"/></class>
</suite></dictionary>"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("IAC_DATA", str(tmp_path / "data"))
    unbuilt.dictionary_places.cache_clear()
    yield tmp_path
    unbuilt.dictionary_places.cache_clear()


@pytest.fixture
def analyser(generated: Path) -> ScriptAnalyzer:
    return ScriptAnalyzer(Catalogue([generated]))


@pytest.fixture
def diary(home: Path) -> Path:
    contents = home / "Applications" / "Diary.app" / "Contents"
    (contents / "Resources").mkdir(parents=True)
    facts = {"CFBundleIdentifier": "org.example.diary", "OSAScriptingDefinition": "Diary.sdef"}
    (contents / "Info.plist").write_bytes(plistlib.dumps(facts))
    (contents / "Resources" / "Diary.sdef").write_text(SDEF)
    return contents / "Resources" / "Diary.sdef"


@pytest.mark.parametrize(
    ("script", "language", "level"),
    [
        (SLIDE, "applescript", "MODIFY"),
        ('tell application "Keynote" to get name of front document', "applescript", "SAFE"),
        ('Application("com.apple.AddressBook").people.name()', "javascript", "MODIFY"),
        ('tell application "Contacts" to delete every person', "applescript", "DANGEROUS"),
        ('tell application "Messages" to send "x" to buddy "y"', "applescript", "DANGEROUS"),
    ],
)
def test_a_snapshot_that_ships_says_what_its_words_do(
    analyser: ScriptAnalyzer, script: str, language: str, level: str
) -> None:
    found = analyser.analyze_script(script, language)  # type: ignore[arg-type]
    assert (found.level, found.unknown) == (level, ())
    assert found.targets[0].startswith("com.apple.")


def test_an_installed_app_is_judged_by_its_own_dictionary(
    analyser: ScriptAnalyzer, diary: Path, generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = analyser.analyze_script('tell application "Diary" to get motto', "applescript")
    assert (found.level, found.targets, found.unknown) == ("SAFE", ("org.example.diary",), ())
    found = analyser.analyze_script('tell application "Diary" to discard "x"', "applescript")
    assert found.level == "DANGEROUS"
    assert not found.unknown
    # It was built once: another start finds it.
    monkeypatch.setattr(unbuilt, "run_process", None)
    again = ScriptAnalyzer(Catalogue([generated]))
    assert again.analyze_script('tell application "Diary" to get motto', "applescript").targets
    # After an update it is built anew, and cannot be without the generator.
    diary.write_text(SDEF.replace("motto", "slogan"))
    monkeypatch.setattr(unbuilt, "run_process", lambda *_, **__: None)
    changed = ScriptAnalyzer(Catalogue([generated]))
    found = changed.analyze_script('tell application "Diary" to get motto', "applescript")
    assert (found.level, found.unknown) == ("DANGEROUS", ("Diary",))


def test_what_has_no_dictionary_is_unknown(analyser: ScriptAnalyzer) -> None:
    found = analyser.analyze_script('tell application "Nowhere" to get name', "applescript")
    assert (found.level, found.unknown) == ("DANGEROUS", ("Nowhere",))


def test_the_dictionary_of_an_app_without_tools_is_shown(generated: Path, tmp_path: Path) -> None:
    toolset = ScriptToolset(Catalogue([generated]), tmp_path / "state", lambda *_, **__: None)  # type: ignore[arg-type,return-value]
    shown = toolset.app_tables("Keynote")
    assert shown.app.id == "com.apple.iWork.Keynote"
    assert "slide" in shown.classes
    assert not [name for name in toolset.catalogue.tools if name.startswith("keynote")]
