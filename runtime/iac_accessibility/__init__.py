"""Accessibility tools: see and operate any app's interface, through one bridge per platform.

`tools.TOOLS` is the table of the tools; a row names a function of `reads`, `writes` or `menus`,
which `toolset` turns into a plan for the gate. All else knows no platform: `bridge.Bridge` is the
only door, with `atspi` and `macos` behind it.
"""
