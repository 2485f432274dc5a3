"""Makes the reference from the code: `python docs/make_reference.py` writes it to .build/reference.

No page of it is committed. mkdocs takes the pages from `on_files` when it builds the site.
"""

import ast
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

import click
from lint_language import messages
from make_scenario import reference_page

from iac_base.errors import ErrorType
from iac_gen.cli import cli as gen
from iac_mcp.cli.main import cli as mcp
from iac_mcp.setup.clients import CLIENTS
from iac_runtime.apple_errors import APPLE_ERRORS
from iac_runtime.language.compose import default_columns
from iac_runtime.policy.escalation import RULES
from iac_runtime.policy.settings import PRESETS
from iac_runtime.serve.resources import FIXED, PROMPTS, TEMPLATES
from iac_runtime.tool import LEVELS
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import META_TOOLS, OWN_TOOLS, TOOLSETS, toolset_tools
from iac_runtime.tools.shape import Tool, listing_entry

ROOT: Final = Path(__file__).resolve().parent.parent
REFERENCE: Final = ROOT / ".build" / "reference"
TOOLS: Final = ROOT / "generated" / "iac_tools"

_MADE: Final = "This page is made from the code."
_WIDTH: Final = 96
_FILE: Final = ("file", "what it does")

VARIABLES: Final[Mapping[str, str]] = {
    "IAC_FLEET_DATABASE": "The database that `iac-fleet` and `iac-mcp open --fleet` read.",
    "IAC_SHORTCUTS": "The program that runs App Intents, in place of `shortcuts`.",
    "IAC_SHORTCUTS_STATE": "The file of `iac-shortcuts`, the simulated program.",
    "IAC_DATA": "The data folder to use instead of your platform's: tools, state, policy.",
    "IAC_OSASCRIPT": "The osascript to use.",
    "IAC_READ_ONLY": "1: use only tools that never change anything.",
    "IAC_SERVER": "This server's name in the rules of the policy.",
    "IAC_RATE_LIMIT": "Writes per second.",
    "IAC_BLOCKLIST": "Bundle ids of more apps that no tool may write to, separated by commas.",
    "ACCESSIBILITY_MCP_READ_ONLY": "The same as IAC_READ_ONLY.",
    "ACCESSIBILITY_MCP_RATE_LIMIT": "The same as IAC_RATE_LIMIT.",
    "ACCESSIBILITY_MCP_BLOCKLIST": "The same as IAC_BLOCKLIST.",
    "IAC_LEARNING": "off: do not learn from scripts.",
    "IAC_SIMULATOR_EVENTS": "A file for the Apple events that simulated apps get.",
    "IAC_SIMULATOR_FAULTS": "Faults of simulated apps: the path of a scenario.",
    "IAC_SIMULATOR_STATE": "The file with the state of simulated apps.",
    "IAC_SIMULATOR_TOOLS": "The folder of tools for simulated apps.",
    "IAC_SCENARIO_MCP_CONFIG": "The client's configuration in a scenario.",
    "IAC_SCENARIO_MCP_TIMEOUT_MS": "Milliseconds for a real server's call in a scenario.",
    "IAC_SCENARIO_MCP_START_TIMEOUT_MS": "Milliseconds for a real server's start.",
    "IAC_SCENARIO_BASH_TIMEOUT_MS": "Milliseconds for a real shell command in a scenario.",
    "IAC_SCENARIO_RESPONSE_DELAY_MS": "Milliseconds before each answer of a scenario.",
    "IAC_CALL": "IAC sets it in its processes, to be able to end them. Do not set it.",
}
"""Every variable that the programs read, and what it says."""


def pages() -> dict[str, str]:
    """Return every page of the reference: its path in the folder, and its text."""
    apps = _apps()
    made = {
        "iac-mcp.md": _program("iac-mcp", mcp),
        "iac-gen.md": _program("iac-gen", gen),
        "server.md": _server(),
        "settings.md": _settings(),
        "errors.md": _errors(),
        "scenario-file.md": _page("A scenario's file", reference_page()),
        "rooms.md": _rooms(),
        "messages.md": _messages(),
        **{
            f"tools/{key}.md": _app({**row, "key": key}, tools)
            for key, (row, tools) in apps.items()
        },
        **{f"toolsets/{name}.md": _toolset(name) for name in TOOLSETS},
    }
    return {**made, "README.md": _index(apps)}


def _index(apps: Mapping[str, tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]]) -> str:
    rows = [
        (f"[{row['name']}](tools/{key}.md)", f"`{row['id']}`", str(len(tools)))
        for key, (row, tools) in sorted(apps.items())
    ]
    return _page(
        "Reference",
        _table(
            ("page", "what it has"),
            [
                ("[iac-mcp](iac-mcp.md)", "the commands and options of the server's program"),
                ("[iac-gen](iac-gen.md)", "the commands and options of the generator"),
                ("[server](server.md)", "the server's own tools, resources and prompts"),
                ("[settings](settings.md)", "variables, presets, rules, clients' files"),
                ("[errors](errors.md)", "types of errors, and Apple's error numbers"),
                ("[scenario file](scenario-file.md)", "every table and field of a scenario"),
                ("[rooms](rooms.md)", "every file of the code, and what it does"),
                ("[messages](messages.md)", "everything the programs say, by package and file"),
            ],
        ),
        "## Tools of the committed apps",
        _table(("app", "bundle id", "tools"), rows),
    )


