"""The program's log: standard error, and a file if wanted. Never standard output."""

import logging
import os
import sys
from pathlib import Path
from typing import Any, Final

from iac_base.errors import SetupError
from iac_base.secrets import redact_text
from iac_base.text import escape_hidden

LOGGER: Final = "iac"
"""The logger that every module of ours is below."""

KEPT: Final = 3
"""Old files of a log that are kept."""

_FORM: Final = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"


class _EscapingFormatter(logging.Formatter):
    """Writes a record without secrets, as lines on which nothing acts: strangers are quoted."""

    def format(self, record: logging.LogRecord) -> str:
        text = redact_text(super().format(record))
        return "\n".join(escape_hidden(line) for line in text.split("\n"))


class _StandardErrorHandler(logging.Handler):
    """Writes to what standard error is at that time: the server moves its descriptors."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(f"{self.format(record)}\n")


def start_logging(*, verbose: bool = False, file: str | Path | None = None, most: int = 0) -> None:
    """Begin to log; a second call replaces the first.

    Args:
        verbose: Say on standard error all that there is to say, else warnings and errors.
        file: Append everything to this file too; it is made readable to its owner alone.
        most: Bytes after which the file is begun anew, `KEPT` old ones beside it; 0 for never,
            where several programs write to it.

    Raises:
        SetupError: The file cannot be written.
    """
    handlers: list[logging.Handler] = [_StandardErrorHandler()]
    handlers[0].setLevel(logging.DEBUG if verbose else logging.WARNING)
    if file is not None:
        handlers.append(_file_handler(Path(file).expanduser(), most))
    logger = logging.getLogger(LOGGER)
    for old in [*logger.handlers]:
        logger.removeHandler(old)
        old.close()
    for handler in handlers:
        handler.setFormatter(_EscapingFormatter(_FORM))
        logger.addHandler(handler)
    logger.setLevel(min(handler.level for handler in handlers))


def _file_handler(path: Path, most: int) -> logging.Handler:
    # Heavy, and most programs log to no file.
    from logging.handlers import RotatingFileHandler

    class Private(RotatingFileHandler):
        def _open(self) -> Any:
            # However often it is begun anew: its owner alone can read it.
            handle = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            return os.fdopen(handle, "a", encoding=self.encoding)

    try:
        handler = Private(path, maxBytes=most, backupCount=KEPT, encoding="utf-8")
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error.strerror}.") from error
    handler.setLevel(logging.DEBUG)
    return handler
