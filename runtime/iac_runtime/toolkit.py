"""What toolsets and other guests take of the runtime: these names, and nothing else of it.

Beside them they have the contract (`iac_runtime.tool`) and the tables of types and error numbers. A
name is imported when it is taken, so that a start loads no more than it needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from iac_runtime.execution.mac import responsible_name
    from iac_runtime.execution.process import Completed, RunInTurns, Runner
    from iac_runtime.execution.workers import run_process
    from iac_runtime.gate.planning import fit_to_limit
    from iac_runtime.gate.plans import (
        Call,
        CallGate,
        CompletedCall,
        Plan,
        RefusedCall,
        ToolContext,
        ToolImage,
        ToolResult,
    )
    from iac_runtime.gate.results import clean_result
    from iac_runtime.language.reader import DateText, RefText
    from iac_runtime.outcomes.outcome import Outcome, combined_outcome
    from iac_runtime.policy.escalation import find_tainted_texts
    from iac_runtime.policy.facts import (
        CallFacts,
        Decision,
        Effect,
        RaisedLevel,
        TargetDescription,
        Verb,
    )
    from iac_runtime.policy.permissions import Permissions
    from iac_runtime.policy.places import is_unreadable_app
    from iac_runtime.policy.taint import Taint
    from iac_runtime.policy.wording import describe_each_call
    from iac_runtime.search import Index
    from iac_runtime.tools.catalogue import Catalogue, check_own
    from iac_runtime.tools.checking import check_arguments, to_json_types
    from iac_runtime.tools.own import toolset_tools
    from iac_runtime.tools.shape import Perform, Tool, import_later
    from iac_runtime.tools.tables import Tables

__all__ = ["Call", "CallFacts", "Catalogue", "Completed", "CompletedCall", "DateText", "Decision"]
__all__ += [
    "CallGate",
    "Effect",
    "Index",
    "Outcome",
    "Perform",
    "Permissions",
    "Plan",
    "RaisedLevel",
]
__all__ += ["RefText", "RefusedCall", "RunInTurns", "Runner", "Tables", "Taint"]
__all__ += ["TargetDescription", "Tool", "ToolContext", "ToolImage", "ToolResult", "Verb"]
__all__ += ["check_arguments", "check_own", "clean_result", "combined_outcome"]
__all__ += ["describe_each_call", "find_tainted_texts", "fit_to_limit", "import_later"]
__all__ += ["is_unreadable_app", "responsible_name", "run_process", "to_json_types"]
__all__ += ["toolset_tools"]

_HOMES: Final = {
    "iac_runtime.execution.mac": "responsible_name",
    "iac_runtime.execution.process": "Completed RunInTurns Runner",
    "iac_runtime.execution.workers": "run_process",
    "iac_runtime.gate.planning": "fit_to_limit",
    "iac_runtime.gate.plans": "Call CallGate CompletedCall Plan RefusedCall ToolContext"
    " ToolImage ToolResult",
    "iac_runtime.gate.results": "clean_result",
    "iac_runtime.language.reader": "DateText RefText",
    "iac_runtime.outcomes.outcome": "Outcome combined_outcome",
    "iac_runtime.policy.places": "is_unreadable_app",
    "iac_runtime.policy.taint": "Taint",
    "iac_runtime.policy.facts": "CallFacts Decision Effect RaisedLevel TargetDescription Verb",
    "iac_runtime.policy.escalation": "find_tainted_texts",
    "iac_runtime.policy.permissions": "Permissions",
    "iac_runtime.policy.wording": "describe_each_call",
    "iac_runtime.search": "Index",
    "iac_runtime.tools.catalogue": "Catalogue check_own",
    "iac_runtime.tools.checking": "check_arguments to_json_types",
    "iac_runtime.tools.own": "toolset_tools",
    "iac_runtime.tools.shape": "Perform Tool import_later",
    "iac_runtime.tools.tables": "Tables",
}


def __getattr__(name: str) -> Any:
    homes = [home for home, names in _HOMES.items() if name in names.split()]
    if not homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(homes[0]), name)
