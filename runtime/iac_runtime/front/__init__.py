"""The front of the MCP server: it answers what was decided at build time before the SDK is there.

A client waits for `initialize` and `tools/list` before it lets its user type. Importing the SDK
takes half a second, printing finished lines takes a few milliseconds; so the front prints, and
everything else goes unchanged to a session of the SDK, one per protocol era, made on first need.
"""
