"""The commands of iac-mcp."""

__all__ = ["audit", "doctor", "http", "install", "intents", "main", "plans", "policy", "probe"]
