"""Plays tasks: plain words, a world before, a plan of calls, what must be so afterwards.

A plan uses only what the server has said: a tool that is called by a door was named by an answer
before. `$2[0].ref` in its arguments stands for the `ref` of the first row of the second answer.
The world is the demo one, moved so that its day is today; a day that a check names is `{+1}` for
tomorrow.
"""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import Client

from iac_runtime.policy.permissions import Requester
from iac_runtime.serve.call import MAX_LEVEL

ABLE = Requester(ways=("client",))
"""A client through which a person can be asked."""

Answer = Callable[[str, Mapping[str, Any]], dict[str, Any]]
"""Makes a call: `{"result"}`, `{"asks"}`, or the facts of the failure."""

TASKS = Path(__file__).with_name("tasks.toml")
_STAND_IN = re.compile(r"\$(\d+)((?:\[\d+\]|\.\w+)+)")
_DAY = re.compile(r"\{([+-]\d+)\}")


@dataclass
class Played:
    """How a task went: what it cost, what went wrong; empty `wrong` is reached."""

    name: str
    calls: int = 0
    tokens: int = 0
    questions: int = 0
    errors: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def read_tasks() -> list[dict[str, Any]]:
    """Return the tasks of the file, days filled in."""
    tasks: list[dict[str, Any]] = tomllib.loads(TASKS.read_text("utf-8"))["task"]
    return [dated(task) for task in tasks]


def dated(value: Any) -> Any:
    """Return data with the days that it names filled in."""
    if isinstance(value, str):
        today = datetime.now(UTC).date()
        return _DAY.sub(lambda by: (today + timedelta(days=int(by[1]))).isoformat(), value)
    if isinstance(value, Mapping):
        return {key: dated(part) for key, part in value.items()}
    return [dated(part) for part in value] if isinstance(value, list) else value


def world() -> dict[str, Any]:
    """Return the demo world, moved so that its day is today (in UTC)."""
    import iac_simulator

    raw = json.loads((Path(iac_simulator.__file__).parent / "worlds" / "demo.json").read_bytes())
    now = date.fromisoformat(raw["@now"]["date"][:10])
    moved: dict[str, Any] = _moved(raw, datetime.now(UTC).date() - now)
    return moved


