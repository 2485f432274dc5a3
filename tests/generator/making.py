"""Small dictionaries for tests, and ways to put them through the pipeline."""

import importlib.util
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from black import format_file_contents
from black.mode import Mode, TargetVersion
from black.report import NothingChanged
from golden import standard

from iac_gen.discover import DiscoveredSources
from iac_gen.discover import read_sources as read_found
from iac_gen.ir import Module
from iac_gen.model import Dictionary, Source
from iac_gen.pipeline import BuildInputs, build_folder, represent_app
from iac_gen.quirks import QuirkDecisions, QuirkFile, apply_quirks
from iac_gen.resolve import resolve_dictionary
from iac_gen.write import lock_folder, write_files
from iac_gen.xml import LoadedDictionary, parse_dictionary

DIARY = """
<class name="application" code="capp">
  <element type="entry"/>
</class>
<class name="entry" code="entr" plural="entries">
  <property name="id" code="ID  " type="text" access="r"/>
  <property name="body" code="body" type="text"/>
  <property name="mood" code="mood" type="mood"/>
</class>
<enumeration name="mood" code="mood">
  <enumerator name="glad" code="glad"/>
  <enumerator name="so so" code="soso"/>
</enumeration>
<command name="reread" code="diarrere">
  <direct-parameter type="entry"/>
  <parameter name="aloud" code="alou" type="boolean" optional="yes"/>
  <result type="text"/>
</command>
<command name="count" code="corecnte">
  <direct-parameter type="specifier"/>
</command>
<command name="make" code="corecrel">
  <parameter name="new" code="kocl" type="type"/>
</command>
"""
"""The items of a suite of an invented app."""

SOUND = """<class name="application" code="capp"><element type="entry"/></class>
<class name="entry" code="entr" plural="entries"><property name="body" code="body" type="text"/>
<responds-to command="reread"/></class>
<command name="reread" code="diarrere"><direct-parameter type="entry"/></command>
"""
"""Sound items, on lines 3 to 6 of the file; those of a case follow from line 7."""

INCLUDE = (
    '<xi:include xmlns:xi="http://www.w3.org/2003/XInclude" href="file:///{}"'
    """ xpointer="xpointer(/dictionary/suite/node()[not(self::command and @name = 'none')])"/>"""
)
COCOA = INCLUDE.format("System/Library/ScriptingDefinitions/CocoaStandard.sdef")


def read_cases(file: str) -> list[tuple[str, list[str]]]:
    """Return the cases of a file: items of a suite, and the lines that they lead to.

    In the file, such a line begins with `> `, a blank line ends a case, and INCLUDE(path) stands
    for an include of that file.
    """
    cases = []
    for text in Path(__file__).with_name(file).read_text(encoding="utf-8").split("\n\n"):
        lines = re.sub(r"INCLUDE\((.*)\)", lambda file: INCLUDE.format(file[1]), text).splitlines()
        items = [line for line in lines if not line.startswith("> ")]
        cases.append(("\n".join(items), [line[2:] for line in lines[len(items) :]]))
    return cases


def sdef(items: str = DIARY, suite: str = 'name="Diary" code="diar"') -> bytes:
    """Return a dictionary with one suite that holds `items`; they begin on line 3."""
    return (
        f'<?xml version="1.0"?>\n<dictionary><suite {suite}>\n{items}</suite></dictionary>'.encode()
    )


def read(content: bytes, file: str = "app.sdef") -> Dictionary:
    """Return the dictionary in `content`."""
    return parse_dictionary(content, file)[0]


def whole(found: DiscoveredSources, *, as_written: bool = False) -> list[LoadedDictionary]:
    """Return everything that was found, parsed; all of it must have been readable."""
    loaded, failed = read_found(found, as_written=as_written)
    assert failed == []
    return loaded


def source(dictionary: Dictionary | None = None, name: str = "Diary", version: str = "") -> Source:
    """Return `dictionary` (the diary) as the app `name`."""
    identifier = f"com.example.{''.join(ch for ch in name if ch.isalnum())}"
    return Source(dictionary or read(sdef()), name, identifier, name, version)


def inputs(*sources: Source, quirks: Sequence[QuirkFile] = ()) -> BuildInputs:
    """Return the inputs of a build of `sources`."""
    return BuildInputs([LoadedDictionary(one) for one in sources], standard(), quirks)


def module(one: Source, quirks: Sequence[QuirkFile] = ()) -> tuple[Module, list[str]]:
    """Return the intermediate representation of `one`, and the findings as text."""
    made = represent_app(LoadedDictionary(one), "diary", standard(), quirks)
    return made.module, [str(found) for found in made.diagnostics]


def build(*sources: Source) -> dict[str, str]:
    """Return the files of a build of `sources`; each must have become a module."""
    files, report = build_folder(inputs(*sources))
    assert not report.failed
    return files


def put(folder: Path, files: Mapping[str, str], remove: Sequence[str] = ()) -> list[str]:
    """Write files into a folder as a build does; return the names that changed."""
    with lock_folder(folder):
        return write_files(folder, files, remove)


def decide(one: Source, *quirks: QuirkFile) -> tuple[QuirkDecisions, list[str]]:
    """Return what `quirks` decide for `one`, and the diagnostics as text."""
    _, decisions, found = apply_quirks(resolve_dictionary(one, standard())[0], list(quirks))
    return decisions, [str(row) for row in found]


def is_black(text: str) -> bool:
    """Say whether black would leave `text` alone."""
    mode = Mode(target_versions={TargetVersion.PY311}, line_length=100)
    try:
        format_file_contents(text, fast=True, mode=mode)
    except NothingChanged:
        return True
    return False


@contextmanager
def imported(text: str, key: str, folder: Path) -> Iterator[ModuleType]:
    """Import the source of a generated module from a file of its own."""
    path = folder / f"{key}.py"
    path.write_text(text)
    name = f"_built_{key}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    try:
        spec.loader.exec_module(made)
        yield made
    finally:
        del sys.modules[name]
