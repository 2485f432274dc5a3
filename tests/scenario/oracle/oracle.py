"""Claude Code as the oracle: the same sessions through the real client and through `run`.

`nox -s oracle` installs the client and writes what it answered to a file of its version. The test
beside this holds `iac-scenario run` against that file, without the client.
"""

import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from iac_scenario.matching import BUILT_IN
from iac_scenario.model_server import client_environment

HERE: Final = Path(__file__).parent
SESSIONS: Final[Mapping[str, Any]] = tomllib.loads(
    (HERE / "sessions.toml").read_text(encoding="utf-8")
)
CLIENT_MODES: Final = {
    "accept-edits": "acceptEdits", "bypass-permissions": "bypassPermissions", "dont-ask": "dontAsk",
}  # fmt: skip
PROMPT: Final = "go"
CHANGING: Final = frozenset(
    "session_id uuid timestamp transcript_path duration_ms durationMs prompt_id request_id"
    " ttft_ms".split()
)
"""Members that are others in every run."""

TOOLS: Final = "tools"
"""Stands for a session in the keys of the tools' schemas."""
OFFERED: Final = "Bash Read Write Edit Glob Grep TodoWrite".split()
"""Those of the simulated tools that the client offers to a session without a person."""

Answers = dict[str, Any]
"""What a session showed: `KIND/PLACE` to a value."""


def write_session(name: str, folder: Path, own: Path) -> Path:
    """Write a session's files into `folder`, its scenario and its settings into `own`."""
    session = json.loads(json.dumps(SESSIONS[name]).replace("${here}", str(folder)))
    for path, text in session.get("files", {}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8", newline="")
    settings = session.get("settings", {})
    settings["permissions"] = session.get("permissions", {})
    log = f"cat >> {own}/hooks.jsonl; echo >> {own}/hooks.jsonl"
    entry = [{"hooks": [{"type": "command", "command": log}]}]
    settings["hooks"] = settings.get("hooks", {}) | dict.fromkeys(session.get("hooks", ()), entry)
    (own / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    reply: dict[str, Any] = {"text": "That is all."}
    calls = [{"tool": tool, "input": given} for tool, given in session["calls"]]
    for group in [calls] if session.get("together") else [[call] for call in reversed(calls)]:
        reply = {"text": "Next.", "tool_calls": group, "then": reply}
    scenario = {
        "session_id": "550e8400-e29b-41d4-a716-446655440000",
        "prompts": [PROMPT],
        "allow_unchecked": True,
        "allow_error": True,
        "permissions": {"mode": session.get("mode", "bypass-permissions")},
        "tool_execution": {"mode": "simulated", "sandbox_root": str(folder)},
        "responses": [{"pattern": {"type": "exact", "text": PROMPT}, "response": reply}],
        "default_response": {"text": "That is all."},
    }
    path = own / "scenario.json"
    path.write_text(json.dumps(scenario), encoding="utf-8")
    return path


def client_words(name: str, program: str, own: Path) -> list[str]:
    """Return the words that play a session through the client."""
    session = SESSIONS[name]
    mode = session.get("mode", "bypass-permissions")
    tools = ["--tools", session["tools"]] if "tools" in session else []
    return [
        *(program, "-p", PROMPT, "--output-format", "stream-json", "--verbose", *tools),
        *("--permission-mode", CLIENT_MODES.get(mode, mode), "--include-partial-messages"),
        *("--settings", str(own / "settings.json"), "--setting-sources", ""),
    ]


def play_session(name: str, program: str | None) -> Answers:
    """Play one session through the client, or without one through `run`."""
    with TemporaryDirectory(prefix="oracle-") as top:
        folder, own, home = (Path(top).resolve() / part for part in ("here", "own", "home"))
        for path in (folder, own, home):
            path.mkdir()
        scenario = write_session(name, folder, own)
        ours = [sys.executable, "-m", "iac_scenario"]
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(home), "IS_SANDBOX": "1", "LANG": "C.UTF-8",
            "CLAUDE_CODE_ENABLE_TASKS": "0", "DISABLE_AUTOUPDATER": "1",
        }  # fmt: skip
        if program is not None:
            words = [*ours, "model", str(scenario), "--", *client_words(name, program, own)]
        else:
            form = ("--output-format", "stream-json", "--include-partial-messages")
            words = [*ours, "run", str(scenario), *form, "--settings", str(own / "settings.json")]
        done = subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, stdin=subprocess.DEVNULL,
            timeout=300, check=False,
        )  # fmt: skip
        log = own / "hooks.jsonl"
        hooks = [*filter(str.strip, log.read_text().splitlines())] if log.exists() else []
        out = done.stdout.decode().splitlines()
        lines = [json.loads(line) for line in out if line.startswith("{")]
        assert lines, done.stderr.decode()
        answers = dict(session_answers(name, lines, [*map(json.loads, hooks)]))
        text = json.dumps(answers, ensure_ascii=False)
        plain: Answers = json.loads(
            text.replace(str(folder), "<folder>").replace(str(Path(top).resolve()), "<top>")
        )
        return plain