def _rooms() -> str:
    """Return the files of each package with the first line of what they say of themselves."""
    parts: list[str] = []
    for source in ("runtime", "generator"):
        for package in sorted((ROOT / source).glob("iac_*")):
            rows = [
                (f"`{path.relative_to(package).as_posix()}`", said)
                for path in sorted(package.rglob("*.py"))
                if (said := _first_line(path)) and path.name != "__init__.py"
            ]
            parts += [
                f"## {package.name}",
                _first_line(package / "__init__.py"),
                _table(_FILE, rows),
            ]
    return _page("Rooms", *parts)


def _messages() -> str:
    """Return all that the programs say; what changes from call to call is an ellipsis."""
    parts: list[str] = []
    said: dict[str, dict[str, list[str]]] = {}
    for file, _, text in messages():
        _, package, *inner = file.relative_to(ROOT).parts
        rows = said.setdefault(package, {}).setdefault("/".join(inner), [])
        if (line := f"- {_plain(text.replace('`…`', '…'))}") not in rows:
            rows.append(line)
    for package, files in sorted(said.items()):
        parts.append(f"## {package}")
        for name, rows in files.items():
            parts += [f"### {name}", "\n".join(rows)]
    return _page("Messages", *parts)


def _first_line(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].replace("|", "\\|")


def _program(name: str, command: click.Command) -> str:
    settings = {"terminal_width": _WIDTH, "max_content_width": _WIDTH, **command.context_settings}
    context = click.Context(command, info_name=name, **settings)
    parts = [
        part
        for words, help_text in _helps(command, context)
        for part in (f"## {words}", f"```text\n{help_text.rstrip()}\n```")
    ]
    return _page(name, *parts)


