"""Runs a line of safe commands without a shell: pipes in memory, files in the sandbox only."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

from iac_scenario import shell_files as files
from iac_scenario import shell_texts as texts
from iac_scenario.errors import ToolError
from iac_scenario.places import Parts
from iac_scenario.sandbox import LARGEST
from iac_scenario.shell_commands import Answer, Place, Safe
from iac_scenario.shell_words import Command, Word, parse

__all__ = ["SAFE", "run_line"]

_NULL: Final = "/dev/null"


def _true(*_given: object) -> Answer:
    return Answer()


def _false(*_given: object) -> Answer:
    return Answer(status=1)


SAFE: Final[Mapping[str, Safe]] = {
    ":": _true, "true": _true, "false": _false, "[": files.test, "test": files.test,
    "basename": texts.basename, "cat": texts.cat, "cd": files.cd, "cp": files.cp,
    "date": texts.date, "dirname": texts.dirname, "echo": texts.echo, "find": files.find,
    "grep": texts.grep, "head": texts.head, "ls": files.ls, "mkdir": files.mkdir,
    "mv": files.mv, "printf": texts.printf, "pwd": files.pwd, "rm": files.rm,
    "rmdir": files.rmdir, "sort": texts.sort, "tail": texts.tail, "tee": texts.tee,
    "touch": files.touch, "uniq": texts.uniq, "wc": texts.wc,
}  # fmt: skip
"""Every command that is interpreted."""


def run_line(place: Place, line: str) -> Answer:
    """Run a command line and return all it printed and its last status.

    Raises ToolError where the line is not understood or names a command that is not safe; then
    nothing of it has run.
    """
    pipelines = parse(line)
    for pipeline in pipelines:
        for command in pipeline.commands:
            _known(command)
    out, errors, status = b"", list[str](), 0
    for pipeline in pipelines:
        if (pipeline.when == "&&" and status) or (pipeline.when == "||" and not status):
            continue
        given = b""
        for command in pipeline.commands:
            answer = _run(place, command, given)
            given, status = answer.out, answer.status
            errors += answer.errors
        out += given
        if len(out) > LARGEST:
            raise ToolError(f"the output has more than {LARGEST:,} bytes.")
    return Answer(out, tuple(errors), status)


def _known(command: Command) -> None:
    if not command.words:
        return
    name = command.words[0].text
    if name not in SAFE:
        raise ToolError(
            f"{name}: not one of the commands that are interpreted ({', '.join(sorted(SAFE))})."
            " --allow-real-bash runs any command in a confined shell."
        )


def _run(place: Place, command: Command, given: bytes) -> Answer:
    words = [text for word in command.words for text in _expanded(place, word)]
    streams = {1: "out", 2: "errors"}
    targets: list[tuple[int, bool, Parts | None]] = []
    try:
        for redirect in command.redirects:
            if redirect.kind == "<":
                given = _input(place, redirect.target.text)
            elif redirect.kind == ">&":
                streams = _merged(streams, redirect.stream, redirect.target.text)
            else:
                name = redirect.target.text
                parts = None if name == _NULL else place.parts(name)
                targets.append((redirect.stream, redirect.kind == ">>", parts))
        return _redirected(place, _called(place, words, given), streams, targets)
    except ToolError as error:
        answer = Answer(errors=(_told(words, str(error)),), status=1)
    # What was refused is told where the line sends its errors, but to no file that was refused.
    kept = [target for target in targets if target[0] == 2 and target[2] is None]
    return _redirected(place, answer, streams, kept)


def _told(words: list[str], said: str) -> str:
    name = words[0] if words else "redirection"
    return said if said.startswith(f"{name}:") else f"{name}: {said}"


def _called(place: Place, words: list[str], given: bytes) -> Answer:
    if not words:
        return Answer()
    name, *arguments = words
    if name == "[" and (not arguments or arguments.pop() != "]"):
        raise ToolError("[: the closing ] is missing.")
    return SAFE[name](place, arguments, given)


def _input(place: Place, name: str) -> bytes:
    return b"" if name == _NULL else place.sandbox.read(place.parts(name))


def _merged(streams: dict[int, str], stream: int, target: str) -> dict[int, str]:
    if target not in ("1", "2"):
        raise ToolError(f">&{target} is not interpreted.")
    return {**streams, stream: streams[int(target)]}


def _redirected(
    place: Place,
    answer: Answer,
    streams: dict[int, str],
    targets: list[tuple[int, bool, Parts | None]],
) -> Answer:
    """Send what a command printed where its redirections say."""
    told = "".join(f"{line}\n" for line in answer.errors).encode("utf-8", "surrogateescape")
    printed = {1: answer.out, 2: told}
    kept = {"out": b"", "errors": b""}
    sent = {number: parts for number, _, parts in targets}
    # `> FILE 2>&1` sends both to the file.
    if 1 in sent and streams[2] == "out":
        printed = {1: printed[1] + printed[2], 2: b""}
    for number, data in printed.items():
        if number not in sent:
            kept[streams[number]] += data
    for number, append, parts in targets:
        if parts is not None:
            old = place.sandbox.read(parts) if append and place.sandbox.entry(parts) else b""
            place.sandbox.write(parts, old + printed[number])
    lines = kept["errors"].decode("utf-8", "surrogateescape").splitlines()
    return Answer(kept["out"], tuple(lines), answer.status)


def _expanded(place: Place, word: Word) -> list[str]:
    """Return the paths that a word with wildcards names, or the word itself."""
    if not word.is_pattern:
        return [word.text]
    top, names = "", _names(word)
    found: list[tuple[Parts, str]] = [(place.cwd, "")]
    if word.text.startswith("/"):
        top = place.sandbox.mount.rstrip("/") + "/"
        if not word.text.startswith(top):
            return [word.text]
        found, names = [((), top)], _names(_tail(word, len(top)))
    for name in names:
        found = [
            ((*parts, entry.name), f"{text}{'' if text in ('', top) else '/'}{entry.name}")
            for parts, text in found
            if _is_folder(place, parts)
            for entry in place.sandbox.list(parts)
            if fnmatchcase(entry.name, name)
            and (name.startswith(".") or not entry.name.startswith("."))
        ]
    return sorted(text for _, text in found) or [word.text]


def _is_folder(place: Place, parts: Parts) -> bool:
    entry = place.sandbox.entry(parts)
    return entry is not None and entry.kind == "folder"


def _tail(word: Word, start: int) -> Word:
    return Word(word.text[start:], word.quoted[start:])


def _names(word: Word) -> list[str]:
    """Return the patterns of a word's names; what was quoted stands for itself."""
    text = "".join(
        f"[{character}]" if quoted and character in "*?[" else character
        for character, quoted in zip(word.text, word.quoted, strict=True)
    )
    return [name for name in text.split("/") if name not in ("", ".")]
