"""Accessibility tools: see and operate any app's interface, through one bridge per platform.

A tool is a function under `tool` in one of the modules that `tools` names; its `plan`, made by
`toolset`, turns a call into a plan for the gate. All else knows no platform: `bridge.Bridge` is the
only door, with `atspi` and `macos` behind it.
"""
