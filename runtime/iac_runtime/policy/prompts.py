"""How a person is asked: over MCP in both eras, by a dialog, on the page; and in which lines.

Every way of asking answers with a `Verdict`. Only `decline` is a no; with what is neither a yes
nor a no the gate goes on to the next way. A client that declines or cancels before a person can
have read a word did not show the question, whatever it says: `unshown`.

Legacy: the server sends `elicitation/create`. 2026-07-28: the result of the call is an
`InputRequiredResult` that carries the question and the sealed token; the client calls again with
both. A client is asked once for each state of what the call names: asking again would loop until
its cap of rounds. Source: MCP 2025-11-25 and 2026-07-28, "Elicitation".

Dialog: a constant script, its data on standard input. It comes to the front, Return means Deny,
and it closes after 45 seconds without an answer; only the button counts as a no. That it comes to
the front, and that macOS shows it over a client in full screen, only a Mac can confirm.
Source: AppleScript Language Guide, "display dialog" and "Error numbers" (-128, user cancelled).

Lines: what will be done, to what, where it goes, why, and whether for good (`wording`). The
arguments are the ones that will run (the approval is bound to them), with everything in them
visible: what would act or hide on a screen is written as an escape. An object is
named by what it was found to be, and its specifier stands last, for whoever wants to know.

Page: `iac-mcp open` says in a file of the state folder that it runs. While it does, a server that
has a question puts it into the folder beside, and looks there for the answer. All of it is private
to this user: who can write there can also read the key that seals approvals.
"""

import contextlib
import json
import os
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_base.errors import Cancellation
from iac_base.files import data_folder, ensure_private_folder, open_state, write_whole
from iac_base.secrets import redact_text, secrets_in, without_secrets
from iac_base.text import LEFT_OUT, cut_middle, escape_and_cut, escape_hidden
from iac_runtime.execution.answers import parse_process_output
from iac_runtime.execution.process import Runner
from iac_runtime.execution.workers import run_process
from iac_runtime.policy.facts import (
    Approver,
    CallFacts,
    Decision,
    TargetDescription,
    Verdict,
    describe_undo,
)

ONCE: Final = "Allow once"
ALWAYS: Final = "Always allow"
DENY: Final = "Deny"
ANSWERS: Final[Mapping[str, Verdict]] = {ONCE: "once", ALWAYS: "always", DENY: "decline"}

LIFETIME: Final = 600.0
"""Seconds from the question to the answer."""


class QuestionParts(NamedTuple):
    """The lines of a question by what they say, for a place that shows them apart.

    Attributes:
        wants: Who wants to do what.
        things: The objects of the call, or its calls, one line each.
        says: What it sets, where it goes, what it runs.
        reason: Why a person is asked.
        undo: Whether it can be undone.
        names: The level, the tool, and the objects by their references.
    """

    wants: str = ""
    things: Sequence[str] = ()
    says: Sequence[str] = ()
    reason: str = ""
    undo: str = ""
    names: str = ""


class Question(NamedTuple):
    """A question; `answers` are the labels to choose from, Deny first."""

    app: str
    tool: str
    level: str
    text: str
    line: str
    answers: tuple[str, ...]
    scope: str = ""
    parts: QuestionParts = QuestionParts()

    def verdict_for(self, answer: object) -> Verdict:
        """Return what an answer means; one that was not offered is an error of who gave it."""
        return _find_verdict(answer, self.answers)


def _find_verdict(answer: object, answers: tuple[str, ...]) -> Verdict:
    return ANSWERS[answer] if type(answer) is str and answer in answers else "error"


def paragraphs(text: str) -> list[str | list[str]]:
    """Return the lines of a question, the rows that stand together as one list.

    A row is indented; no value of a call begins a line.
    """
    found: list[str | list[str]] = []
    for line in text.split("\n"):
        if not line.startswith("  "):
            found.append(line)
            continue
        if not (found and isinstance(rows := found[-1], list)):
            found.append(rows := [])
        rows.append(line.strip())
    return found


