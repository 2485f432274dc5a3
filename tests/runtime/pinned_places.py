"""Collections of five apps in the simulator, and what can happen to them meanwhile."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st
from simulated import shipped_catalogue, simulate_apps

from iac_runtime.execution.executor import Executor
from iac_runtime.execution.process import Completed
from iac_runtime.gate.gate import Gate
from iac_runtime.policy.permissions import open_permissions


class Place(NamedTuple):
    """A collection whose objects a tool acts on.

    `world` is the app's world around a list of objects, and `new` makes one of a number. `ident`,
    `name` and `body` are properties that a person is shown, or by which the object is known.
    """

    tool: str
    target: str
    world: Callable[[list[Any]], dict[str, Any]]
    new: Callable[[int], dict[str, Any]]
    ident: str
    name: str
    body: str

    @property
    def app(self) -> str:
        return self.tool.partition("_")[0]


def _notes(items: list[Any]) -> dict[str, Any]:
    folder = {"id": "f", "name": "Notes", "notes": items}
    return {"accounts": [{"id": "a", "name": "iCloud", "folders": [folder]}]}


PLACES: Final = (
    Place("notes_delete", "accounts[0].folders[0].notes", _notes,
     lambda n: {"id": f"n{n}", "name": f"Note {n}", "body": f"Text {n}"}, "id", "name", "body"),
    Place("mail_send", "outgoingMessages",
     lambda items: {"outgoingMessages": items, "@results": {"emsgsend": True}},
     lambda n: {"id": n, "subject": f"Subject {n}", "content": f"Text {n}",
      "toRecipients": [{"name": "A", "address": f"a{n}@example.org"}]}, "id", "subject", "content"),
    Place("calendar_delete", 'calendars["Home"].events',
     lambda items: {"calendars": [{"name": "Home", "events": items}]},
     lambda n: {"uid": f"e{n}", "summary": f"Event {n}", "location": f"Room {n}"}, "uid", "summary",
     "location"),
    Place("finder_delete", 'disks["Disk"].files',
     lambda items: {"disks": [{"id": 1, "name": "Disk", "files": items}]},
     lambda n: {"name": f"File {n}", "kind": f"Kind {n}", "size": n}, "name", "name", "kind"),
    Place("reminders_delete", "lists[0].reminders",
     lambda items: {"lists": [{"id": "l", "name": "Home", "reminders": items}]},
     lambda n: {"id": f"r{n}", "name": f"Task {n}", "body": f"More {n}"}, "id", "name", "body"),
)  # fmt: skip

Change = tuple[str, int]
CHANGES: Final = st.tuples(
    st.sampled_from(("delete", "insert", "reorder", "rename", "rewrite", "nothing")),
    st.integers(0, 3),
)


def happen(place: Place, items: list[dict[str, Any]], change: Change) -> None:
    """Let something happen to the objects of a place."""
    what, at = change
    if what == "insert":
        taken = len(items)
        items.insert(min(at, taken), place.new(100 + taken * 10 + at))
    elif what == "reorder":
        items.reverse()
    elif at < len(items):
        if what == "delete":
            del items[at]
        elif what == "rename":
            items[at][place.name] += "!"
        elif what == "rewrite":
            items[at][place.body] += " more"


def named(place: Place, reference: str, items: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return what a person is shown of each object that a reference names.

    Of several, their texts are not shown.
    """
    keys = (place.ident, place.name, place.body)
    pick = reference.removeprefix(place.target)
    if not pick or pick.startswith(".whose"):
        kept = [one for one in items if not pick or "1" in one[place.name]]
        return [tuple(copy.copy(one[key]) for key in keys[:2]) for one in kept]
    if pick.startswith(".byId"):
        ident = pick.removeprefix(".byId(").removesuffix(")").strip('"')
        found = [one for one in items if str(one[place.ident]) == ident]
    else:
        at = int(pick.strip("[]"))
        found = items[at : at + 1 or None]
    return [tuple(one[key] for key in keys) for one in found]


@st.composite
def calls(draw: st.DrawFn) -> tuple[Place, str]:
    """Draw a place, and a reference to one or several of its objects."""
    place = draw(st.sampled_from(PLACES))
    picks = ["[0]", "[1]", "[-1]"]
    if place.ident != place.name:
        ident = place.new(1)[place.ident]
        picks.append(f".byId({ident})" if isinstance(ident, int) else f'.byId("{ident}")')
    if place.tool != "mail_send":
        picks += ["", f'.whose({{{place.name}: {{_contains: "1"}}}})']
    return place, place.target + draw(st.sampled_from(picks))


class Desk:
    """A gate on one place; `meanwhile` happens right before the event that acts is sent.

    `items` are its objects as they are now, `before` as they were when the event came.
    """

    def __init__(self, place: Place, items: list[dict[str, Any]], meanwhile: list[Change]) -> None:
        known = shipped_catalogue()
        self.simulator = simulate_apps(known, {place.app: place.world(items)})
        # The world itself, for it is to change behind the gate's back.
        self.simulator._state[place.app] = place.world(items)
        self.items, self.before = items, copy.deepcopy(items)
        self.place, self.meanwhile = place, meanwhile
        self.gate = Gate(
            known, Executor(self.run), home="/Users/me", permissions=open_permissions()
        )

    def run(self, argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        """Stand for osascript."""
        if b'"pin": [' in stdin:
            for change in self.meanwhile:
                happen(self.place, self.items, change)
            self.meanwhile = []
            self.before = copy.deepcopy(self.items)
        return self.simulator(argv, stdin, timeout)

    @property
    def acted(self) -> int:
        """How many events were sent that do not merely look."""
        return sum(row.event not in ("coregetd", "corecnte") for row in self.simulator.events)
