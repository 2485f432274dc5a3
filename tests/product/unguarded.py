"""A gate for tests of what tools send: whatever is asked for runs."""

from iac_runtime.execution.executor import Executor
from iac_runtime.execution.process import Runner
from iac_runtime.gate.gate import Gate
from iac_runtime.policy.facts import CallFacts, Decision
from iac_runtime.policy.permissions import Permissions
from iac_runtime.policy.settings import Policy, PolicyFlags, read_settings
from iac_runtime.tools.catalogue import Catalogue

__all__ = ["unguarded"]

HOME = "/Users/me"


class _Open(Permissions):
    def judge_call(self, facts: CallFacts) -> Decision:
        return Decision("allow", facts.level, (), "this test")


def unguarded(catalogue: Catalogue, simulator: Runner) -> Gate:
    """Return the gate."""
    permissions = _Open(Policy(), read_settings(PolicyFlags(), {}, Policy()), home=HOME)
    return Gate(catalogue, Executor(simulator), home=HOME, permissions=permissions)
