"""How long each stage of a call took, for the log of one who asks (`-v`)."""

import sys
import time

__all__ = ["Stages"]


class Stages:
    """The clock of one call; stages are named when they end."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._took: list[tuple[str, float]] = []

    def end(self, name: str) -> None:
        """Say that a stage ended now."""
        now = time.monotonic()
        self._took.append((name, now - self._last))
        self._last = now

    def say(self, tool: str) -> None:
        """Log the stages, in milliseconds. Without a log nothing is loaded for it."""
        logging = sys.modules.get("logging")
        if logging is None:
            return
        logger = logging.getLogger("iac_runtime.gate")
        if logger.isEnabledFor(logging.DEBUG):
            took = ", ".join(f"{name} {seconds * 1000:.2f}" for name, seconds in self._took)
            logger.debug("%s: %s ms", tool, took)