def session_answers(
    name: str, lines: list[dict[str, Any]], hooks: list[dict[str, Any]]
) -> Iterator[tuple[str, Any]]:
    """Yield what is compared: results, their values, lines, their order, events, hook inputs."""
    order, events, made = list[str](), list[Any](), dict[str, str]()
    for line in lines:
        block = _first_block(line)
        if line["type"] == "assistant":
            order.append(f"assistant {block.get('type')}")
            if block.get("type") == "tool_use":
                made[block["id"]] = f"{len(made) + 1:02} {block['name']}"
        elif line["type"] == "user" and block.get("type") == "tool_result":
            call = made[block["tool_use_id"]]
            key = f"{name}/{call}"
            # What runs together ends in any order.
            order.append("user" if SESSIONS[name].get("together") else f"user {call.split()[0]}")
            yield f"result/{key}", [block.get("is_error"), block["content"]]
            yield f"value/{key}", _without_changing(line.get("tool_use_result"))
            yield f"line/{key}", sorted({*line, *(f"block.{word}" for word in block)})
        elif line["type"] == "stream_event":
            events.append(line["event"])
        elif line["type"] == "result":
            order.append("result")
            yield f"line/{name}/result", sorted(line)
            yield f"line/{name}/denials", line["permission_denials"]
    yield f"order/{name}", order
    parts = [*_joined_events(events)]
    starts = [at for at, event in enumerate(parts) if event.get("type") == "message_start"]
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], None], strict=True), 1):
        yield f"event/{name}/{number:02}", parts[start:end]
    for number, told in enumerate(hooks, 1):
        yield f"hook/{name}/{number:02} {told['hook_event_name']}", _without_changing(told)


def _first_block(line: Mapping[str, Any]) -> dict[str, Any]:
    content = line.get("message", {}).get("content")
    return content[0] if isinstance(content, list) and content else {}


def _without_changing(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_changing(value[key]) for key in value if key not in CHANGING}
    if isinstance(value, list):
        return [*map(_without_changing, value)]
    if isinstance(value, str):
        return re.sub(r"\b\d+(\.\d+)?(?= ?ms\b)", "<number>", value)
    return value


def _joined_events(events: list[Any]) -> Iterator[Any]:
    """Yield the events, those of one block's parts as one."""
    text = ""
    for event in events:
        delta = event.get("delta", {})
        piece = delta.get("text", delta.get("partial_json"))
        if piece is not None:
            text += piece
            continue
        if text:
            yield {"deltas": text}
            text = ""
        yield event


class _ToolsHandler(BaseHTTPRequestHandler):
    """Keeps the tools of a request, and ends the client with an error."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        vars(self.server)["tools"] = body["tools"]
        self.send_response(400)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def tool_schemas(program: str | None) -> Answers:
    """Return the form of the tools that the client offers, or that `run` takes."""
    if program is None:
        return {f"schema/{TOOLS}/{name}": BUILT_IN[name] for name in OFFERED}
    with HTTPServer(("127.0.0.1", 0), _ToolsHandler) as server, TemporaryDirectory() as home:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        words = [program, "-p", PROMPT, "--tools", ",".join(BUILT_IN)]
        environment = {
            **client_environment(f"http://127.0.0.1:{server.server_port}"),
            "HOME": home, "IS_SANDBOX": "1", "CLAUDE_CODE_ENABLE_TASKS": "0",
        }  # fmt: skip
        subprocess.run(
            words, cwd=home, env=environment, capture_output=True, stdin=subprocess.DEVNULL,
            timeout=60, check=False,
        )  # fmt: skip
        server.shutdown()
        tools = vars(server)["tools"]
    return {
        f"schema/{TOOLS}/{each['name']}": _without_words(each["input_schema"]) for each in tools
    }


def _without_words(value: Any) -> Any:
    """Return a schema without its descriptions."""
    if isinstance(value, list):
        return [*map(_without_words, value)]
    if not isinstance(value, dict):
        return value
    kept = (key for key in value if not isinstance(value[key], str) or key in ("type", "format"))
    return {key: _without_words(value[key]) for key in kept}


def play_all(program: str | None) -> Answers:
    """Play every session."""
    played = {key: value for name in SESSIONS for key, value in play_session(name, program).items()}
    return {**tool_schemas(program), **played}


def differing_answers(recorded: Answers, own: Answers) -> list[str]:
    """Return the keys under which two plays differ."""
    return sorted(key for key in recorded.keys() | own.keys() if recorded.get(key) != own.get(key))


def main() -> None:
    """Record the client, and say how many answers of each kind are equal.

    What was equal in the recording before must be equal still; `--write` stores another.
    """
    program = sys.argv[1]
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    path = HERE / f"claude-{version.stdout.split()[0]}.json"
    recorded = play_all(program)
    own = play_all(None)
    differs = differing_answers(recorded, own)
    for kind in dict.fromkeys(key.partition("/")[0] for key in recorded):
        keys = [key for key in recorded if key.startswith(f"{kind}/")]
        print(f"{kind}: {len(keys) - len({*keys} & {*differs})} of {len(keys)} equal")
    if "--write" in sys.argv:
        text = json.dumps({"differs": differs, "answers": recorded}, ensure_ascii=False)
        path.write_text(text.replace('], "', '],\n"') + "\n", encoding="utf-8")
    elif path.exists():
        known = json.loads(path.read_text(encoding="utf-8"))["differs"]
        if fresh := [key for key in differs if key not in known]:
            sys.exit("Differs, but did not before:\n" + "\n".join(fresh))


if __name__ == "__main__":
    main()
