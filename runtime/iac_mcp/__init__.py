"""The program iac-mcp: its command line, and what looks after an installation."""
