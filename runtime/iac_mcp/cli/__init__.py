"""The commands of iac-mcp."""
