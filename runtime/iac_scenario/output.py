"""The forms of output: text for people, json and stream-json as Claude Code's `-p` prints them.

Lines of stream-json are messages of the Claude Agent SDK: system/init, assistant with one block
each, user with a result of a tool, result. `json` is the result alone. What a run came to is also
written as a page, as JUnit's XML and as GitHub's annotations.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from html import escape
from itertools import starmap
from pathlib import Path
from string import Template
from typing import Any, Final, NamedTuple
from xml.etree import ElementTree

from iac_base.files import write_whole
from iac_scenario.conversation import (
    CallEvent,
    EndEvent,
    Event,
    FailureEvent,
    NoteEvent,
    ResultEvent,
    TextEvent,
    Violation,
)
from iac_scenario.matching import BUILT_IN
from iac_scenario.model import CLIENT_VERSION, PlayError, ScenarioScript, scenario_calls
from iac_scenario.results import shorten_value
from iac_scenario.session import client_mode
from iac_scenario.wire import FORMS, ModelReply, anthropic_message

# One for all lines: json.dumps would make one for each.
_compact: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def failure_lines(event: Event) -> Iterator[str]:
    """Yield the report of every expectation that a call missed, and of all else that fails."""
    if isinstance(event, Violation):
        yield str(event)
    elif isinstance(event, ResultEvent):
        for miss in event.misses:
            where = f" (line {miss.line})" if miss.line else ""
            yield f"FAILED {event.tool}: {miss.kind}{where}"
            yield f"  expected: {miss.expected}"
            yield f"  got:      {miss.got}"


class TextPrinter:
    """The assistant's texts and the results of its calls."""

    def event_lines(self, event: Event) -> Iterator[str]:
        """Yield texts as they are; errors are marked."""
        if isinstance(event, TextEvent) and event.text:
            yield event.text
        elif isinstance(event, ResultEvent) and event.outcome.executed:
            if text := answer_text(event):
                yield f"Error: {text}" if event.outcome.is_error else text
        elif isinstance(event, FailureEvent):
            yield from _partial_texts(event)
            yield f"API Error: {event.error.message}"


