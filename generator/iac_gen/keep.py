"""Keep: a text that takes long to make, in a file with what it was made of."""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from iac_base.files import write_whole
from iac_gen.limits import LimitError, read_file


def kept(folder: Path | None, name: str, made_of: str, make: Callable[[], str]) -> str:
    """Return what `make` gives; where `folder` has it under `name` of the same, it is not made.

    A folder that cannot be written is done without.
    """
    if folder is None:
        return make()
    stamp = hashlib.sha256(made_of.encode()).hexdigest()
    file = folder / hashlib.sha256(name.encode()).hexdigest()[:24]
    with suppress(LimitError, UnicodeDecodeError):
        before, _, text = read_file(file).decode().partition("\n")
        if before == stamp:
            return text
    text = make()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(file, f"{stamp}\n{text}")
    return text
