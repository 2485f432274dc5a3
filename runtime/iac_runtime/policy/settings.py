"""The user's policy as data: rules, presets, settings; `Policy()` is what holds without a file.

Of what flags, the environment and the file say of a setting, the strictest holds, so that none
loosens another; where none speaks, the default does. A setting knows where it came from. The names
of the environment come in two spellings, `IAC_READ_ONLY` and `ACCESSIBILITY_MCP_READ_ONLY`; an
empty variable says nothing.
"""

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, get_args

from iac_base.errors import SetupError, near_text, quote_text
from iac_runtime.policy.facts import Action, Approver
from iac_runtime.policy.rules import LevelRule, Match
from iac_runtime.tool import LEVELS, Level

REGISTERED_RULES: Final[list[LevelRule]] = []
"""The rules that were registered from Python, in their order."""


def register_rule(
    level: Level,
    *,
    app: str = "",
    tool: str = "",
    argument: Mapping[str, str] | None = None,
    accept: Iterable[str] = (),
    why: str = "",
) -> LevelRule:
    """Set the level of some calls for this process; checked after the rules of the policy file.

    Args:
        level: What these calls need from now on.
        app: A glob over bundle id and name.
        tool: A glob over the tool's name.
        argument: Argument -> glob over its value.
        accept: Rules of escalation that shall not raise these calls.
        why: Shown in every decision that the rule takes part in.

    Raises:
        SetupError: The level is unknown, or the rule would speak of every call.
    """
    if level not in LEVELS:
        near = near_text(str(level), LEVELS)
        raise SetupError(f"There is no level {quote_text(str(level))}. {near}")
    if not (app or tool or argument):
        raise SetupError("A rule needs an app, a tool or an argument.")
    frame = sys._getframe(1)
    source = f"{frame.f_globals.get('__name__', '?')} line {frame.f_lineno}"
    arguments = tuple((key, (glob,)) for key, glob in (argument or {}).items())
    names = ((app,) if app else (), (tool,) if tool else ())
    match = Match(*names, (), arguments, f"your rule in {source}", why)
    rule = LevelRule(match, level, tuple(accept))
    REGISTERED_RULES.append(rule)
    return rule


class Preset(NamedTuple):
    """Level -> action, and what the preset says of itself.

    `reads` is what happens with a read of an app that the user has not opted in.
    """

    levels: Mapping[Level, Action]
    reads: Action
    description: str


DEFAULT_PRESET: Final = "cautious"


_READ: Final[Mapping[Level, Action]] = {"SAFE": "allow", "MODIFY": "deny", "DANGEROUS": "deny"}
_ASK: Final[Mapping[Level, Action]] = {"SAFE": "allow", "MODIFY": "ask", "DANGEROUS": "ask"}
_TRUST: Final[Mapping[Level, Action]] = {"SAFE": "allow", "MODIFY": "allow", "DANGEROUS": "ask"}


PRESETS: Final[Mapping[str, Preset]] = {
    "read-only": Preset(_READ, "allow", "only reads run"),
    "cautious": Preset(_ASK, "allow", "reads run, changes require approval"),
    "private": Preset(
        _ASK,
        "ask",
        "changes require approval, and so do reads of apps that are not in the list reads",
    ),
    "trusted": Preset(_TRUST, "allow", "reads and changes run, DANGEROUS calls require approval"),
}

APPROVERS: Final[tuple[Approver, ...]] = get_args(Approver)
"""Who may put a question to a person: the MCP client, a dialog of this Mac, this terminal."""


@dataclass(frozen=True)
class Policy:
    """What a policy file says; what it does not say is None or empty.

    Attributes:
        preset: The name of the preset.
        read_only: Whether nothing is changed at all.
        rate_limit: Writes a second.
        reads_per_second, dangerous_per_second: The other limits.
        rules: The user's own levels.
        deny, ask, allow: Which calls are refused, asked about, run.
        only, never, folders: What those sections refuse.
        launch: Bundle ids of the apps that a read may start.
        reads: With the preset `private`: apps whose reads run unasked.
        secrets: Properties that are never read, beside those that are known by their name.
        approvers: Who may ask a person.
        confirm: Whether what a write did is read back.
        undo: Whether what is needed to take it back is kept.
        blocklist_add, blocklist_remove: Changes to the list of apps that nothing writes to.
        http: What `[http]` says to `iac-mcp serve --http`, by key.
        path: The file, for messages; empty where there is none.
        lines: Top-level key -> line, to say where a value comes from.
    """

    preset: str = DEFAULT_PRESET
    read_only: bool | None = None
    rate_limit: float | None = None
    reads_per_second: float | None = None
    dangerous_per_second: float | None = None
    rules: tuple[LevelRule, ...] = ()
    deny: tuple[Match, ...] = ()
    ask: tuple[Match, ...] = ()
    allow: tuple[Match, ...] = ()
    only: tuple[Match, ...] = ()
    never: tuple[Match, ...] = ()
    folders: tuple[Match, ...] = ()
    launch: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    approvers: tuple[Approver, ...] = APPROVERS
    confirm: bool = True
    undo: bool = True
    blocklist_add: tuple[str, ...] = ()
    blocklist_remove: tuple[str, ...] = ()
    http: tuple[tuple[str, Any], ...] = ()
    path: str = ""
    lines: tuple[tuple[str, int], ...] = ()

    @cached_property
    def all_denials(self) -> tuple[Match, ...]:
        """All that is refused, by rules and by sections."""
        return (*self.deny, *self.only, *self.never, *self.folders)

    def source_of_key(self, key: str) -> str:
        """Return where a key of the file stands: `policy.toml line 3`; empty if it is not there."""
        line = dict(self.lines).get(key)
        return f"{self.path} line {line}" if line else ""