class StreamPrinter:
    """Messages as they come; ids are the same in every run."""

    def __init__(self, scenario: ScenarioScript, *, partial: bool = False) -> None:
        self._scenario = scenario
        self._partial = partial
        self._unfinished: list[TextEvent | CallEvent] = []
        self._clock = datetime.fromisoformat(scenario.identity.launch_timestamp)
        self._session = scenario.identity.session_id
        # The session's id with last digits that count.
        self._space = str(uuid.UUID(self._session))[:24]
        self._lines = self._messages = 0
        self._reset_prompt()

    def _reset_prompt(self) -> None:
        self._texts: list[str] = []
        self._calls: dict[str, CallEvent] = {}
        self._denials: list[dict[str, Any]] = []
        self._missed: list[dict[str, Any]] = []
        self._failure: FailureEvent | None = None

    def event_lines(self, event: Event) -> Iterator[str]:
        """Yield one JSON object a line."""
        return map(_compact, self.event_messages(event))

    def event_messages(self, event: Event) -> Iterator[dict[str, Any]]:
        """Yield the messages that an event leads to."""
        if not self._lines:
            yield self._build_message("system", self._init_fields())
        if not isinstance(event, CallEvent) and self._unfinished:
            yield from self._streamed_messages()
        match event:
            case TextEvent():
                self._messages += 1
                self._texts.append(event.text)
                if self._partial:
                    self._unfinished = [event]
                elif event.text:
                    yield self._assistant_message(event.text)
            case CallEvent():
                self._calls[event.id] = event
                if self._partial:
                    self._unfinished.append(event)
                else:
                    yield self._assistant_message("", event)
            case ResultEvent():
                yield from self._result_messages(event)
            case FailureEvent():
                self._messages += 1
                self._failure = event
                self._texts.append(_failure_text(event))
                yield self._assistant_message(_failure_text(event))
            case EndEvent():
                self._clock += timedelta(milliseconds=event.duration_ms)
                yield self._build_message("result", self._final_fields(event))
                self._reset_prompt()

    def _build_message(self, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        self._lines += 1
        own = f"{self._space}{self._lines:012x}"
        return {"type": kind, **fields, "session_id": self._session, "uuid": own}

    def _init_fields(self) -> dict[str, Any]:
        scenario = self._scenario
        named = {call.tool for call in scenario_calls(scenario) if not call.request}
        return {
            "subtype": "init", "cwd": scenario.identity.working_directory or "/sandbox",
            "tools": [*BUILT_IN, *sorted(named - BUILT_IN.keys())],
            "mcp_servers": [{"name": name, "status": "pending"} for name in scenario.servers],
            "model": scenario.identity.model,
            "permissionMode": client_mode(scenario.permissions.mode), "slash_commands": [],
            "apiKeySource": "none", "claude_code_version": CLIENT_VERSION,
            "output_style": "default", "agents": [], "skills": [], "plugins": [],
        }  # fmt: skip

    def _streamed_messages(self) -> Iterator[dict[str, Any]]:
        """Yield a message piece by piece, each block whole before its end, as the client does."""
        (spoken, *calls), self._unfinished = self._unfinished, []
        assert isinstance(spoken, TextEvent)
        made = [call for call in calls if isinstance(call, CallEvent)]
        given = tuple((call.id, call.tool, call.input) for call in made)
        whole = ModelReply(self._message_id(), self._scenario.identity.model, spoken.text, given,
                           {}, 0, {})  # fmt: skip
        blocks: list[CallEvent | None] = [*([None] if spoken.text else []), *made]
        for kind, piece in FORMS["/messages"].stream(whole):
            if kind == "content_block_stop":
                call = blocks[piece["index"]]
                yield self._assistant_message("" if call else spoken.text, call)
            fields = {"event": piece, "parent_tool_use_id": None}
            yield self._build_message("stream_event", fields)

    def _message_id(self) -> str:
        return f"msg_{self._session[:8]}_{self._messages}"

    def _assistant_message(self, text: str, call: CallEvent | None = None) -> dict[str, Any]:
        key = self._message_id()
        calls = () if call is None else ((call.id, call.tool, call.input),)
        model = self._scenario.identity.model if self._failure is None else "<synthetic>"
        message = anthropic_message(ModelReply(key, model, text, calls, {}, 0, {}))
        # As in the client, which prints a block before it knows how the message ends.
        message["stop_reason"] = None
        fields: dict[str, Any] = {"message": message, "parent_tool_use_id": None}
        if self._failure is not None:
            fields["error"] = self._failure.error.word
        return self._build_message("assistant", fields)

    def _result_messages(self, event: ResultEvent) -> Iterator[dict[str, Any]]:
        outcome, call = event.outcome, self._calls[event.id]
        for miss in event.misses:
            self._missed.append({"tool": event.tool, **miss._asdict()})
        if outcome.denied:
            ids = {"tool_name": event.tool, "tool_use_id": event.id}
            self._denials.append({**ids, "tool_input": call.input})
        if outcome.executed:
            block: dict[str, Any] = {
                "type": "tool_result",
                "tool_use_id": event.id,
                "content": _result_content(outcome.content),
            }
            # Only Bash says of its results that they are no errors.
            if outcome.is_error or event.tool == "Bash":
                block["is_error"] = outcome.is_error
            stamp = self._clock.astimezone(UTC).isoformat(timespec="milliseconds")
            fields = {
                "message": {"role": "user", "content": [block]},
                "parent_tool_use_id": None,
                "timestamp": stamp.replace("+00:00", "Z"),
                "tool_use_result": outcome.told,
            }
            yield self._build_message("user", fields)

    def _final_fields(self, event: EndEvent) -> dict[str, Any]:
        failure = self._failure
        tokens = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens",
                  "output_tokens")  # fmt: skip
        fields: dict[str, Any] = {
            "subtype": "success", "is_error": failure is not None,
            "api_error_status": failure and failure.error.status,
            "duration_ms": event.duration_ms, "duration_api_ms": event.duration_ms,
            "ttft_ms": 0, "ttft_stream_ms": 0, "time_to_request_ms": 0,
            "num_turns": max(len(self._texts), 1),
            "result": next(filter(None, reversed(self._texts)), ""),
            "stop_reason": "end_turn" if failure is None else "stop_sequence",
            "total_cost_usd": 0, "usage": {name: event.usage.get(name, 0) for name in tokens},
            "modelUsage": {}, "permission_denials": self._denials,
            "terminal_reason": "completed" if failure is None else "api_error",
            "fast_mode_state": "off",
        }  # fmt: skip
        if event.max_turns:
            del fields["result"]
            reached = f"Reached maximum number of turns ({event.max_turns})"
            fields |= {"subtype": "error_max_turns", "is_error": True, "errors": [reached],
                       "terminal_reason": "max_turns"}  # fmt: skip
        return {**fields, "failed_expectations": self._missed} if self._missed else fields


class JsonPrinter(StreamPrinter):
    """The result of each prompt, and nothing else."""

    def event_lines(self, event: Event) -> Iterator[str]:
        """Yield one JSON object a prompt."""
        return (_compact(each) for each in self.event_messages(event) if each["type"] == "result")


class ResultPrinter(StreamPrinter):
    """The text of each prompt's result, as the client prints it."""

    def event_lines(self, event: Event) -> Iterator[str]:
        """Yield a text a prompt."""
        for each in self.event_messages(event):
            if each["type"] == "result":
                yield each["result"] if "result" in each else f"Error: {each['errors'][0]}"


def _failure_text(event: FailureEvent) -> str:
    """Return what the client says of a failure, after what had arrived."""
    code = f"{event.error.status} " if event.error.status else ""
    return "\n".join((*_partial_texts(event), f"API Error: {code}{event.error.message}"))


def _result_content(blocks: tuple[dict[str, Any], ...]) -> str | list[dict[str, Any]]:
    """Return the content of a result as the Messages API has it; one text is a text."""
    if len(blocks) == 1 and blocks[0].get("type") == "text":
        return str(blocks[0]["text"])
    return [_result_block(block) for block in blocks]


