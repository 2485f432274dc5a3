"""Where the script of a call is from: its text, a file in an allowed folder, a kept name.

A file is read once a plan and what was read is what runs; its digest is in the question, so that
a yes to one content is none to another. A link is never followed.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_applescript.analysis.analyser import Language
from iac_applescript.analysis.findings import MAX_SCRIPT
from iac_applescript.library import find_script
from iac_applescript.wrapping import has_run_parameter
from iac_base.errors import ErrorType, SetupError, ToolError, quote_text
from iac_base.files import IrregularFileError, TooLargeError, data_folder, read_bounded
from iac_runtime.toolkit import check_own

FOLDERS: Final = "IAC_SCRIPTS"
"""The environment variable that names further folders of scripts, divided as in PATH."""

_LANGUAGES: Final[Mapping[str, Language]] = {
    ".applescript": "applescript",
    ".txt": "applescript",
    ".js": "javascript",
    ".jxa": "javascript",
}
_LONGEST: Final = 64 * 1024
"""Characters of the JSON of arguments."""


class ChosenScript(NamedTuple):
    """The script of a call.

    Attributes:
        language, script, arguments: What runs, and what its `run` handler is given.
        source: The file or the name that it is from; empty for a text.
        digest: The SHA-256 (hex) of what a file or a name gave; else empty.
    """

    language: Language
    script: str
    arguments: tuple[Any, ...] = ()
    source: str = ""
    digest: str = ""


def choose_script(given: Mapping[str, Any], home: str, *, again: bool = False) -> ChosenScript:
    """Return the script that a call means.

    Args:
        given: The arguments of the call.
        home: The user's home folder.
        again: Whether a person was asked about it before.

    Raises:
        ToolError: There is none, or more than one; the file is in no allowed folder, a link, or
            cannot be read.
    """
    ways = [key for key in ("script", "script_path", "saved") if key in given]
    if len(ways) != 1:
        message = "Give exactly one of script, script_path and saved."
        raise ToolError("INVALID_PARAMETER", message)
    values = given.get("arguments", ())
    if ways == ["saved"]:
        found = _choose_saved(given["saved"], values)
    elif ways == ["script_path"]:
        found = _choose_file(given["script_path"], home, again=again)._replace(
            arguments=_argument_list(values)
        )
    else:
        found = ChosenScript("applescript", given["script"], _argument_list(values))
    if ways != ["saved"] and "language" in given:
        found = found._replace(language=given["language"])
    texts = all(isinstance(item, str) for item in found.arguments)
    if not texts and not has_run_parameter(found.script, found.language):
        example = "on run argv" if found.language == "applescript" else "function run(argv) {…}"
        message = "Arguments were given, but the script has no run handler that takes them."
        raise ToolError(
            "INVALID_PARAMETER", message, f"Put the script's statements into {example}."
        )
    return found


def _argument_list(values: Any) -> tuple[Any, ...]:
    if len(json.dumps(values)) > _LONGEST:
        message = f"The arguments as JSON are longer than {_LONGEST} characters."
        raise ToolError("INVALID_PARAMETER", message)
    return (values,) if isinstance(values, Mapping) else tuple(values)


def _choose_saved(name: str, values: Any) -> ChosenScript:
    found = find_script(name)
    if found is None:
        hint = "get_workflow_pattern finds scripts by what they do."
        raise ToolError("NOT_FOUND", f"There is no saved script {quote_text(name)}.", hint)
    digest = hashlib.sha256(found.script.encode()).hexdigest()
    return ChosenScript(
        found.language,
        found.script,
        _argument_list(found.bind_arguments(values)),
        found.name,
        digest,
    )


def script_folders(home: str) -> Sequence[Path]:
    """Return the folders whose scripts may be run by path; they need not be there."""
    own = (data_folder() / "scripts", Path(home) / "Library" / "Scripts")
    named = os.environ.get(FOLDERS, "").split(os.pathsep)
    return (*own, *map(Path, filter(os.path.isabs, named)))


def _choose_file(given: str, home: str, *, again: bool) -> ChosenScript:
    path = Path(home + given[1:] if given.startswith("~/") else given)
    # Before a question what is wrong is the caller's fault; after it somebody changed it.
    kind: ErrorType = "STALE" if again else "INVALID_PARAMETER"
    language = _LANGUAGES.get(path.suffix.lower())
    if language is None:
        hint = "The file's name must end in .applescript, .txt, .js or .jxa."
        raise ToolError("INVALID_PARAMETER", f"{quote_text(given)} is not a script file.", hint)
    allowed = script_folders(home)
    held = next(
        (row for row in allowed if path.is_relative_to(row) and ".." not in path.parts), None
    )
    if held is None:
        hint = f"Allowed folders: {', '.join(map(str, allowed))}. To allow more, set {FOLDERS}."
        raise ToolError("REFUSED", f"{quote_text(given)} is not in a folder for scripts.", hint)
    try:
        inside = path.relative_to(held).parts
        steps = [held.joinpath(*inside[:count]) for count in range(len(inside))]
        if any(step.is_symlink() for step in (*steps[1:], path)):
            hint = "Give the path of the file itself."
            raise ToolError(
                kind, f"{quote_text(given)} is a link or in a linked folder. It was not run.", hint
            )
        for step in steps:
            check_own(step)
        content, status = read_bounded(path, 4 * MAX_SCRIPT, follow=False)
        if status.st_uid != os.geteuid() or status.st_mode & 0o022:
            message = f"{quote_text(given)} can be changed by other users, so it was not run."
            raise ToolError(
                "REFUSED", message, "Make yourself the file's owner, then run chmod go-w on it."
            )
        script = content.decode("utf-8")
    except SetupError as error:
        raise ToolError("REFUSED", str(error)) from error
    except (IrregularFileError, TooLargeError, UnicodeDecodeError) as error:
        raise ToolError(kind, f"{quote_text(given)} does not contain readable text.") from error
    except OSError as error:
        message = f"{quote_text(given)} cannot be read: {(error.strerror or 'no reason').lower()}."
        raise ToolError("STALE" if again else "NOT_FOUND", message) from error
    return ChosenScript(language, script, (), str(path), hashlib.sha256(content).hexdigest())
