"""`iac-mcp install`, `uninstall` and `setup` as a user meets them, each in a home of its own."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from simulated import TOOLS

from iac_base.errors import SetupError
from iac_base.files import read_file_content, replace_file_content
from iac_mcp.cli.main import main
from iac_mcp.setup import interpreter as signature
from iac_mcp.setup.clients import (
    CLIENTS,
    Launch,
    NotMergedError,
    client_entry,
    client_file,
    install_server,
    installed_entry,
    is_ours,
    settings_snippet,
    uninstall_server,
)
from iac_mcp.setup.interpreter import launch_arguments

pytestmark = pytest.mark.process


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    def call(*arguments: str) -> tuple[int, str, str]:
        status = main(list(arguments))
        return status, *capsys.readouterr()

    return call


json_texts = st.dictionaries(
    st.text() | st.just("mcpServers"),
    st.dictionaries(st.text(), st.integers() | st.text(), max_size=3) | st.integers(),
    max_size=3,
).map(lambda value: json.dumps(value, indent=2, ensure_ascii=True))

OTHER = '{\n\t"theme": "dark",\n\t"mcpServers": {\n\t\t"x": {"command": "y"}\n\t}\n}'


def test_into_a_file_with_other_servers_and_out_again(run, desktop: Path) -> None:
    desktop.write_bytes(OTHER.encode())
    desktop.chmod(0o640)
    status, out, _ = run("install", "claude-desktop")
    assert status == 0
    assert str(desktop) in out
    servers = json.loads(desktop.read_text())["mcpServers"]
    assert servers["x"] == {"command": "y"}
    assert servers["iac"]["args"] == ["-P", "-m", "iac_mcp", "serve"]
    assert Path(servers["iac"]["command"]).is_absolute()
    assert servers["iac"]["env"]["IAC_DATA"] == os.environ["IAC_DATA"]
    assert stat.S_IMODE(desktop.stat().st_mode) == 0o640
    backup = desktop.with_name(desktop.name + ".before-iac")
    assert backup.read_text() == OTHER
    assert stat.S_IMODE(backup.stat().st_mode) == 0o640

    before = desktop.read_bytes()
    assert "already" in run("install", "claude-desktop")[1]
    assert desktop.read_bytes() == before

    status, out, _ = run("uninstall", "claude-desktop")
    assert (status, desktop.read_bytes()) == (0, OTHER.encode())
    assert "as it was before" in out
    assert sorted(path.name for path in desktop.parent.iterdir()) == [desktop.name]
    assert "There is no server" in run("uninstall", "claude-desktop")[1]


def test_a_file_that_install_made_is_gone_after_uninstall(run, desktop: Path) -> None:
    assert run("install", "claude-desktop")[0] == 0
    assert stat.S_IMODE(desktop.stat().st_mode) == 0o600
    assert "removed" in run("uninstall", "claude-desktop")[1]
    assert not desktop.parent.exists()


def test_what_the_user_changed_meanwhile_stays(run, desktop: Path) -> None:
    desktop.write_text(OTHER)
    run("install", "claude-desktop")
    desktop.write_text(desktop.read_text().replace('"dark"', '"light"'))
    assert "taken out" in run("uninstall", "claude-desktop")[1]
    assert desktop.read_text() == OTHER.replace('"dark"', '"light"')


@pytest.mark.parametrize("client", ["claude-code", "cursor", "vscode"])
def test_other_clients_have_their_own_file_and_shape(run, home: Path, client: str) -> None:
    assert run("install", client)[0] == 0
    row = CLIENTS[client]
    said = json.loads(client_file(row, {"HOME": str(home)}).read_text())[row.root]["iac"]
    assert said.get("type") == ("stdio" if row.typed else None)
    assert is_ours(said)


def test_options_go_along_and_stay_at_the_next_install(
    run, desktop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").symlink_to(TOOLS)
    Path("p.toml").touch()
    run("install", "claude-desktop", "--", "--read-only", "--tools", "mine", "--policy=p.toml")
    expected = ["--read-only", "--tools", f"{Path.cwd()}/mine", f"--policy={Path.cwd()}/p.toml"]

    def options() -> list[str]:
        return json.loads(desktop.read_text())["mcpServers"]["iac"]["args"][4:]

    assert options() == expected
    assert "Kept options: --read-only" in run("install", "claude-desktop")[1]
    assert options() == expected
    run("install", "claude-desktop", "--", "--expose", "all")
    assert options() == ["--expose", "all"]


def test_an_entry_of_an_earlier_version_is_written_anew(run, desktop: Path) -> None:
    old = {
        "command": "/usr/bin/python3",
        "args": ["-P", "-m", "iac_runtime", "serve", "--read-only"],
    }
    desktop.write_text(json.dumps({"mcpServers": {"iac": old}}))
    run("install", "claude-desktop")
    entry = json.loads(desktop.read_text())["mcpServers"]["iac"]
    assert entry["args"] == ["-P", "-m", "iac_mcp", "serve", "--read-only"]


def test_an_option_that_serve_does_not_take_is_told_before_anything_is_written(
    run, desktop: Path
) -> None:
    status, out, err = run("install", "claude-desktop", "--", "--reed-only")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "--reed-only" in err
    assert "--read-only" in err
    assert not desktop.exists()


@pytest.mark.parametrize("text", ['{\n  // mine\n  "mcpServers": {}\n}', '{"a": ', "[1]", "\xff"])
def test_a_commented_or_broken_file_is_untouched_and_the_snippet_is_given(
    run, desktop: Path, text: str
) -> None:
    desktop.write_bytes(text.encode("latin-1"))
    status, out, err = run("install", "claude-desktop")
    assert (status, err.count("\n")) == (2, 1)
    assert "cannot be changed safely" in err
    assert is_ours(json.loads(out)["mcpServers"]["iac"])
    assert desktop.read_bytes() == text.encode("latin-1")
    assert len(list(desktop.parent.iterdir())) == 1
    status, out, err = run("uninstall", "claude-desktop")
    assert (status, out) == (2, "")
    assert "by hand" in err
    assert desktop.read_bytes() == text.encode("latin-1")


def test_another_server_of_the_name_stays(run, desktop: Path) -> None:
    text = '{"mcpServers": {"iac": {"command": "someone"}}}'
    desktop.write_text(text)
    status, _, err = run("install", "claude-desktop")
    assert status == 2
    assert "--name" in err
    assert run("uninstall", "claude-desktop")[0] == 2
    assert desktop.read_text() == text
    assert run("install", "claude-desktop", "--name", "apps")[0] == 0
    assert set(json.loads(desktop.read_text())["mcpServers"]) == {"iac", "apps"}


def test_a_link_is_followed_and_stays_a_link(run, desktop: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text(OTHER)
    desktop.symlink_to(real)
    assert run("install", "claude-desktop")[0] == 0
    assert desktop.is_symlink()
    assert "iac" in json.loads(real.read_text())["mcpServers"]
    run("uninstall", "claude-desktop")
    assert desktop.is_symlink()
    assert real.read_text() == OTHER


@pytest.mark.parametrize("leads", ["nowhere", "round", "folder"])
def test_a_link_that_leads_to_no_file_is_refused(
    run, desktop: Path, tmp_path: Path, leads: str
) -> None:
    target = {"nowhere": tmp_path / "gone", "round": desktop, "folder": tmp_path}[leads]
    desktop.symlink_to(target)
    status, out, err = run("install", "claude-desktop")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert str(desktop) in err
    assert desktop.is_symlink()


def test_a_folder_that_everyone_can_write_to_is_refused(run, desktop: Path) -> None:
    desktop.write_text(OTHER)
    desktop.parent.chmod(0o777)
    assert "chmod o-w" in run("install", "claude-desktop")[2]
    assert desktop.read_text() == OTHER


def test_a_change_by_another_program_meanwhile_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")
    found = read_file_content(path)
    path.write_text('{"newer": 1}')
    with pytest.raises(SetupError, match="just changed"):
        replace_file_content(found, b"ours")
    assert path.read_text() == '{"newer": 1}'
    assert list(tmp_path.glob(".*")) == []


@given(
    text=st.text(max_size=30) | json_texts,
    mode=st.sampled_from([0o600, 0o640, 0o644]),
    key=st.sampled_from(["claude-desktop", "cursor", "codex"]),
)
def test_whatever_a_file_holds_it_is_given_back_or_never_touched(
    text: str, mode: int, key: str
) -> None:
    client = CLIENTS[key]
    launch = Launch("/usr/bin/python3", launch_arguments(()))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mcp.json"
        path.write_bytes(text.encode())
        path.chmod(mode)
        try:
            assert install_server(client, path, "iac", launch).changed
        except NotMergedError:
            assert list(Path(folder).iterdir()) == [path]
        else:
            assert installed_entry(client, path, "iac")
            assert not install_server(client, path, "iac", launch).changed
            assert uninstall_server(client, path, "iac") == "as before"
        assert path.read_bytes() == text.encode()
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert list(Path(folder).iterdir()) == [path]


def test_a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_on(run, desktop: Path) -> None:
    os.mkfifo(desktop)
    assert "is not a file" in run("install", "claude-desktop")[2]


async def listed(entry: dict, folder: Path) -> set[str]:
    """Start a server as an app does: no shell's PATH, in a folder that is not ours."""
    env = {"HOME": os.environ["HOME"], "PATH": "/usr/bin:/bin", **entry.get("env", {})}
    parameters = StdioServerParameters(
        command=entry["command"], args=entry["args"], env=env, cwd=folder
    )
    async with Client(stdio_client(parameters), mode="auto") as client:
        return {tool.name for tool in (await client.list_tools()).tools}