def _result_block(block: dict[str, Any]) -> dict[str, Any]:
    if block.get("type") == "text":
        return {"type": "text", "text": block["text"]}
    if block.get("type") == "image":
        source = {"type": "base64", "media_type": block.get("mimeType"), "data": block.get("data")}
        return {"type": "image", "source": source}
    return {"type": "text", "text": _compact(block)}


def _partial_texts(event: FailureEvent) -> Iterator[str]:
    for key in ("partial_text", "raw"):
        if key in event.failure.facts:
            yield event.failure.facts[key]


def answer_text(event: ResultEvent) -> str:
    """Return the text of a result, else its other blocks, shortened."""
    others = (block for block in event.outcome.content if block.get("type") != "text")
    return event.outcome.text or "\n".join(map(shorten_value, others))


FORMATS: Final[Mapping[str, Callable[[ScenarioScript], TextPrinter | StreamPrinter]]] = {
    "text": lambda _scenario: TextPrinter(),
    "json": JsonPrinter,
    "result text": ResultPrinter,
    "stream-json": StreamPrinter,
    "stream-json with parts": partial(StreamPrinter, partial=True),
}

OUTPUT_FORMATS: Final = tuple(form for form in FORMATS if " " not in form)


def parts_format(form: str) -> str:
    """Return the form that prints messages in parts too. Raises PlayError for one that cannot."""
    if form != "stream-json":
        raise PlayError("--include-partial-messages needs --output-format stream-json.")
    return "stream-json with parts"


_PAGE: Final = Path(__file__).with_name("report.html")


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
    runs = list(records)
    failed = [at for at, record in enumerate(runs) if record.failures]
    links = ", ".join(f'<a href="#{at}">{escape(runs[at].name)}</a>' for at in failed)
    return Template(_PAGE.read_text(encoding="utf-8")).substitute(
        title=f"{len(runs) - len(failed)} passed, {len(failed)} failed",
        failed=f'<p class="bad">Failed: {links}</p>' if links else "",
        conversations="\n".join(starmap(_conversation_section, enumerate(runs))),
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
            if failure := "\n".join(failure_lines(event)):
                yield TimelineRow(at, "failed", failure)


class JunitCase(NamedTuple):
    """A case of JUnit: what fails it, a warning that does not, and the seconds that it took."""

    name: str
    failures: Sequence[str] = ()
    warning: str = ""
    took: float | None = None


def junit_report(records: Iterable[RunRecorder]) -> str:
    """Return JUnit's XML: a suite a scenario, a case a prompt."""
    return junit_xml((each.name, {"file": str(each.path)}, _junit_cases(each)) for each in records)


def _junit_cases(record: RunRecorder) -> Iterator[JunitCase]:
    before = 0.0
    for prompt, events in record.prompt_events():
        took, before = events[-1][0] - before, events[-1][0]
        failures = [line for _, event in events for line in failure_lines(event)]
        yield JunitCase(prompt or "the whole scenario", failures, took=took)


def junit_xml(suites: Iterable[tuple[str, Mapping[str, str], Iterable[JunitCase]]]) -> str:
    """Return JUnit's XML of suites: a name, more attributes, and cases."""
    top = ElementTree.Element("testsuites")
    for title, more, given in suites:
        cases, name = [*given], _printable_xml(title)
        times = [case.took for case in cases if case.took is not None]
        counts = {"tests": len(cases), "failures": sum(bool(case.failures) for case in cases)}
        facts = {"name": name, **more, **{key: str(count) for key, count in counts.items()}}
        facts |= {"time": f"{sum(times):.3f}"} if times else {}
        suite = ElementTree.SubElement(top, "testsuite", facts)
        for case in cases:
            facts = {"classname": name, "name": _printable_xml(case.name)}
            facts |= {} if case.took is None else {"time": f"{case.took:.3f}"}
            row = ElementTree.SubElement(suite, "testcase", facts)
            if lines := [*map(_printable_xml, case.failures)]:
                failure = ElementTree.SubElement(row, "failure", message=lines[0])
                failure.text = "\n".join(lines)
            elif case.warning:
                ElementTree.SubElement(row, "system-out").text = _printable_xml(case.warning)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(top, "unicode") + "\n"


def _printable_xml(text: str) -> str:
    """Return a text without the characters that XML cannot hold."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "\ufffd" for sign in text)


def github_annotations(event: Event, path: Path) -> Iterator[str]:
    """Yield what makes GitHub show a failure beside its line."""
    if isinstance(event, Violation):
        places = [(event.line, event.text)]
    elif isinstance(event, ResultEvent):
        places = [
            (miss.line, f"{event.tool}: {miss.kind}: expected {miss.expected}, got {miss.got}")
            for miss in event.misses
        ]
    else:
        return
    for line, text in places:
        for sign, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
            text = text.replace(sign, code)
        yield f"::error file={path},line={max(line, 1)}::{text}"
