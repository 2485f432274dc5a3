"""The questions about JXA that only a Mac can answer, as scripts that answer them.

Rows follow the list in docs/mac.md. Every script only reads, or touches scratch documents in
TextEdit that it makes itself and only if none is open; those are asked for by name.
"""

from typing import Final, Literal, NamedTuple

__all__ = ["APPS", "COLLISION", "PROBES", "RECORD", "Probe"]

FINDER: Final = "com.apple.finder"
SYSTEM_EVENTS: Final = "com.apple.systemevents"
TEXTEDIT: Final = "com.apple.TextEdit"

APPS: Final = {FINDER: "Finder", SYSTEM_EVENTS: "System Events", TEXTEDIT: "TextEdit"}
"""The apps that events are sent to: bundle id -> name."""


class Probe(NamedTuple):
    """One script in one process.

    Attributes:
        id: The row of the list, and what of it this asks.
        question: What is not known, in a few words.
        script: The JavaScript. What it prints is the answer.
        app: The bundle id that it sends events to; then it is run only if that app is running.
        form: How osascript prints: `h` for people, `s` as source.
        debug: Let the system print the events that are sent.
        scratch: It makes a document in TextEdit and closes it unsaved.
        stdin: What it can read; with `channel` as descriptor 3, and 4 is its standard output.
    """

    id: str
    question: str
    script: str
    app: str = ""
    form: Literal["h", "s"] = "h"
    debug: bool = False
    scratch: bool = False
    stdin: str = ""
    channel: bool = False

    @property
    def row(self) -> int:
        """The row of the list that this helps to answer."""
        return int(self.id.partition(".")[0])


_F: Final = f'var a = Application("{FINDER}"); '
_S: Final = f'var a = Application("{SYSTEM_EVENTS}"); '
_DISPLAY: Final = "Automation.getDisplayString"
# A scratch document, and a way to run something on it that leaves no other document touched.
_SCRATCH: Final = (
    f'var a = Application("{TEXTEDIT}"); '
    'if (a.documents.length) throw new Error("documents are open in TextEdit; close them first"); '
)


def _reflection() -> list[Probe]:
    asks = {
        "commands": "a.commandsOfClass()",
        "properties": 'a.propertiesOfClass("item")',
        "elements": 'a.elementsOfClass("folder")',
        "parent": 'a.parentOfClass("folder")',
        "inherited": 'a.propertiesOfClass("folder")',
        "class-camel": 'a.propertiesOfClass("finderWindow")',
        "class-spaced": 'a.propertiesOfClass("Finder window")',
        "class-unknown": 'a.propertiesOfClass("nonsense")',
        "display-name": 'a.displayNameForPropertyOfClass("creationDate", "item")',
    }
    return [
        Probe(f"1.{name}", "How does JXA name terms?", f"{_F}JSON.stringify({ask})")
        for name, ask in asks.items()
    ]


def _limits() -> list[Probe]:
    question = "Does a time limit on one event fire (-1712 after a second)?"
    sleep = 'a.includeStandardAdditions = true; a.doShellScript("sleep 3", {}, {timeout: 1})'
    return [
        Probe("2.own-process", question, f"var a = Application.currentApplication(); {sleep}"),
        Probe("2.other-process", question, f"{_S}{sleep}", SYSTEM_EVENTS),
    ]


def _printing() -> list[Probe]:
    values = {
        "object": '({a: [1, "b"], c: null})',
        "strings": '["a", "b, c"]',
        "nested": '[["a", ["b"]], []]',
        "path": 'Path("/tmp/a b")',
        "null": "null",
        "undefined": "undefined",
        "json-text": 'JSON.stringify({a: 1, b: ["x"]})',
        "quotes": "'a \"b\" \\\\ c'",
        "fraction": "1 / 3",
        "date": "new Date(0)",
        "specifier": f'Application("{FINDER}").windows[0]',
        "specifiers": f'[Application("{FINDER}").windows[0], Application("{FINDER}")]',
    }
    forms: tuple[Literal["h", "s"], ...] = ("h", "s")
    return [
        Probe(f"3.{name}-{form}", "How is a value printed?", script, form=form)
        for name, script in values.items()
        for form in forms
    ]


def _chains() -> list[Probe]:
    chains = {
        "negative": "windows[-1]",
        "first": "windows.first",
        "last": "windows.last",
        "beginning": "windows.beginning",
        "end": "windows.end",
        "before": "windows[0].before",
        "after": "windows[0].after",
        "any": "windows.any",
        "range": 'windows["0..1"]',
    }
    shown = [
        Probe(f"4.{name}", "How is this chain printed?", f"{_F}{_DISPLAY}(a.{chain})")
        for name, chain in chains.items()
    ]
    read = [
        Probe(
            f"4.read-{name}",
            "Does the app understand it?",
            f"{_S}a.processes{chain}.class()",
            SYSTEM_EVENTS,
        )
        for name, chain in {"negative": "[-1]", "first": ".first", "last": ".last"}.items()
    ]
    return [*shown, *read]