def keep_full_text(folder: Path, text: str) -> str:
    """Write all of a question to a file of a state folder, for this user alone.

    Returns:
        Its path, empty where it cannot be written. Files of questions that nobody can answer any
        more are removed.
    """
    folder /= "questions"
    path = folder / f"{secrets.token_hex(8)}.txt"
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        for old in folder.iterdir():
            if old.stat().st_mtime < time.time() - LIFETIME:
                old.unlink(missing_ok=True)
        write_whole(path, text + "\n", mode=0o600)
        return str(path)
    return ""


KEY: Final = "approval"
"""The name of the question among the input requests of a result."""

_FIELD: Final = "answer"

QUICKEST: Final = 0.5
"""Seconds after which a person can have declined or closed a question, however short it is."""


def elicitation_form(question: Question) -> dict[str, Any]:
    """Return the parameters of `elicitation/create`: a flat form with one choice."""
    choice = {"type": "string", "title": "Your answer", "enum": list(question.answers)}
    schema = {"type": "object", "properties": {_FIELD: choice}, "required": [_FIELD]}
    return {"mode": "form", "message": question.text, "requestedSchema": schema}


def input_required_result(question: Question, token: str) -> dict[str, Any]:
    """Return the result that asks, for clients of 2026-07-28, with its keys as the SDK has them."""
    asked = elicitation_form(question)
    schema = {key: asked["requestedSchema"][key] for key in ("properties", "required", "type")}
    params = {"message": asked["message"], "mode": asked["mode"], "requestedSchema": schema}
    return {
        "inputRequests": {KEY: {"method": "elicitation/create", "params": params}},
        "requestState": token,
        "resultType": "input_required",
    }


def read_answer(
    action: str,
    content: Mapping[str, Any] | None,
    answers: tuple[str, ...],
    *,
    declared: bool,
    seconds: float = QUICKEST,
) -> Verdict:
    """Return what a client answered.

    Args:
        action: `accept`, `decline` or `cancel`.
        content: The filled-in form.
        answers: The labels that were offered (`Question.answers`).
        declared: Whether the client said that it can ask; an answer of one that cannot is forged.
        seconds: How long the client had the question.
    """
    if not declared:
        return "unable"
    if action in ("decline", "cancel"):
        hasty = seconds < QUICKEST
        return "unshown" if hasty else "decline" if action == "decline" else "cancel"
    answer = content.get(_FIELD) if action == "accept" and isinstance(content, Mapping) else None
    return _find_verdict(answer, answers)


def read_responses(
    responses: Mapping[str, Any] | None,
    answers: tuple[str, ...],
    *,
    declared: bool,
    seconds: float = QUICKEST,
) -> Verdict:
    """Return what the `inputResponses` of a repeated call say."""
    found = (responses or {}).get(KEY)
    said = found if isinstance(found, Mapping) else {}
    action, content = said.get("action"), said.get("content")
    return read_answer(str(action), content, answers, declared=declared, seconds=seconds)


DIALOG_SECONDS: Final = 45
"""Until it closes by itself."""

_CANCELLED: Final = -128

SCRIPT: Final = Path(__file__).parent / "jxa" / "dialog.js"
_SLACK: Final = 10.0


def can_show_dialog() -> bool:
    """Say whether this machine can show a dialog."""
    return sys.platform == "darwin" or "IAC_OSASCRIPT" in os.environ


