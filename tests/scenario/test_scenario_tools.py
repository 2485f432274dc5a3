"""Read, Write, Edit, Glob and Grep as the assistant sees them."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenario_helpers import Make, Run

from iac_scenario import confinement as confinement_module
from iac_scenario.bash import BashSession
from iac_scenario.executors import SEARCHES
from iac_scenario.model import CallError
from iac_scenario.permissions import matches_glob
from iac_scenario.sandbox import Parts, Sandbox

FILES = """
tool_execution.mode = "simulated"
[tool_execution.files]
"src/a.py" = "import os\\nprint('hi')\\n"
"src/deep/b.py" = "import sys\\n# hi\\n# ho\\n"
"notes.md" = "# Notes\\nhi\\n"
"empty" = ""
"binary" = "a\\u0000b"
"""


@pytest.mark.parametrize(("tool", "given_input", "expected"), [
    ("Read", '{ file_path = "src/a.py" }', "1\timport os\n2\tprint('hi')\n3\t"),
    ("Read", '{ file_path = "/sandbox/src/a.py", offset = 2, limit = 1 }', "2\tprint('hi')\n"),
    ("Read", '{ file_path = "empty" }', "<system-reminder>Warning: the file exists but is"),
    ("Read", '{ file_path = "none" }', "Error: File does not exist. Note: your"),
    ("Read", '{ file_path = "binary" }',
     "Error: <tool_use_error>This tool cannot read binary files. The file appears to be a binary"
     " file. Please"),
    ("Read", '{ path = "x" }',
     "Error: <tool_use_error>InputValidationError: Read failed due to the following issues:\nThe"),
    ("Read", '{ file_path = "src" }', "Error: EISDIR: illegal operation on a directory"),
    ("Write", '{ file_path = "new/x", content = "1" }',
     "File created successfully at: /sandbox/new/x"),
    ("Write", '{ file_path = "notes.md", content = "1" }',
     "The file /sandbox/notes.md has been updated successfully. (file"),
    ("Write", '{ file_path = "../x", content = "1" }', "Error: ../x is outside the sandbox."),
    ("Edit", '{ file_path = "notes.md", old_string = "hi", new_string = "ho" }',
     "The file /sandbox/notes.md has been updated successfully. (file"),
    ("Edit", '{ file_path = "src/deep/b.py", old_string = "# h", new_string = "x" }',
     "Error: <tool_use_error>Found 2 matches"),
    ("Edit",
     '{ file_path = "src/deep/b.py", old_string = "# h", new_string = "",'
     " replace_all = true }",
     "The file /sandbox/src/deep/b.py has been updated. All occurrences were successfully"),
    ("Edit", '{ file_path = "notes.md", old_string = "zz", new_string = "" }',
     "Error: <tool_use_error>String to replace not found in file.\nString: zz"),
    ("Edit", '{ file_path = "notes.md", old_string = "a", new_string = "a" }',
     "Error: <tool_use_error>No changes to make"),
    ("Edit", '{ file_path = "notes.md", old_string = "", new_string = "a" }',
     "Error: <tool_use_error>Cannot create new file"),
    ("Edit", '{ file_path = "n", old_string = "", new_string = "a" }',
     "The file /sandbox/n has been updated successfully."),
    ("Glob", '{ pattern = "**/*.py" }', "src/a.py\nsrc/deep/b.py"),
    ("Glob", '{ pattern = "./*.py", path = "src" }', "src/a.py\n"),
    ("Glob", '{ pattern = "/sandbox/src/*.py" }', "src/a.py"),
    ("Glob", '{ pattern = "*.rs" }', "No files found"),
    ("Grep", '{ pattern = "hi" }', "Found 3 files\nnotes.md\nsrc/a.py\nsrc/deep/b.py"),
    ("Grep", '{ pattern = "HI", -i = true, type = "py" }',
     "Found 2 files\nsrc/a.py\nsrc/deep/b.py\n"),
    ("Grep", '{ pattern = "hi", glob = "*.md", output_mode = "count" }',
     "notes.md:1\n\nFound 1 total occurrence across 1 file."),
    ("Grep", '{ pattern = "hi", glob = "src/*.py" }', "Found 1 file\nsrc/a.py"),
    ("Grep", '{ pattern = "hi", path = "src/deep/b.py", output_mode = "content", -C = 1 }',
     "1-import sys\n2:# hi\n3-# ho"),
    ("Grep", '{ pattern = "os.print", multiline = true }', "Found 1 file\nsrc/a.py"),
    ("Grep", '{ pattern = "hi", head_limit = 1 }', "Found 1 file limit: 1\nnotes.md\n"),
    ("Grep", '{ pattern = "none" }', "No files found"),
    ("Grep", '{ pattern = "(" }', "Error: rg: regex parse error:"),
    ("Grep", '{ pattern = "a\\u0000b" }', "Error: a NUL byte or a lone surrogate cannot be"),
    ("Grep", '{ pattern = "x", type = "zog" }', "Error: rg: unrecognized file type: zog"),
    ("Grep", '{ pattern = "(?=x)" }', "Error: rg: regex parse error:"),
    ("Grep", '{ pattern = "[[:upper:]]otes" }', "Found 1 file\nnotes.md\n"),
    ("Grep", '{ pattern = "h[io]", glob = "*.{md,txt}" }', "Found 1 file\nnotes.md\n"),
    ("Grep", '{ pattern = "hi", glob = "*.md,a.*" }', "Found 2 files\nnotes.md\nsrc/a.py\n"),
    ("Grep", '{ pattern = "^[inN#]", path = "notes.md", output_mode = "content", -n = false }',
     "# Notes\n"),
    ("Grep", '{ pattern = "hi", head_limit = 1, offset = 1 }',
     "Found 1 file limit: 1, offset: 1\nsrc/a.py\n"),
    ("Glob", '{ pattern = "**/{a,b}.py" }', "src/a.py\nsrc/deep/b.py"),
    ("Glob", '{ pattern = "[!n]*.py", path = "src/deep" }', "src/deep/b.py\n"),
    ("Glob", '{ pattern = "deep/*.py", path = "src" }', "src/deep/b.py\n"),
    ("Grep", '{ pattern = "x", path = "none" }', "Error: <tool_use_error>Path does not exist"),
    ("Bash", '{ command = "ls", run_in_background = true }', "Error: run_in_background"),
    ("WebSearch", "{ query = 'x' }", "Error: <tool_use_error>Error: No such tool"),
    ("mcp__a__b", "{}", "Error: <tool_use_error>Error: No such tool available: mcp__a__b"),
])  # fmt: skip
def test_a_tool_answers(
    make: Make,
    run: Run,
    tool: str,
    given_input: str,
    expected: str,
    request: pytest.FixtureRequest,
) -> None:
    if tool in ("Grep", "Glob"):
        request.getfixturevalue("confinement")
    call = f'[[default_response.tool_calls]]\ntool = "{tool}"\ninput = {given_input}\n'
    assert run("run", make(FILES + call), "-p", "x").out.startswith(expected)


@pytest.mark.usefixtures("confinement")
def test_grep_ends_keeps_inside_and_needs_its_program(
    make: Make, run: Run, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = tmp_path / "box"
    box.mkdir()
    (tmp_path / "secret").write_text("aaaa")
    (box / "many").write_text("a" * 60 + "b\n")
    (box / "link").symlink_to(tmp_path)
    os.mkfifo(box / "pipe")
    grep = '{ tool = "Grep", input = { pattern = "%s", path = "%s" }, expect = { %s } },'
    calls = (
        grep % ("^(a|aa)+$", ".", 'equals = "No files found"')
        + grep % ("aaaa", ".", 'equals = "Found 1 file\\nmany"')
        + grep % ("a", "link", "is_error = true")
        + grep % ("a", "pipe", "is_error = true")
        + '{ tool = "Glob", input = { pattern = "link/*" }, expect.equals = "No files found" },'
    )
    path = make(f'tool_execution.mode = "simulated"\n[default_response]\ntool_calls = [{calls}]\n')
    ran = run("run", path, "-p", "x", "--sandbox-root", box)
    assert ran.status == 0, ran.err
    monkeypatch.setattr("shutil.which", lambda *_args, **_rest: None)
    assert (
        "Grep and Glob need ripgrep (rg), which is not installed."
        in run("run", path, "-p", "x").out
    )


class Exchanged(Sandbox):
    """A sandbox in which another process makes a folder a link, right after the last look."""

    looks = 1

    def entry_kind(self, parts: Parts) -> str:
        found = super().entry_kind(parts)
        self.looks -= 1
        if not self.looks:
            folder = Path(self.root, "folder")
            folder.rename(folder.with_name("was"))
            folder.symlink_to(Path(self.root).parent / "outside")
        return found


@pytest.mark.usefixtures("confinement")
@pytest.mark.parametrize(("tool", "looks", "given_input"), [
    ("Grep", 2, {"pattern": "secret", "path": "folder", "output_mode": "content"}),
    ("Glob", 1, {"pattern": "*", "path": "folder"}),
])  # fmt: skip
def test_a_folder_that_becomes_a_link_shows_nothing_from_outside(
    tmp_path: Path, tool: str, looks: int, given_input: dict[str, Any]
) -> None:
    for folder in ("box/folder", "outside"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "outside" / "secret").write_text("the secret of another\n")
    (tmp_path / "box" / "folder" / "own").write_text("own\n")
    sandbox = Exchanged(tmp_path / "box", "/sandbox")
    sandbox.looks = looks
    bash = BashSession(sandbox, lambda: datetime(2025, 1, 15, tzinfo=UTC))
    try:
        said = str(SEARCHES[tool](sandbox, bash, (), given_input))
    except CallError as error:
        said = str(error)
    assert Path(tmp_path, "box", "folder", "secret").exists(), "the link was not laid"
    assert "secret" not in said


def test_grep_without_a_sandbox_finds_not_nothing_but_says_so(
    make: Make, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = tmp_path / "bin" / "bwrap"
    refusing.parent.mkdir()
    refusing.write_text("#!/bin/sh\necho 'bwrap: No permissions' >&2; exit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", f"{refusing.parent}{os.pathsep}{os.environ['PATH']}")
    confinement_module.find_bubblewrap.cache_clear()
    call = '[[default_response.tool_calls]]\ntool = "Grep"\ninput.pattern = "Notes"\n'
    ran = run("run", make(FILES + call), "-p", "x")
    confinement_module.find_bubblewrap.cache_clear()
    assert ran.out == "Error: bwrap: No permissions\n"


@pytest.mark.usefixtures("confinement")
def test_the_ripgrep_beside_the_interpreter_is_taken_before_another(
    make: Make, run: Run, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (Path(sys.executable).parent / "rg").exists():
        pytest.skip("no ripgrep is beside the interpreter")
    other = tmp_path / "bin" / "rg"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho 'not this one' >&2; exit 2\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{other.parent}{os.pathsep}{os.environ['PATH']}")
    call = '[[default_response.tool_calls]]\ntool = "Grep"\ninput.pattern = "Notes"\n'
    assert run("run", make(FILES + call), "-p", "x").out == "Found 1 file\nnotes.md\n"


def test_a_sandbox_of_ones_own_keeps_what_was_written(make: Make, run: Run, tmp_path: Any) -> None:
    (tmp_path / "box").mkdir()
    call = (
        'tool = "Write"\ninput = { file_path = "kept", content = "1" }\nexpect.is_error = false\n'
    )
    path = make(f'tool_execution.mode = "simulated"\n[[default_response.tool_calls]]\n{call}')
    assert run("run", path, "-p", "x", "--sandbox-root", tmp_path / "box").status == 0
    assert (tmp_path / "box" / "kept").read_text() == "1"
    assert run("run", path, "-p", "x", "--sandbox-root", tmp_path / "none").status == 2
    own = make('tool_execution.sandbox_root = "box"\n' + path.read_text())
    said = f"The file {tmp_path}/box/kept has been updated successfully."
    assert run("run", own, "-p", "x").out.startswith(said)


def test_a_sandbox_that_the_file_names_is_made(make: Make, run: Run, tmp_path: Any) -> None:
    call = (
        'tool = "Write"\ninput = { file_path = "kept", content = "1" }\nexpect.is_error = false\n'
    )
    text = f'tool_execution.mode = "simulated"\n[[default_response.tool_calls]]\n{call}'
    path = make(f'tool_execution.sandbox_root = "new/box"\n{text}')
    assert run("run", path, "-p", "x").status == 0
    assert (tmp_path / "new" / "box" / "kept").read_text() == "1"
    (tmp_path / "file").write_text("")
    ran = run("run", make(f'tool_execution.sandbox_root = "file"\n{text}'), "-p", "x")
    assert (ran.status, "Not a directory" in ran.err) == (2, True)


@pytest.mark.usefixtures("confinement")
@pytest.mark.parametrize(("tool", "given_input"), [
    ("Grep", 'pattern = "o", head_limit = nan'), ("Grep", 'pattern = "o", offset = inf'),
    ("Grep", 'pattern = "o", context = "2.0", output_mode = "content"'),
    ("Bash", f'command = "echo o", timeout = 1{"0" * 400}'),
    ("Bash", 'command = "echo o", timeout = 0'),
    ("Read", 'file_path = "a", limit = "-1", offset = "1"'),
])  # fmt: skip
def test_numbers_out_of_bounds_are_as_good_as_none(
    make: Make, run: Run, tool: str, given_input: str
) -> None:
    path = make(f"""
        prompts = ["x"]
        tool_execution = {{ mode = "simulated", files = {{ a = "o" }} }}
        default_response.tool_calls = [
          {{ tool = "{tool}", input = {{ {given_input} }}, expect = {{ contains = "o" }} }},
        ]
        """)
    assert run("check", path).status == 0
    ran = run("run", path)
    assert ran.status == 0, ran.err


@pytest.mark.usefixtures("confinement")
def test_only_the_lines_of_bash_that_a_list_names_run(make: Make, run: Run, tmp_path: Path) -> None:
    text = """
    tool_execution = {{ mode = "{mode}", sandbox_root = "box", allow_real_bash = {named} }}
    [default_response]
    tool_calls = [{{ tool = "Bash", input = {{ command = {line!r} }}{more} }}]
    """

    def play(line: str, more: str, named: str, mode: str = "simulated") -> tuple[int, str, str]:
        return run("run", make(text.format(mode=mode, named=named, line=line, more=more)),
                   "-p", "x")  # fmt: skip

    listed, scripted = '["mkdir *", "echo:*"]', ", result = 'from the file'"
    line, checked = "mkdir -p .git/hooks && echo made", ", expect.equals = 'made'"
    assert play(line, checked, listed)[0] == 0, "What is named may change Git folders"
    assert (tmp_path / "box/.git/hooks").is_dir()
    told = f"{scripted}, expect.equals = 'from the file'"
    for other in ("echo made; touch left", "touch left", "echo $(touch left)", "echomade"):
        assert play(other, told, listed)[0] == 0, other
        status, _, err = play(other, "", listed)
        assert (status, "no result for this call of Bash" in err) == (1, True), other
        path = make(text.format(mode="simulated", named=listed, line=other, more=""))
        assert "allow_real_bash" in run("check", path).err
    assert not (tmp_path / "box/left").exists()
    assert play("touch left", ", expect.is_error = false", "true")[0] == 0
    assert play("touch .bashrc", ", expect.contains = 'refused'", "false")[0] == 0
    assert "allow_real_bash has no effect: Bash is in" in play("true", scripted, "true", "mock")[2]
    assert "allow_real_bash" not in play("echo made", checked, listed, "live")[2]


def test_a_file_of_the_scenario_cannot_lie_outside(make: Make, run: Run) -> None:
    ran = run("run", make('[tool_execution.files]\n"../x" = "1"\n'), "-p", "x")
    assert (ran.status, "outside the sandbox" in ran.err) == (2, True)


NAMES = st.lists(st.sampled_from(["a", "b", "ab"]), max_size=4).map(tuple)


@given(NAMES, st.lists(st.sampled_from(["**", "*", "a", "a*", "?"]), max_size=4))
def test_globs_match_as_the_definition_says(parts: tuple[str, ...], pattern: list[str]) -> None:
    from fnmatch import fnmatchcase

    def by_definition(names: tuple[str, ...], rest: list[str]) -> bool:
        if not rest:
            return not names
        if rest[0] == "**":
            return any(by_definition(names[at:], rest[1:]) for at in range(len(names) + 1))
        return bool(names) and fnmatchcase(names[0], rest[0]) and by_definition(names[1:], rest[1:])

    assert matches_glob(parts, "/".join(pattern)) == by_definition(parts, pattern)
