"""The samples under `right` and `wrong` through mypy and pyright: what a user's editor would say.

A user has the wheel, in which a name counts as there only where its module exports it, so the
checkers look at an environment in which the wheel is installed.

    python tests/typing/type_check.py            compare with what is expected, fail if it differs
    python tests/typing/type_check.py --write    rewrite what differs and fail if anything did

A sample under `right` has no finding; one under `wrong` has those of the files beside it, a line
each: `line: rule: message`. Only the first line of a message counts, and long quoted types are cut,
so that a rebuilt module or another release of a checker changes little.
"""

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

__all__ = [
    "CHECKERS", "CheckerError", "Finding", "different", "expected_file", "findings", "samples",
]  # fmt: skip

HERE: Final = Path(__file__).parent
CHECKERS: Final = ("mypy", "pyright")

_MYPY_LINE: Final = re.compile(
    r"^(?P<file>.+?):(?P<line>\d+): error: (?P<message>.*?)(?:  \[(?P<rule>[\w-]+)\])?$"
)
_LONG: Final = re.compile(r'"[^"]{50,}"')


class CheckerError(Exception):
    """A checker did not run."""


class Finding(NamedTuple):
    """What a checker says of a line; `rule` is the checker's own name of the kind."""

    file: Path
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.line}: {self.rule}: {_LONG.sub(_cut, self.message)}"


def _cut(found: re.Match[str]) -> str:
    return f'{found[0][:30].rstrip()}…"'


def samples(kind: str = "*") -> list[Path]:
    """Return the samples of one kind, `right` or `wrong`, or of both."""
    return sorted(HERE.glob(f"{kind}/*.py"))


def findings(checker: str, files: Sequence[Path]) -> list[Finding]:
    """Run a checker over `files`, strictly, and return what it found, in order.

    Raises:
        CheckerError: It could not do its work; the text is its own.
    """
    found = _mypy(files) if checker == "mypy" else _pyright(files)
    return sorted(found)


@cache
def _installed() -> str:
    """Return the interpreter of an environment that holds the wheel of this tree, and no more."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    venv.create(folder, symlinks=True)
    alone = ("--no-deps", "--no-build-isolation", "--ignore-installed")
    done = _run("pip", "install", "--quiet", *alone, "--no-compile", "--prefix", folder, ".")
    if done.returncode:
        raise CheckerError(done.stdout + done.stderr)
    return str(Path(folder, "bin", "python"))


def _mypy(files: Sequence[Path]) -> Iterator[Finding]:
    options = ("--strict", "--python-version", "3.11", "--no-error-summary", "--no-color-output")
    where = ("--config-file=", "--python-executable", _installed())
    done = _run("mypy", *where, *options, *map(str, files))
    for line in done.stdout.splitlines():
        found = _MYPY_LINE.match(line)
        if found is not None:
            file = (HERE.parents[1] / found["file"]).resolve()
            yield Finding(file, int(found["line"]), found["rule"] or "", found["message"])
    if done.returncode not in (0, 1):
        raise CheckerError(done.stdout + done.stderr)


def _pyright(files: Sequence[Path]) -> Iterator[Finding]:
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            # Pyright takes relative paths only.
            "include": [os.path.relpath(file, Path(folder).resolve()) for file in files],
            "typeCheckingMode": "strict",
            "pythonVersion": "3.11",
        }
        project = Path(folder, "pyrightconfig.json")
        project.write_text(json.dumps(settings), encoding="utf-8")
        where = ("--project", str(project), "--pythonpath", _installed())
        done = _run("pyright", "--outputjson", *where)
    try:
        rows = json.loads(done.stdout)["generalDiagnostics"]
    except (ValueError, KeyError) as error:
        raise CheckerError(done.stdout + done.stderr) from error
    for row in rows:
        if row["severity"] == "error":
            yield Finding(
                Path(row["file"]).resolve(),
                row["range"]["start"]["line"] + 1,
                row.get("rule", ""),
                row["message"].splitlines()[0],
            )


def _run(module: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )


def expected_file(sample: Path, checker: str) -> Path:
    """Return where the findings that a checker should have of a sample are written."""
    return sample.with_suffix(f".{checker}.txt")


def different(checker: str) -> dict[Path, str]:
    """Return the files of expected findings that are not as they should be, and how they should.

    Raises:
        CheckerError: The checker could not do its work.
    """
    files = samples()
    found = findings(checker, files)
    wanted: dict[Path, str] = {}
    for sample in files:
        lines = dict.fromkeys(str(one) for one in found if one.file == sample)
        text = "".join(f"{line}\n" for line in lines)
        expected = expected_file(sample, checker)
        is_now = expected.read_text(encoding="utf-8") if expected.is_file() else ""
        if is_now != text:
            wanted[expected] = text
    return wanted


def main(arguments: Sequence[str]) -> int:
    """Compare, or with `--write` rewrite; return the exit status."""
    failed = False
    for checker in CHECKERS:
        for path, text in different(checker).items():
            failed = True
            if "--write" in arguments and path.parent.name == "wrong":
                path.write_text(text, encoding="utf-8")
                print(f"rewritten: {path}")
            else:
                print(f"{path}: {checker} now says:\n{text}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
