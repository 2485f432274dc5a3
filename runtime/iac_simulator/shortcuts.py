"""The simulator as a program: `iac-shortcuts` in the place of `shortcuts`, and of `open`.

It reads the same property lists as Shortcuts, and behaves as people measured: input is typed by its
ending, a parameter under a wrong key is asked for and waits, a first run that writes asks too, a
second import is another shortcut, and most of what goes wrong ends with status 0.

Environment:
    IAC_SHORTCUTS_STATE: A JSON file: `shortcuts` by identifier, `apps` by identifier of an action
        (`parameters` by name with `required` and the type that is taken, `writes`, `answer`),
        `grants`, `seconds` of a start and of a run, `answers` to questions (`once`, `always`,
        `no`; none: nobody is there), and the `done` runs.
"""

import json
import os
import plistlib
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

from iac_base.files import write_whole
from iac_runtime.execution.process import Completed
from iac_runtime.tools.tables import Tables

State: TypeAlias = dict[str, Any]

MAGIC: Final = b"AEA1"
"""How a signed shortcut begins."""

_BUILT_IN: Final = "is.workflow.actions."
_HERE: Final = "\ufffc"
_OWN: Final = frozenset({"AppIntentDescriptor", "UUID"})
"""Keys of an action that no parameter of it can have."""
_FOREVER: Final = 3600.0
_TEXTS: Final = ("text", "date")
_KINDS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "text": str,
    "date": str,
    "boolean": bool,
    "integer": int,
    "real": (int, float),
}


def intent_actions(tables: Tables) -> dict[str, Any]:
    """Return the actions of an app's intents, for `apps`, from the tables of its module."""
    plain = {"boolean": True, "integer": 1, "real": 1.0}
    actions: dict[str, Any] = {}
    for spec in tables.tools.values():
        parameters: dict[str, Any] = {}
        for key, row in spec.params.items():
            cases = [name for name, _ in tables.enums.get(row.type, ())]
            # An example has what a call needs.
            parameter = {"type": row.type, "required": key in spec.example}
            parameters[row.code] = {**parameter, "cases": cases} if cases else parameter
        answer = plain.get(spec.result, "answer") if spec.result else None
        actions[f"{tables.app.id}.{spec.event}"] = {
            "parameters": parameters,
            "writes": spec.level != "SAFE",
            "answer": answer,
        }
    return actions


def process_runner(state: "State") -> Callable[..., Completed]:
    """Return what runs the program's commands here, on a state that lasts as long as it does."""

    def run_in_process(argv: Sequence[str], *_streams: Any, **_more: Any) -> Completed:
        try:
            return Completed(run_shortcuts_command(argv[1:], state).encode(), b"", 0)
        except DismissedError:
            return Completed(b"", b"", 0)
        except ShortcutsError as error:
            return Completed(b"", str(error).encode(), 1)

    return run_in_process


class ShortcutsError(Exception):
    """What Shortcuts says on standard error, with status 1."""


class DismissedError(Exception):
    """A question was answered with no, or by nobody: the run ends with status 0 and no answer."""


def main() -> int:
    """Run sys.argv as `shortcuts` would, and return the exit status."""
    path = Path(os.environ["IAC_SHORTCUTS_STATE"])
    state: State = json.loads(path.read_text("utf-8")) if path.exists() else {}
    status = 0
    try:
        sys.stdout.write(run_shortcuts_command(sys.argv[1:], state))
    except DismissedError:
        pass
    except ShortcutsError as error:
        sys.stderr.write(f"Error: {error}\n")
        status = 1
    write_whole(path, json.dumps(state, indent=1, sort_keys=True))
    return status


def run_shortcuts_command(argv: Sequence[str], state: State) -> str:
    """Carry out a command, and return what it prints.

    Raises:
        ShortcutsError: It fails.
        DismissedError: Somebody said no, or nobody was there.
    """
    known = state.setdefault("shortcuts", {})
    match list(argv):
        case ["list", "--show-identifiers"]:
            return "".join(f"{row['name']} ({key})\n" for key, row in known.items())
        case ["sign", "-m", "people-who-know-me" | "anyone", "-i", source, "-o", target]:
            if not source.endswith(".shortcut"):
                raise ShortcutsError("The file is not in the right format.")
            Path(target).write_bytes(MAGIC + Path(source).read_bytes())
            return ""
        case ["open", file]:
            content = Path(file).read_bytes()
            if not content.startswith(MAGIC):
                raise ShortcutsError("Importing unsigned shortcut files is not supported.")
            if state.get("answers") != "no":
                # One that is there stays: the new one is another, without its grants.
                ident = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{file} {len(known)}")).upper()
                workflow = plistlib.loads(content[len(MAGIC) :])
                known[ident] = {"name": Path(file).stem, "workflow": workflow}
            return ""
        case ["run", ident, "-i", given, "-o", target] if ident.upper() in known:
            time.sleep(state.get("seconds", 0.0))
            # A file that is no text is dropped without a word.
            text = Path(given).read_text("utf-8") if given.endswith(".txt") else ""
            key = ident.upper()
            _ShortcutRun(state, key, text).run_workflow(known[key]["workflow"], Path(target))
            return ""
        case ["run", *_]:
            raise ShortcutsError("Couldn't find shortcut")
    raise ShortcutsError(f"Unknown command {' '.join(argv[:1])}")