def test_the_entry_starts_the_server_wherever_the_client_does(
    run, desktop: Path, tmp_path: Path
) -> None:
    assert run("install", "claude-desktop", "--", "--expose", "notes_*")[0] == 0
    entry = json.loads(desktop.read_text())["mcpServers"]["iac"]
    project = tmp_path / "project"
    (project / "iac_mcp").mkdir(parents=True)
    for name in ("json.py", "click.py", "iac_mcp/__init__.py"):
        (project / name).write_text("raise SystemExit('the module of a project')")
    assert "notes_list" in anyio.run(listed, entry, project)


def test_print_changes_nothing(run, home: Path, desktop: Path) -> None:
    status, out, err = run("install", "claude-desktop", "--print")
    assert status == 0
    assert is_ours(json.loads(out)["mcpServers"]["iac"])
    assert str(desktop) in err
    assert not desktop.exists()


def test_toml_says_the_same_whatever_is_in_the_texts() -> None:
    launch = Launch('/a "b"\\\x7f\u2028', ("-m", "\t\n"), {"A_B": "ü😀"})
    said = client_entry(CLIENTS["codex"], launch)
    assert (
        tomllib.loads(settings_snippet(CLIENTS["codex"], "iac", said))["mcp_servers"]["iac"] == said
    )


