"""The accessibility tools behind the gate of `iac_runtime`."""

from collections.abc import Mapping
from threading import Lock
from typing import Any

from iac_accessibility.backend import open_bridge
from iac_accessibility.levels import holds_secret
from iac_accessibility.tools import TOOLS, listed, listing_entry
from iac_accessibility.toolset import Toolset
from iac_runtime.catalogue import Catalogue
from iac_runtime.execution.cancellation import Cancellation
from iac_runtime.execution.executor import Executor
from iac_runtime.plans import Call, Found, Plan
from iac_runtime.policy.facts import Raised

__all__ = ["Gated", "entries", "open_toolset"]


class Gated:
    """Plans of the tools; the platform is opened by the first."""

    names = frozenset(TOOLS)

    def __init__(self, toolset: Toolset | None = None) -> None:
        self._toolset = toolset
        self._opening = Lock()

    def plan(self, call: Call) -> Plan:
        """Return what a call would do.

        Raises:
            UiError: The app or the element is not to be found, or nothing answers here.
        """
        toolset = self._opened()
        row = TOOLS[call.tool]
        prepared = toolset.prepare(call.tool, call.arguments)

        def perform(cancel: Cancellation | None) -> Found:
            held = cancel or Cancellation()

            def tell(_share: float, word: str) -> None:
                held.word = word

            return Found(toolset.perform(prepared, cancel=held, progress=tell))

        raised: tuple[Raised, ...] = ()
        if prepared.level == "DANGEROUS":
            raised = tuple(
                Raised("interface", f"{reason[:1].upper()}{reason[1:]}.", "DANGEROUS")
                for reason in prepared.reasons
            )
        return Plan(
            call.tool,
            (prepared.app_id, prepared.app_name),
            _shown(prepared),
            (prepared.level, row.ceiling),
            perform,
            line=prepared.line,
            output=row.output,
            raised=raised,
            # An app whose identity cannot be read is blocked for what changes something.
            targets=(prepared.app_id,) if prepared.writes else (),
            memory=prepared.scope.key if prepared.scope and prepared.level == "MODIFY" else "",
        )

    def close(self) -> None:
        """End all watches and let go of the platform."""
        if self._toolset is not None:
            self._toolset.close()

    def _opened(self) -> Toolset:
        with self._opening:
            if self._toolset is None:
                self._toolset = Toolset(open_bridge())
            return self._toolset


def _shown(prepared: Any) -> Mapping[str, Any]:
    """Return the arguments without the value of a secret: they are asked about and recorded."""
    arguments: Mapping[str, Any] = prepared.arguments
    if "value" in arguments and prepared.found is not None and holds_secret(prepared.found.node):
        return {**arguments, "value": "[secret]"}
    return arguments


def open_toolset(_catalogue: Catalogue, _executor: Executor) -> Gated:
    """Return the toolset of this machine."""
    return Gated()


def entries(*, read_only: bool) -> list[dict[str, Any]]:
    """Return the listing entries."""
    return [listing_entry(tool) for tool in listed(read_only=read_only)]
