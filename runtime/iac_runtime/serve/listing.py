"""What is listed, and the options that choose it.

The finished lines of tools/list are chosen and joined, never parsed, and kept with their folders.
The options of `iac-mcp serve` are one table for the quick reading here and for click; the quick
reading takes what is beyond doubt: `--help`, a misspelt option or a missing value is left to click,
which explains it and takes its time. A start of the server pays for this module.
"""

import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from iac_base.errors import SetupError, near_text
from iac_runtime.serve.protocol import to_json
from iac_runtime.tools.catalogue import Catalogue, ToolFolder, listed_lines, read_tool_folders
from iac_runtime.tools.own import META_TOOLS, OWN_TOOLS, STARTERS, TOOLSETS, toolset_tools
from iac_runtime.tools.shape import Tool, listing_entry

SEARCH: Final = "search"
"""The surface of a handful of tools that find and call the others."""

# Written one after the other, so that a build at work shows in one of them.
_FILES: Final = ("catalogue.json", "listing.jsonl", "tools.lock")

Stamp = tuple[tuple[str, int, int], ...]


class Choice(NamedTuple):
    """What to list.

    Attributes:
        expose: `search`, or patterns of tool names, `all`, or keys of apps (all their tools).
        pins: Keys of apps whose tools are listed beside the surface of `search`.
        read_only: Leave out what can change something.
    """

    expose: tuple[str, ...] = (SEARCH,)
    pins: tuple[str, ...] = ()
    read_only: bool = False


def chosen_lines(tool_folders: Sequence[ToolFolder], choice: Choice) -> list[bytes]:
    """Return the entries of generated tools that `choice` lists, in the order of the folders.

    Raises:
        SetupError: A pattern or a pin names nothing, or a listing cannot be read.
    """
    patterns = _tool_patterns(tool_folders, choice)
    lines: list[bytes] = []
    for tool_folder in tool_folders if patterns else ():
        lines += _entry_lines(tool_folder, patterns, choice.read_only)
    return lines


def own_tools(choice: Choice) -> list[Tool]:
    """Return the runtime's own tools that `choice` lists."""
    tools: list[Tool] = []
    if SEARCH in choice.expose:
        tools += META_TOOLS.values()
        tools += (OWN_TOOLS[name] for name in ("list_apps", "read_more"))
        # Without the doors these would be out of reach.
        tools += (OWN_TOOLS[name] for name in STARTERS if choice.read_only)
    else:
        tools += OWN_TOOLS.values()
    tools += toolset_tools({*choice.expose, *choice.pins})
    return [
        tool
        for tool in tools
        if not choice.read_only or tool.ceiling == "SAFE" or tool.name in STARTERS
    ]


def relevant_instructions(text: str, choice: Choice) -> str:
    """Return the lines of instructions that speak only of tools which `choice` lets be called."""
    if SEARCH in choice.expose and not choice.read_only:
        return text
    names = {tool.name for tool in own_tools(choice)}
    return "".join(
        line
        for line in text.splitlines(keepends=True)
        if names.issuperset(_TOOL_NAME.findall(line))
        and not (choice.read_only and line.startswith("Act:"))
    )


_TOOL_NAME: Final = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")


def _tool_patterns(tool_folders: Sequence[ToolFolder], choice: Choice) -> list[str]:
    searching = SEARCH in choice.expose
    wanted = [
        word for word in (choice.pins if searching else choice.expose) if word not in TOOLSETS
    ]
    keys = {key for tool_folder in tool_folders for key in tool_folder.apps}
    patterns: list[str] = []
    for word in wanted:
        if word == "all":
            patterns.append("*")
        elif word in keys:
            patterns.append(f"{word}_*")
        elif not searching and any(
            fnmatchcase(name, word) for tool_folder in tool_folders for name in tool_folder.tools
        ):
            patterns.append(word)
        elif app := Catalogue([one.folder for one in tool_folders]).named_app(word):
            patterns.append(f"{app.key}_*")
        else:
            says = "There are no tools for" if searching else "No tool is called"
            raise SetupError(f"{says} {word}. {near_text(word, sorted(keys))}".strip())
    return patterns


def _entry_lines(tool_folder: ToolFolder, patterns: list[str], read_only: bool) -> list[bytes]:
    chosen = (
        name
        for name, row in tool_folder.tools.items()
        if ("*" in patterns or any(fnmatchcase(name, word) for word in patterns))
        and not (read_only and not row["level"] == row["ceiling"] == "SAFE")
    )
    return [line for _, line in listed_lines(tool_folder.folder / "listing.jsonl", chosen)]