def test_without_a_name_the_one_client_that_is_here_is_taken(run, home: Path) -> None:
    status, _, err = run("install")
    assert status == 2
    assert "No client was found" in err
    (home / ".cursor").mkdir()
    assert "Cursor now has the server" in run("install")[1]
    (home / ".claude.json").write_text("{}")
    assert "Several clients were found; name one of: claude-code, cursor." in run("install")[2]


def test_windows_and_mac_have_other_places() -> None:
    row = CLIENTS["vscode"]
    mac = client_file(row, {"HOME": "/Users/me"}, "darwin")
    assert str(mac) == "/Users/me/Library/Application Support/Code/User/mcp.json"
    windows = client_file(row, {"APPDATA": "/x/Roaming", "USERPROFILE": "/x"}, "win32")
    assert str(windows) == "/x/Roaming/Code/User/mcp.json"


def test_a_shim_is_resolved_to_the_python_behind_it(run, desktop: Path, tmp_path: Path) -> None:
    shim = tmp_path / "shims" / "python3"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    shim.chmod(0o755)
    assert run("install", "claude-desktop", "--python", str(shim))[0] == 0
    said = json.loads(desktop.read_text())["mcpServers"]["iac"]
    assert said["command"] == sys.executable


@pytest.mark.parametrize(("answer", "words"), [
    ("exit 3", "not a Python that can start"), ("echo nonsense", "not a Python that can start"),
    ("""echo '["/x", [3, 9, 6], false, "/", "/x"]'""", "is Python 3.9"),
    ("""echo '["/x", [3, 12, 1], false, "/", "/x"]'""", "IAC is not installed in"),
])  # fmt: skip
def test_a_python_that_will_not_do_is_told_before_anything_is_written(
    run, desktop: Path, tmp_path: Path, answer: str, words: str
) -> None:
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\n{answer}\n")
    fake.chmod(0o755)
    status, _, err = run("install", "claude-desktop", "--python", str(fake))
    assert (status, err.count("\n")) == (2, 1)
    assert words in err
    assert not desktop.exists()
    assert "not a Python" in run("install", "claude-desktop", "--python", "/nowhere/python")[2]