def _moved(value: Any, by: timedelta) -> Any:
    if isinstance(value, dict):
        if isinstance(value.get("date"), str):
            moment = datetime.fromisoformat(value["date"]) + by
            return {"date": moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")}
        return {key: _moved(part, by) for key, part in value.items()}
    return [_moved(part, by) for part in value] if isinstance(value, list) else value


def agreeing(played: Played) -> dict[str, Any]:
    """Return what makes a client of somebody who says yes once to whatever is asked; it counts."""

    async def person(_context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        played.questions += 1
        offered = json.dumps(params.model_dump(mode="json", by_alias=True))
        key, choices = _form(offered)
        once = next((one for one in choices if "once" in one.lower()), choices[-1])
        return types.ElicitResult(action="accept", content={key: once})

    return {"elicitation_callback": person}


def counted(played: Played, arguments: Mapping[str, Any], result: types.CallToolResult) -> str:
    """Count a call and what it took; return its text. A picture takes a token for 750 pixels."""
    text = "".join(getattr(part, "text", "") for part in result.content)
    shown = result.structured_content or {}
    images = sum(part.type == "image" for part in result.content)
    played.calls += 1
    played.tokens += (len(json.dumps(arguments)) + len(text.encode())) // 4
    played.tokens += images * shown.get("width", 0) * shown.get("height", 0) // 750
    if result.is_error:
        facts = json.loads(text)
        # Of many changes some may be done: then each says how it went.
        played.errors.append(facts.get("type", "PARTIAL"))
        played.said.append(facts.get("message", text))
    return text


async def play(task: Mapping[str, Any], target: Any, state: Path) -> Played:
    """Play a task on a server whose simulated apps keep their state in a file."""
    played = Played(task["words"])

    able = agreeing(played)
    async with Client(target, **able) as client:
        seen = " ".join(tool.name for tool in (await client.list_tools()).tools)
        answers: list[Any] = []
        for named, given in task["plan"]:
            tool = _filled(named, answers)
            arguments = _filled(given, answers)
            name = arguments["name"] if tool in MAX_LEVEL else tool
            if not re.search(rf"\b{name}\b", seen):
                played.wrong.append(f"no answer before named {name}")
            result = await client.call_tool(tool, arguments)
            text = counted(played, arguments, result)
            seen += text
            if result.is_error:
                answers.append(json.loads(text))
            else:
                found = result.structured_content or {}
                answers.append(found.get("result", found))
        last = json.dumps(answers[-1], ensure_ascii=False)
    played.wrong += [f"not told: {text}" for text in task.get("told", ()) if text not in last]
    after = json.loads(state.read_bytes()) if state.exists() else {}
    for app, wanted in task.get("after", ()):
        if not _somewhere(after.get(app), wanted):
            played.wrong.append(f"{app} has no {wanted}")
    for app, gone in task.get("gone", ()):
        if _somewhere(after.get(app), gone):
            played.wrong.append(f"{app} still has {gone}")
    for what, most in task["budget"].items():
        if getattr(played, what) > most:
            played.wrong.append(f"{getattr(played, what)} {what}, at most {most}")
    return played


def _form(offered: str) -> tuple[str, list[str]]:
    """Return the field of a question's form, and what can be chosen."""
    schema = json.loads(offered)["requestedSchema"]
    ((key, row),) = schema["properties"].items()
    return key, row.get("enum") or [one["const"] for one in row["oneOf"]]


def _filled(value: Any, answers: list[Any]) -> Any:
    if isinstance(value, str):
        whole = _STAND_IN.fullmatch(value)
        if whole is not None:
            return _picked(whole, answers)
        return _STAND_IN.sub(lambda found: str(_picked(found, answers)), value)
    if isinstance(value, Mapping):
        return {key: _filled(part, answers) for key, part in value.items()}
    return [_filled(part, answers) for part in value] if isinstance(value, list) else value


def _picked(found: re.Match[str], answers: list[Any]) -> Any:
    value = answers[int(found[1]) - 1]
    for at, key in re.findall(r"\[(\d+)\]|\.(\w+)", found[2]):
        if key and key not in value:
            # A tool of a page, by its name.
            value = next(row for row in value["tools"] if row["name"] == key)
        else:
            value = value[int(at)] if at else value[key]
    return value


def _somewhere(value: Any, wanted: Mapping[str, Any]) -> bool:
    """Say whether an object with these values lies anywhere in a world; a text may be a part."""
    if isinstance(value, Mapping):
        if all(_fits(value.get(key), part) for key, part in wanted.items()):
            return True
        return any(_somewhere(part, wanted) for part in value.values())
    return isinstance(value, list) and any(_somewhere(part, wanted) for part in value)


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(value, Mapping) and "date" in value:
        value = value["date"]
    if isinstance(wanted, Mapping):
        return _somewhere(value, wanted)
    return (
        wanted in value if isinstance(value, str) and isinstance(wanted, str) else value == wanted
    )


def table(every: list[Played]) -> str:
    """Return the report: a line a task."""
    lines = [f"{'task':52} reached calls tokens questions  errors"]
    for one in every:
        lines.append(
            f"{one.name[:52]:52} {'no' if one.wrong else 'yes':7} {one.calls:5} {one.tokens:6}"
            f" {one.questions:9}  {' '.join(one.errors)}"
        )
        lines += [f"    {text}" for text in (*one.said, *one.wrong) if one.wrong]
    reached = sum(not one.wrong for one in every)
    total = [sum(getattr(one, key) for one in every) for key in ("calls", "tokens", "questions")]
    errors = sum(len(one.errors) for one in every)
    lines.append(
        f"{len(every)} tasks, {reached} reached: {total[0]} calls, {total[1]} tokens,"
        f" {total[2]} questions, {errors} errors met"
    )
    return "\n".join(lines)
