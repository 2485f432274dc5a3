"""What a run came to, for people and for machines: a page, JUnit's XML, GitHub's annotations."""

import time
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree

from iac_base.files import write_whole
from iac_scenario.events import Answered, Called, Ended, Event, Noted, ReplyFailed, Said, Violation
from iac_scenario.model import ScenarioScript
from iac_scenario.output import missed
from iac_scenario.results import shown

_PAGE: Final = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Scenarios</title>
<style>
body {{ font: 15px/1.45 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto }}
h2 {{ margin: 2.5rem 0 .5rem }} h2 b {{ font-weight: normal; color: #666 }}
ol {{ list-style: none; margin: 0; padding: 0; border-left: 3px solid #ddd }}
li {{ display: grid; grid-template-columns: 5.5rem 6rem 1fr; gap: .6rem; padding: .25rem .6rem }}
li time, li span {{ color: #666; font-variant-numeric: tabular-nums }}
li time {{ text-align: right }}
li pre {{ margin: 0; white-space: pre-wrap; overflow-wrap: anywhere }}
li pre {{ font: 13px/1.45 ui-monospace, monospace }}
.prompt {{ background: #eef4ff; font-weight: 600 }} .failed {{ background: #ffecec }}
.failed span, .bad {{ color: #b00020 }} .good {{ color: #14732f }}
@media (prefers-color-scheme: dark) {{ body {{ background: #16181c; color: #e4e4e4 }}
  .prompt {{ background: #1e2a40 }} .failed {{ background: #40191e }} ol {{ border-color: #444 }} }}
</style></head><body>
<h1>{title}</h1>
{conversations}
</body></html>
"""


class TimelineRow(NamedTuple):
    """A line of a timeline: seconds since the start, what it is, its text."""

    at: float
    kind: str
    text: str


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
    failed = sum(bool(record.failures) for record in found)
    title = f"{len(found) - failed} passed, {failed} failed"
    return _PAGE.format(title=title, conversations="\n".join(map(_conversation, found)))


def _conversation(record: Recorder) -> str:
    word = '<b class="bad">failed</b>' if record.failures else '<b class="good">passed</b>'
    rows = "\n".join(
        f'<li class="{row.kind}"><time>{row.at * 1000:,.0f} ms</time><span>{row.kind}</span>'
        f"<pre>{escape(row.text)}</pre></li>"
        for row in _rows(record)
    )
    head = f"<h2>{escape(record.name)} {word}</h2>\n<p>{escape(str(record.path))}</p>"
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
                    yield TimelineRow(at, "calls", f"{event.tool} {shown(event.input)}")
                case Answered() if event.outcome.executed:
                    yield TimelineRow(
                        at, "error" if event.outcome.is_error else "result", event.outcome.text
                    )
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