def _values() -> list[Probe]:
    question = "Is a class or an enumerator of two words written with a space or as one?"
    return [
        Probe("5.class", question, f"{_F}String(a.windows[0].class())", FINDER),
        Probe("5.classes", question, f"{_S}JSON.stringify(a.processes[0].class())", SYSTEM_EVENTS),
        Probe("5.class-of", question, f"{_F}ObjectSpecifier.classOf(a.finderWindows[0])"),
        Probe("5.enumerator", question, f"{_F}String(a.finderWindows[0].currentView())", FINDER),
        Probe(
            "5.make",
            question,
            f'{_SCRATCH}var d = a.make({{new: "document"}}); var t = {_DISPLAY}(d); '
            'd.close({saving: "no"}); t',
            TEXTEDIT,
            scratch=True,
        ),
    ]


def _texts() -> list[Probe]:
    question = "What do specifiers and paths become in text and JSON?"
    checks = {
        "string": "String(a.home)",
        "joined": '"" + a.home',
        "in-list": "JSON.stringify([a.home])",
        "in-object": "JSON.stringify({a: a.home})",
        "path": 'JSON.stringify([Path("/tmp"), {p: Path("/tmp")}])',
        "path-text": 'String(Path("/tmp"))',
        "path-type": 'typeof Path("/tmp") + " " + (Path("/tmp") instanceof Path)',
        "instance": "String([a.home][0] instanceof ObjectSpecifier)",
        "has-instance": "String(ObjectSpecifier.hasInstance(a.home))",
        "type": 'typeof a.home + " " + typeof a.nonsense',
    }
    return [Probe(f"6.{name}", question, f"{_F}{check}") for name, check in checks.items()]


def _assignments() -> list[Probe]:
    question = "What does assigning to an unknown property send?"
    return [
        Probe(
            "7.application",
            question,
            f'{_SCRATCH}a.nonsense = 1; "assigned"',
            TEXTEDIT,
            debug=True,
            scratch=True,
        )
    ]


def _omitted() -> list[Probe]:
    question = "May an optional direct parameter be left out, or must it be null?"
    made = f'{_SCRATCH}var d = a.make({{new: "document"}}); var t = []; '
    tried = "try {{ {0}; t.push('done') }} catch (e) {{ t.push(e.errorNumber + ' ' + e.message) }} "
    tidy = 't.push(a.documents.length); try { d.close({saving: "no"}) } catch (e) {} '
    calls = {"left-out": 'a.close({saving: "no"})', "null": 'a.close(null, {saving: "no"})'}
    return [
        Probe(
            f"8.{name}",
            question,
            f"{made}{tried.format(call)}{tidy}JSON.stringify(t)",
            TEXTEDIT,
            scratch=True,
        )
        for name, call in calls.items()
    ]


def _languages() -> list[Probe]:
    question = "Do the numbers of errors stay the same in every language?"
    return [
        Probe(
            "11.languages",
            "Which language is first on this Mac?",
            "JSON.stringify(ObjC.deepUnwrap($.NSLocale.preferredLanguages))",
        ),
        Probe("11.position", question, f"{_F}a.windows[99].name()", FINDER),
        Probe("11.name", question, f'{_F}a.folders["no such folder, for a probe"].name()', FINDER),
        Probe(
            "11.caught",
            question,
            f"{_F}try {{ a.windows[99].name() }} catch (e) {{"
            " JSON.stringify([e.errorNumber, e.message]) }",
            FINDER,
        ),
        Probe("11.app", question, 'Application("com.example.no-such-app").name()'),
        Probe("11.script", question, "nothingOfThatName"),
        Probe("11.thrown", question, 'throw {errorNumber: 42, message: "m"}'),
    ]


def _channels() -> list[Probe]:
    handle = "$.NSFileHandle.alloc.initWithFileDescriptor"
    script = (
        f"var data = {handle}(3).availableData; "
        "var text = ObjC.unwrap($.NSString.alloc.initWithDataEncoding(data, 4)); "
        f"{handle}(4).writeData($(text + ' ' + typeof data.length).dataUsingEncoding(4)); 'done'"
    )
    question = "Can osascript read and answer on descriptors of its own?"
    return [Probe("13.descriptors", question, script, stdin="asked", channel=True)]


PROBES: Final[tuple[Probe, ...]] = (
    *_reflection(),
    *_limits(),
    *_printing(),
    *_chains(),
    *_values(),
    *_texts(),
    *_assignments(),
    *_omitted(),
    *_languages(),
    *_channels(),
)

COLLISION: Final = "A command and a property of one name: which wins?"
"""Row 9: what to ask is found in the tables of the apps that there are."""

RECORD: Final = "What does a record as direct parameter become, where the command wants one?"
"""Row 10: no command of an app that every Mac has takes one without doing something."""
