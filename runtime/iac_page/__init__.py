"""The local page: what assistants may do, what they did, and what waits for an answer.

`cli` is its command; nothing else is loaded before that runs.
"""

__all__ = ["cli"]
