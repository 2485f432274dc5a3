"""Runs a line of safe commands without a shell: pipes in memory, files in the sandbox only."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from iac_scenario.errors import ToolError
from iac_scenario.places import Parts
from iac_scenario.sandbox import LARGEST
from iac_scenario.shell import files, rows, texts
from iac_scenario.shell.commands import Answer, Place, Safe, options, unescaped, whole_number
from iac_scenario.shell.conditions import test
from iac_scenario.shell.expansion import Values, expanded, filled
from iac_scenario.shell.find import find
from iac_scenario.shell.grep import egrep, fgrep, grep
from iac_scenario.shell.lines import Command, Pipeline, Redirect, all_words, parse, run_by_xargs
from iac_scenario.shell.sed import sed
from iac_scenario.shell.words import Word

__all__ = ["SAFE", "run_line"]


def _true(*_given: object) -> Answer:
    return Answer()


def _false(*_given: object) -> Answer:
    return Answer(status=1)


def _xargs(place: Place, arguments: Sequence[str], given: bytes) -> Answer:
    """Run a command with words from the input: -0 -d, -n at a time, -I for each line, -r."""
    inner = run_by_xargs(["xargs", *arguments])
    own = arguments[: len(arguments) - len(inner)]
    asked = options("xargs", own, "0r", "nId", {"null": "0", "no-run-if-empty": "r"})
    name, *fixed = inner or ["echo"]
    text = given.decode("utf-8", "surrogateescape")
    mark = asked.values.get("I")
    if "0" in asked.flags or "d" in asked.values:
        sign = "\0" if "0" in asked.flags else unescaped(asked.values["d"])
        words = [word for word in text.split(sign) if word]
    elif mark is not None:
        words = [line.strip() for line in text.splitlines() if line.strip()]
    else:
        words = _quoted_words(text)
    if mark is not None:
        runs = [[piece.replace(mark, word) for piece in fixed] for word in words]
    else:
        most = whole_number("xargs", asked.values.get("n", "0")) or max(len(words), 1)
        runs = [[*fixed, *words[at : at + most]] for at in range(0, len(words), most)]
        if not words and "r" not in asked.flags:
            runs = [fixed]
    answers = [_called(place, [name, *run], b"") for run in runs]
    return Answer(
        b"".join(answer.out for answer in answers),
        tuple(line for answer in answers for line in answer.errors),
        123 if any(answer.status for answer in answers) else 0,
    )


_PIECE: Final = re.compile(r"""((?:[^\s"'\\]|\\.|"[^"\n]*"|'[^'\n]*')+)|(\S)""", re.DOTALL)
_QUOTED: Final = re.compile(r"""\\(.)|"([^"\n]*)"|'([^'\n]*)'""", re.DOTALL)


def _quoted_words(text: str) -> list[str]:
    found = []
    for whole, stray in _PIECE.findall(text):
        if stray:
            raise ToolError("xargs: a quote is not closed.")
        found.append(_QUOTED.sub(lambda hit: hit[1] or hit[2] or hit[3] or "", whole))
    return found


SAFE: Final[Mapping[str, Safe]] = {
    ":": _true, "true": _true, "false": _false, "[": test, "[[": test, "test": test,
    "basename": texts.basename, "cat": texts.cat, "cd": files.cd, "cmp": texts.cmp,
    "cp": files.cp, "cut": rows.cut, "date": texts.date, "diff": texts.diff,
    "dirname": texts.dirname, "echo": texts.echo, "egrep": egrep, "fgrep": fgrep, "find": find,
    "grep": grep, "head": texts.head, "ls": files.ls, "mkdir": files.mkdir, "mv": files.mv,
    "printf": texts.printf, "pwd": files.pwd, "rm": files.rm, "rmdir": files.rmdir, "sed": sed,
    "seq": rows.seq, "sort": rows.sort, "tac": rows.tac, "tail": texts.tail, "tee": texts.tee,
    "touch": files.touch, "tr": rows.tr, "uniq": rows.uniq, "wc": texts.wc, "xargs": _xargs,
}  # fmt: skip
"""Every command that is interpreted, but for those of the line itself."""

_LONGEST: Final = 1_000_000
_OWN: Final = ("exit", "export", "unset")
_TROUBLE: Final[Mapping[str, int]] = dict.fromkeys(
    ("[", "[[", "cmp", "diff", "egrep", "fgrep", "grep", "ls", "sort", "test"), 2
)
"""The status of a command that cannot do its work, where it is not 1."""


@dataclass(slots=True)
class _Line:
    """What a line remembers while it runs: variables, the last status, whether it ended."""

    place: Place
    variables: dict[str, str] = field(default_factory=dict)
    status: int = 0
    ended: bool = False

    def value(self, name: str) -> str:
        """Return the value of a variable; HOME and PWD are the sandbox's."""
        if name == "?":
            return str(self.status)
        known = {
            "HOME": self.place.sandbox.mount,
            "PWD": self.place.sandbox.shown(self.place.cwd),
            "OLDPWD": self.place.sandbox.shown(self.place.before),
        }
        return self.variables.get(name, known.get(name, ""))


def run_line(place: Place, text: str) -> Answer:
    """Run a command line and return all it printed and its last status.

    Raises ToolError where the line is not understood or names a command that is not safe; then
    nothing of it has run.
    """
    pipelines = parse(text)
    for words in all_words(pipelines):
        _known(words)
    line = _Line(place)
    out, errors = b"", list[str]()
    for pipeline in pipelines:
        skipped = line.status if pipeline.when == "&&" else not line.status
        if pipeline.when != ";" and skipped:
            continue
        answer = _piped(line, pipeline)
        out += answer.out
        errors += answer.errors
        if len(out) > LARGEST:
            raise ToolError(f"the output has more than {LARGEST:,} bytes.")
        if line.ended:
            break
    return Answer(out, tuple(errors), line.status)


def _known(words: Sequence[str]) -> None:
    if words and words[0] not in SAFE and words[0] not in _OWN:
        known = ", ".join(sorted((*SAFE, *_OWN)))
        raise ToolError(
            f"{words[0]}: not one of the commands that are interpreted ({known})."
            " --allow-real-bash runs any command in a confined shell."
        )


def _piped(line: _Line, pipeline: Pipeline) -> Answer:
    """Run a pipeline; each command of several is on its own, as in the processes of a shell."""
    given, errors = b"", list[str]()
    several = len(pipeline.commands) > 1
    cwd, variables = line.place.cwd, dict(line.variables)
    answer = Answer()
    for command in pipeline.commands:
        answer = _run(line, command, given)
        given = answer.out
        if len(given) > LARGEST:
            raise ToolError(f"the output has more than {LARGEST:,} bytes.")
        errors += answer.errors
        if several:
            line.place.cwd, line.variables, line.ended = cwd, dict(variables), False
    line.status = int(not answer.status) if pipeline.negated else answer.status
    return Answer(given, tuple(errors), line.status)


@dataclass(slots=True)
class _Sink:
    """Where a stream goes: into a file, or, without one, to the output or the errors."""

    name: str
    parts: Parts | None = None


def _run(line: _Line, command: Command, given: bytes) -> Answer:
    place, values = line.place, line.value
    out = _Sink("out")
    sinks = {1: out, 2: _Sink("errors")}
    words: list[str] = []
    try:
        words = [text for word in command.words for text in _texts(command, word, place, values)]
        # Bash settles the file names first, then what is set, then runs.
        for redirect in command.redirects:
            given = _redirect(place, redirect, sinks, given, values)
        for name, word in command.assignments:
            value = filled(place, word, values)
            if len(value) > _LONGEST:
                raise ToolError(f"{name}: the value has more than {_LONGEST:,} characters.")
            if not command.words:
                line.variables[name] = value
        answer = _own(line, words) or _called(place, words, given)
    except ToolError as error:
        name = words[0] if words else "redirection"
        said = str(error)
        told = said if said.startswith(f"{name}:") else f"{name}: {said}"
        answer = Answer(errors=(told,), status=_TROUBLE.get(name, 1))
    return _sent(place, answer, sinks)


def _texts(command: Command, word: Word, place: Place, values: Values) -> list[str]:
    # In [[ nothing is split or matched against files.
    if command.words[0].text == "[[":
        return [filled(place, word, values)]
    return expanded(place, word, values)


def _own(line: _Line, words: Sequence[str]) -> Answer | None:
    """Run what changes the line itself."""
    match words:
        case ["exit", *rest]:
            line.ended = True
            return Answer(status=whole_number("exit", rest[0]) % 256 if rest else line.status)
        case ["export", *rest]:
            for word in rest:
                name, sign, value = word.partition("=")
                if sign:
                    line.variables[name] = value
            return Answer()
        case ["unset", *rest]:
            for word in rest:
                line.variables[word] = ""
            return Answer()
    return None


def _called(place: Place, words: Sequence[str], given: bytes) -> Answer:
    if not words:
        return Answer()
    name, *arguments = words
    closing = {"[": "]", "[[": "]]"}.get(name)
    if closing is not None and (not arguments or arguments.pop() != closing):
        raise ToolError(f"{name}: the closing {closing} is missing.")
    return SAFE[name](place, arguments, given)


def _redirect(
    place: Place, redirect: Redirect, sinks: dict[int, _Sink], given: bytes, values: Values
) -> bytes:
    """Point a stream where a redirection says, and return what is now standard input."""
    kind = redirect.kind
    if kind in ("<<", "<<<"):
        end = "\n" if kind == "<<<" else ""
        text = filled(place, redirect.target, values) + end
        return text.encode("utf-8", "surrogateescape")
    names = expanded(place, redirect.target, values)
    if len(names) != 1:
        raise ToolError(f"{redirect.target.text}: is not one file name.")
    name = names[0]
    if kind == "<":
        return b"" if name == "/dev/null" else place.sandbox.read(place.parts(name))
    if kind == ">&":
        if name not in ("1", "2"):
            raise ToolError(f">&{name} is not interpreted.")
        sinks[redirect.stream] = sinks[int(name)]
        return given
    sinks[redirect.stream] = _opened(place, name, sinks, append=kind.endswith(">>"))
    if kind.startswith("&"):
        sinks[2] = sinks[1]
    return given


def _opened(place: Place, name: str, sinks: Mapping[int, _Sink], *, append: bool) -> _Sink:
    """Empty the file, or make it, before anything runs, as a shell does."""
    standard = {"/dev/stdout": sinks[1], "/dev/stderr": sinks[2], "/dev/null": _Sink("nothing")}
    if name in standard:
        return standard[name]
    parts = place.parts(name)
    if name.endswith("/"):
        raise ToolError(f"{name}: Is a directory")
    if not append or place.sandbox.entry(parts) is None:
        place.sandbox.write(parts, b"")
    else:
        place.sandbox.read(parts)
    return _Sink("file", parts)


def _sent(place: Place, answer: Answer, sinks: Mapping[int, _Sink]) -> Answer:
    """Send what a command printed where its redirections say."""
    told = "".join(f"{line}\n" for line in answer.errors).encode("utf-8", "surrogateescape")
    kept = {"out": b"", "errors": b"", "nothing": b""}
    for stream, data in ((1, answer.out), (2, told)):
        sink = sinks[stream]
        if sink.parts is None:
            kept[sink.name] += data
        elif data:
            place.sandbox.write(sink.parts, place.sandbox.read(sink.parts) + data)
    lines = kept["errors"].decode("utf-8", "surrogateescape").splitlines()
    return Answer(kept["out"], tuple(lines), answer.status)
