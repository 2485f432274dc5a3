"""Limits: what a foreign file may cost before anything else looks at it.

Real dictionaries stay far below: the largest known has 303 kB, 7 levels, about 3,000 elements
and 6 attributes an element (docs/dictionaries.md).
"""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from types import FrameType
from typing import NoReturn
from xml.parsers import expat

from iac_base.files import IrregularFileError, TooLargeError, open_bounded

MAX_BYTES = 4 * 1024 * 1024
MAX_OUTPUT = 256 * 1024 * 1024
"""Of one file of an output folder; the listing of 200 apps has 3 MB, that of 10,000 has 100."""
MAX_DEPTH = 64
MAX_ELEMENTS = 100_000
MAX_ATTRIBUTES = 64
"""Of one element; an internal subset may declare as many attributes in all."""

_AGAIN = 0.25


class LimitError(Exception):
    """A file that is over a limit or no plain file: stable `code`, 1-based `line` or 0."""

    def __init__(self, code: str, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.line = line


class DeadlineError(Exception):
    """Work took longer than its `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"took longer than {seconds:g} s")
        self.seconds = seconds


def read_file(path: Path, most: int = MAX_BYTES, *, follow: bool = True) -> bytes:
    """Return the bytes of the regular file at `path`, at most `most` of them.

    A link is followed (dictionaries in bundles often are links), but only to a regular file: a
    pipe, a device or a socket is neither waited for nor read. Where it is not to `follow`, a
    link is no file.

    Raises:
        LimitError: It is missing, unreadable, no regular file, or too large.
    """
    with open_file(path, most, follow=follow) as file:
        content = file.read(most + 1)
        if len(content) > most:
            raise TooLargeError(path, len(content), most)
        return content


@contextmanager
def open_file(
    path: Path, most: int = MAX_BYTES, *, follow: bool = True
) -> Iterator[BufferedReader]:
    """Open a file as `read_file` does, for those who need not have all of it at once."""
    if not follow and path.is_symlink():
        raise LimitError("link", "is a link, which IAC does not follow; put the file itself there")
    try:
        with open_bounded(path, most, follow=follow) as file:
            yield file
    except (FileNotFoundError, NotADirectoryError, IrregularFileError):
        raise LimitError("missing", "is not a file; check the path") from None
    except TooLargeError as error:
        raise LimitError("size", f"has {error.size} bytes; the limit is {most}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "the path is not valid"
        raise LimitError("read", f"cannot be read: {reason}") from None


def screen_xml(content: bytes) -> None:
    """Check the limits of an XML document without building a tree of it.

    Nothing outside `content` is read. A document type with an internal subset may stand there;
    entities may not, general or parameter.

    Raises:
        LimitError: It is over a limit, declares an entity, or is not well-formed.
    """
    parser = expat.ParserCreate()
    depth = elements = 0
    declared: set[tuple[str, str]] = set()

    def fail(code: str, message: str) -> NoReturn:
        raise LimitError(code, message, parser.CurrentLineNumber)

    def start_element(_: str, attributes: list[str]) -> None:
        nonlocal depth, elements
        depth += 1
        elements += 1
        if depth > MAX_DEPTH:
            fail("depth", f"is nested more than {MAX_DEPTH} levels deep")
        if elements > MAX_ELEMENTS:
            fail("count", f"has more than {MAX_ELEMENTS} elements")
        if len(attributes) > 2 * MAX_ATTRIBUTES:
            fail("count", f"has an element with more than {MAX_ATTRIBUTES} attributes")

    def end_element(_: str) -> None:
        nonlocal depth
        depth -= 1

    def declare_attribute(element: str, name: str, *_: object) -> None:
        # A default is added to every element: many of them make a large document of a small one.
        declared.add((element, name))
        if len(declared) > MAX_ATTRIBUTES:
            fail("count", f"declares more than {MAX_ATTRIBUTES} attributes")

    parser.ordered_attributes = True
    parser.specified_attributes = True
    parser.StartElementHandler = start_element
    parser.EndElementHandler = end_element
    parser.EntityDeclHandler = lambda *_: fail(
        "entity", "declares XML entities, which are not accepted"
    )
    parser.AttlistDeclHandler = declare_attribute
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        raise LimitError("xml", f"is not well-formed XML: {reason}", error.lineno) from None
    except (LookupError, ValueError) as error:
        # The encoding that the file names is no text encoding, or has several bytes a letter.
        reason = " ".join(str(error).split())
        raise LimitError("xml", f"is not well-formed XML: {ascii(reason)[1:81]}", 1) from None


@contextmanager
def wall_time_limit(seconds: float) -> Iterator[None]:
    """End the body with an error after `seconds` of wall time.

    Only the main thread of a process gets signals; in another one this raises at once rather
    than not to count. A call into C ends first. The handler and the timer that were set before
    (a test runner's, an outer deadline) are set again, less the time that went by.

    Raises:
        DeadlineError: The body took longer.
        RuntimeError: This is not the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("a deadline needs the main thread")

    def raise_deadline(_: int, __: FrameType | None) -> None:
        raise DeadlineError(seconds)

    began = time.monotonic()
    handler = signal.signal(signal.SIGALRM, raise_deadline)
    # An error that is raised inside a finaliser is lost: the alarm comes again.
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:
            rest = max(left - (time.monotonic() - began), 0.001)
            signal.setitimer(signal.ITIMER_REAL, rest, interval)
