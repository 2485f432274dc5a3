"""Accessibility tools: see and operate any app's interface, through one bridge per platform.

A tool is a function under `reading_tool` or `acting_tool` of `toolset`, which make of it a plan of
a call for the gate; `tools` names the modules that have some (`ui_tree`,
`read_tools`, `screenshot`, `action_tools`, `input_tools`). All else knows no platform:
`bridge.Bridge` is the only door, with `atspi` and `macos` behind it.
"""

__all__ = ["action_tools", "arguments", "bridge", "input_tools", "model", "tools", "toolset"]
