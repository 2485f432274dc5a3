"""Scripted conversations for testing MCP servers: a scenario file stands in for the model.

`cli` is the program, `plugin` pytest's; others import the rooms named here.
"""

__all__ = ["cli", "conversation", "output", "player", "plugin", "reader", "schema"]
