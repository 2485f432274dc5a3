"""The bundle: what the official validator says of it, and that the server in it starts."""

import ast
import json
import os
import plistlib
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import pytest
from apps import build_tools, install_app
from packaging.requirements import Requirement

from iac_base.errors import SetupError
from iac_mcp.cli.main import main
from iac_mcp.setup.bundle import bundle_manifest, server_requirements
from iac_mcp.setup.interpreter import (
    CodeSignature,
    find_better_python,
    judge_signature,
    read_signature,
)
from iac_runtime.execution.process import Completed
from iac_runtime.tools.catalogue import read_tool_folders
from iac_runtime.tools.freshness import Freshness, check_freshness, scriptable_apps

ROOT = Path(__file__).parent.parent.parent
VALIDATOR = "@anthropic-ai/mcpb@2.1.2"


@pytest.fixture
def unpacked(tmp_path: Path, generated: Path) -> Path:
    assert main(["bundle", "--output", str(tmp_path / "iac.mcpb"), "--tools", str(generated)]) == 0
    with zipfile.ZipFile(tmp_path / "iac.mcpb") as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path / "bundle")
    return tmp_path / "bundle"


def test_the_same_input_gives_the_same_bytes(tmp_path: Path, generated: Path) -> None:
    for name in "ab":
        assert main(["bundle", "--output", str(tmp_path / name), "--tools", str(generated)]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_nothing_of_this_machine_is_in_it(unpacked: Path) -> None:
    names = [path.name for path in unpacked.rglob("*")]
    assert "__pycache__" not in names
    text = (unpacked / "manifest.json").read_text() + (unpacked / "pyproject.toml").read_text()
    assert str(ROOT) not in text


def test_it_needs_what_the_package_needs(unpacked: Path) -> None:
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    bundled = tomllib.loads((unpacked / "pyproject.toml").read_text())["project"]
    # The metadata of a package have their own order of bounds.
    extras = package["optional-dependencies"]
    wanted = {
        Requirement(need) for need in (*package["dependencies"], *extras["linux"], *extras["macos"])
    }
    assert {Requirement(need) for need in bundled["dependencies"]} == wanted


def test_no_package_for_tests_or_simulation_is_in_it(unpacked: Path) -> None:
    packages = {path.name for path in (unpacked / "server").iterdir() if path.is_dir()}
    assert packages == {
        "iac_accessibility", "iac_applescript", "iac_base", "iac_mcp", "iac_plans", "iac_runtime",
        "tools",
    }  # fmt: skip


def test_where_the_package_is_not_installed_the_bundle_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda **_wanted: ())
    with pytest.raises(SetupError, match="not installed"):
        server_requirements()


