"""The clients that can be told of this server: where their files are and what stands in them.

Sources: the vendors' pages on MCP settings; for Codex, its TOML reference. The files of clients
that are not merged hold comments as a rule, or are TOML: for those there is a snippet to paste.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

__all__ = [
    "CLIENTS",
    "MERGED",
    "Client",
    "Launch",
    "entry",
    "is_ours",
    "place",
    "serves",
    "snippet",
]

Shape = Literal["plain", "typed", "toml"]


class Launch(NamedTuple):
    """How a client starts the server: absolute paths only, for apps know no shell's PATH."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = MappingProxyType({})


class Client(NamedTuple):
    """A client.

    Attributes:
        places: Its file by platform (`sys.platform`; "" for every other).
        root: The key under which servers stand.
        shape: What an entry looks like; `typed` says `"type": "stdio"` too.
        merged: Whether the file is changed here, or only a snippet is printed.
        then: What to do afterwards.
    """

    key: str
    name: str
    places: Mapping[str, str]
    root: str
    shape: Shape
    merged: bool
    then: str


_ROWS: Final = (
    Client(
        "claude-desktop",
        "Claude Desktop",
        {
            "darwin": "~/Library/Application Support/Claude/claude_desktop_config.json",
            "win32": "%APPDATA%/Claude/claude_desktop_config.json",
            "": "~/.config/Claude/claude_desktop_config.json",
        },
        "mcpServers",
        "plain",
        True,
        "Quit Claude Desktop and start it again.",
    ),
    Client(
        "claude-code",
        "Claude Code",
        {"": "~/.claude.json"},
        "mcpServers",
        "typed",
        True,
        "Start a new session of Claude Code; /mcp shows the server.",
    ),
    Client(
        "cursor",
        "Cursor",
        {"": "~/.cursor/mcp.json"},
        "mcpServers",
        "plain",
        True,
        "Switch the server on in Cursor's settings, under MCP.",
    ),
    Client(
        "vscode",
        "VS Code",
        {
            "darwin": "~/Library/Application Support/Code/User/mcp.json",
            "win32": "%APPDATA%/Code/User/mcp.json",
            "": "~/.config/Code/User/mcp.json",
        },
        "servers",
        "typed",
        True,
        "Run MCP: List Servers in VS Code and start it.",
    ),
    Client(
        "windsurf",
        "Windsurf",
        {"": "~/.codeium/windsurf/mcp_config.json"},
        "mcpServers",
        "plain",
        False,
        "Refresh the servers in Windsurf's settings.",
    ),
    Client(
        "zed",
        "Zed",
        {"": "~/.config/zed/settings.json"},
        "context_servers",
        "plain",
        False,
        "Zed reads its settings at once.",
    ),
    Client(
        "gemini",
        "Gemini CLI",
        {"": "~/.gemini/settings.json"},
        "mcpServers",
        "plain",
        False,
        "Start Gemini CLI again; it starts servers in trusted folders only.",
    ),
    Client(
        "codex",
        "Codex CLI",
        {"": "~/.codex/config.toml"},
        "mcp_servers",
        "toml",
        False,
        "Start Codex again.",
    ),
)

CLIENTS: Final[Mapping[str, Client]] = {row.key: row for row in _ROWS}
MERGED: Final = tuple(row.key for row in _ROWS if row.merged)
"""The clients whose files are changed here."""


def place(client: Client, environ: Mapping[str, str], system: str = sys.platform) -> Path:
    """Return where a client's file is; it need not be there.

    Args:
        environ: HOME (USERPROFILE) and APPDATA are read from it.
        system: The platform, as `sys.platform` names it.
    """
    pattern = client.places.get(system) or client.places[""]
    home = environ.get("HOME") or environ.get("USERPROFILE") or str(Path.home())
    folder, _, rest = pattern.partition("/")
    data = environ.get("APPDATA") or str(Path(home, "AppData", "Roaming"))
    return Path({"~": home, "%APPDATA%": data}[folder], *rest.split("/"))


def entry(client: Client, launch: Launch) -> dict[str, Any]:
    """Return what stands under a server's name in the client's file."""
    said: dict[str, Any] = {"type": "stdio"} if client.shape == "typed" else {}
    said |= {"command": launch.command, "args": [*launch.args]}
    if launch.env:
        said["env"] = dict(launch.env)
    return said


def snippet(client: Client, name: str, said: Mapping[str, Any]) -> str:
    """Return what to paste into the client's file, as a whole file would have it."""
    if client.shape != "toml":
        return json.dumps({client.root: {name: dict(said)}}, ensure_ascii=False, indent=2)
    table = f"{client.root}.{name}"
    lines = [f"[{table}]", f"command = {_toml(said['command'])}"]
    lines.append(f"args = [{', '.join(_toml(part) for part in said['args'])}]")
    if "env" in said:
        lines += ["", f"[{table}.env]"]
        lines += [f"{key} = {_toml(value)}" for key, value in said["env"].items()]
    return "\n".join(lines)


def _toml(text: str) -> str:
    # A JSON string is a basic string of TOML, but for DEL, which TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def is_ours(said: Any) -> bool:
    """Say whether an entry starts this server, as `install` or a reader of the docs wrote it."""
    if not isinstance(said, dict) or not isinstance(said.get("args"), list):
        return False
    words = (said.get("command"), *said["args"])
    return serves([word for word in words if isinstance(word, str)])


def serves(command: Sequence[str]) -> bool:
    """Say whether a command line is that of `iac-mcp serve`, however it was started."""
    words = [word.replace("\\", "/").rpartition("/")[2] for word in command]
    before = words[: words.index("serve")] if "serve" in words else []
    return "iac-mcp" in before or any(
        flag == "-m" and module.partition(".")[0] == "iac_runtime"
        for flag, module in pairwise(before)
    )
