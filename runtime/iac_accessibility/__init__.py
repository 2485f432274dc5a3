"""Accessibility tools: see and operate any app's interface, through one bridge per platform.

`tools.TOOLS` is the table of the tools, `toolset.Toolset` prepares and performs their calls. All
else knows no platform: `bridge.Bridge` is the only door, with `atspi` and `macos` behind it.
"""