def test_a_checkout_that_is_found_by_pythonpath_says_so_in_the_entry(
    run, desktop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "python"
    with_it = json.dumps([sys.executable, [3, 12, 1], True, "/", "/x"])
    fake.write_text(
        f"""#!/bin/sh\n[ "$1" = -E ] && echo '{with_it.replace("true", "false")}' """
        f"""|| echo '{with_it}'\n"""
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", f"runtime{os.pathsep}/abs")
    assert run("install", "claude-desktop", "--python", str(fake))[0] == 0
    said = json.loads(desktop.read_text())["mcpServers"]["iac"]
    assert said["env"]["PYTHONPATH"] == f"{Path.cwd()}/runtime{os.pathsep}/abs"


def test_a_python_that_macos_refuses_is_told_with_one_that_works(
    run, desktop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = signature.CodeSignature("a developer", hardened=True)
    monkeypatch.setattr(signature, "read_signature", lambda path: refused)
    monkeypatch.setattr(signature, "find_better_python", lambda: "/opt/python3.12")
    status, _, err = run("install", "claude-desktop")
    assert status == 0
    assert "without asking" in err
    assert "This Python works: /opt/python3.12." in err


def test_the_shell_gets_commands_to_complete() -> None:
    asked = {"_IAC_MCP_COMPLETE": "bash_complete", "COMP_WORDS": "iac-mcp inst", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "iac_mcp"],
        env={**os.environ, **asked, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "plain,install\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_what_the_shell_reads(run, shell: str) -> None:
    status, out, _ = run("completion", shell)
    assert status == 0
    assert "_IAC_MCP_COMPLETE" in out


def test_completion_takes_the_shell_of_the_user(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/zsh")
    assert "#compdef iac-mcp" in run("completion")[1]
    monkeypatch.setenv("SHELL", "/bin/ksh")
    assert "name of your shell" in run("completion")[2]


@pytest.mark.parametrize("name", ["", "my server", "a.b", "1st", "naïve", "x" * 18])
def test_a_name_that_some_client_refuses_is_refused(run, desktop: Path, name: str) -> None:
    status, out, err = run("install", "claude-desktop", "--name", name)
    assert (status, out) == (2, "")
    assert err.startswith(f"iac-mcp: --name {name!r}: write at most 17 letters")
    assert len(err.splitlines()) == 1
    assert not desktop.exists()


def test_setup_writes_every_client_that_is_found_and_everything_goes_again(
    run, home: Path, desktop: Path
) -> None:
    codex = home / ".codex" / "config.toml"
    codex.parent.mkdir()
    before = '# mine\nmodel = "x"\n'
    codex.write_text(before)
    status, out, _ = run("setup", "--yes", "--json")
    assert status == 0
    said = json.loads(out)
    assert said["ok"]
    assert any("starts as a client would start it" in step["says"] for step in said["steps"])
    assert len(said["ask"]) == 3
    assert "iac" in json.loads(desktop.read_text())["mcpServers"]
    assert "[mcp_servers.iac]" in codex.read_text()
    assert run("setup", "--yes", "--client", "codex")[1].count("had the server already") == 1
    assert run("uninstall", "--all")[0] == 2
    assert "iac" in codex.read_text()
    status, out, _ = run("uninstall", "--all", "--yes")
    assert status == 0
    assert codex.read_text() == before
    assert not desktop.exists()
    data = Path(os.environ["IAC_DATA"])
    assert not data.exists()


def test_what_else_lies_in_the_data_folder_stays(run, home: Path, desktop: Path) -> None:
    data = Path(os.environ["IAC_DATA"])
    (data / "tools").mkdir(parents=True)
    (data / "policy.toml").write_text("undo = 'off'\n")
    (data / "letters.txt").write_text("mine")
    assert run("uninstall", "--all", "--yes")[0] == 0
    assert sorted(path.name for path in data.iterdir()) == ["letters.txt", "policy.toml"]


def test_without_clients_and_without_a_person_nothing_is_changed(run, home: Path) -> None:
    status, _, err = run("setup", "--yes")
    assert status == 2
    assert "Install one, such as Claude Desktop" in err
    (home / ".codex").mkdir()
    status, _, err = run("setup")
    assert status == 2
    assert "--yes" in err
    assert not (home / ".codex" / "config.toml").exists()


def test_nothing_is_installed_that_does_not_start(run, desktop: Path) -> None:
    status, _, err = run("install", "claude-desktop", "--", "--pin", "nonsense")
    assert status == 2
    assert "There are no tools for nonsense" in err
    assert not desktop.exists()


@pytest.mark.parametrize("words", [("help",), ("help", "setup"), ("help", "audit")])
def test_help_is_a_command(run, words: tuple[str, ...]) -> None:
    status, out, _ = run(*words)
    assert status == 0
    assert "Usage: iac-mcp" in out


def test_a_tool_has_a_page_and_arguments_are_written_as_people_do(run) -> None:
    page = json.loads(run("tools", "notes_make_note")[1])
    assert page["level"] == "MODIFY"
    assert page["schema"]["required"]
    given = ("element=note", "limit=2", 'properties=["name"]', "--simulate")
    status, out, _ = run("call", "notes_list", *given)
    assert status == 0
    assert len(json.loads(out)["result"]) == 2
    dangerous = run("tools", "--app", "notes", "--level", "dangerous")[1]
    assert "notes_delete" in dangerous
    assert "notes_list" not in dangerous


def test_doctor_fixes_what_is_safe_to_fix(run, home: Path, desktop: Path) -> None:
    run("install", "claude-desktop")
    said = json.loads(desktop.read_text())
    said["mcpServers"]["iac"]["command"] = "/nowhere/python"
    desktop.write_text(json.dumps(said))
    status, out, _ = run("doctor")
    assert status == 1
    assert "/nowhere/python" in out
    status, out, _ = run("doctor", "--fix")
    assert "fixed: iac-mcp install claude-desktop" in out
    assert status == 0
    assert "/nowhere/python" not in run("doctor")[1]


@pytest.mark.parametrize("program", ["iac_gen", "iac_mcp"])
def test_a_misspelt_command_is_told_with_the_nearest(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", program, "compleTion"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Nearest: completion" in done.stderr
