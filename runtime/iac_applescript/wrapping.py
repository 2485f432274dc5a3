"""The script of a call: where it is from, and what is put around it before it runs.

Source: its text, a file in an allowed folder, a kept name. A file is read once a plan, and what was
read is what runs; its digest is in the question, so that a yes to one content is none to another. A
link is never followed.

Wrapping: an AppleScript's statements stand in `with timeout` blocks of the call's own seconds, so
that no event waits longer than its caller, or ends after macOS' two minutes. Arguments that are
more than texts go as one JSON text; a handler of ours reads it (NSJSONSerialization) and gives the
value to the script's own `run`, which has another name then. JavaScript: `mediator.js`.
"""

import hashlib
import json
import os
import re
import secrets
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_applescript.analysis.analyser import JavaScriptBounds
from iac_applescript.analysis.applescript_shapes import opens_block
from iac_applescript.analysis.findings import Language, brackets_of
from iac_applescript.analysis.javascript_tree import last_value, parse
from iac_applescript.library import LANGUAGES_BY_SUFFIX, find_script
from iac_base.errors import ErrorType, SetupError, ToolError, quote_text
from iac_base.files import IrregularFileError, TooLargeError, data_folder, read_bounded
from iac_base.script_tokens import MAX_SCRIPT, ScriptToken, scan_applescript
from iac_runtime.toolkit import check_own

_STRICT: Final = re.compile(r"""\s*["']use strict["']""")
_DECLARES: Final = frozenset(("use", "property", "prop", "global", "local"))
_HOLDERS: Final = ("script", "using")
"""Blocks that hold handlers."""

_BLOCKS: Final = frozenset("tell if repeat try considering ignoring using timeout".split())
_OFFSETS: Final = re.compile(r"(?m)^(\S+?:)?(\d+):(\d+)(?=: (?:execution|syntax) error)")

_READS: Final = """
on run iac_texts
	set iac_data to (current application's NSString's stringWithString:(item 1 of iac_texts))'s dataUsingEncoding:4
	my iac_run((current application's NSJSONSerialization's JSONObjectWithData:iac_data options:4 |error|:(missing value)) as list)
end run
"""  # noqa: E501


class WrappedScript(NamedTuple):
    """A script as it runs: its text, the texts that `run` is given, what was put in and where."""

    text: str
    arguments: tuple[str, ...] = ()
    insertions: tuple[tuple[int, int], ...] = ()

    def restore_positions(self, error: str) -> str:
        """Return an error text whose places are those of the script without what was put in."""

        def original_range(match: re.Match[str]) -> str:
            first, last = (self._original_position(int(match[group])) for group in (2, 3))
            return f"{match[1] or ''}{first}:{last}"

        return _OFFSETS.sub(original_range, error) if self.insertions else error

    def _original_position(self, place: int) -> int:
        ends = [at for at, _ in self.insertions]
        index = bisect_right(ends, place)
        return max(place - (self.insertions[index - 1][1] if index else 0), 0)


def wrap_script(
    script: str,
    language: str,
    seconds: float,
    asked: JavaScriptBounds | None,
    given: Sequence[Any] = (),
) -> WrappedScript:
    """Return a script as it runs.

    Args:
        script, language: What is to run.
        seconds: What the call has.
        asked: What a JavaScript is held to; it runs as it is if left out.
        given: The arguments of its `run` handler, any JSON.
    """
    texts = tuple(item for item in given if isinstance(item, str))
    plain = len(texts) == len(given)
    if not plain:
        texts = (json.dumps(list(given), ensure_ascii=False),)
    if language == "applescript":
        edits = [] if plain else _run_handler_edits(script)
        return _apply_edits(script, [*edits, *_timeout_edits(script, ceil(seconds))], texts)
    if asked is not None:
        script = wrap_javascript(script, asked, parses=not plain)
    return WrappedScript(script, texts)


def has_run_parameter(script: str, language: str) -> bool:
    """Say whether a script has a `run` handler with a parameter."""
    if language == "applescript":
        return bool(_run_handler_edits(script))
    functions = (node for node in parse(script)[0].kids if node.type == "function_declaration")
    return any(node.fields["name"].text == "run" for node in functions if "name" in node.fields)


