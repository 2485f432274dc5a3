"""PolicySettings with where each came from: flag over environment over file over default.

The names of the environment come in two spellings, `IAC_READ_ONLY` and
`ACCESSIBILITY_MCP_READ_ONLY`; the first wins. A blocklist only ever grows by a flag or the
environment.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from iac_base.errors import SetupError, quoted
from iac_runtime.policy.model import Policy

__all__ = ["DEFAULT_RATE", "Flags", "PolicySetting", "PolicySettings", "read_settings"]

DEFAULT_RATE: Final = 10.0
"""Writes a second."""


class Flags(NamedTuple):
    """What the command line said; None and empty where it said nothing."""

    read_only: bool | None = None
    rate_limit: float | None = None
    blocklist: Sequence[str] = ()


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
    """

    read_only: PolicySetting
    rate_limit: PolicySetting
    preset: PolicySetting
    blocklist: tuple[PolicySetting, ...] = ()

    @property
    def added(self) -> tuple[str, ...]:
        """The entries that extend the blocklist."""
        return tuple(str(entry.value) for entry in self.blocklist)


_FILE: Final = "the policy"
_NAMES: Final = ("IAC_{}", "ACCESSIBILITY_MCP_{}")
_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off", ""})


def read_settings(flags: Flags, environ: Mapping[str, str], policy: Policy) -> PolicySettings:
    """Return the settings that hold.

    Raises:
        SetupError: A flag or a variable has no sensible value; the message names it.
    """
    return PolicySettings(
        _read_only(flags, environ, policy),
        _rate_limit(flags, environ, policy),
        PolicySetting(policy.preset, policy.where("preset") or "default"),
        tuple(_blocklist(flags, environ, policy)),
    )


def _variables(environ: Mapping[str, str], name: str) -> list[tuple[str, str]]:
    names = (pattern.format(name) for pattern in _NAMES)
    return [(variable, environ[variable]) for variable in names if variable in environ]


def _read_only(flags: Flags, environ: Mapping[str, str], policy: Policy) -> PolicySetting:
    if flags.read_only:
        return PolicySetting(True, "--read-only")
    for variable, text in _variables(environ, "READ_ONLY"):
        word = text.strip().lower()
        if word not in _TRUE | _FALSE:
            raise SetupError(f"{variable} wants 1 or 0, not {quoted(text)}.")
        return PolicySetting(word in _TRUE, variable)
    if policy.read_only is not None:
        return PolicySetting(policy.read_only, policy.where("read_only") or _FILE)
    return PolicySetting(False, "default")


def _rate_limit(flags: Flags, environ: Mapping[str, str], policy: Policy) -> PolicySetting:
    if flags.rate_limit is not None:
        return PolicySetting(_rate("--rate-limit", str(flags.rate_limit)), "--rate-limit")
    for variable, text in _variables(environ, "RATE_LIMIT"):
        return PolicySetting(_rate(variable, text), variable)
    if policy.rate_limit is not None:
        return PolicySetting(policy.rate_limit, policy.where("rate_limit") or _FILE)
    return PolicySetting(DEFAULT_RATE, "default")


def _rate(source: str, text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not (math.isfinite(rate) and rate > 0):
        raise SetupError(f"{source} wants a number above 0 (writes a second), not {quoted(text)}.")
    return rate


_ENTRY: Final = re.compile(r"[A-Za-z0-9*?][A-Za-z0-9.*?_-]*\Z")


def _blocklist(flags: Flags, environ: Mapping[str, str], policy: Policy) -> list[PolicySetting]:
    given = [("--blocklist", text) for text in flags.blocklist]
    given += _variables(environ, "BLOCKLIST")
    found: list[PolicySetting] = []
    for source, text in given:
        for entry in filter(None, re.split(r"[,;\s]+", text)):
            if not _ENTRY.match(entry):
                raise SetupError(
                    f"{source} wants bundle ids with commas between, not {quoted(entry)}."
                )
            found.append(PolicySetting(entry, source))
    where = policy.where("blocklist") or _FILE
    found += [PolicySetting(entry, where) for entry in policy.blocklist_add]
    return found