def ask_dialog(
    question: Question, runner: Runner = run_process, program: str | None = None
) -> Verdict:
    """Show a question and return the answer."""
    mark = secrets.token_hex(8)
    # Dialogs put the last button first from the right; the default one is named in any case.
    buttons = [label for label in reversed(question.answers) if label != DENY] + [DENY]
    texts = {"title": f"IAC: {question.level}", "text": question.text, "buttons": buttons}
    request = {"mark": mark, **texts, "deny": DENY, "seconds": DIALOG_SECONDS}
    chosen = program or os.environ.get("IAC_OSASCRIPT") or "osascript"
    argv = [chosen, "-l", "JavaScript", str(SCRIPT)]
    try:
        done = runner(argv, json.dumps(request).encode(), DIALOG_SECONDS + _SLACK)
    except OSError:
        return "unable"
    answer = parse_process_output(done, mark).answer or {"message": ""}
    if "message" in answer:
        return "cancel" if answer.get("number") == _CANCELLED else "error"
    if answer.get("gaveUp") is True:
        return "timeout"
    return question.verdict_for(answer.get("button") if answer.get("gaveUp") is False else None)


TEXT_LIMIT: Final = 4000
"""Characters of a whole question; a dialog grows past the screen beyond."""

LINE_LIMIT: Final = 8
"""Lines of a question; what is longer is in a file that it names."""

_SHOWN: Final = 200
"""Objects of a call that are shown one by one where there is room."""

_LINE: Final = 600
"""Characters of a line."""


def build_question(
    facts: CallFacts, decision: Decision, keep: Callable[[str], str] | None = None
) -> Question:
    """Return the question about a call: what, to what, where to, why, and how it is undone.

    Args:
        facts, decision: The call.
        keep: Writes what does not fit to a file, and returns its path.
    """
    facts, decision = _without_secrets(facts, decision)
    parts = _question_parts(facts, decision)
    lines = _question_lines(parts, decision)
    # Of a script more is left out than is marked.
    cut = facts.event is None or any(_CUT.search(line) for line in lines)
    if keep is not None and cut:
        longest = _question_parts(facts, decision, times=10**6)
        whole = _question_lines(longest, decision, times=10**6)
        path = keep(redact_text("\n".join(whole))) if lines != whole else ""
        lines[-1] += f". All of it: {escape_hidden(path)}" if path else ""
    answers = (DENY, ONCE, ALWAYS) if decision.offers_always else (DENY, ONCE)
    text = cut_middle(redact_text("\n".join(lines)), TEXT_LIMIT)
    app = escape_hidden(facts.app_names)
    things, says = (tuple(map(redact_text, row)) for row in (parts.things, parts.says))
    shown = QuestionParts(
        redact_text(parts.wants),
        things[:_SHOWN],
        says,
        *map(redact_text, (parts.reason, parts.undo, parts.names)),
    )
    return Question(
        app, facts.tool, decision.level, text, facts.line, answers, decision.scope, shown
    )


def _without_secrets(facts: CallFacts, decision: Decision) -> tuple[CallFacts, Decision]:
    """Return what a question is made of without secrets: a person sees where one stands.

    Before anything is cut, or the rest of a secret would have no shape.
    """
    secrets = tuple(secrets_in([facts.arguments, facts.given]))
    names = "arguments given effects raised held line deed draft shown before story".split()
    fields = {name: getattr(facts, name) for name in names}
    judged = {"reasons": decision.reasons, "scope": decision.scope}
    fields, judged = without_secrets((fields, judged), secrets)
    parts = tuple(_without_secrets(part, decision)[0] for part in facts.parts)
    return replace(facts, parts=parts, **fields), replace(decision, **judged)


def _question_lines(parts: QuestionParts, decision: Decision, times: int = 1) -> list[str]:
    """Return the lines of a question; what has many rows takes the lines that others leave.

    `times` says how much more there is room for.
    """
    covers = f'"{ALWAYS}" would cover: {decision.scope}.' if decision.offers_always else ""
    covers = escape_and_cut(covers, _LINE * times)
    after = [*filter(None, (*parts.says, parts.reason, parts.undo, covers, parts.names))]
    rows = _limit_rows(list(parts.things), LINE_LIMIT * times - 1 - len(after))
    return [parts.wants, *rows, *after]


