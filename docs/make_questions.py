"""Writes docs/questions.md: what a person is asked for the calls of docs/questions.toml.

The apps are simulated, and one app exists as an interface in memory alone.

Run it with `python docs/make_questions.py`; a test holds the page to what it writes.
"""

import os
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import HOME
from iac_runtime.gate.plans import Call, PendingCall
from iac_runtime.policy.permissions import Requester, open_permissions
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import added_tools
from iac_simulator import Simulator
from iac_simulator.simulator import demo_state

FOLDER: Final = Path(__file__).parent
TOOLS: Final = FOLDER.parent / "generated" / "iac_tools"

_ASKED: Final = Requester("Claude", ("client",))
_VOUCHED: Final = Requester("Claude", preapproved_level="DANGEROUS")
_EDITED: Final = frozenset(("visible", "enabled", "showing", "editable"))


def simulated_gate(**kept: Any) -> Gate:
    """Return a gate on the simulated apps, with a draft in Mail; the zone is UTC."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    catalogue = Catalogue([TOOLS])
    state = demo_state()
    state["mail"]["outgoingMessages"] = [
        {
            "id": 7,
            "subject": "Lunch on Thursday?",
            "content": "Noon is fine. I bring the papers for the roof.",
            "toRecipients": [{"name": "Ines Mora", "address": "ines@example.org"}],
            "ccRecipients": [{"name": "Dana Weiss", "address": "dana@example.org"}],
        }
    ]
    apps = [catalogue.load_tables(app) for app in catalogue.apps.values()]
    return Gate(
        catalogue,
        Executor(Simulator(apps, state)),
        home=HOME,
        launch=[app.id for app in catalogue.apps.values()],
        permissions=open_permissions(home=HOME),
        added=added_tools,
        **kept,
    )


def interface_in_memory() -> Any:
    """Return the tools of an app that has a window of invoices."""
    sys.path.insert(0, str(FOLDER.parent / "tests" / "accessibility"))
    from ui_memory import Memory, node, tree

    from iac_accessibility.toolset import UiToolset

    rows = [
        node("app", "application", "", "m", "w"),
        node("m", "menu_bar", "", "f", "e"),
        node("e", "menu", "Edit"),
        node("f", "menu", "File", "x"),
        node("x", "menu_item", "Print…", actions=("press",)),
        node("w", "window", "Invoices", "p", "o", "a"),
        node("p", "button", "Pay", actions=("press",)),
        node("o", "button", "Open", actions=("press",)),
        node("a", "text_field", "Amount", value="120", states=_EDITED),
    ]
    return UiToolset(Memory(tree({str(row.handle): row for row in rows})))


def calls() -> list[dict[str, Any]]:
    """Return the calls, as docs/questions.toml explains them."""
    rows: list[dict[str, Any]] = tomllib.loads((FOLDER / "questions.toml").read_text())["call"]
    return rows


def ask(row: Mapping[str, Any]) -> PendingCall:
    """Return what is asked about a call, in a world in which nothing else was done."""
    from iac_accessibility.toolset import open_toolset

    with tempfile.TemporaryDirectory() as folder:
        os.environ["IAC_DATA"] = folder
        gate = simulated_gate(kept={open_toolset: interface_in_memory()})
        for one in row.get("first", ()):
            gate.call(Call(one["tool"], one["arguments"], _VOUCHED))
        call = Call(
            row["tool"], row.get("arguments", {}), _ASKED, calls=tuple(row.get("calls", ()))
        )
        outcome = gate.call(call)
        if "then" in row and isinstance(outcome, PendingCall):
            gate.call(Call(row["then"]["tool"], row["then"]["arguments"], _VOUCHED))
            outcome = gate.answer(outcome, "once")
        gate.close()
    if not isinstance(outcome, PendingCall):
        raise SystemExit(f"{row['tool']} asks nothing: {outcome}")
    return outcome


def page() -> str:
    """Return the page."""
    rows = calls()
    parts = [
        f"# Approval prompts\n\nThese are {len(rows)} calls to simulated apps, each with the"
        " approval prompt that you see.\n`python docs/make_questions.py` writes this page.\n"
    ]
    for number, row in enumerate(rows, 1):
        text = ask(row).question.text
        # Where the whole of a long one is kept is another place on every machine.
        # As it looks for real apps.
        said = (
            text.partition(". All of it: ")[0]
            .replace(" (simulated apps)", "")
            .replace("while this program runs", "for a week")
        )
        parts.append(f"## {number}. `{row['tool']}`\n\n```text\n{said}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    (FOLDER / "questions.md").write_text(page(), "utf-8")
    sys.exit(0)
