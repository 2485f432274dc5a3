"""A first scenario of a server, from what the server itself lists."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from iac_base.secrets import secrets_of
from iac_scenario.client_callbacks import ClientAnswers
from iac_scenario.matching import generalize_value
from iac_scenario.mcp_servers import connect_servers, list_all_entries
from iac_scenario.model import PlayError, StdioServer, ToolCall, public_name
from iac_scenario.recording import placed_server, server_table
from iac_scenario.results import CallResult
from iac_scenario.schema import resolve_timeouts

_STARTERS: Final = frozenset("bun bunx deno docker node npx python python3 uv uvx".split())
_PLACES: Final = frozenset("/ app bin build cli dist index lib main run server src".split())
"""Names of files and folders that say nothing of what a server is."""
_HEAD: Final = """\
# A first scenario of the server {name}: a call of each tool that it lists. Play it:
#   iac-scenario run {file}
# The arguments are made from the schemas: give those that mean something to the server. Errors that
# calls gave are expectations. Expect more of what is right: contains, matches, json_path, schema.
prompts = {prompts}

[tool_execution]
mode = "real_mcp"

[mcp_servers.{name}]
{server}
"""
_TOOL: Final = """
{doc}
[[responses]]
pattern = {{ type = "exact", text = {tool} }}

[[responses.response.tool_calls]]
{call}
expect = {expect}
"""
_SAMPLES: Final[Mapping[str, Any]] = {
    "integer": 1, "number": 1.5, "boolean": False, "null": None, "string": "text",
    "uri": "https://example.com", "date": "2025-01-01", "date-time": "2025-01-01T00:00:00Z",
    "email": "ada@example.com", "uuid": "550e8400-e29b-41d4-a716-446655440000", "time": "12:00:00Z",
}  # fmt: skip


def parse_server(words: Sequence[str]) -> tuple[str, StdioServer]:
    """Return a name and a server, of a command or of a URL."""
    if words[0].startswith(("http://", "https://")):
        return public_name(words[0].split("/")[2].split(":")[0]), StdioServer("", url=words[0])
    plain = [word for word in words if not word.startswith("-")]
    named = plain[1:] if Path(plain[0]).name in _STARTERS and plain[1:] else plain
    stems = [Path(part.partition("@")[0] or part).stem for part in reversed(Path(named[0]).parts)]
    name = next((stem for stem in stems if stem not in _PLACES), "server")
    for part in ("mcp-server-", "server-", "mcp-"):
        name = name.removeprefix(part)
    server = StdioServer(words[0], tuple(words[1:]))
    return public_name(name.removesuffix("-mcp") or "server"), server


async def first_scenario(words: Sequence[str], file: Path, *, calls: bool) -> str:
    """Return the text of a scenario that calls each tool once. Raises PlayError.

    Tools that say that they only read are called, to see whether the arguments are errors; if it
    `calls`, all are but those that say that they destroy.
    """
    name, server = parse_server(words)
    timeouts = resolve_timeouts({}, {})
    found: dict[str, CallResult] = {}
    async with connect_servers({name: server}, ClientAnswers("auto"), timeouts) as real:
        for why in real.failed_servers().values():
            raise PlayError(why)
        client = real.connected_clients()[name]
        tools = await list_all_entries(client, "tools/list", "tools")
        for tool in tools:
            reads = (tool.get("annotations") or {}).get("readOnlyHint") is True
            if (reads or (calls and not _is_destructive(tool))) and not _needs_task(tool):
                given = sample_value(tool.get("inputSchema") or {}) or {}
                call = ToolCall(f"mcp__{name}__{public_name(tool['name'])}", given)
                found[tool["name"]] = await real.run(call)
    if not tools:
        raise PlayError(f"The server {name} lists no tools.")
    safe = [tool["name"] for tool in tools if not _is_destructive(tool)]
    placed, secrets = placed_server(server, file), secrets_of(os.environ)
    rows = _toml_rows({"url": server.url} if server.url else server_table(placed, secrets))
    head = _HEAD.format(name=name, file=file, prompts=_toml_value(safe), server=rows)
    return head + "".join(_scenario_entry(name, tool, found.get(tool["name"])) for tool in tools)


def _needs_task(tool: Mapping[str, Any]) -> bool:
    return (tool.get("execution") or {}).get("taskSupport") == "required"


def _is_destructive(tool: Mapping[str, Any]) -> bool:
    hints = tool.get("annotations") or {}
    return hints.get("readOnlyHint") is False and hints.get("destructiveHint") is not False


def _scenario_entry(server: str, tool: Mapping[str, Any], answer: CallResult | None) -> str:
    lines = (tool.get("description") or tool["name"]).strip().splitlines()
    given = sample_value(tool.get("inputSchema") or {}) or {}
    expect: dict[str, Any] = {"is_error": answer is not None and answer.is_error}
    if expect["is_error"] and answer is not None:
        said = answer.text.strip().partition("\n")[0]
        expect |= {"contains": said} if said and generalize_value(said) == said else {}
    call = {"tool": f"mcp__{server}__{public_name(tool['name'])}", "input": given}
    if _needs_task(tool):
        task = {"name": tool["name"], "arguments": given, "task": {"ttl": 60000}}
        call = {"request": "tools/call", "server": server, "input": task}
        expect["json_path"] = {"$.task.taskId": "<any>"}
    text = _TOOL.format(
        doc=f"# {lines[0][:97]}",
        tool=_toml_value(tool["name"]),
        call=_toml_rows(call),
        expect=_toml_value(expect),
    )
    if not _is_destructive(tool):
        return text
    warning = (
        "This tool says that it can destroy data. To call it, add its name to `prompts` and"
        " remove the #."
    )
    off = re.sub(r"(?m)^(?=[^#\n])", "# ", text).rstrip("\n")
    return f"{off.replace(lines[0][:97], f'{lines[0][:97]}' + chr(10) + f'# {warning}', 1)}\n"


def sample_value(schema: Any) -> Any:
    """Return a value that fits a schema, as far as its plain words say; required members only."""
    if not isinstance(schema, dict):
        return "text"
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for key in ("enum", "examples"):
        if schema.get(key):
            return schema[key][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return sample_value(schema[key][0])
    if "$ref" in schema:
        return {}
    kinds = schema.get("type", "object" if "properties" in schema else "string")
    kind = kinds if isinstance(kinds, str) else kinds[0]
    if kind == "object":
        known = schema.get("properties", {})
        return {key: sample_value(known.get(key)) for key in schema.get("required", ())}
    if kind == "array":
        return [sample_value(schema.get("items"))] * schema.get("minItems", 0)
    if kind in ("integer", "number"):
        most = schema.get("maximum", 1)
        return max(schema.get("minimum", 1), 1) if most >= 1 else most
    text = _SAMPLES.get(schema.get("format", kind), _SAMPLES[kind])
    return text.ljust(schema.get("minLength", 0), "x") if isinstance(text, str) else text


def _toml_rows(table: Mapping[str, Any]) -> str:
    return "\n".join(f"{key} = {_toml_value(value)}" for key, value in table.items())


def _toml_value(value: Any) -> str:
    import tomlkit

    if isinstance(value, dict):
        # TOML has no null; what would be one is left out.
        items = ((key, item) for key, item in value.items() if item is not None)
        members = ", ".join(f"{tomlkit.key(k).as_string()} = {_toml_value(v)}" for k, v in items)
        return f"{{ {members} }}" if value else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml_value(item) for item in value if item is not None)}]"
    return str(tomlkit.item(value).as_string())