def _question_parts(facts: CallFacts, decision: Decision, times: int = 1) -> QuestionParts:
    """Return what a question says; `times` says how much more there is room for."""

    # Needed by calls that are asked about, and by no other.
    from iac_runtime.policy import wording

    def format_line(*words: str) -> str:
        return escape_and_cut(" ".join(filter(None, words)), _LINE * times)

    deeds = wording.describe_deeds(facts)
    doubts = list(dict.fromkeys(effect.doubt for effect in facts.effects if effect.target_unknown))
    wants = "; ".join((*(deeds or [f"use {facts.tool}"]), *doubts))
    if facts.parts:
        wants = wording.summarize_calls(facts.parts)
        if facts.tool == "undo_call":
            wants = f"undo {len(facts.parts)} earlier calls: {wants}"
        elif any(part.tool != facts.tool for part in facts.parts):
            wants = f"run a plan: {wants}"
    elif facts.tool == "undo_call":
        wants = f"undo an earlier call: {wants}"
    end = ":" if facts.parts else "."
    before = format_line(f"{facts.client or 'A program'} wants to {wants}{end}")
    goes = ", ".join(to for to in _flow_destinations(facts) if to not in before)
    given, said = "", f"{before} {goes}"
    if not facts.parts:
        given = wording.describe_arguments(facts, said, wording.VALUE_LIMIT * times)
    says = [cut_middle(given, 2 * _LINE * times)] if given else []
    says += [format_line(f"It goes to {goes}.")] if goes else []
    if facts.event is None and facts.line and "{deeds}" in facts.deed:
        says += [format_line(f"It runs: {facts.line.partition(' | ')[0].partition(': ')[0]}")]
    reasons = [_RULE.sub("", reason).rstrip(".") + "." for reason in decision.reasons]
    if facts.story.changed:
        reasons[:0] = ("This has changed since the last prompt:", *facts.story.changed)
    reasons = [reason for reason in reasons if reason != _USUAL] or reasons
    usual = f"{decision.level} calls require approval ({decision.source})."
    named = () if facts.parts else facts.effects
    names = dict.fromkeys(effect.reference for effect in named if effect.reference)
    rows = wording.target_lines(facts, "\n".join((before, given)))
    if facts.parts:
        rows = wording.describe_each_call(facts.parts)
    return QuestionParts(
        before,
        tuple(format_line(text) for text in rows),
        tuple(says),
        format_line("Reason:", *(reasons or [usual])),
        format_line(describe_undo(facts).line, facts.known),
        format_line(", ".join((f"{decision.level}: {facts.tool}", *names))),
    )


_USUAL: Final = "DANGEROUS calls always require approval."
"""What says nothing beside any other reason (`decide.decide_call`)."""

_RULE: Final = re.compile(r" \[[a-z-]+\]\Z")
"""The name of the rule behind what it says; a policy needs it, a person who is asked does not."""


_CUT: Final = re.compile(rf"{LEFT_OUT}|\A  and [0-9]+ more\Z")
"""What a line has where something is left out."""


def _limit_rows(rows: list[str], most: int) -> list[str]:
    """Return so many of some rows; where some are left out, the last says how many."""
    if len(rows) <= most:
        return rows
    kept = max(most - 1, 0)
    return [*rows[:kept], f"  and {len(rows) - kept} more"]


def _flow_destinations(facts: CallFacts) -> list[str]:
    """Return where anything goes; of a folder and a file in it the file."""
    found = list(dict.fromkeys(flow.to for effect in facts.effects for flow in effect.flow))
    return [to for to in found if not any(one.startswith(f"{to}/") for one in found)]


def describe_differences(
    before: tuple[TargetDescription, ...], now: tuple[TargetDescription, ...]
) -> tuple[str, ...]:
    """Return what is otherwise than when a person was asked, a sentence each."""
    was, new, none = dict(before), dict(now), "not there"
    names = (name for name in was | new if was.get(name) != new.get(name))
    rows = (f"{x} was {was.get(x, none)}, and is {new.get(x, none)} now." for x in names)
    return tuple(rows) or ("More has changed than is shown here.",)


