"""What a run came to, for people and for machines: a page, JUnit's XML, GitHub's annotations."""

import time
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from string import Template
from typing import Final, NamedTuple
from xml.etree import ElementTree

from iac_base.files import write_whole
from iac_scenario.events import (
    CallEvent,
    EndEvent,
    Event,
    FailureEvent,
    NoteEvent,
    ResultEvent,
    TextEvent,
    Violation,
)
from iac_scenario.model import ScenarioScript
from iac_scenario.output import answer_text, failure_lines
from iac_scenario.results import shorten_value

_PAGE: Final = Path(__file__).with_suffix(".html")


class TimelineRow(NamedTuple):
    """A line of a timeline: seconds since the start, what it is, its text, of which tool."""

    at: float
    kind: str
    text: str
    tool: str = ""


class RunRecorder:
    """Keeps the events of one scenario with their times."""

    def __init__(self, scenario: ScenarioScript) -> None:
        self.name = scenario.name
        self.path = scenario.path
        self.events: list[tuple[float, Event]] = []
        self._start = time.monotonic()

    def record_event(self, event: Event) -> None:
        """Keep an event."""
        self.events.append((time.monotonic() - self._start, event))

    @property
    def failures(self) -> list[str]:
        """The lines of everything that failed."""
        return [line for _, event in self.events for line in failure_lines(event)]

    def prompt_events(self) -> Iterator[tuple[str, list[tuple[float, Event]]]]:
        """Yield each prompt with its events, then what is said of the whole under no prompt."""
        part: list[tuple[float, Event]] = []
        for at, event in self.events:
            part.append((at, event))
            if isinstance(event, EndEvent):
                yield event.prompt, part
                part = []
        if part:
            yield "", part


def write_report(path: Path, records: Iterable[RunRecorder]) -> None:
    """Write JUnit's XML for a name that ends in .xml, else a page."""
    text = junit_report(records) if path.suffix == ".xml" else html_report(records)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)


def html_report(records: Iterable[RunRecorder]) -> str:
    """Return an HTML page with a timeline of each conversation."""
    found = list(records)
    failed = [at for at, record in enumerate(found) if record.failures]
    links = ", ".join(f'<a href="#{at}">{escape(found[at].name)}</a>' for at in failed)
    return Template(_PAGE.read_text(encoding="utf-8")).substitute(
        title=f"{len(found) - len(failed)} passed, {len(failed)} failed",
        failed=f'<p class="bad">Failed: {links}</p>' if links else "",
        conversations="\n".join(
            _conversation_section(at, record) for at, record in enumerate(found)
        ),
    )


def _conversation_section(at: int, record: RunRecorder) -> str:
    word = '<b class="bad">failed</b>' if record.failures else '<b class="good">passed</b>'
    rows = "\n".join(
        f'<li class="{row.kind}"><time>{row.at * 1000:,.0f} ms</time><span>{row.kind}</span>'
        f"<pre>{row.tool and f'<i>{escape(row.tool)}</i>'}{escape(row.text)}</pre></li>"
        for row in _timeline_rows(record)
    )
    head = f'<h2 id="{at}">{escape(record.name)} {word}</h2>\n<p>{escape(str(record.path))}</p>'
    return f"{head}\n<ol>\n{rows}\n</ol>"


def _timeline_rows(record: RunRecorder) -> Iterator[TimelineRow]:
    for prompt, events in record.prompt_events():
        if prompt:
            yield TimelineRow(events[0][0], "prompt", prompt)
        for at, event in events:
            match event:
                case TextEvent() if event.text:
                    yield TimelineRow(at, "says", event.text)
                case CallEvent():
                    yield TimelineRow(at, "calls", f" {shorten_value(event.input)}", event.tool)
                case ResultEvent() if event.outcome.executed:
                    kind = "error" if event.outcome.is_error else "result"
                    yield TimelineRow(at, kind, f"\n{answer_text(event)}", event.tool)
                case FailureEvent():
                    yield TimelineRow(at, "error", event.error.message)
                case NoteEvent():
                    yield TimelineRow(at, "note", event.text)
            if said := "\n".join(failure_lines(event)):
                yield TimelineRow(at, "failed", said)


def junit_report(records: Iterable[RunRecorder]) -> str:
    """Return JUnit's XML: a suite a scenario, a case a prompt."""
    top = ElementTree.Element("testsuites")
    for record in records:
        suite = ElementTree.SubElement(top, "testsuite", name=record.name, file=str(record.path))
        failed, count, before = 0, 0, 0.0
        for prompt, events in record.prompt_events():
            took, before = events[-1][0] - before, events[-1][0]
            name = _xml_text(prompt or "the whole scenario")
            facts = {"classname": record.name, "name": name, "time": f"{took:.3f}"}
            case = ElementTree.SubElement(suite, "testcase", facts)
            said = [line for _, event in events for line in failure_lines(event)]
            count, failed = count + 1, failed + bool(said)
            if said:
                failure = ElementTree.SubElement(case, "failure", message=_xml_text(said[0]))
                failure.text = _xml_text("\n".join(said))
        suite.attrib |= {"tests": str(count), "failures": str(failed), "time": f"{before:.3f}"}
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(top, "unicode") + "\n"


def _xml_text(text: str) -> str:
    """Return a text without the characters that XML cannot hold."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "\ufffd" for sign in text)


def github_annotations(event: Event, path: Path) -> Iterator[str]:
    """Yield what makes GitHub show a failure beside its line."""
    if isinstance(event, Violation):
        found = [(event.line, event.text)]
    elif isinstance(event, ResultEvent):
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