class _ListingContent(NamedTuple):
    """What lay in the folders when they were last read; `apps` are the rows by key."""

    tools: list[bytes]
    apps: Mapping[str, Mapping[str, Any]]


class Listings:
    """What a server lists, one finished JSON object a line. Safe to use from several threads.

    Args:
        folders: The output folders, in the order of the search.
        choice: What of them is listed.
        find: Finds the folders anew, where one may come later; None if they stay.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        choice: Choice,
        find: Callable[[], Sequence[Path]] | None = None,
    ) -> None:
        self.folders = list(folders)
        """As they were last found."""
        self._choice = choice
        self._find = find
        self._lock = threading.Lock()
        self._stamp: Stamp = ()
        self._seen: Stamp = ()
        self._now: _ListingContent | None = None

    def relevant_instructions(self, text: str) -> str:
        """Return the lines of instructions that speak only of what can be called here."""
        return relevant_instructions(text, self._choice)

    @property
    def has_find_tools(self) -> bool:
        """Whether `find_tools` is listed."""
        return SEARCH in self._choice.expose

    @property
    def surface(self) -> str:
        """What is listed, in the words of `--expose` and `--pin`."""
        return ",".join((*self._choice.expose, *self._choice.pins))

    def __call__(self) -> list[bytes]:
        """Return the lines of tools/list.

        Raises:
            SetupError: A folder or a wish is not right.
        """
        return self._current_content().tools

    def by_method(self) -> dict[str, Callable[[], list[bytes]]]:
        """Return what returns the lines of each listing, by the protocol's name of it."""
        return {
            "tools/list": self,
            "prompts/list": self.prompt_lines,
            "resources/list": self.resource_lines,
            "resources/templates/list": self.template_lines,
        }

    def prompt_lines(self) -> list[bytes]:
        """Return the lines of prompts/list. Raises as a call does."""
        from iac_runtime.serve.resources import offered_prompts, prompt_entry

        return [to_json(prompt_entry(row)) for row in offered_prompts(self.app_ids())]

    def resource_lines(self) -> list[bytes]:
        """Return the lines of resources/list. Raises as a call does."""
        from iac_runtime.serve.resources import resource_entries

        apps = self._current_content().apps.items()
        return [*map(to_json, resource_entries((key, str(row["name"])) for key, row in apps))]

    def template_lines(self) -> list[bytes]:
        """Return the lines of resources/templates/list."""
        from iac_runtime.serve.resources import TEMPLATES

        return [*map(to_json, TEMPLATES)]

    def app_ids(self) -> list[str]:
        """Return the bundle ids of the apps that have tools. Raises as a call does."""
        return [str(row["id"]) for row in self._current_content().apps.values()]

    def reload_if_changed(self) -> bool:
        """Read the folders again if they were built anew since; say whether they were.

        A build writes its files one after the other: the answer is yes only when they have rested
        from one call to the next.

        Raises:
            SetupError: They were built anew, but cannot be read; what is listed stays as it was,
                until they change again.
        """
        folders = self.folders if self._find is None else list(self._find())
        stamp = _folders_stamp(folders)
        with self._lock:
            if self._now is None or stamp == self._stamp:
                return False
            if stamp != self._seen:
                self._seen = stamp
                return False
            self._stamp = stamp
            self._now = self._load_content(folders)
            self.folders = folders
            return True

    def _current_content(self) -> _ListingContent:
        with self._lock:
            if self._now is None:
                self._stamp = _folders_stamp(self.folders)
                self._now = self._load_content(self.folders)
            return self._now

    def _load_content(self, folders: Sequence[Path]) -> _ListingContent:
        tool_folders = read_tool_folders(folders)
        tools = [
            *(to_json(listing_entry(tool)) for tool in own_tools(self._choice)),
            *chosen_lines(tool_folders, self._choice),
        ]
        apps = (row for one in tool_folders for row in one.apps.items())
        return _ListingContent(tools, dict(sorted(apps)))


def app_resources(lines: Iterable[bytes]) -> list[str]:
    """Return the addresses in resources/list of what depends on the tools."""
    return [uri for line in lines if "/apps" in (uri := json.loads(line)["uri"])]


