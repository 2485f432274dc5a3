"""The user's policy as data; `file.read_policy` reads it, `Policy()` is what holds without one."""

from dataclasses import dataclass
from typing import Final, Literal

from iac_runtime.policy.presets import DEFAULT
from iac_runtime.policy.rules import LevelRule, Match

__all__ = ["APPROVERS", "Approver", "Policy"]

Approver = Literal["client", "dialog", "terminal"]
APPROVERS: Final[tuple[Approver, ...]] = ("client", "dialog", "terminal")
"""Who may put a question to a person: the MCP client, a dialog of this Mac, this terminal."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a policy file says; what it does not say is None or empty.

    Attributes:
        preset: The name of the preset.
        read_only: Whether nothing is changed at all.
        rate_limit: Writes a second.
        reads_per_second, dangerous_per_hour: The other limits.
        rules: The user's own levels.
        deny, ask, allow: Which calls are refused, asked about, run.
        launch: Bundle ids of the apps that a read may start.
        reads: With the preset `private`: apps whose reads run unasked.
        secrets: Properties that are never read, beside those that are known by their name.
        approvers: Who may ask a person.
        blocklist_add, blocklist_remove: Changes to the list of apps that nothing writes to.
        path: The file, for messages; empty where there is none.
        lines: Top-level key -> line, to say where a value comes from.
    """

    preset: str = DEFAULT
    read_only: bool | None = None
    rate_limit: float | None = None
    reads_per_second: float | None = None
    dangerous_per_hour: float | None = None
    rules: tuple[LevelRule, ...] = ()
    deny: tuple[Match, ...] = ()
    ask: tuple[Match, ...] = ()
    allow: tuple[Match, ...] = ()
    launch: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    approvers: tuple[Approver, ...] = APPROVERS
    blocklist_add: tuple[str, ...] = ()
    blocklist_remove: tuple[str, ...] = ()
    path: str = ""
    lines: tuple[tuple[str, int], ...] = ()

    def where(self, key: str) -> str:
        """Return where a key of the file stands: `policy.toml line 3`; empty if it is not there."""
        line = dict(self.lines).get(key)
        return f"{self.path} line {line}" if line else ""
