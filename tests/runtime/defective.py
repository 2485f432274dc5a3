"""Diary with a defect: lines of JavaScript that change how the harness sees the app."""

from collections.abc import Sequence
from typing import Any

from diary_world import WORLD
from simulated import run_tool, simulate_apps

from iac_runtime.execution.executor import Executor, load_harness
from iac_runtime.execution.process import Completed
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import CompletedCall
from iac_runtime.tools.catalogue import Catalogue

CANNOT_FILTER = """
  function refuse(real) {
    return function (work, specifier) {
      var value = real(work, specifier);
      if (/[.]whose[(]/.test(Automation.getDisplayString(specifier))) {
        throw { errorNumber: NUMBER, message: 'no filter' };
      }
      return value;
    };
  }
  read = refuse(read);
  size = refuse(size);
"""


def no_column(name: str, number: int = -10000) -> str:
    """Return the defect of an app that cannot give the property `name` of all items at once."""
    return f"""
      read = (function (real) {{
        return function (work, specifier) {{
          var value = real(work, specifier);
          if (/[.]{name}$/.test(Automation.getDisplayString(specifier))) {{
            throw {{ errorNumber: {number}, message: 'no batch' }};
          }}
          return value;
        }};
      }})(read);
    """


class Defective:
    """The simulator with a defect after the harness was loaded."""

    def __init__(
        self,
        catalogue: Catalogue,
        defect: str = "",
        world: dict[str, Any] | None = None,
        key: str = "diary",
    ) -> None:
        self.simulator = simulate_apps(catalogue, {key: WORLD if world is None else world})
        self.script = f"{load_harness()}\n(function () {{{defect}}})();"
        self.gate = Gate(catalogue, Executor(self), "DANGEROUS", home="/Users/me")

    def __call__(self, argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        return self.simulator([*argv[:3], "-e", self.script], stdin, timeout)

    def call(self, tool: str, **arguments: Any) -> CompletedCall:
        return run_tool(self.gate, tool, **arguments)

    @property
    def sent(self) -> list[str]:
        """The events so far, as code and direct parameter."""
        return [f"{event.event} {event.direct}" for event in self.simulator.events]