def test_what_its_modules_import_of_ours_is_in_it(unpacked: Path) -> None:
    # Here the packages are found outside of it too, so that starting it does not tell.
    needed = set()
    for file in (unpacked / "server").glob("iac_*/**/*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                needed.add(str(node.module).partition(".")[0])
            elif isinstance(node, ast.Import):
                needed.update(name.name.partition(".")[0] for name in node.names)
    ours = {name for name in needed if name.startswith("iac_")}
    assert ours == {path.parent.name for path in (unpacked / "server").glob("iac_*/__init__.py")}


def test_every_file_of_its_packages_is_in_it(unpacked: Path) -> None:
    def files(folder: Path) -> set[str]:
        found = (one.relative_to(folder) for one in folder.rglob("*") if one.is_file())
        return {str(one) for one in found if "__pycache__" not in one.parts}

    for package in (unpacked / "server").glob("iac_*"):
        assert files(package) == files(ROOT / "runtime" / package.name)


@pytest.mark.process
def test_the_server_in_it_lists_its_tools(unpacked: Path) -> None:
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize",
         "params": {"protocolVersion": "2025-11-25", "capabilities": {},
          "clientInfo": {"name": "test", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]  # fmt: skip
    # As on a machine that has only the bundle; its copies of our modules are nobody's coverage.
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COV"))}
    done = subprocess.run(
        [sys.executable, "-P", "server/main.py", "--expose", "notes_*"],
        input="".join(json.dumps(message) + "\n" for message in messages),
        capture_output=True,
        text=True,
        cwd=unpacked,
        env=env,
        timeout=60,
        check=False,
    )
    answers = {row.get("id"): row for row in map(json.loads, done.stdout.splitlines())}
    names = [tool["name"] for tool in answers[2]["result"]["tools"]]
    assert "notes_get" in names, done.stderr


SESSION = [
    ("find_tools", {"query": "list my notes"}, "notes_list"),
    ("find_tools", {"query": "press a button in a window"}, "perform_action"),
    ("read_tool", {"name": "notes_list", "arguments": {"element": "note"}}, "ref"),
    ("write_tool", {"name": "notes_make_note", "arguments": {"name": "Bundled"}}, "ref"),
    ("execute_applescript",
     {"script": 'Application("Notes").notes.length', "language": "javascript"}, "success"),
    ("validate_applescript", {"script": 'tell application "Notes" to count notes'}, "SAFE"),
    ("list_windows", {}, ""),
]  # fmt: skip


@pytest.mark.stress
@pytest.mark.parametrize("way", ["pip", "uv"])
def test_a_whole_session_on_a_clean_python(unpacked: Path, tmp_path: Path, way: str) -> None:
    """Find, read, write with a question, script, interfaces: with what the bundle says it needs."""
    home = tmp_path / "clean"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = str(home / "bin" / "python")
    needs = tomllib.loads((unpacked / "pyproject.toml").read_text())["project"]["dependencies"]
    wanted = needs if way == "pip" else ["uv"]
    subprocess.run([python, "-m", "pip", "install", "-q", *wanted], check=True)
    run = [python, "-m", "uv", "run", "--python", python, "--directory", str(unpacked)]
    command = [python, "-P"] if way == "pip" else run
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COV"))}
    env["IAC_OSASCRIPT"] = str(Path(sys.executable).with_name("iac-osascript"))
    with subprocess.Popen(
        [*command, "server/main.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=unpacked,
        env={**env, "IAC_DATA": str(tmp_path / "data")},
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        opening = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "test", "version": "1"},
        }
        requests = [("initialize", opening)]
        requests += [
            ("tools/call", {"name": tool, "arguments": given}) for tool, given, _ in SESSION
        ]
        asked, answers = 0, []
        for id_, (method, params) in enumerate(requests):
            said = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
            process.stdin.write(json.dumps(said) + "\n")
            process.stdin.flush()
            while (heard := json.loads(process.stdout.readline())).get("method"):
                asked += heard["method"] == "elicitation/create"
                yes = {"action": "accept", "content": {"answer": "Allow once"}}
                reply = {"jsonrpc": "2.0", "id": heard["id"], "result": yes}
                process.stdin.write(json.dumps(reply) + "\n")
                process.stdin.flush()
            answers.append(heard)
        process.stdin.close()
    for (tool, _, word), answer in zip(SESSION, answers[1:], strict=True):
        text = answer["result"]["content"][0]["text"]
        if tool == "list_windows":
            # Without a screen there is no interface to see; the library is there all the same.
            assert "not installed" not in text
            continue
        assert not answer["result"]["isError"], (tool, text)
        assert word in text
    assert asked >= 1


@pytest.mark.slow
@pytest.mark.process
def test_the_official_validator_takes_it(unpacked: Path, tmp_path: Path) -> None:
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("needs node")
    at_hand = os.environ.get("IAC_MCPB")
    command = [at_hand] if at_hand else [npx, "--yes", VALIDATOR]
    try:
        done = subprocess.run(
            [*command, "validate", str(unpacked / "manifest.json")],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
            env={**os.environ, "HOME": str(Path("~").expanduser())},
        )
    except subprocess.TimeoutExpired:
        pytest.skip("the validator could not be fetched")
    if "npm error" in done.stderr.lower():
        pytest.skip("the validator could not be fetched")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passes" in done.stdout


def test_a_bundle_names_its_apps() -> None:
    assert "Mail, Notes" in bundle_manifest(["Mail", "Notes"])["long_description"]


def test_without_tools_there_is_no_bundle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = build_tools(tmp_path / "tools", {})
    (tools / "catalogue.json").write_text("{")
    output = tmp_path / "iac.mcpb"
    assert main(["bundle", "--output", str(output), "--tools", str(tools)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not output.exists()


# Apps that were installed or updated since their tools were built.


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path / "Applications"


def looked(here: Path, *folders: Path) -> Freshness:
    return check_freshness(read_tool_folders(folders), [str(here)])


def test_an_update_that_leaves_the_dictionary_alone_needs_no_build(
    tmp_path: Path, here: Path
) -> None:
    install_app(here, "Notes", "com.apple.Notes", CFBundleShortVersionString="3.0")
    tools = build_tools(tmp_path / "tools", {"Notes": ("com.apple.notes", b"<dictionary/>")})
    assert looked(here, tools) == Freshness((), fresh=1)


def test_another_dictionary_is_named_with_the_command_that_builds_it(
    tmp_path: Path, here: Path
) -> None:
    install_app(here, "Notes", "com.apple.Notes", b"<dictionary new=''/>")
    tools = build_tools(tmp_path / "tools", {"Notes": ("com.apple.Notes", b"<dictionary/>")})
    found = looked(here, tools)
    assert [(app.why, app.key, app.built, app.installed) for app in found.stale] == [
        ("updated", "notes", "1.0", "2.0")
    ]
    assert found.stale[0].line == (
        "the dictionary of Notes (now 2.0) has changed since its tools were built;"
        " build them with: iac-gen build com.apple.Notes"
    )


def test_an_app_that_came_after_the_build_is_new_and_older_ones_are_counted(
    tmp_path: Path, here: Path
) -> None:
    install_app(here, "Old", "com.example.old")
    tools = build_tools(tmp_path / "tools", {"Notes": ("com.apple.Notes", b"")})
    assert looked(here, tools) == Freshness((), without=1)
    past = here.stat().st_mtime - 3600
    os.utime(tools / "catalogue.json", (past, past))
    found = looked(here, tools)
    assert [(app.why, app.name) for app in found.stale] == [("new", "Old")]
    assert "iac-gen build com.example.old" in found.stale[0].line


def test_shipped_tools_alone_say_nothing_of_what_is_new_here(
    tmp_path: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = build_tools(tmp_path / "shipped", {"Notes": ("com.apple.Notes", b"")})
    monkeypatch.setattr("iac_runtime.tools.freshness.shipped_folder", lambda: tools)
    os.utime(tools / "catalogue.json", (0, 0))
    install_app(here, "Omni", "com.example.omni")
    assert looked(here, tools) == Freshness((), without=1)


def test_the_first_folder_of_tools_counts(tmp_path: Path, here: Path) -> None:
    install_app(here, "Notes", "com.apple.Notes", b"new")
    own = build_tools(tmp_path / "own", {"Notes": ("com.apple.Notes", b"new")})
    shipped = build_tools(tmp_path / "shipped", {"Notes": ("com.apple.Notes", b"old")})
    assert looked(here, own, shipped).stale == ()
    assert len(looked(here, shipped, own).stale) == 1


def test_bundles_that_are_not_right_cost_only_themselves(here: Path) -> None:
    install_app(here, "Fine", "com.example.fine")
    install_app(here, "Twice", "com.example.FINE")
    install_app(here, "Outside", "com.example.out", OSAScriptingDefinition="../../x.sdef")
    install_app(here, "Nameless", "")
    install_app(here, "Odd", "com.example.odd", OSAScriptingDefinition=["x"])
    install_app(here, "Broken", "com.example.broken")
    (here / "Broken.app/Contents/Info.plist").write_bytes(b"bplist00\xff")
    (here / "Empty.app").mkdir()
    (here / "Round.app").symlink_to(here / "Round.app")
    assert [app.name for app in scriptable_apps([str(here), "~nobody-of-this-name/Apps"])] == [
        "Fine"
    ]


def test_a_name_that_acts_on_a_terminal_or_a_shell_does_not(tmp_path: Path, here: Path) -> None:
    install_app(here, "E\x1b[2Jvil", "com.example; rm")
    tools = build_tools(tmp_path / "tools", {"Notes": ("com.apple.Notes", b"")})
    os.utime(tools / "catalogue.json", (0, 0))
    line = looked(here, tools).stale[0].line
    assert "\x1b" not in line
    assert line.endswith("iac-gen build 'com.example; rm'")


def test_a_lock_that_cannot_be_read_leaves_the_version_out(tmp_path: Path, here: Path) -> None:
    install_app(here, "Notes", "com.apple.Notes", b"new")
    tools = build_tools(tmp_path / "tools", {"Notes": ("com.apple.Notes", b"old")})
    (tools / "tools.lock").write_text("{")
    assert looked(here, tools).stale[0].built == ""


# What codesign says, as recorded words; a Mac has the last word.


EVENTS = {"com.apple.security.automation.apple-events": True}


def codesign(shown: str, entitlements: object = None, status: int = 0):
    def run(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        assert argv[0] == "/usr/bin/codesign"
        if "--entitlements" in argv:
            return Completed(plistlib.dumps(entitlements) if entitlements else b"", b"", status)
        return Completed(b"", shown.encode(), status)

    return run


def flags(word: str) -> str:
    return f"Identifier=org.python.python\nCodeDirectory v=20500 size=1 flags={word} hashes=1\n"


@pytest.mark.parametrize(("run", "found", "verdict"), [
    (codesign(flags("0x10000(runtime)"), EVENTS), CodeSignature("a developer", True, True), "ok"),
    (codesign(flags("0x10000(runtime)")), CodeSignature("a developer", True), "problem"),
    (codesign(flags("0x0(none)")), CodeSignature("a developer"), "ok"),
    (codesign(flags("0x2(adhoc)")), CodeSignature("ad hoc"), "warning"),
    (codesign(flags("0x10002(adhoc,runtime)")), CodeSignature("ad hoc", True), "problem"),
    (codesign("/x: code object is not signed at all", status=1), CodeSignature("nobody"),
     "warning"),
    (codesign("/x: No such file or directory", status=1), CodeSignature("unknown"), "ok"),
])  # fmt: skip
def test_a_signature_decides_whether_apps_can_be_controlled(run, found, verdict) -> None:
    assert read_signature("/x", run, "darwin") == found
    assert judge_signature(found)[0] == verdict


def test_entitlements_that_cannot_be_read_are_none() -> None:
    def run(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        return Completed(b"bplist00\xff", flags("0x10000(runtime)").encode(), 0)

    assert read_signature("/x", run, "darwin").can_send_events is False


def test_elsewhere_nothing_is_asked() -> None:
    def run(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        raise OSError

    assert (
        read_signature("/x", run, "linux")
        == read_signature("/x", run, "darwin")
        == CodeSignature("unknown")
    )


def test_a_python_that_works_is_looked_for_in_the_known_places(tmp_path: Path) -> None:
    brew = tmp_path / "opt/homebrew/opt/python@3.12/bin/python3.12"
    org = tmp_path / "Library/Frameworks/Python.framework/Versions/3.11/bin/python3.11"
    app = org.parent.parent / "Resources/Python.app/Contents/MacOS/Python"
    for path in (brew, org, app):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")

    def run(argv: Sequence[str], stdin: bytes, timeout: float) -> Completed:
        ours = argv[-1] == str(app)
        return codesign(flags("0x10000(runtime)" if ours else "0x2(adhoc)"), ours and EVENTS)(
            argv, stdin, timeout
        )

    assert find_better_python(run, "darwin", tmp_path) == str(org)
    assert find_better_python(codesign(flags("0x2(adhoc)")), "darwin", tmp_path) is None
