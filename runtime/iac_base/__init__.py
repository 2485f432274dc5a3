"""What every package here stands on: reading, writing and hiding text. Knows nothing of tools.

All its rooms are for all; each is imported when it is needed, as a start loads few of them.
"""

__all__ = ["commands", "errors", "files", "interface", "logs", "positions", "secrets", "sqlite"]
__all__ += ["script_tokens", "text", "words"]
