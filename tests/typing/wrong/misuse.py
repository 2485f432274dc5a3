"""The library around the modules, misused."""

import iac_runtime
from iac_runtime import ToolError

iac_runtime.connect(allow="ALL")  # wrong
iac_runtime.connect(simulation=True)  # wrong
iac_runtime.connect(timeout="5")  # wrong
try:
    pass
except ToolError as error:
    print(error.tool)  # wrong
    print(error.type == "NOT_THERE")  # wrong
    number: str = error.number  # wrong
