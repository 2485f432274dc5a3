"""Settings in Claude Code's form: permissions, variables and hooks, and the hooks themselves.

A hook is a program of the user's own: it runs in the folder of the session, with the rights and the
variables of whoever plays. Source: https://code.claude.com/docs/en/hooks
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import anyio.to_thread

from iac_scenario.arguments import search_pattern
from iac_scenario.bash import BashLimits, run_bounded
from iac_scenario.errors import CallError, PlayError
from iac_scenario.model import PERMISSION_MODES, PermissionMode, PermissionRules
from iac_scenario.session import ScenarioSession

_MODES: Final[Mapping[str, PermissionMode]] = {
    "acceptEdits": "accept-edits", "bypassPermissions": "bypass-permissions", "dontAsk": "dont-ask",
    **{mode: mode for mode in PERMISSION_MODES},
}  # fmt: skip
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


_NOTHING: Final = HookVerdict()


def read_settings(paths: Sequence[Path]) -> list[Any]:
    """Return settings files in their order. Raises PlayError."""
    found = []
    for path in paths:
        try:
            found.append(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise PlayError(f"{path}: cannot be read as settings: {error}") from None
    return found


def with_settings(rules: PermissionRules, settings: Sequence[Any]) -> PermissionRules:
    """Return the scenario's rules and those of its settings; a mode of the scenario wins."""
    mode = rules.mode
    lists: dict[str, tuple[str, ...]] = {
        kind: getattr(rules, kind) for kind in ("allow", "ask", "deny")
    }
    for one in settings:
        permissions = _settings_table(one, "permissions")
        for kind in lists:
            lists[kind] += tuple(permissions.get(kind, ()))
        name = permissions.get("defaultMode")
        if name is not None and name not in _MODES:
            raise PlayError(
                f"settings: permissions.defaultMode: {name!r} is not one of {', '.join(_MODES)}."
            )
        if name is not None and rules.mode is None:
            mode = _MODES[name]
    return replace(rules, mode=mode, allow=lists["allow"], ask=lists["ask"], deny=lists["deny"])


def settings_variables(settings: Sequence[Any]) -> dict[str, str]:
    """Return the variables that settings give to hooks and to Bash; later ones win."""
    return {
        key: str(value) for one in settings for key, value in _settings_table(one, "env").items()
    }


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
        self._variables = {
            **os.environ,
            "CLAUDE_PROJECT_DIR": folder,
            **settings_variables(settings),
        }

    async def run(self, event: str, matched: str = "", /, **facts: Any) -> HookVerdict:
        """Run the hooks of an event one after another; each blocking word ends that."""
        if not self.given:
            return _NOTHING
        said = {
            "session_id": self._session.id, "transcript_path": str(self._session.transcript or ""),
            "cwd": self._folder, "permission_mode": self._session.mode or "default",
            "hook_event_name": event, **facts,
        }  # fmt: skip
        whole = HookVerdict()
        for hook in self._matching_hooks(event, matched):
            verdict = await anyio.to_thread.run_sync(self._run_hook, hook, event, said)
            decision = verdict.decision or whole.decision
            given = whole.input if verdict.input is None else verdict.input
            whole = replace(
                verdict, decision=decision, input=given, notes=whole.notes + verdict.notes
            )
            if verdict.stops or verdict.decision == "block":
                break
        return whole

    def _matching_hooks(self, event: str, matched: str) -> list[Mapping[str, Any]]:
        found = []
        for one in self._settings:
            for entry in _settings_table(one, "hooks").get(event, ()):
                wanted = entry.get("matcher") or "*"
                try:
                    fits = (
                        not matched
                        or wanted == "*"
                        or search_pattern(rf"^(?:{wanted})$", matched) is not None
                    )
                except ValueError as error:
                    raise PlayError(
                        f"settings: hooks.{event}: the matcher {wanted!r} {error}"
                    ) from None
                found += [hook for hook in entry.get("hooks", ()) if fits]
        return [hook for hook in found if hook.get("type") in ("command", "bash")]

    def _run_hook(
        self, hook: Mapping[str, Any], event: str, said: Mapping[str, Any]
    ) -> HookVerdict:
        name = f"hook {event} ({str(hook.get('command', ''))[:60]})"
        try:
            result = run_bounded(
                ["bash", "-c", str(hook.get("command", ""))],
                self._folder,
                self._variables,
                _LIMITS,
                min(float(hook.get("timeout", _SECONDS)), self._limit),
                given=json.dumps(said, default=str).encode(),
            )
        except CallError as error:
            return HookVerdict(notes=(f"{name}: {error}",))
        out, errors = (
            piece.decode("utf-8", "replace").strip() for piece in (result.out, result.errors)
        )
        if result.stopped or result.status not in (0, 2):
            return HookVerdict(
                notes=(f"{name}: {result.stopped or f'status {result.status}: {errors}'}",)
            )
        if result.status == 2:
            return HookVerdict("block", errors or "Blocked by a hook.")
        try:
            answer = json.loads(out) if out.startswith("{") else {}
        except ValueError as error:
            return HookVerdict(notes=(f"{name}: its output is not JSON: {error}",))
        own = _settings_table(answer, "hookSpecificOutput")
        decision = own.get("permissionDecision") or answer.get("decision") or ""
        reason = own.get("permissionDecisionReason") or answer.get("reason") or "Blocked by a hook."
        word = {"deny": "block", "approve": "allow"}.get(decision, decision)
        stops = answer.get("continue") is False
        return HookVerdict(
            word,
            str(answer.get("stopReason", reason)) if stops else reason,
            own.get("updatedInput"),
            stops,
        )


def _settings_table(value: Any, key: str) -> Mapping[str, Any]:
    found = value.get(key, {}) if isinstance(value, dict) else {}
    if not isinstance(found, dict):
        raise PlayError(f"settings: {key} must be an object.")
    return found
