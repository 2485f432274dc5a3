"""Rows that are inserted, removed, moved and renamed between find, question and act.

A trial finds the buttons of all rows, means the one of a row, and acts on it by id or path; rows
change after the find and after the question. What was done to which row, the app itself writes
down. A trial is wrong where another row, or the row under another name, was acted on.
"""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import ui_stack as stack
from ui_calls import answered, perform, prepare

from iac_accessibility.model import UiApp
from iac_accessibility.toolset import UiToolset
from iac_base.errors import ToolError

TOOLKITS = ("gtk3", "gtk4", "qt", "chromium")
NAMES = ("Invoice", "Letter", "Order", "Photo", "Receipt")


class Outcome(NamedTuple):
    """What trials came to."""

    acted: int
    refused: int
    wrong: list[str]


class Rows:
    """An app with rows, on a desktop, and what it has written down."""

    def __init__(self, folder: Path, bridge: Any, rng: random.Random) -> None:
        self.folder, self.bridge, self.rng = folder, bridge, rng
        self.app: Any = None
        self.rows: list[tuple[str, str]] = []
        self.count = 0
        self.shows = 0
        (folder / "acts").write_text("")

    def show(self) -> None:
        """Have the app show the rows as they are now, and wait until it does."""
        self.shows += 1
        lines = "".join(f"{key}\t{name}\n" for key, name in self.rows)
        (self.folder / "rows").write_text(f"{lines}{self.shows}.")
        wanted = f"{lines}{self.shows}."
        stack.wait_until(lambda: self._shown() == wanted, "the rows")

    def _shown(self) -> str:
        file = self.folder / "shown"
        return file.read_text() if file.exists() else ""

    def fresh(self) -> tuple[str, str]:
        """Return a row that was not there before; names come again."""
        self.count += 1
        return f"k{self.count}", f"{self.rng.choice(NAMES)} {self.rng.randrange(4)}"

    def change(self) -> None:
        """Insert, remove, move or rename rows, or leave them."""
        for _ in range(self.rng.randrange(3)):
            at = self.rng.randrange(len(self.rows))
            what = self.rng.choice(("insert", "remove", "move", "rename"))
            if what == "insert" and len(self.rows) < 7:
                self.rows.insert(at, self.fresh())
            elif what == "remove" and len(self.rows) > 2:
                self.rows.pop(at)
            elif what == "move":
                self.rows.insert(self.rng.randrange(len(self.rows)), self.rows.pop(at))
            elif what == "rename":
                self.rows[at] = (self.rows[at][0], self.fresh()[1])
        self.show()

    def acts(self) -> list[str]:
        """Return what was done since the last call."""
        text = (self.folder / "acts").read_text()
        (self.folder / "acts").write_text("")
        return text.splitlines()


def buttons(toolset: UiToolset, app: UiApp, act: str) -> list[dict[str, Any]]:
    """Return the buttons of that name, in the order of their rows."""
    arguments = {"app": app.pid, "role": "button", "title": act, "timeout": 10}
    found = answered(toolset, "find_element", arguments)["elements"]
    return [row for row in found if row["title"] == act]


def trial(held: Rows, rng: random.Random, settle: float) -> tuple[str, str]:
    """Return what came of one trial (acted, refused, wrong) and how it was."""
    toolset = UiToolset(held.bridge)
    act = rng.choice(("Open", "Delete"))
    found: list[dict[str, Any]] = []

    def seen() -> bool:
        found[:] = buttons(toolset, held.app, act)
        return len(found) == len(held.rows)

    stack.wait_until(seen, "a button in each row")
    at = rng.randrange(len(found))
    key, name = held.rows[at]
    element = found[at][rng.choice(("id", "path"))]
    if rng.random() < 0.3:
        answered(toolset, "get_ui_tree", {"app": held.app.pid})
    how = [f"{act} {key} {name} as {element}"]
    arguments = {"app": held.app.pid, "element": element, "action": "press"}
    refused = False
    try:
        held.change()
        how.append(f"then {held.rows}")
        stack.time.sleep(settle)
        plan = prepare(toolset, "perform_action", arguments)
        held.change()
        how.append(f"then {held.rows}")
        stack.time.sleep(settle)
        perform(plan)
    except ToolError as error:
        refused = True
        how.append(error.message)
    if not refused:
        stack.wait_until(lambda: (held.folder / "acts").read_text(), "the act")
    done = held.acts()
    if refused:
        return ("wrong" if done else "refused"), f"{how} did {done}"
    return ("acted" if done == [f"{act} {key} {name}"] else "wrong"), f"{how} did {done}"


def trials(held: Rows, count: int, settle: float) -> Outcome:
    """Return what so many trials came to."""
    rng = held.rng
    results = [trial(held, rng, settle) for _ in range(count)]
    tally = [what for what, _ in results]
    wrong = [how for what, how in results if what == "wrong"]
    return Outcome(tally.count("acted"), tally.count("refused"), wrong)


@contextmanager
def rows_of(
    toolkit: str, desk: stack.Desktop, bridge: Any, folder: Path, seed: int
) -> Iterator[tuple[Rows, float]]:
    """Start the app with rows; yield it, and how long a change takes until it is in its tree."""
    held = Rows(folder, bridge, random.Random(seed))
    held.rows = [held.fresh() for _ in range(4)]
    (folder / "rows").write_text("")
    server = None
    if toolkit == "chromium":
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Page, folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = f"http://127.0.0.1:{server.server_address[1]}/"
        process = stack.chromium(desk, folder / "profile", page)
    else:
        python = stack.sys.executable if toolkit == "qt" else stack.GTK_PYTHON
        process = desk.start(python, str(stack.APPS / "rows_app.py"), toolkit, str(folder))
    try:
        held.show()

        def listed() -> object:
            held.app = next(
                (one for one in bridge.running_apps(2.0) if one.pid == process.pid), None
            )
            return held.app and buttons(UiToolset(bridge), held.app, "Open")

        stack.wait_until(listed, "the app")
        yield held, 0.12 if toolkit == "chromium" else 0.0
    finally:
        if server is not None:
            server.shutdown()
            server.server_close()
        desk.end(process)


class Page(BaseHTTPRequestHandler):
    """The page with rows, and the files that it reads and writes."""

    def __init__(self, folder: Path, *arguments: Any) -> None:
        self.folder = folder
        super().__init__(*arguments)

    def do_GET(self) -> None:
        file = self.folder / "rows" if self.path == "/rows" else stack.APPS / "rows.html"
        self._answer(file.read_bytes(), "text/plain" if self.path == "/rows" else "text/html")

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/acts":
            with (self.folder / "acts").open("a") as file:
                file.write(f"{text}\n")
        else:
            (self.folder / "shown").write_text(text)
        self._answer(b"", "text/plain")

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass
