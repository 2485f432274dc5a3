"""A session as Claude Code keeps one, and the tools that change it.

With a folder (`--config-dir`) it is written as Claude Code writes its own: the transcript under
`projects/`, todo lists under `todos/`, plans under `plans/`. To resume one is to hold its prompts
against the rules again; no tool is called again.

Settings in Claude Code's form give permissions, variables and hooks. A hook is a program of the
user's own: it runs in the folder of the session, with the rights and the variables of whoever
plays. Source: https://code.claude.com/docs/en/hooks
"""

import json
import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from iac_base.files import write_whole
from iac_scenario.bash import BashLimits, run_bounded
from iac_scenario.conversation import CallEvent, Event, FailureEvent, ResultEvent, TextEvent
from iac_scenario.matching import search_pattern
from iac_scenario.model import (
    CLIENT_VERSION,
    PERMISSION_MODES,
    CallError,
    PermissionMode,
    PermissionRules,
    PlayError,
    SessionIdentity,
)
from iac_scenario.results import CallResult, error_result, text_result

_PLAN_WORDS: Final = (
    "amber brisk calm deft eager fair glad keen".split(),
    "baking drawing finding giving humming joining leading making".split(),
    "acorn brook cedar dune elm fern grove heron".split(),
)
_REFUSED: Final = "The user does not want to proceed with this tool use."