class _TextEdit(NamedTuple):
    start: int
    end: int
    text: str


def _apply_edits(script: str, edits: list[_TextEdit], given: tuple[str, ...]) -> WrappedScript:
    parts, put = list[str](), list[tuple[int, int]]()
    done = added = length = 0
    for start, end, text in sorted(edits, key=lambda edit: edit[:2]):
        parts += (script[done:start], text)
        length += start - done + len(text)
        done, added = end, added + len(text) - (end - start)
        put.append((length, added))
    return WrappedScript("".join((*parts, script[done:])), given, tuple(put))


class _NestedStatement(NamedTuple):
    """A statement: its tokens, where it ends, and the kinds of the blocks that it stands in."""

    tokens: tuple[ScriptToken, ...]
    end: int
    blocks: tuple[str, ...]
    first: str


def _read_statements(script: str) -> list[_NestedStatement]:
    """Return the statements of an AppleScript; one that closes a block stands in it.

    Nothing where the blocks cannot be told: nothing is put into what is not understood.
    """
    scan = scan_applescript(script)
    blocks: list[str] = []
    line: list[ScriptToken] = []
    statements: list[_NestedStatement] = []
    for token in () if scan.faults else scan.tokens:
        if token.kind != "end":
            line.append(token)
            continue
        if not line:
            continue
        first = line[0].folded if line[0].kind == "word" else ""
        statements.append(_NestedStatement(tuple(line), token.start, tuple(blocks), first))
        if first == "end":
            named = line[1].folded if len(line) > 1 else ""
            if not blocks or (blocks[-1] != "handler" and named not in ("", blocks[-1])):
                return []
            if blocks.pop() == "handler" and named in _BLOCKS:
                return []
        elif _opens_block(line, first):
            blocks.append({"on": "handler", "to": "handler", "with": "timeout"}.get(first, first))
        line = []
    return [] if blocks else statements


def _opens_block(line: Sequence[ScriptToken], first: str) -> bool:
    if first != "tell":
        return opens_block(line)
    depth = brackets_of([token.text if token.kind == "sign" else "" for token in line]).depth
    # `tell … to …` is one statement; `path to` is one word.
    return not any(
        token.kind == "word" and token.folded == "to" and not inside and before.folded != "path"
        for before, token, inside in zip(line, line[1:], depth[1:], strict=False)
    )


def _timeout_edits(script: str, seconds: int) -> list[_TextEdit]:
    """Return what gives each handler, and what stands outside of handlers, so many seconds."""
    begin, end = f"with timeout of {seconds} seconds\n", "\nend timeout"
    edits: list[_TextEdit] = []
    outside: tuple[int, int] | None = None

    def close() -> None:
        nonlocal outside
        if outside:
            edits.append(_TextEdit(outside[0], outside[0], begin))
            edits.append(_TextEdit(outside[1], outside[1], end))
        outside = None

    for line in _read_statements(script):
        start = len(script[: line.tokens[0].start].rstrip(" \t"))
        handler = line.first in ("on", "to") and opens_block(line.tokens)
        if not line.blocks and (handler or line.first in (*_DECLARES, *_HOLDERS)):
            close()
        elif not line.blocks or line.blocks[0] not in ("handler", *_HOLDERS):
            outside = (outside[0] if outside else start, line.end)
        if handler:
            edits.append(_TextEdit(line.end, line.end, f"\n{begin.rstrip()}"))
        elif line.first == "end" and line.blocks[-1:] == ("handler",):
            edits.append(_TextEdit(start, start, f"{end.lstrip()}\n"))
    close()
    return edits


def _run_handler_edits(script: str) -> list[_TextEdit]:
    """Return what makes the `run` handler one that ours calls; nothing if it takes no argument."""
    edits: list[_TextEdit] = []
    uses = False
    for line in _read_statements(script):
        uses = uses or line.first == "use"
        words = [token.folded for token in line.tokens[:3]]
        if not line.blocks and words[:2] == ["on", "run"] and len(words) > 2:
            start = line.tokens[2].start
            head = "" if words[2] == "(" else "("
            tail = "" if words[2] == "(" else ")"
            edits = [_TextEdit(line.tokens[1].start, start, f"iac_run{head}")]
            edits.append(_TextEdit(line.end, line.end, tail))
        elif words == ["end", "run"] and line.blocks == ("handler",) and edits:
            name = line.tokens[1].start
            edits.append(_TextEdit(name, name + len("run"), "iac_run"))
    if not edits:
        return []
    additions = "" if uses else "use scripting additions\n"
    use = _TextEdit(0, 0, f'use framework "Foundation"\n{additions}')
    return [use, *edits, _TextEdit(len(script), len(script), _READS)]


