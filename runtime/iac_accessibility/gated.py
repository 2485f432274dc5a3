"""The accessibility tools behind the gate: what a call would do, and doing it."""

import json
import secrets
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from threading import Lock
from typing import Any, Final

from iac_accessibility.backend import open_bridge
from iac_accessibility.levels import holds_secret
from iac_accessibility.plan import Plan as Prepared
from iac_accessibility.toolset import Toolset
from iac_base.cancellation import Cancellation
from iac_runtime.gate.plans import Call, Plan, ToolContext, ToolResult
from iac_runtime.policy.facts import Raised
from iac_runtime.tools.shape import Tool

__all__ = ["Gated", "open_toolset", "plan"]

_KEPT: Final = 500
"""Plans and elements that are remembered for the answer to a question."""


class Gated:
    """Plans of the tools; the platform is opened by the first.

    An answer is for the element that was asked about. The same call is planned again when the
    answer comes: it has to find the element of the plan before, whatever was read meanwhile. The
    line of a plan has a tag of its element, so that an answer to an older question about another
    element that is called the same is none to this one.
    """

    def __init__(self, toolset: Toolset | None = None) -> None:
        self._toolset = toolset
        self._opening = Lock()
        self._planned: OrderedDict[str, Prepared] = OrderedDict()
        self._tags: OrderedDict[Hashable, str] = OrderedDict()
        self._keeping = Lock()

    def plan(self, tool: Tool, call: Call) -> Plan:
        """Return what a call would do.

        Raises:
            UiError: The app or the element is not to be found, or nothing answers here.
        """
        toolset = self._opened()
        key = json.dumps([call.tool, call.arguments], sort_keys=True, default=str)
        with self._keeping:
            bound = self._planned.get(key) if call.token else None
        prepared = toolset.prepare(call.tool, call.arguments, bound=bound)
        line = prepared.line
        if prepared.mark is not None:
            line = f"{line}, element {self._tag(key, prepared)}"

        def perform(cancel: Cancellation | None) -> ToolResult:
            held = cancel or Cancellation()

            def tell(_share: float, word: str) -> None:
                held.word = word

            return ToolResult(toolset.perform(prepared, cancel=held, progress=tell))

        raised: tuple[Raised, ...] = ()
        if prepared.level == "DANGEROUS":
            raised = tuple(
                Raised("interface", f"{reason[:1].upper()}{reason[1:]}.", "DANGEROUS")
                for reason in prepared.reasons
            )
        return Plan(
            tool,
            (prepared.app_id, prepared.app_name),
            _shown(prepared),
            prepared.level,
            perform,
            line=line,
            raised=raised,
            # An app whose identity cannot be read is blocked for what changes something.
            targets=(prepared.app_id,) if prepared.writes else (),
            memory=prepared.scope.key if prepared.scope and prepared.level == "MODIFY" else "",
        )

    def close(self) -> None:
        """End all watches and let go of the platform."""
        if self._toolset is not None:
            self._toolset.close()

    def _tag(self, key: str, prepared: Prepared) -> str:
        """Remember what a call was planned for, and return the tag of the element."""
        assert prepared.app is not None
        element = (prepared.app.pid, prepared.app.started, prepared.mark)
        with self._keeping:
            # At random: a tag of another server is none of this one.
            tag = self._tags.setdefault(element, secrets.token_hex(4))
            self._tags.move_to_end(element)
            self._planned[key] = prepared
            self._planned.move_to_end(key)
            if len(self._tags) > _KEPT:
                self._tags.popitem(last=False)
            if len(self._planned) > _KEPT:
                self._planned.popitem(last=False)
        return tag

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


def open_toolset(_context: ToolContext) -> Gated:
    """Return the toolset of this machine."""
    return Gated()


def plan(tool: Tool, call: Call, context: ToolContext) -> Plan:
    """Return what a call would do. Raises as `Gated.plan` does."""
    return context.kept(open_toolset).plan(tool, call)
