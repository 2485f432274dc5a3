"""`iac-mcp doctor`: a line for each thing that must be right, with what mends it."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from apps import build_tools, install_app

from iac_mcp.cli import doctor as cli_doctor
from iac_mcp.cli.main import main
from iac_mcp.setup import checks
from iac_mcp.setup.checks import (
    DoctorContext,
    DoctorFinding,
    ServerProcess,
    server_processes,
)
from iac_mcp.setup.clients import CLIENTS, Launch, client_entry, client_file
from iac_runtime.execution.executor import Executor
from iac_runtime.execution.mac import AppState, Version
from iac_runtime.execution.process import Completed
from iac_runtime.policy.approvals import MAX_UNAPPROVED, ApprovalStore, record_answer
from iac_runtime.serve.status import StatusFile


class Mac:
    """An executor on a Mac whose apps are as told."""

    def __init__(self, *apps: AppState, osascript: str | None = "/usr/bin/osascript") -> None:
        self._apps = {app.bundle_id: app for app in apps}
        self._osascript = osascript

    def installed_versions(self) -> Version:
        return Version("15.1", self._osascript)

    def test_app(self, bundle_id: str, timeout: float = 10.0) -> AppState:
        return self._apps[bundle_id]


APPS = {name: (f"com.example.{name}", b"") for name in "Abcdef"}


def state(name: str, installed="yes", scriptable="yes", running="yes", may="yes", reason=""):
    return AppState(f"com.example.{name}", installed, scriptable, running, may, reason)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DoctorContext:
    monkeypatch.setattr("iac_runtime.tools.catalogue.shipped_folder", lambda: None)
    tools = build_tools(tmp_path / "tools", APPS)
    run = lambda argv, stdin, timeout: Completed(b"", b"flags=0x0(none)", 0)  # noqa: E731
    return DoctorContext(
        Mac(), (tools,), system="linux", folders=(str(tmp_path / "Apps"),), run=run
    )


def only(found) -> DoctorFinding:
    (finding,) = found
    return finding


def test_the_automation_permission_is_that_of_each_app(place: DoctorContext) -> None:
    mac = Mac(
        state("A"),
        state("b", may="no", reason="no"),
        state("c", may="would ask"),
        state("d", running="no", may="unknown"),
        state("e", installed="no", may="unknown"),
        state("f", scriptable="no"),
    )
    found = [*checks.check_automation(replace(place, examiner=mac))]
    assert [(line.state, line.says.partition(" ")[0]) for line in found] == [
        ("ok", "A"), ("problem", "macOS"), ("ok", "c:"), ("problem", "The"), ("ok", "Not"),
        ("ok", "Not"),
    ]  # fmt: skip
    assert "Automation: switch on b under" in found[1].mend
    assert found[4].says.endswith("the permission is unknown: d")


def test_a_mac_says_whose_the_permissions_are(
    place: DoctorContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    mac = replace(place, examiner=Mac(state("A")), system="darwin", apps=("com.example.A",))
    for program, kind in (("Terminal", "ok"), ("IAC", "ok"), ("python3.12", "warning")):
        monkeypatch.setattr(checks, "responsible_name", lambda program=program: program)
        _, owner = checks.check_automation(mac)
        assert (owner.state, program in owner.says) == (kind, True)
        assert ("helper/build.sh" in owner.mend) == (kind == "warning")


def test_only_the_apps_that_were_named_are_asked(place: DoctorContext) -> None:
    asked = replace(place, examiner=Mac(state("A", may="unknown")), apps=("com.example.A",))
    assert "the permission is unknown" in only(checks.check_automation(asked)).says
    wedged = Mac(state("A", may="unknown", reason="It did not answer."))
    finding = only(checks.check_automation(replace(asked, examiner=wedged)))
    assert (finding.state, finding.says) == ("warning", "A: It did not answer.")
    wrong = only(checks.check_automation(replace(asked, apps=("Acb",))))
    assert (wrong.state, wrong.mend) == ("problem", "iac-mcp tools")


@pytest.mark.process
def test_a_real_process_is_asked_about_each_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, generated: Path
) -> None:
    program = tmp_path / "osascript"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m iac_simulator.osascript "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    executor = Executor(program=str(program))
    asked = DoctorContext(executor, (generated,), ("notes", "Mail"), system="linux")
    found = [*checks.check_osascript(asked), *checks.check_automation(asked)]
    executor.close()
    assert [line.state for line in found] == ["ok", *["ok"] * (len(found) - 1)]
    assert str(program) in found[0].says
    assert "Mail" in " ".join(line.says for line in found[1:])


def test_without_osascript_no_app_is_asked(place: DoctorContext) -> None:
    without = replace(place, examiner=Mac(osascript=None))
    assert [*checks.check_automation(without)] == []
    assert only(checks.check_osascript(without)).state == "warning"
    assert only(checks.check_osascript(replace(without, system="darwin"))).state == "problem"
    assert only(checks.check_osascript(place)).says == "/usr/bin/osascript on macOS 15.1"


@pytest.mark.parametrize(
    ("answer", "wanted"), [(True, "ok"), (False, "warning"), (None, "warning")]
)
def test_accessibility_is_asked_of_a_mac(
    place: DoctorContext, monkeypatch: pytest.MonkeyPatch, answer: bool | None, wanted: str
) -> None:
    assert [*checks.check_accessibility(place)] == []
    monkeypatch.setattr(checks, "is_accessibility_trusted", lambda system: answer)
    assert only(checks.check_accessibility(replace(place, system="darwin"))).state == wanted


def test_accessibility_cannot_be_asked_elsewhere() -> None:
    assert checks.is_accessibility_trusted("linux") is None
    if sys.platform != "darwin":
        assert checks.is_accessibility_trusted("darwin") is None


def test_python_is_named_and_on_a_mac_its_signature_judged(place: DoctorContext) -> None:
    assert sys.executable in only(checks.check_python(place)).says
    mac = replace(place, system="darwin")
    assert only(checks.check_python(mac)).state == "ok"
    hard = lambda argv, stdin, timeout: Completed(b"", b"flags=0x10000(runtime)", 0)  # noqa: E731
    finding = only(checks.check_python(replace(mac, run=hard)))
    assert finding.state == "problem"
    assert "iac-mcp install again" in finding.mend


@pytest.mark.parametrize(("version", "wanted"), [
    ("2.3.0", "ok"), ("2.11.1", "ok"), ("2.2.9", "problem"), ("3.0", "problem"), ("1.9", "problem"),
])  # fmt: skip
def test_the_sdk_must_be_one_that_the_server_was_made_for(
    place: DoctorContext, monkeypatch: pytest.MonkeyPatch, version: str, wanted: str
) -> None:
    monkeypatch.setattr(checks.metadata, "version", lambda name: version)
    assert only(checks.check_sdk(place)).state == wanted


def test_an_sdk_that_is_missing_is_told(
    place: DoctorContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise checks.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(checks.metadata, "version", missing)
    assert "pip install 'mcp>=2.3,<3'" in only(checks.check_sdk(place)).mend


def test_tools_are_counted_and_a_damaged_catalogue_is_a_problem(place: DoctorContext) -> None:
    assert (
        only(checks.check_tools(place)).says == "6 tools of 6 apps: 6 SAFE, 0 MODIFY, 0 DANGEROUS"
    )
    none = only(checks.check_tools(replace(place, tools=())))
    assert (none.state, none.mend) == ("problem", "iac-gen build")
    (place.tools[0] / "catalogue.json").write_text("{")
    finding = only(checks.check_tools(place))
    assert (finding.state, finding.mend) == ("problem", "iac-gen build")
    assert [*checks.check_freshness(place)] == []


def test_an_updated_app_is_named_with_the_command(place: DoctorContext, tmp_path: Path) -> None:
    assert only(checks.check_freshness(place)).says == "No installed app to compare the tools with"
    install_app(tmp_path / "Apps", "A", "com.example.A", b"")
    assert only(checks.check_freshness(place)).says == "Installed apps with matching tools: 1"
    install_app(tmp_path / "Apps", "A", "com.example.A", b"new")
    finding = only(checks.check_freshness(place))
    assert (finding.state, finding.mend) == ("warning", "iac-gen build com.example.A")


def test_a_state_folder_that_others_can_read_is_a_problem(
    place: DoctorContext, tmp_path: Path
) -> None:
    assert only(checks.check_state_folder(place)).state == "ok"
    folder = tmp_path / "data" / "state"
    folder.chmod(0o755)
    finding = only(checks.check_state_folder(place))
    assert (finding.state, finding.mend) == ("problem", f"chmod 700 '{folder}'")


@pytest.mark.parametrize(("system", "state"), [("darwin", "ok"), ("linux", "warning")])
def test_a_client_without_prompts_is_said_to_have_none(
    place: DoctorContext, tmp_path: Path, system: str, state: str
) -> None:
    there = replace(place, system=system, environ={"HOME": str(tmp_path)})
    desktop = CLIENTS["claude-desktop"]
    path = client_file(desktop, there.environ, system)
    path.parent.mkdir(parents=True)
    entry = client_entry(desktop, Launch(sys.executable, ("-m", "iac_mcp", "serve")))
    path.write_text(json.dumps({"mcpServers": {"iac": entry}}))
    finding = next(iter(checks.check_approval_prompts(there)))
    assert finding.state == state
    assert finding.says.startswith("Claude Desktop cannot show approval prompts")


def test_questions_without_a_yes_are_counted_before_a_client_must_wait(
    place: DoctorContext, tmp_path: Path
) -> None:
    assert only(checks.check_approval_prompts(place)).says == "every approval prompt was answered"
    store = ApprovalStore(tmp_path / "data" / "state")
    for times in range(1, MAX_UNAPPROVED + 1):
        with store.open_transaction() as connection:
            record_answer(connection, "Claude", "client", "decline", time.time())
        finding = only(checks.check_approval_prompts(place))
        if times < MAX_UNAPPROVED:
            assert finding.says.startswith(
                f"Claude got no approval for {times} prompts; after {MAX_UNAPPROVED}"
            )
    assert (finding.state, finding.mend) == ("warning", "iac-mcp policy resume")


def test_a_policy_with_a_mistake_is_a_problem(place: DoctorContext, tmp_path: Path) -> None:
    finding = only(checks.check_policy(replace(place, environ={"IAC_READ_ONLY": "1"})))
    assert finding.says == "preset cautious, read-only (no file, so the defaults apply)"
    path = tmp_path / "data" / "policy.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text('preset = "caution"\n')
    finding = only(checks.check_policy(place))
    assert finding.state == "problem"
    assert "line 1" in finding.says


@pytest.mark.parametrize(("command", "wanted", "words"), [
    ("iac-mcp", "problem", "give the full path"),
    ("/nowhere/bin/iac-mcp", "problem", "does not exist"),
    (sys.executable, "ok", "Claude Desktop starts"),
    ("/bin/sh", "warning", "not the Python of this command"),
    ("{tmp}/python3", "problem", "is not a Python that can start"),
])  # fmt: skip
def test_a_client_must_point_at_a_python_that_is_there(
    place: DoctorContext, desktop: Path, tmp_path: Path, command: str, wanted: str, words: str
) -> None:
    broken = tmp_path / "python3"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    command = command.replace("{tmp}", str(tmp_path))
    entry = {"command": command, "args": ["-m", "iac_mcp", "serve"]}
    desktop.write_text(json.dumps({"mcpServers": {"iac": entry}}))
    finding = only(checks.check_clients(replace(place, system=sys.platform)))
    assert finding.state == wanted
    assert words in finding.says
    if wanted != "ok":
        assert finding.mend == "iac-mcp install claude-desktop"


def test_a_shim_in_a_client_is_told(place: DoctorContext, desktop: Path, tmp_path: Path) -> None:
    shim = tmp_path / "shims" / "python3"
    shim.parent.mkdir()
    shim.symlink_to(sys.executable)
    entry = {"command": str(shim), "args": ["-m", "iac_mcp", "serve"]}
    desktop.write_text(json.dumps({"mcpServers": {"iac": entry}}))
    assert "is a shim" in only(checks.check_clients(replace(place, system=sys.platform))).says


def test_an_entry_of_an_earlier_version_is_told(place: DoctorContext, desktop: Path) -> None:
    entry = {"command": sys.executable, "args": ["-P", "-m", "iac_runtime", "serve"]}
    desktop.write_text(json.dumps({"mcpServers": {"iac": entry}}))
    finding = only(checks.check_clients(replace(place, system=sys.platform)))
    assert (finding.state, finding.mend) == ("problem", "iac-mcp install claude-desktop")
    assert "earlier version" in finding.says


def test_a_client_that_cannot_be_read_and_no_client_at_all(
    place: DoctorContext, desktop: Path
) -> None:
    here = replace(place, system=sys.platform)
    assert only(checks.check_clients(here)).says == "No client has this server."
    desktop.write_text("{ // words\n}")
    found = [*checks.check_clients(here)]
    assert [line.state for line in found] == ["warning", "warning"]
    assert found[0].mend == "iac-mcp install claude-desktop --print"


def test_what_stands_in_the_way_in_clients_is_named(place: DoctorContext, desktop: Path) -> None:
    ours = {"command": sys.executable, "args": ["-P", "-m", "iac_mcp", "serve"]}
    servers = {"iac": {"command": "someone"}, "mac": ours}
    desktop.write_text(json.dumps({"mcpServers": servers}))
    bundle = desktop.with_name("Claude Extensions") / "iac"
    bundle.mkdir(parents=True)
    (bundle / "manifest.json").write_text('{"name": "iac", "version": "0.0.1"}')
    says = [finding.says for finding in checks.check_clients(place) if finding.state == "warning"]
    assert 'Claude Desktop has another server called "iac".' in says
    assert 'Claude Desktop has this server under the name "mac" too.' in says
    assert any("bundle in Claude Desktop has version 0.0.1" in line for line in says)
    desktop.write_text(json.dumps({"mcpServers": {"iac": ours}}))
    assert any("twice" in finding.says for finding in checks.check_clients(place))


def test_an_sqlite_without_trigrams_is_a_problem(
    place: DoctorContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert only(checks.check_search(place)).state == "ok"

    class Old:
        def execute(self, _statement: str) -> None:
            raise sqlite3.OperationalError("no such tokenizer: trigram")

        def close(self) -> None: ...

    monkeypatch.setattr(checks.sqlite3, "connect", lambda _path: Old())
    assert only(checks.check_search(place)).state == "problem"


def test_servers_that_were_left_over_are_named(
    place: DoctorContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        ServerProcess(11, True, "launchd", ("iac-mcp", "serve")),
        ServerProcess(12, False, "Claude", ("iac-mcp", "serve")),
        ServerProcess(13, False, "Claude", ("iac-mcp", "serve")),
    ]
    monkeypatch.setattr(checks, "server_processes", lambda: rows)
    board = StatusFile("search", 1, {})
    board.update_fields(version="0.0.1")
    board._write_file()
    found = [*checks.check_servers(place)]
    board.close()
    assert [line.state for line in found] == ["warning", "warning", "ok"]
    assert found[0].mend == "kill 11"
    assert "has version 0.0.1" in found[1].says
    assert found[2].says.startswith("Claude started 2 servers")
    elsewhere = ServerProcess(14, False, "Claude", ("iac-mcp", "serve"), "/Users/other")
    monkeypatch.setattr(checks, "server_processes", lambda: [elsewhere])
    assert only(checks.check_servers(place)).says == "0 running; 1 of other homes"


@pytest.mark.process
def test_a_running_server_is_found_by_how_it_was_started() -> None:
    script = "import sys; print('up', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, "-m", "iac_mcp", "serve"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "up\n"
        rows = {row.pid: row for row in server_processes()}
        child.communicate("")
    assert not rows[child.pid].orphan
    assert os.getpid() not in rows


def test_a_check_that_breaks_is_one_line_and_the_others_run(
    place: DoctorContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_place: DoctorContext):
        raise RuntimeError("odd")

    monkeypatch.setattr(checks, "CHECKS", {"odd": broken, "sdk": checks.check_sdk})
    found = [*checks.run_checks(place)]
    assert [line.state for line in found] == ["problem", "ok"]
    assert "RuntimeError: odd" in found[0].says


def test_colours_are_for_terminals_and_for_those_who_want_them(
    place: DoctorContext, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("click._compat.isatty", lambda stream: True)
    cli_doctor.print_finding(DoctorFinding("problem", "an app said \x1b[2J", "mend it", "x"))
    out = capsys.readouterr().out
    assert out.startswith("\x1b[31mproblem")
    assert "\x1b[2J" not in out
    monkeypatch.setenv("NO_COLOR", "1")
    cli_doctor.print_finding(DoctorFinding("problem", "bad", check="x"))
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.process
def test_the_command_prints_lines_and_ends_with_1_where_there_is_a_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = build_tools(tmp_path / "tools", APPS)
    assert main(["doctor", "--tools", str(tools)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert out.splitlines()[0].startswith("ok       python")
    assert " 0 problems" in f" {out.splitlines()[-1]}"
    (tmp_path / "data" / "policy.toml").write_text("x = 1\n")
    assert main(["doctor", "--json", "--tools", str(tools)]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert facts["ok"] is False
    wrong = [row for row in facts["findings"] if row["state"] == "problem"]
    assert [(row["check"], row["mend"]) for row in wrong] == [("policy", "iac-mcp policy edit")]
    assert all(row.get("mend") for row in facts["findings"] if row["state"] != "ok")


def test_a_script_of_the_users_that_cannot_be_read_is_a_line(
    place: DoctorContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("iac_applescript.library.data_folder", lambda: tmp_path)
    folder = tmp_path / "scripts"
    folder.mkdir(mode=0o700)
    assert only(checks.check_scripts(place)).says == "own scripts: 0"
    (folder / "mine.toml").write_text("app = ", encoding="utf-8")
    found = only(checks.check_scripts(place))
    assert found.state == "warning"
    assert "mine.toml is not TOML" in found.says