@cache
def _read_mediator() -> str:
    text = Path(__file__).with_name("mediator.js").read_text("utf-8")
    lines = (line.strip() for line in text.splitlines())
    return " ".join(line for line in lines if not line.startswith("//"))


def wrap_javascript(script: str, asked: JavaScriptBounds, *, parses: bool = False) -> str:
    """Return a JavaScript behind the bridge that holds it to what was approved; same lines.

    With `parses`, what `run` is given is one JSON text, and the script gets its value.
    """
    may = json.dumps({**asked._asdict(), "parses": parses}, ensure_ascii=True)
    may = may.replace("</", "<\\/")
    # A name that the script cannot know: what it leads to takes the wrapping off.
    ours = f"iac_{secrets.token_hex(16)}"
    place = last_value(script)
    if place is not None:
        begin, end = place
        script = f"{script[:begin]}{ours}.bare(({script[begin:end]}\n)){script[end:]}"
    strict = '"use strict";' if _STRICT.match(script) else ""
    hidden = "//" if script.startswith("#!") else ""
    # Declarations leave the value of the script as it is.
    bridge = _read_mediator().replace("globalThis, MAY", f"globalThis, {may}")
    return f"{strict}const {ours} = {bridge}{hidden}{script}\n;const {ours}_end = {ours}.end();"


FOLDERS: Final = "IAC_SCRIPTS"
"""The environment variable that names further folders of scripts, divided as in PATH."""

_LANGUAGES: Final[Mapping[str, Language]] = {**LANGUAGES_BY_SUFFIX, ".txt": "applescript"}
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
        chosen = _choose_saved(given["saved"], values)
    elif ways == ["script_path"]:
        chosen = _choose_file(given["script_path"], home, again=again)._replace(
            arguments=_argument_list(values)
        )
    else:
        chosen = ChosenScript("applescript", given["script"], _argument_list(values))
    if ways != ["saved"] and "language" in given:
        chosen = chosen._replace(language=given["language"])
    texts = all(isinstance(item, str) for item in chosen.arguments)
    if not texts and not has_run_parameter(chosen.script, chosen.language):
        example = "on run argv" if chosen.language == "applescript" else "function run(argv) {…}"
        message = "Arguments were given, but the script has no run handler that takes them."
        raise ToolError(
            "INVALID_PARAMETER", message, f"Put the script's statements into {example}."
        )
    return chosen


def _argument_list(values: Any) -> tuple[Any, ...]:
    if len(json.dumps(values)) > _LONGEST:
        message = f"The arguments as JSON are longer than {_LONGEST} characters."
        raise ToolError("INVALID_PARAMETER", message)
    return (values,) if isinstance(values, Mapping) else tuple(values)


def _choose_saved(name: str, values: Any) -> ChosenScript:
    saved = find_script(name)
    if saved is None:
        hint = "get_workflow_pattern finds scripts by what they do."
        raise ToolError("NOT_FOUND", f"There is no saved script {quote_text(name)}.", hint)
    digest = hashlib.sha256(saved.script.encode()).hexdigest()
    return ChosenScript(
        saved.language,
        saved.script,
        _argument_list(saved.bind_arguments(values)),
        saved.name,
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
    folder = next(
        (row for row in allowed if path.is_relative_to(row) and ".." not in path.parts), None
    )
    if folder is None:
        hint = f"Allowed folders: {', '.join(map(str, allowed))}. To allow more, set {FOLDERS}."
        raise ToolError("REFUSED", f"{quote_text(given)} is not in a folder for scripts.", hint)
    try:
        inside = path.relative_to(folder).parts
        steps = [folder.joinpath(*inside[:count]) for count in range(len(inside))]
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