class ScenarioSession:
    """One session, from its first prompt to its last, over several runs."""

    def __init__(
        self,
        identity: SessionIdentity,
        folder: Path | None,
        working_directory: str,
        now: Callable[[], datetime],
        mode: PermissionMode | None,
    ) -> None:
        self.mode: PermissionMode | None = mode
        self.todos: list[Any] = []
        self.answers: Mapping[str, str] = {}
        self.id = identity.session_id
        self.folder = folder
        self.working_directory = working_directory
        self._identity = identity
        self._now = now
        self._before: PermissionMode | None = mode if mode != "plan" else "default"
        self._parent: str | None = None
        self._count = 0
        self.transcript = _transcript_path(folder, working_directory, self.id) if folder else None

    def begin_run(self, *, resumed: bool) -> tuple[list[str], dict[str, Any]]:
        """Return the prompts so far and what was captured. Raises PlayError for no session."""
        prompts: list[str] = []
        kept: dict[str, Any] = {}
        if resumed and (self.transcript is None or not self.transcript.is_file()):
            raise PlayError(f"No conversation found with session ID: {self.id}")
        if resumed and self.transcript is not None:
            for line in map(json.loads, self.transcript.read_text(encoding="utf-8").splitlines()):
                self._count += 1
                self._parent = line.get("uuid", self._parent)
                kept |= line.get("captured", {})
                content = line.get("message", {}).get("content")
                if line["type"] == "user" and isinstance(content, str):
                    prompts.append(content)
        elif self.transcript is not None:
            self.transcript.unlink(missing_ok=True)
            self.write_file("todos", f"{self.id}-agent-{self.id}.json", "[]")
        return prompts, kept

    def write_file(self, kind: str, name: str, text: str) -> None:
        """Write one file of the session, where it is kept at all."""
        if self.folder is not None:
            path = self.folder / kind / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def write_index(self) -> None:
        """Enter the session into its project's index, beside the others."""
        if self.transcript is None or not self.transcript.is_file():
            return
        lines = [*map(json.loads, self.transcript.read_text(encoding="utf-8").splitlines())]
        said = [line for line in lines if "message" in line]
        prompts = (line["message"]["content"] for line in said if line["type"] == "user")
        index = self.transcript.with_name("sessions-index.json")
        old = json.loads(index.read_text(encoding="utf-8"))["entries"] if index.is_file() else []
        entry = {
            "sessionId": self.id, "fullPath": str(self.transcript),
            "fileMtime": self.transcript.stat().st_mtime_ns // 1_000_000,
            "firstPrompt": next(prompts, ""), "messageCount": len(said),
            "created": lines[0]["timestamp"], "modified": lines[-1]["timestamp"],
            "gitBranch": "", "projectPath": self.working_directory, "isSidechain": False,
        }  # fmt: skip
        entries = [*(one for one in old if one["sessionId"] != self.id), entry]
        write_whole(index, json.dumps({"version": 1, "entries": entries}, indent=2))

    def record_prompt(self, prompt: str) -> None:
        """Record what the user says."""
        self._record_line("user", message={"role": "user", "content": prompt})

    def record_captured(self, kept: Mapping[str, Any]) -> None:
        """Record values that later calls may use."""
        if kept:
            self._record_line("captured", captured=dict(kept))

    def record_event(self, event: Event) -> None:
        """Record what the assistant does."""
        if self.transcript is None:
            return
        match event:
            case TextEvent() if event.text:
                self._record_assistant({"type": "text", "text": event.text})
            case CallEvent():
                call = {"id": event.id, "name": event.tool, "input": event.input}
                self._record_assistant({"type": "tool_use", **call})
            case ResultEvent() if event.outcome.executed:
                result: dict[str, Any] = {"tool_use_id": event.id, "type": "tool_result"}
                if event.outcome.is_error:
                    result["is_error"] = True
                content = [{**result, "content": list(event.outcome.content)}]
                message = {"role": "user", "content": content}
                self._record_line("user", message=message, toolUseResult=event.outcome.value)
            case FailureEvent() if event.failure.kind not in ("malformed_json", "tool_error"):
                block = {"type": "text", "text": f"API Error: {event.error.message}"}
                partial = event.failure.kind == "partial_response"
                self._record_assistant(block, error="" if partial else event.error.word)

    def _record_assistant(self, block: dict[str, Any], error: str | None = None) -> None:
        usage = {"input_tokens": 0, "output_tokens": 0}
        message = {
            "model": self._identity.model if error is None else "<synthetic>",
            "id": f"msg_{self._make_uuid('message').hex[:24]}",
            "type": "message", "role": "assistant",
            "content": [block], "stop_reason": None if error is None else "stop_sequence",
            "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        more = {} if error is None else {"error": error, "isApiErrorMessage": True}
        key = f"req_{self._make_uuid('request').hex[:24]}"
        self._record_line("assistant", message=message, requestId=key, **more)

    def _record_line(self, kind: str, **facts: Any) -> None:
        if self.transcript is None:
            return
        self._count += 1
        key = str(self._make_uuid("line"))
        line = {
            "parentUuid": self._parent, "isSidechain": False, "userType": "external",
            "cwd": self.working_directory, "sessionId": self.id, "version": CLIENT_VERSION,
            "gitBranch": "", "type": kind, **facts, "uuid": key,
            "timestamp": self._now().isoformat(),
        }  # fmt: skip
        self._parent = key
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        # Half a character that a prompt has stays one, as JSON writes it.
        with self.transcript.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")

    def _make_uuid(self, kind: str) -> uuid.UUID:
        return uuid.uuid5(uuid.UUID(self.id), f"{kind}\n{self._identity.seed}\n{self._count}")

    def write_todos(self, given: Mapping[str, Any]) -> CallResult:
        """Replace the list of todos."""
        old = self.todos
        self.todos = given["todos"]
        text = json.dumps(self.todos, ensure_ascii=False, indent=2)
        self.write_file("todos", f"{self.id}-agent-{self.id}.json", text)
        lists = {"oldTodos": old, "newTodos": self.todos}
        text = (
            "Todos have been modified successfully. Ensure that you continue to use the todo list"
            " to track your progress. Please proceed with the current tasks if applicable"
        )
        return text_result(text, structured=lists)

    def answer_questions(self, given: Mapping[str, Any]) -> CallResult:
        """Answer questions: as the call says, else the scenario, else the first option."""
        answers = {}
        for asked in given["questions"]:
            text, options = asked["question"], asked.get("options", [])
            known = {**self.answers, **given.get("answers", {})}
            answers[text] = known.get(text, options[0]["label"] if options else "")
        spoken = ", ".join(f'"{question}"="{answer}"' for question, answer in answers.items())
        return text_result(
            f"User has answered your questions: {spoken}. You can now continue with the user's"
            " answers in mind.",
            structured={"questions": given["questions"], "answers": answers},
        )

    def enter_plan(self, _given: Mapping[str, Any]) -> CallResult:
        """Begin to plan: nothing is changed until the plan is approved."""
        self._before, self.mode = self.mode if self.mode != "plan" else self._before, "plan"
        text = "Entered plan mode. Explore; then leave plan mode with ExitPlanMode and your plan."
        return text_result(text)

    def exit_plan(self, given: Mapping[str, Any]) -> CallResult:
        """End planning, which the permissions have asked about, and keep the plan."""
        if self.mode == "plan":
            self.mode = self._before
        plan = next((given[key] for key in ("plan", "plan_content", "content") if key in given), "")
        number = self._make_uuid("plan").int
        name = "-".join(words[number >> 3 * at & 7] for at, words in enumerate(_PLAN_WORDS))
        self.write_file("plans", f"{name}.md", plan)
        text = "User has approved your plan. You can now start coding."
        return text_result(text, structured={"plan": plan, "filePath": f"plans/{name}.md"})

    def declined_result(self, tool: str) -> CallResult:
        """Return what the assistant is told where the user says no to one of these tools."""
        asked = tool == "AskUserQuestion"
        return error_result("User declined to answer questions" if asked else _REFUSED)


DIALOGS: Final[Mapping[str, Callable[[ScenarioSession, Mapping[str, Any]], CallResult]]] = {
    "TodoWrite": ScenarioSession.write_todos,
    "AskUserQuestion": ScenarioSession.answer_questions,
    "EnterPlanMode": ScenarioSession.enter_plan,
    "ExitPlanMode": ScenarioSession.exit_plan,
}


def _transcript_path(folder: Path, working_directory: str, session: str) -> Path:
    place = re.sub(r"[^A-Za-z0-9]", "-", working_directory)
    return folder / "projects" / place / f"{session}.jsonl"


def fork_session(folder: Path | None, working_directory: str, known: str, own: str) -> None:
    """Copy a session's transcript to another id; where there is none, resuming says so."""
    source = _transcript_path(folder or Path(), working_directory, known)
    if folder is None or not source.is_file():
        raise PlayError(f"No conversation found with session ID: {known}")
    text = source.read_text(encoding="utf-8").replace(known, own)
    source.with_stem(own).write_text(text, encoding="utf-8")


def latest_session(folder: Path | None, working_directory: str | None = None) -> str:
    """Return the id of the session, of one folder's or of all, that was written last.

    Raises PlayError for none.
    """
    top, name = folder or Path(), "*/*.jsonl"
    if working_directory is not None:
        name = f"{_transcript_path(top, working_directory, '').parent.name}/*.jsonl"
    transcripts = [*(top / "projects").glob(name)] if folder else []
    if not transcripts:
        raise PlayError(f"No conversation found to continue{f' in {folder}' if folder else ''}")
    return max(transcripts, key=lambda path: path.stat().st_mtime_ns).stem


_MODE_NAMES: Final[Mapping[PermissionMode, str]] = {
    "accept-edits": "acceptEdits", "bypass-permissions": "bypassPermissions", "dont-ask": "dontAsk",
}  # fmt: skip
CLIENT_MODES: Final[Mapping[str, PermissionMode]] = {
    **{name: mode for mode, name in _MODE_NAMES.items()},
    **{mode: mode for mode in PERMISSION_MODES},
}
_OF_CALLS: Final = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
_PLAYED: Final = frozenset(
    "PreToolUse PostToolUse PostToolUseFailure Notification UserPromptSubmit SessionStart"
    " SessionEnd Stop".split()
)
_NOT_PLAYED: Final = frozenset(
    "PostToolBatch UserPromptExpansion StopFailure SubagentStart SubagentStop PreCompact"
    " PostCompact PermissionRequest PermissionDenied Setup TeammateIdle TaskCreated TaskCompleted"
    " Elicitation ElicitationResult ConfigChange WorktreeCreate WorktreeRemove InstructionsLoaded"
    " CwdChanged FileChanged MessageDisplay".split()
)
"""Events of Claude Code 2.1.197 that nothing here leads to."""


def client_mode(mode: PermissionMode | None) -> str:
    """Return a mode as Claude Code spells it."""
    return _MODE_NAMES.get(mode, mode) if mode is not None else "default"


def unplayed_events(settings: Sequence[Any]) -> Iterator[str]:
    """Yield what is to be said of hooks that are never run."""
    for event in dict.fromkeys(key for one in settings for key in _settings_table(one, "hooks")):
        if event in _NOT_PLAYED:
            yield f"hooks of {event} are not run: no scenario leads to that event"
        elif event not in _PLAYED:
            yield f"hooks of {event} are not run: Claude Code has no such event"


_LIMITS: Final = BashLimits(processes=256)
_SECONDS: Final = 60


@dataclass(frozen=True, slots=True)
class HookVerdict:
    """What the hooks of one event say together; `decision` is allow, ask, block or nothing."""

    decision: str = ""
    reason: str = ""
    input: Any = None
    stops: bool = False
    notes: tuple[str, ...] = field(default=())
    told_by_status: bool = False


_NOTHING: Final = HookVerdict()


def with_settings(rules: PermissionRules, settings: Sequence[Any]) -> PermissionRules:
    """Return the scenario's rules and those of its settings; a mode of the scenario wins."""
    mode = rules.mode
    lists = {"allow": rules.allow, "ask": rules.ask, "deny": rules.deny}
    for one in settings:
        permissions = _settings_table(one, "permissions")
        for kind in lists:
            lists[kind] += tuple(_settings_list(permissions, "permissions", kind, str))
        name = permissions.get("defaultMode")
        if name is not None and name not in [*CLIENT_MODES]:
            known = ", ".join(CLIENT_MODES)
            raise PlayError(f"settings: permissions.defaultMode: {name!r} is not one of {known}.")
        if name is not None and rules.mode is None:
            mode = CLIENT_MODES[name]
    return replace(rules, mode=mode, allow=lists["allow"], ask=lists["ask"], deny=lists["deny"])


def settings_variables(settings: Sequence[Any]) -> dict[str, str]:
    """Return the variables that settings give to hooks and to Bash; later ones win."""
    tables = (_settings_table(one, "env").items() for one in settings)
    return {key: str(value) for table in tables for key, value in table}


class SessionHooks:
    """The hooks of a session."""

    def __init__(
        self, settings: Sequence[Any], session: ScenarioSession, folder: str, limit: float
    ) -> None:
        self.given = any(_settings_table(one, "hooks") for one in settings)
        off = any(isinstance(one, dict) and one.get("disableAllHooks") for one in settings)
        self._settings = [] if off else settings
        self._session = session
        self._folder = folder
        self._limit = limit
        own = {"CLAUDE_PROJECT_DIR": folder, **settings_variables(settings)}
        self._variables = {**os.environ, **own}

    def startup_notes(self) -> Iterator[str]:
        """Yield what is to be said of the settings before the first prompt."""
        return unplayed_events(self._settings)

    async def run(self, event: str, matched: str = "", /, **facts: Any) -> HookVerdict:
        """Run the hooks of an event one after another; each blocking word ends that."""
        if not self.given:
            return _NOTHING
        payload: dict[str, Any] = {
            "session_id": self._session.id, "transcript_path": str(self._session.transcript or ""),
            "cwd": self._folder,
        }  # fmt: skip
        if event not in ("SessionStart", "SessionEnd"):
            payload["permission_mode"] = client_mode(self._session.mode)
        if event not in ("SessionStart", "SessionEnd", "UserPromptSubmit"):
            payload["effort"] = {"level": "high"}
        payload |= {"hook_event_name": event, **facts}
        whole = HookVerdict()
        for hook in self._matching_hooks(event, matched):
            verdict = await anyio.to_thread.run_sync(self._run_hook, hook, event, payload)
            if verdict.told_by_status:
                name = f"{event}:{matched}" if matched else event
                reason = f"{name} hook error: [{hook.get('command', '')}]: {verdict.reason}\n"
                verdict = replace(verdict, reason=reason if event in _OF_CALLS else verdict.reason)
            decision = verdict.decision or whole.decision
            given = whole.input if verdict.input is None else verdict.input
            whole = replace(
                verdict, decision=decision, input=given, notes=whole.notes + verdict.notes
            )
            if verdict.stops or verdict.decision == "block":
                break
        return whole

    def _matching_hooks(self, event: str, matched: str) -> list[Mapping[str, Any]]:
        hooks = []
        for one in self._settings:
            for entry in _settings_list(_settings_table(one, "hooks"), "hooks", event, dict):
                wanted = entry.get("matcher") or "*"
                try:
                    fits = not matched or wanted == "*"
                    fits = fits or search_pattern(rf"^(?:{wanted})$", matched) is not None
                except ValueError as error:
                    raise PlayError(
                        f"settings: hooks.{event}: the matcher {wanted!r} {error}"
                    ) from None
                rows = _settings_list(entry, f"hooks.{event}", "hooks", dict)
                hooks += [hook for hook in rows if fits]
        return [hook for hook in hooks if hook.get("type") in ("command", "bash")]

    def _run_hook(
        self, hook: Mapping[str, Any], event: str, payload: Mapping[str, Any]
    ) -> HookVerdict:
        name = f"hook {event} ({str(hook.get('command', ''))[:60]})"
        try:
            result = run_bounded(
                ["bash", "-c", str(hook.get("command", ""))],
                self._folder,
                self._variables,
                _LIMITS,
                min(float(hook.get("timeout", _SECONDS)), self._limit),
                given=json.dumps(payload, default=str).encode(),
            )
        except CallError as error:
            return HookVerdict(notes=(f"{name}: {error}",))
        streams = (result.out, result.errors)
        out, errors = (stream.decode("utf-8", "replace").strip() for stream in streams)
        if result.stopped or result.status not in (0, 2):
            why = result.stopped or f"status {result.status}: {errors}"
            return HookVerdict(notes=(f"{name}: {why}",))
        if result.status == 2:
            return HookVerdict("block", errors or "No stderr output", told_by_status=True)
        try:
            answer = json.loads(out) if out.startswith("{") else {}
        except ValueError as error:
            return HookVerdict(notes=(f"{name}: its output is not JSON: {error}",))
        own = _settings_table(answer, "hookSpecificOutput")
        decision = own.get("permissionDecision") or answer.get("decision") or ""
        reason = own.get("permissionDecisionReason") or answer.get("reason") or "Blocked by a hook."
        word = {"deny": "block", "approve": "allow"}.get(decision, decision)
        stops = answer.get("continue") is False
        reason = str(answer.get("stopReason", reason)) if stops else reason
        return HookVerdict(word, reason, own.get("updatedInput"), stops)


def _settings_table(value: Any, key: str) -> Mapping[str, Any]:
    table = value.get(key, {}) if isinstance(value, dict) else {}
    if not isinstance(table, dict):
        raise PlayError(f"settings: {key} must be an object.")
    return table


def _settings_list(table: Mapping[str, Any], where: str, key: str, kind: type) -> list[Any]:
    rows = table.get(key, [])
    if not isinstance(rows, list) or not all(isinstance(row, kind) for row in rows):
        noun = "texts" if kind is str else "objects"
        raise PlayError(f"settings: {where}.{key} must be a list of {noun}.")
    return rows
