"""What a check finds, and what it looks at: values that checks and `doctor` share."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from iac_runtime.care.bundles import FOLDERS
from iac_runtime.execution.examination import AppState, Version
from iac_runtime.execution.process import Runner
from iac_runtime.execution.single import run_process

__all__ = ["Check", "Examiner", "Finding", "Place", "State"]

State = Literal["ok", "warning", "problem"]


class Finding(NamedTuple):
    """One line of `doctor`.

    Attributes:
        says: What was found, one line.
        mend: The command or the step that mends it; empty for what is right.
    """

    check: str
    state: State
    says: str
    mend: str = ""

    def facts(self) -> dict[str, Any]:
        """Return it as one JSON object; without `mend` where there is nothing to mend."""
        facts = self._asdict()
        return facts if self.mend else {key: facts[key] for key in ("check", "state", "says")}


class Examiner(Protocol):
    """What doctor asks of an executor."""

    def version(self) -> Version: ...

    def test_app(self, bundle_id: str, timeout: float = 10.0) -> AppState: ...


@dataclass(frozen=True, slots=True)
class Place:
    """What is looked at: this machine, unless a test says otherwise.

    Attributes:
        examiner: Answers for osascript and the apps.
        tools: Folders of tools to look in first.
        apps: Only these apps are asked about (keys, names or bundle ids); all, if empty.
        name: The server's name in clients.
        folders: Where apps lie.
        run: Starts the programs that are asked, `codesign` among them.
    """

    examiner: Examiner
    tools: tuple[Path, ...] = ()
    apps: tuple[str, ...] = ()
    name: str = "iac"
    system: str = sys.platform
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    folders: tuple[str, ...] = FOLDERS
    run: Runner = run_process

    @property
    def is_mac(self) -> bool:
        """Whether apps can be controlled at all."""
        return self.system == "darwin"


class Check(NamedTuple):
    """A row of `doctor`: what it is called, and how it is looked at."""

    name: str
    look: Callable[[Place], Iterable[Finding]]
