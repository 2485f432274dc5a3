"""Scripted conversations for testing MCP servers: a scenario file stands in for the model."""
