"""Every dictionary of the corpus without a world of its own: all of it can be called."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from simulated_dictionaries import tables_in
from test_simulator_shipped import commands, sample

from iac_runtime.tools.tables import Tables
from iac_simulator import Simulator

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "sdef"
STEMS = sorted(path.stem for path in FOLDER.glob("*.sdef"))


TRIED = """
const wrong = [];
const call = (line, f) => {
  try { f() } catch (e) { if (e.errorNumber === undefined) wrong.push([line, String(e)]) }
};
%s
JSON.stringify(wrong)"""


def calls(tables: Tables) -> Iterator[tuple[str, set[str]]]:
    """Yield a call of each command, with its event; homonyms are one name in JavaScript."""
    for spec in commands(tables):
        named = [p for p in spec.params.values() if p.code not in ("", "----")]
        direct = [p for p in spec.params.values() if p.code == "----"]
        keys = [f"{json.dumps(p.jxa or p.term)}: {sample(tables, p.type)}" for p in named]
        record = ", ".join(keys)
        given = [*(sample(tables, p.type) for p in direct), *([f"{{{record}}}"] if named else [])]
        yield (
            f"app[{json.dumps(spec.jxa)}]({', '.join(given)})",
            {other.event for other in commands(tables) if other.jxa == spec.jxa},
        )


def reads(tables: Tables) -> Iterator[str]:
    """Yield a read of each property and each collection of the application."""
    if "application" in tables.classes:
        yield from (f"app[{json.dumps(p.jxa)}]()" for p in tables.properties("application"))
        for element in tables.elements("application"):
            plural = json.dumps(tables.classes[element.term].plural)
            yield f"app[{plural}].length"
            yield f"app[{plural}]().map(x => x.properties())"


@pytest.mark.sweep
@pytest.mark.parametrize("stem", STEMS)
def test_everything_that_a_dictionary_declares_can_be_called(corpus: Path, stem: str) -> None:
    tables = tables_in(corpus / "sdef", stem)
    simulator = Simulator([tables], {})
    expected = list(calls(tables))
    lines = [line for line, _ in expected] + list(reads(tables))
    start = f"const app = Application({json.dumps(tables.app.name)});"
    if tables.app.kind == "addition":
        start = "const app = Application.currentApplication(); app.includeStandardAdditions = true;"
    tried = "".join(f"call({json.dumps(line)}, () => {line});" for line in lines)
    done = simulator(["osascript", "-l", "JavaScript", "-e", start + TRIED % tried], b"", 60)
    assert done.stderr == b""
    assert json.loads(done.stdout) == []
    sent = simulator.events[: len(expected)]
    assert [
        e.event for e, (_, codes) in zip(sent, expected, strict=True) if e.event not in codes
    ] == []