DEFAULT_RATE: Final = 10.0
"""Writes a second."""


class PolicyFlags(NamedTuple):
    """What the command line said; None and empty where it said nothing."""

    read_only: bool | None = None
    rate_limit: float | None = None
    blocklist: Sequence[str] = ()
    server: str = ""


class PolicySetting(NamedTuple):
    """A value and where it came from: `--read-only`, a variable, a line, `default`."""

    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """The settings that hold.

    Attributes:
        read_only: bool.
        rate_limit: Writes a second.
        preset: The name of the preset.
        blocklist: Bundle ids and globs that extend the list, with the source of each.
        server: The name of this server, for rules; empty for one without.
    """

    read_only: PolicySetting
    rate_limit: PolicySetting
    preset: PolicySetting
    blocklist: tuple[PolicySetting, ...] = ()
    server: str = ""

    @property
    def added_blocklist(self) -> tuple[str, ...]:
        """The entries that extend the blocklist."""
        return tuple(str(entry.value) for entry in self.blocklist)


_FILE: Final = "the policy"
_NAMES: Final = ("IAC_{}", "ACCESSIBILITY_MCP_{}")
_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off"})


def read_settings(flags: PolicyFlags, environ: Mapping[str, str], policy: Policy) -> PolicySettings:
    """Return the settings that hold.

    Raises:
        SetupError: A flag or a variable has no sensible value; the message names it.
    """
    only_reads = flags.read_only or None
    read_only = _collect_settings("read_only", only_reads, environ, policy, _parse_boolean)
    rate = _collect_settings("rate_limit", flags.rate_limit, environ, policy, _parse_rate)
    return PolicySettings(
        max(read_only, key=lambda row: row.value, default=PolicySetting(False, "default")),
        min(rate, key=lambda row: row.value, default=PolicySetting(DEFAULT_RATE, "default")),
        PolicySetting(policy.preset, policy.source_of_key("preset") or "default"),
        tuple(_blocklist_settings(flags, environ, policy)),
        (flags.server or environ.get("IAC_SERVER", "")).strip(),
    )


def _environment_values(environ: Mapping[str, str], name: str) -> list[tuple[str, str]]:
    names = (pattern.format(name) for pattern in _NAMES)
    return [(name, environ[name]) for name in names if environ.get(name, "").strip()]


def _collect_settings(
    name: str,
    flag: bool | float | None,
    environ: Mapping[str, str],
    policy: Policy,
    read: Callable[[str, str], bool | float],
) -> list[PolicySetting]:
    """Return what is said of a setting, by the flag first and by the file last."""
    texts = _environment_values(environ, name.upper())
    if flag is not None:
        texts.insert(0, (f"--{name.replace('_', '-')}", str(flag)))
    settings = [PolicySetting(read(source, text), source) for source, text in texts]
    written = getattr(policy, name)
    if written is not None:
        settings.append(PolicySetting(written, policy.source_of_key(name) or _FILE))
    return settings


def _parse_boolean(source: str, text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE | _FALSE:
        raise SetupError(f"{source} must be 1 or 0, not {quote_text(text)}.")
    return word in _TRUE


def _parse_rate(source: str, text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not (math.isfinite(rate) and rate > 0):
        given = quote_text(text)
        raise SetupError(f"{source} must be a number above 0 (writes per second), not {given}.")
    return rate


BUNDLE_GLOB: Final = re.compile(r"[A-Za-z0-9*?][A-Za-z0-9.*?_-]*\Z")


def _blocklist_settings(
    flags: PolicyFlags, environ: Mapping[str, str], policy: Policy
) -> list[PolicySetting]:
    texts = [("--blocklist", text) for text in flags.blocklist]
    texts += _environment_values(environ, "BLOCKLIST")
    entries = [(x, source) for source, text in texts for x in re.split(r"[,;\s]+", text) if x]
    for entry, source in entries:
        if not BUNDLE_GLOB.match(entry):
            given = quote_text(entry)
            raise SetupError(f"{source} must be bundle ids separated by commas, not {given}.")
    where = policy.source_of_key("blocklist") or _FILE
    entries += [(entry, where) for entry in policy.blocklist_add]
    return [PolicySetting(*row) for row in entries]
