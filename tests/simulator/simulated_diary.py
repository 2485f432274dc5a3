"""A small invented app, Diary, and a scripting addition, as tables; scripts run against them."""

import json
from typing import Any

from iac_runtime.execution.process import Completed
from iac_runtime.tool import App, Class, Element, Param, Property, Record, Spec
from iac_runtime.tools.tables import Tables
from iac_simulator import Simulator


def _command(event: str, jxa: str, result: str = "", **params: Param) -> Spec:
    return Spec(event, "SAFE", "SAFE", params, "command", jxa, result, {})


# fmt: off
DIARY = Tables(
    "diary",
    App("com.example.Diary", "Diary"),
    {
        "application": Class("capp", "application", "applications", None, "SAFE", "SAFE", (
            Property("name", "pnam", "name", "text", "r", "SAFE"),
            Property("default journal", "dfjo", "defaultJournal", "journal", "rw", "SAFE"),
            Property("current entry", "cuen", "currentEntry", "entry", "rw", "SAFE"),
            Property("selection", "sele", "selection", "list of entry", "rw", "SAFE"),
            Property("paper color", "pclr", "paperColor", "paper", "rw", "SAFE"),
        ), (
            Element("journal", "rw"), Element("entry", "rw"),
            Element("page", "r"), Element("document", "rw"),
        )),
        "item": Class("cobj", "item", "items", None, "SAFE", "SAFE", (
            Property("name", "pnam", "name", "text", "rw", "SAFE"),
        )),
        "journal": Class("jour", "journal", "journals", "item", "SAFE", "SAFE", (
            Property("id", "ID  ", "id", "text", "r", "SAFE"),
            Property("index", "pidx", "index", "integer", "r", "SAFE"),
            Property("size", "size", "size", "size", "rw", "SAFE"),
        ), (Element("entry", "rw"), Element("page", "r"))),
        "entry": Class("entr", "entry", "entries", "item", "SAFE", "SAFE", (
            Property("id", "ID  ", "id", "integer", "r", "SAFE"),
            Property("body", "body", "body", "text", "rw", "SAFE"),
            Property("done", "done", "done", "boolean", "rw", "SAFE"),
            Property("rating", "rati", "rating", "integer", "rw", "SAFE"),
            Property("mood", "mood", "mood", "mood", "rw", "SAFE"),
            Property("tags", "tags", "tags", "list of text", "rw", "SAFE"),
            Property("due date", "dued", "dueDate", "date", "rw", "SAFE"),
            Property("picture", "pict", "picture", "file", "rw", "SAFE"),
            Property("creation date", "ascd", "creationDate", "date", "r", "SAFE"),
            Property("container", "ctnr", "container", "journal", "r", "SAFE"),
            Property("text", "ctxt", "text", "text", "rw", "SAFE"),
        ), (Element("paragraph", "rw"),)),
        "long entry": Class("lent", "longEntry", "longEntries", "entry", "SAFE", "SAFE"),
        "page": Class("page", "page", "pages", "item", "SAFE", "SAFE"),
        "paragraph": Class("cpar", "paragraph", "paragraphs", None, "SAFE", "SAFE", (
            Property("size", "ptsz", "size", "integer", "rw", "SAFE"),
        )),
        "document": Class("docu", "document", "documents", "item", "SAFE", "SAFE", (
            Property("path", "ppth", "path", "text", "r", "SAFE"),
            Property("modified", "imod", "modified", "boolean", "r", "SAFE"),
        )),
    },
    {
        "mood": (("very good", "mgoo"), ("bad", "mbad")),
        "paper": (("white", "pwhi"), ("blue", "pblu")),
    },
    {
        "size": Record("rsiz", (
            Property("paper width", "widt", "paperWidth", "real", "rw", "SAFE"),
        )),
    },
    {
        "publish": _command("DIARpubl", "publish", "text",
            target=Param("", "----", "entry | list of entry"),
            with_mood=Param("with mood", "wimo", "mood", "withMood"),
            size=Param("size", "size", "size")),
        "refresh": _command("DIARrefr", "refresh", force=Param("force", "forc", "boolean")),
        "find": _command("DIARfind", "find", "list of entry", target=Param("", "----", "text")),
        "latest": _command("DIARlate", "latest", "entry"),
        "mood_now": _command("DIARmood", "moodNow", "mood"),
        "is_open": _command("DIARisop", "isOpen", "boolean"),
        "stamp": _command("DIARstam", "stamp", "date"),
        "export": _command("DIARexpo", "export", "file"),
        "report": _command("DIARrepo", "report", "size"),
        "list": Spec("coregetd", "SAFE", "SAFE", {}, "list", "list", "", {}),
        "get": Spec("coregetd", "SAFE", "SAFE", {"target": Param("", "----", "specifier")},
            "get", "get", "any", {}),
        "make": Spec("corecrel", "MODIFY", "MODIFY", {
            "element": Param("new", "kocl", "class"),
            "using_paper": Param("using paper", "upap", "paper", "usingPaper"),
        }, "make", "make", "specifier", {}),
    },
)

ADDITION = Tables(
    "gadgets",
    App("com.example.gadgets", "Gadgets", "addition"),
    {},
    {"place": (("desktop", "desk"),)},
    {},
    {
        "ask": _command("HELPaskq", "askQuestion", "record",
            target=Param("", "----", "text"), buttons=Param("buttons", "btns", "list of text")),
        "where_is": _command("HELPwher", "whereIs", "file", target=Param("", "----", "place")),
        "notify": _command("HELPnoti", "notify", title=Param("title", "titl", "text")),
    },
)

WORLD: dict[str, Any] = {
    "journals": [
        {"id": "j-1", "name": "Work",
         "entries": [{"id": 1, "name": "Monday", "body": "Rain", "done": True, "rating": 2,
           "mood": "bad", "tags": ["wet"], "dueDate": {"date": "2026-01-05T09:00:00.000Z"},
           "text": "One\nTwo words"},
          {"@class": "long entry", "id": 2, "name": "Tuesday", "body": "Sun", "rating": 5}]},
        {"id": "j-2", "name": "Home", "entries": []},
    ],
    "defaultJournal": {"ref": 'journals["Home"]'},
    "currentEntry": {"ref": "journals[0].entries[1]"},
    "selection": [{"ref": "journals[0].entries[0]"}],
    "documents": [{"name": "draft", "modified": True}],
}  # fmt: skip
# fmt: on

NOW = "2026-03-02T09:30:00.000Z"


class Script:
    """Runs one-line scripts against a simulator; `value` gives what JSON holds of the result."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator

    def run(self, source: str, *args: str, stdin: bytes = b"", timeout: float = 10) -> Completed:
        argv = ["osascript", "-l", "JavaScript", *args, "-e", source]
        return self.simulator(argv, stdin, timeout)

    def shown(self, source: str) -> str:
        """Return the result in source form."""
        done = self.run(source, "-s", "s")
        assert done.status == 0, done.stderr.decode()
        return done.stdout.decode().removesuffix("\n")

    def value(self, source: str) -> Any:
        done = self.run(f"JSON.stringify((0, eval)({json.dumps(source)}))")
        assert done.status == 0, done.stderr.decode()
        return json.loads(done.stdout)

    def error(self, source: str) -> int:
        """Return the number of the error that ends the script."""
        done = self.run(source)
        assert done.status == 1, done.stdout.decode()
        return int(done.stderr.decode().rstrip().rpartition("(")[2].rstrip(")"))