def _helps(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    text = command.get_help(context)
    yield context.command_path, "\n".join(line.rstrip() for line in text.splitlines())
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                below = click.Context(inner, info_name=name, parent=context)
                yield from _helps(inner, below)


def _server() -> str:
    resources = [(f"`{row['uri']}`", row["description"], row["mimeType"]) for row in FIXED.values()]
    templates = [
        (f"`{row['uriTemplate']}`", row["description"], row["mimeType"]) for row in TEMPLATES
    ]
    prompts = [
        (
            f"`{row.name}`",
            row.description,
            ", ".join(f"`{argument.name}`" for argument in row.arguments),
            ", ".join(f"`{app}`" for app in row.apps) or "any",
        )
        for row in PROMPTS
    ]
    heads = ("tool", "level", "what it does")
    own = [_row(tool) for tool in OWN_TOOLS.values()]
    toolsets = [
        part
        for name in TOOLSETS
        for part in (
            f"### [{name}](toolsets/{name}.md)",
            _table(
                heads,
                [_row(tool) for tool in toolset_tools((name,))],
            ),
        )
    ]
    return _page(
        "Server",
        "## Tools that find and call the others",
        _table(heads[::2], [(f"`{tool.name}`", tool.purpose) for tool in META_TOOLS.values()]),
        "## Tools of IAC itself",
        _table(heads, own),
        "## Tools for any app",
        "`find_tools` finds them. To list them, use `--toolset` or `--pin` with the name of the"
        " set. See"
        " [accessibility](../accessibility.md) and [scripts](../applescript.md).",
        *toolsets,
        "## Resources",
        "Each app with tools also has its object model here, and each guide is listed. Your own"
        " guide, `skills/<key of the app>.md` in the data folder, replaces the one of IAC.",
        _table(("address", "contents", "type"), resources + templates),
        "## Prompts",
        "The server offers a prompt if its apps have tools.",
        _table(("prompt", "what it does", "arguments", "apps"), prompts),
    )


def _row(tool: Tool) -> tuple[str, str, str]:
    return f"`{tool.name}`", _reach(tool.level, tool.ceiling), tool.purpose


def _reach(level: str, ceiling: str) -> str:
    return level if level == ceiling else f"{level} to {ceiling}"


def _settings() -> str:
    presets = [
        (f"`{name}`", *(preset.levels[level] for level in LEVELS), preset.description)
        for name, preset in PRESETS.items()
    ]
    # A rule that looks at several places stands in the table once for each.
    rules = dict.fromkeys(
        (f"`{rule.name}`", rule.to, rule.message.replace("{}", "…")) for rule in RULES
    )
    clients = [
        (row.name, f"`{row.key}`", f"`{row.root}`", _places(row.places), row.form)
        for row in CLIENTS.values()
    ]
    return _page(
        "Settings",
        "## Variables",
        _table(("variable", "meaning"), [(f"`{key}`", says) for key, says in VARIABLES.items()]),
        "## Presets of the policy",
        "A preset decides all calls that none of your rules matches; see [Policy](../policy.md).",
        _table(("preset", *LEVELS, "in words"), presets),
        "## Rules that raise a level",
        _table(("rule", "raises to", "the reason that you see"), rules),
        "## Clients",
        "`form` is the file's format. `jsonc` allows comments and trailing commas, and IAC keeps"
        " them.",
        _table(("client", "name", "key", "file (macOS, then others)", "form"), clients),
    )


def _places(places: Mapping[str, str]) -> str:
    wanted = dict.fromkeys((places.get("darwin", places["other"]), places["other"]))
    return ", ".join(f"`{place}`" for place in wanted)


def _yes(value: object) -> str:
    return "yes" if value else ""


def _errors() -> str:
    types = ", ".join(f"`{name}`" for name in get_args(ErrorType))
    numbers = [
        (str(number), row.constant, f"`{row.type}`", *row[1:5])
        for number, row in sorted(APPLE_ERRORS.items(), key=lambda pair: (pair[0] > 0, -pair[0]))
    ]
    return _page(
        "Errors",
        f"The types are {types}. What each means and what to do: [Errors](../errors.md).",
        "## Numbers",
        "`again` says whether a caller may send the same call again. `by itself` says what IAC"
        " does once.",
        _table(
            ("number", "constant", "type", "message", "what to do", "again", "by itself"), numbers
        ),
    )


def _apps() -> dict[str, tuple[Mapping[str, Any], list[Mapping[str, Any]]]]:
    catalogue = json.loads((TOOLS / "catalogue.json").read_text(encoding="utf-8"))
    lines = (TOOLS / "listing.jsonl").read_text(encoding="utf-8").splitlines()
    entries = {entry["name"]: entry for entry in map(json.loads, lines)}
    found: dict[str, tuple[Mapping[str, Any], list[Mapping[str, Any]]]] = {
        key: (row, []) for key, row in catalogue["apps"].items()
    }
    for name, row in sorted(catalogue["tools"].items()):
        found[row["module"]][1].append({**entries[name], **row, "name": name})
    return found


def _app(row: Mapping[str, Any], tools: Iterable[Mapping[str, Any]]) -> str:
    parts: list[str] = [
        f"`{row['id']}`. `SAFE to MODIFY` means that arguments can raise the level."
    ]
    for tool in tools:
        parts += _tool(tool, _reach(tool["level"], tool["ceiling"]))
    catalogue = Catalogue([TOOLS])
    tables = catalogue.load_tables(catalogue.apps[row["key"]])
    if "list" in tables.tools:
        held = {element.term for term in tables.classes for element in tables.elements(term)}
        shown = [
            (term, ", ".join(column.label for column in default_columns(term, tables)))
            for term in tables.classes
            if any(name in held for name, _ in tables.lineage(term))
        ]
        parts += ["## Default columns of a list", _table(("class", "columns"), shown)]
    return _page(str(row["name"]), *parts)


def _tool(tool: Mapping[str, Any], reach: str) -> Iterator[str]:
    yield f"## {tool['name']}"
    yield f"{_plain(tool['description'])}\n\n{reach}"
    schema = tool["inputSchema"]
    required = set(schema.get("required", ()))
    arguments = [
        (f"`{key}`", _type(part), _yes(key in required), _says(part))
        for key, part in schema.get("properties", {}).items()
    ]
    if arguments:
        yield _table(("argument", "type", "required", "meaning"), arguments)


def _toolset(name: str) -> str:
    parts = [
        part
        for tool in toolset_tools((name,))
        for part in _tool(listing_entry(tool), _reach(tool.level, tool.ceiling))
    ]
    return _page(name, *parts)


def _type(schema: Mapping[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_type(part) for part in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def _says(schema: Mapping[str, Any]) -> str:
    known = schema.get("enum", ())
    words = f"One of: {', '.join(map(str, known))}." if known else ""
    return f"{schema.get('description', '')} {words}".strip()


def _page(title: str, *parts: str) -> str:
    return "\n\n".join((f"# {title}", _MADE, *parts)) + "\n"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *([_plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(text: str) -> str:
    # A dictionary's words could otherwise end a cell, or begin a tag.
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the site (a hook of mkdocs)."""
    from mkdocs.structure.files import File

    for name, text in pages().items():
        files.append(File.generated(config, f"reference/{name}", content=text))
    return files


def main() -> int:
    """Write the pages that differ and remove those that are gone; name them."""
    made = pages()
    there = {path.relative_to(REFERENCE).as_posix() for path in REFERENCE.rglob("*.md")}
    for name in sorted(there - made.keys()):
        (REFERENCE / name).unlink()
        click.echo(f"removed {name}")
    for name, text in sorted(made.items()):
        path = REFERENCE / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            click.echo(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