def _folders_stamp(folders: Sequence[Path]) -> Stamp:
    """Return when the files of the folders were written; one that is away counts as never."""
    stamps = []
    for folder in folders:
        for name in _FILES:
            try:
                facts = (folder / name).stat()
                stamps.append((f"{folder}/{name}", facts.st_mtime_ns, facts.st_size))
            except OSError:
                stamps.append((f"{folder}/{name}", 0, 0))
    return tuple(stamps)


CALL_SECONDS: Final = 54.0
"""Seconds for a call: 60, less what ending a process that resists takes, and a little."""


class ServeOption(NamedTuple):
    """One option.

    Attributes:
        kind: `flag`; `value` (one); `values` (repeatable); `maybe` (its value may be left out).
        metavar: What the value is, in the help.
    """

    flag: str
    kind: Literal["flag", "value", "values", "maybe"]
    help: str
    metavar: str = ""

    @property
    def name(self) -> str:
        """The key under which its value is passed on."""
        return self.flag.lstrip("-").replace("-", "_")


HTTP_OPTIONS: Final = (
    ServeOption("--http", "flag", "Serve over HTTP, to clients with tokens (iac-mcp clients)."),
    ServeOption("--host", "value", "With --http: the address to listen on (127.0.0.1).", "ADDRESS"),
    ServeOption("--port", "value", "With --http: the port (8722); 0 picks a free port.", "NUMBER"),
    ServeOption("--cert", "value", "With --http: the certificate for TLS.", "FILE"),
    ServeOption("--key", "value", "With --http: the certificate's private key.", "FILE"),
    ServeOption(
        "--behind-proxy", "flag", "With --http: a proxy in front of this server handles TLS."
    ),
)

SERVE_OPTIONS: Final = (
    ServeOption(
        "--tools",
        "values",
        "A folder of generated tools that is searched before the others.",
        "FOLDER",
    ),
    ServeOption(
        "--expose",
        "value",
        "The tools to list: search (a few tools that find and call the rest), all, or patterns "
        "such as 'mail_*,safari'.",
        "WHAT",
    ),
    ServeOption("--toolset", "value", "List the tools of one app or toolset.", "NAME"),
    ServeOption("--pin", "value", "Apps whose tools are listed too, such as notes,finder.", "APPS"),
    ServeOption("--read-only", "flag", "Use only tools that never change anything."),
    ServeOption("--policy", "value", "The policy file to use instead of your own.", "FILE"),
    ServeOption(
        "--allow", "value", "The highest level that runs without approval (SAFE).", "LEVEL"
    ),
    ServeOption("--launch", "values", "An app that a call may start even if it only reads.", "APP"),
    ServeOption("--rate-limit", "value", "How many writes per second may run (10).", "NUMBER"),
    ServeOption("--blocklist", "values", "Bundle ids of more apps that no tool may change.", "IDS"),
    ServeOption("--server", "value", "This server's name in the rules of the policy.", "NAME"),
    ServeOption("--timeout", "value", "How many seconds a call may take (30).", "SECONDS"),
    ServeOption(
        "--simulate",
        "maybe",
        "Use simulated apps; STATE is a file that keeps their state. With hard, or hard:STATE, they"
        " act like real apps.",
        "[STATE]",
    ),
    *HTTP_OPTIONS,
    ServeOption("--log-file", "value", "Also write the log to this file.", "FILE"),
    ServeOption("--verbose", "flag", "Show more detail on standard error."),
)

CALL_OPTIONS: Final = tuple(
    option
    for option in SERVE_OPTIONS
    if option not in HTTP_OPTIONS
    and option.flag not in ("--expose", "--toolset", "--pin", "--log-file", "--verbose")
)
"""Those that `iac-mcp call` has too."""

_BY_FLAG: Final = {option.flag: option for option in SERVE_OPTIONS}


def read_quickly(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Return the values by name (absent options are absent), or None if click should read them."""
    values: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        option = _BY_FLAG.get(flag)
        if option is None or (option.kind != "values" and option.name in values):
            return None
        if option.kind == "flag":
            if equals:
                return None
            values[option.name] = True
            continue
        if not equals:
            if rest and not rest[0].startswith("-"):
                value = rest.pop(0)
            elif option.kind != "maybe":
                return None
        if option.kind == "values":
            values.setdefault(option.name, []).append(value)
        else:
            values[option.name] = value
    return values