PAGE_SECONDS: Final = 120.0
"""Until a question on the page counts as not answered."""

_PAUSE: Final = 0.2
_FOLDER: Final = "asked"
_MARK: Final = "page.json"
_START_SLACK: Final = 2.0


class WaitingQuestion(NamedTuple):
    """A question on the page, its id, and since when it waits, in seconds since 1970."""

    id: str
    since: float
    question: Question


def open_page(state: Path) -> None:
    """Say that a page of this process is open; it is asked from now on."""
    pid = os.getpid()
    write_whole(state / _MARK, json.dumps([pid, _process_start_time(pid)]), mode=0o600)


def close_page(state: Path) -> None:
    """Say that it is no more, if it is this process's."""
    if _page_process(state)[0] == os.getpid():
        (state / _MARK).unlink(missing_ok=True)


def is_page_open() -> bool:
    """Say whether a page of this user is open."""
    state = data_folder() / "state"
    if not (state / _MARK).exists():
        return False
    pid, started = _page_process(state)
    return pid > 0 and abs(_process_start_time(pid) - started) < _START_SLACK


def local_approvers() -> dict[Approver, bool]:
    """Return the ways of asking on this Mac, each with whether it can: a page if one is open."""
    return {"dialog": can_show_dialog(), **({"page": True} if is_page_open() else {})}


def ask_page(question: Question, cancel: Cancellation | None = None) -> Verdict:
    """Put a question onto the page and return the answer."""
    folder = ensure_private_folder(open_state() / _FOLDER)
    path = folder / f"{secrets.token_hex(8)}.json"
    end = time.monotonic() + PAGE_SECONDS
    try:
        asked = {"since": time.time(), "pid": os.getpid(), "question": question._asdict()}
        write_whole(path, json.dumps(asked), mode=0o600)
        while time.monotonic() < end and is_page_open():
            if cancel is not None and cancel.wait(_PAUSE):
                return "cancel"
            if cancel is None:
                time.sleep(_PAUSE)
            with contextlib.suppress(FileNotFoundError):
                return question.verdict_for(_answer_path(path).read_text(encoding="utf-8"))
    except OSError:
        return "unable"
    finally:
        for file in (path, _answer_path(path)):
            with contextlib.suppress(OSError):
                file.unlink()
    return "timeout"


def read_waiting_questions(state: Path) -> Iterator[WaitingQuestion]:
    """Yield the questions that wait, the oldest first; those of programs that ended are removed."""
    found = []
    for path in (state / _FOLDER).glob("*.json"):
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            asked = json.loads(path.read_bytes())
            if not _process_start_time(asked["pid"]):
                path.unlink()
            elif not _answer_path(path).exists():
                fields = asked["question"]
                fields |= {"answers": tuple(fields["answers"])}
                question = Question(**{**fields, "parts": QuestionParts(*fields["parts"])})
                found.append(WaitingQuestion(path.stem, float(asked["since"]), question))
    yield from sorted(found, key=lambda one: one.since)


def write_answer(state: Path, id_: str, label: str) -> bool:
    """Answer a question with one of its labels; False if it does not wait any more."""
    found = next((one for one in read_waiting_questions(state) if one.id == id_), None)
    if found is None or label not in found.question.answers:
        return False
    write_whole(_answer_path(state / _FOLDER / f"{found.id}.json"), label, mode=0o600)
    return True


def _answer_path(path: Path) -> Path:
    return path.with_suffix(".answer")


def _page_process(state: Path) -> tuple[int, float]:
    with contextlib.suppress(OSError, ValueError, TypeError):
        pid, started = json.loads((state / _MARK).read_bytes())
        return int(pid), float(started)
    return 0, 0.0


def _process_start_time(pid: int) -> float:
    """Return when a process was started, in seconds since 1970; 0 if it is gone."""
    # Loaded where a page is open only.
    import psutil

    with contextlib.suppress(psutil.Error, OSError, ValueError):
        return float(psutil.Process(pid).create_time())
    return 0.0
