"""Registry: what a copy of the tool database of Shortcuts calls the actions of apps, in English.

macOS keeps it in `~/Library/Shortcuts/ToolKit`, under a right that a build should not have: a
person copies it. It gives words to actions whose titles are keys, and nothing else: neither whose
an action is nor how its parameters are called, for its names are not always the metadata's.
"""

import contextlib
import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

from iac_gen.intents.facts import SAID
from iac_gen.limits import LimitError, open_file
from iac_gen.model import GeneratorError
from iac_gen.text import on_one_line

Titles: TypeAlias = Mapping[str, Mapping[str, str]]
"""Bundle id -> identifier of an action -> its name and description."""

SUFFIX: Final = ".sqlite"
_MAX_BYTES: Final = 256 * 1024 * 1024
_MOST: Final = 50_000
_STEPS: Final = 50_000_000
"""Of SQLite's machine; the statement takes some 100,000 on a database of a Mac."""

_NAMES: Final = """
SELECT c.id, l.identifier, n.name, n.descriptionSummary
FROM Tools t
JOIN LinkActionIdentifiers l ON l.toolId = t.rowId
JOIN ContainerMetadata c ON c.rowId = t.sourceContainerId
JOIN ToolLocalizations n ON n.toolId = t.rowId AND n.locale = 'en'
ORDER BY c.id, l.identifier
"""


def titles_in(path: Path) -> Titles:
    """Return the names in a copy of the database, of the versions 78 to 80.

    Raises:
        GeneratorError: It cannot be read, or is of a form that is not known.
    """
    found: dict[str, dict[str, str]] = defaultdict(dict)
    left = [_STEPS // 1000]

    def tick() -> int:
        left[0] -= 1
        return left[0] < 0

    try:
        with open_file(path, _MAX_BYTES):
            pass
        # Immutable: a copy has no journal, and nothing is written beside it.
        address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema = off")
            connection.set_progress_handler(tick, 1000)
            for row in connection.execute(_NAMES).fetchmany(_MOST):
                bundle, identifier, *said = row
                if isinstance(bundle, str) and isinstance(identifier, str):
                    texts = [one[:SAID].rstrip(". ") for one in said if isinstance(one, str)]
                    found[bundle].setdefault(identifier, ". ".join(filter(None, texts)))
    except LimitError as error:
        raise GeneratorError(f"{path} {error}") from None
    except sqlite3.Error as error:
        reason = on_one_line(str(error), 120)
        raise GeneratorError(
            f"{path} is not a tool database in a form that IAC knows: {reason}"
        ) from None
    return found
