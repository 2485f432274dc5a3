"""What a run came to, for people and for machines: a page, JUnit's XML, GitHub's annotations."""

import time
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from string import Template
from typing import Final, NamedTuple
from xml.etree import ElementTree

from iac_base.files import write_whole
from iac_scenario.events import Answered, Called, Ended, Event, Noted, ReplyFailed, Said, Violation
from iac_scenario.model import ScenarioScript
from iac_scenario.output import answer_text, missed
from iac_scenario.results import shown

_PAGE: Final = Path(__file__).with_suffix(".html")


class TimelineRow(NamedTuple):
    """A line of a timeline: seconds since the start, what it is, its text, of which tool."""

    at: float
    kind: str
    text: str
    tool: str = ""


class Recorder:
    """Keeps the events of one scenario with their times."""

    def __init__(self, scenario: ScenarioScript) -> None:
        self.name = scenario.name
        self.path = scenario.path
        self.events: list[tuple[float, Event]] = []
        self._start = time.monotonic()

    def take(self, event: Event) -> None:
        """Keep an event."""
        self.events.append((time.monotonic() - self._start, event))

    @property
    def failures(self) -> list[str]:
        """The lines of everything that failed."""
        return [line for _, event in self.events for line in missed(event)]

    def prompts(self) -> Iterator[tuple[str, list[tuple[float, Event]]]]:
        """Yield each prompt with its events, then what is said of the whole under no prompt."""
        part: list[tuple[float, Event]] = []
        for at, event in self.events:
            part.append((at, event))
            if isinstance(event, Ended):
                yield event.prompt, part
                part = []
        if part:
            yield "", part


def write_report(path: Path, records: Iterable[Recorder]) -> None:
    """Write JUnit's XML for a name that ends in .xml, else a page."""
    text = junit(records) if path.suffix == ".xml" else page(records)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)


def page(records: Iterable[Recorder]) -> str:
    """Return an HTML page with a timeline of each conversation."""
    found = list(records)
    failed = [at for at, record in enumerate(found) if record.failures]
    links = ", ".join(f'<a href="#{at}">{escape(found[at].name)}</a>' for at in failed)
    return Template(_PAGE.read_text(encoding="utf-8")).substitute(
        title=f"{len(found) - len(failed)} passed, {len(failed)} failed",
        failed=f'<p class="bad">Failed: {links}</p>' if links else "",
        conversations="\n".join(_conversation(at, record) for at, record in enumerate(found)),
    )


def _conversation(at: int, record: Recorder) -> str:
    word = '<b class="bad">failed</b>' if record.failures else '<b class="good">passed</b>'
    rows = "\n".join(
        f'<li class="{row.kind}"><time>{row.at * 1000:,.0f} ms</time><span>{row.kind}</span>'
        f"<pre>{row.tool and f'<i>{escape(row.tool)}</i>'}{escape(row.text)}</pre></li>"
        for row in _rows(record)
    )
    head = f'<h2 id="{at}">{escape(record.name)} {word}</h2>\n<p>{escape(str(record.path))}</p>'
    return f"{head}\n<ol>\n{rows}\n</ol>"


def _rows(record: Recorder) -> Iterator[TimelineRow]:
    for prompt, events in record.prompts():
        if prompt:
            yield TimelineRow(events[0][0], "prompt", prompt)
        for at, event in events:
            match event:
                case Said() if event.text:
                    yield TimelineRow(at, "says", event.text)
                case Called():
                    yield TimelineRow(at, "calls", f" {shown(event.input)}", event.tool)
                case Answered() if event.outcome.executed:
                    kind = "error" if event.outcome.is_error else "result"
                    yield TimelineRow(at, kind, f"\n{answer_text(event)}", event.tool)
                case ReplyFailed():
                    yield TimelineRow(at, "error", event.told.message)
                case Noted():
                    yield TimelineRow(at, "note", event.text)
            if said := "\n".join(missed(event)):
                yield TimelineRow(at, "failed", said)


def junit(records: Iterable[Recorder]) -> str:
    """Return JUnit's XML: a suite a scenario, a case a prompt."""
    top = ElementTree.Element("testsuites")
    for record in records:
        suite = ElementTree.SubElement(top, "testsuite", name=record.name, file=str(record.path))
        failed, count, before = 0, 0, 0.0
        for prompt, events in record.prompts():
            took, before = events[-1][0] - before, events[-1][0]
            name = _clean(prompt or "the whole scenario")
            facts = {"classname": record.name, "name": name, "time": f"{took:.3f}"}
            case = ElementTree.SubElement(suite, "testcase", facts)
            said = [line for _, event in events for line in missed(event)]
            count, failed = count + 1, failed + bool(said)
            if said:
                failure = ElementTree.SubElement(case, "failure", message=_clean(said[0]))
                failure.text = _clean("\n".join(said))
        suite.attrib |= {"tests": str(count), "failures": str(failed), "time": f"{before:.3f}"}
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(top, "unicode") + "\n"


def _clean(text: str) -> str:
    """Return a text without the characters that XML cannot hold."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "\ufffd" for sign in text)


def annotations(event: Event, path: Path) -> Iterator[str]:
    """Yield what makes GitHub show a failure beside its line."""
    if isinstance(event, Violation):
        found = [(event.line, event.text)]
    elif isinstance(event, Answered):
        found = [
            (miss.line, f"{event.tool}: {miss.kind}: expected {miss.expected}, got {miss.got}")
            for miss in event.misses
        ]
    else:
        return
    for line, text in found:
        for sign, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
            text = text.replace(sign, code)
        yield f"::error file={path},line={max(line, 1)}::{text}"