@dataclass
class _ShortcutRun:
    """One run: the input as text, and what each action gave."""

    state: State
    ident: str
    given: str
    values: dict[str, Any] = field(default_factory=dict)

    def run_workflow(self, workflow: Mapping[str, Any], target: Path) -> None:
        answer = None
        # Of each If that is open, whether what stands now runs, and what ran last in it.
        runs: list[bool] = []
        for step in workflow["WFWorkflowActions"]:
            settings = step["WFWorkflowActionParameters"]
            if step["WFWorkflowActionIdentifier"] == f"{_BUILT_IN}conditional":
                match settings["WFControlFlowMode"]:
                    case 0:
                        asked = settings["WFInput"]["Variable"]
                        runs.append(all(runs) and self.resolve_variable(asked) not in (None, ""))
                    case 1:
                        runs[-1] = all(runs[:-1]) and not runs[-1]
                    case _:
                        runs.pop()
            elif all(runs):
                answer = self.run_action(step["WFWorkflowActionIdentifier"], settings)
            if all(runs):
                # The end of an If gives what its branch gave.
                self.values[settings["UUID"]] = answer
        # An object gives no file; a text does.
        if workflow.get("WFWorkflowHasOutputAction") and isinstance(answer, str):
            target.write_text(answer, "utf-8")

    def run_action(self, name: str, settings: Mapping[str, Any]) -> Any:
        match name.removeprefix(_BUILT_IN):
            case "detect.dictionary":
                try:
                    data = json.loads(self.resolve_variable(settings["WFInput"]))
                except ValueError:
                    return {}
                return data if isinstance(data, dict) else {}
            case "getvalueforkey":
                return self.resolve_variable(settings["WFInput"]).get(settings["WFDictionaryKey"])
            case "gettext":
                return self.resolve_variable(settings["WFTextActionText"])
            case "output":
                return self.resolve_variable(settings["WFOutput"])
        action = self.state.get("apps", {}).get(name)
        if action is None:
            raise ShortcutsError("An action is not available on this device.")
        return self.run_app_action(name, action, settings)

    def run_app_action(
        self, name: str, action: Mapping[str, Any], settings: Mapping[str, Any]
    ) -> Any:
        passed = {}
        for key, row in action.get("parameters", {}).items():
            value = None
            if key in settings and key not in _OWN:
                value = self.resolve_variable(settings[key], bare=row["type"] not in _TEXTS)
            kinds = _KINDS.get(row["type"], str)
            wrong = not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool)
            if value in (None, "") and not row["required"]:
                continue
            # A value that is missing or is none of the type is asked for.
            if value in (None, "") or wrong or value not in row.get("cases", [value]):
                self.wait_for_person()
            passed[key] = value
        grants = self.state.setdefault("grants", {})
        if action.get("writes") and grants.get(self.ident) != "always":
            grants[self.ident] = self.state.get("answers") or self.wait_for_person()
            if grants[self.ident] == "no":
                raise DismissedError
        self.state.setdefault("done", []).append({"action": name, "parameters": passed})
        return action.get("answer")

    def wait_for_person(self) -> NoReturn:
        """Wait for somebody: nobody is there."""
        time.sleep(self.state.get("patience", _FOREVER))
        raise DismissedError

    def resolve_variable(self, variable: Mapping[str, Any], *, bare: bool = True) -> Any:
        """Return what a variable or a text with variables stands for."""
        inner = variable["Value"]
        if variable["WFSerializationType"] == "WFTextTokenAttachment":
            if not bare:
                raise ShortcutsError("A text cannot be a bare variable.")
            return self.source_value(inner)
        marks = inner["attachmentsByRange"]
        parts = (
            self.source_value(marks[f"{{{at}, 1}}"]) if char == _HERE else char
            for at, char in enumerate(inner["string"])
        )
        return "".join("" if one is None else str(one) for one in parts)

    def source_value(self, source: Mapping[str, Any]) -> Any:
        extension = source["Type"] == "ExtensionInput"
        return self.given if extension else self.values[source["OutputUUID"]]


if __name__ == "__main__":
    sys.exit(main())
