"""The page of every tool: its example is a call that works, by the door that is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from player import ABLE

from iac_base.errors import ToolError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import HOME, open_simulation
from iac_runtime.gate.plans import Call, RefusedCall
from iac_runtime.serve.call import unwrap_call_tool
from iac_runtime.serve.tool_pages import any_page
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import CALL_TOOLS


def played(gate: Gate, name: str) -> str:
    """Return what is wrong with the example of a page; empty where it works or asks.

    A door that is refused names the right one; what this world lacks is looked for by the next
    call.
    """
    assert gate.catalogue is not None
    page = any_page(gate.catalogue, name)
    door = CALL_TOOLS[page.level]
    call: tuple[str, Any] = (door, {"name": name, "arguments": page.example})
    said = ""
    for _ in range(5):
        try:
            outcome = gate.call(unwrap_call_tool(Call(*call, ABLE)))
        except ToolError as error:
            then, said = error.next, f"{error.type} {error.message}"
        else:
            if not isinstance(outcome, RefusedCall):
                return ""
            if outcome.next is None:
                # By a rule that no arguments get round, such as: no tool writes to Terminal.
                return ""
            then, said = outcome.next, f"{outcome.kind} {outcome.reason}"
        if then is None:
            break
        call = (then.tool, then.arguments)
    return f"{name} {json.dumps(page.example)}: {said}"


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.stress)])
def test_the_example_of_every_page_works(gate: Gate, step: int) -> None:
    assert gate.catalogue is not None
    names = sorted(gate.catalogue.tools)[::step]
    assert [wrong for name in names if (wrong := played(gate, name))] == []


@pytest.mark.stress
def test_the_example_of_every_page_of_every_dictionary_works(
    corpus_build: Any, tmp_path: Path
) -> None:
    for name, text in corpus_build.files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    catalogue = Catalogue([tmp_path])
    gate = Gate(catalogue, Executor(open_simulation(catalogue, None)), home=HOME)
    wrong = [said for name in sorted(catalogue.tools) if (said := played(gate, name))]
    print(
        f"{len(catalogue.tools)} pages, {len(wrong)} whose example leads nowhere", *wrong, sep="\n"
    )
    # Some dictionaries have no way to their objects, and some apps answer nothing here.
    assert len(wrong) <= len(catalogue.tools) / 50
