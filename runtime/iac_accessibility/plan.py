"""A call that is understood and not yet carried out: what a gate judges."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from iac_accessibility.marks import Found, Mark
from iac_accessibility.model import App
from iac_accessibility.paths import Step
from iac_runtime.tool import Level

__all__ = ["Means", "Plan", "Scope"]

Means = Literal["read", "action", "value", "press", "typed"]
"""How it is going to be done: an action, setting the value, pressing what is switched, or keys."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a remembered answer covers, for this server process: an app's process and a window."""

    app_id: str
    pid: int
    started: float
    window: str

    @property
    def key(self) -> str:
        """A digest to remember it by."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    def says(self, app_name: str) -> str:
        """Return the scope in words."""
        return f'changes in the window "{self.window}" of {app_name}'


@dataclass(frozen=True, slots=True)
class Plan:
    """A call that is ready to be judged and performed.

    Attributes:
        tool: Its name.
        arguments: The checked arguments.
        app: The app, or None for a call that concerns all of them.
        level: What it needs.
        reasons: Clauses: what made it DANGEROUS.
        line: What will be done, on one line; the value of a secret is not in it.
        means: How it will be done.
        mark: What the element is known by; None for reads.
        steps, path: The element's path.
        action: The action that will be performed; empty if none.
        value: The value that will be set, as the element takes it.
        scope: What a remembered answer covers; None for reads.
        found: What the path led to when the plan was made; to be confirmed.
        timeout: Seconds that performing it may take.
    """

    tool: str
    arguments: Mapping[str, Any]
    app: App | None
    level: Level
    line: str
    timeout: float
    reasons: tuple[str, ...] = ()
    means: Means = "read"
    mark: Mark | None = None
    steps: tuple[Step, ...] = ()
    path: str = ""
    action: str = ""
    value: str | float | bool | None = None
    scope: Scope | None = None
    found: Found | None = field(default=None, repr=False, compare=False)

    @property
    def app_id(self) -> str:
        """Identity of the target's live process, for the blocklist; empty where not readable."""
        return self.app.id if self.app else ""

    @property
    def app_name(self) -> str:
        """The target's name; empty for a call that concerns all apps."""
        return self.app.name if self.app else ""

    @property
    def writes(self) -> bool:
        """Whether performing it changes anything."""
        return self.level != "SAFE"
