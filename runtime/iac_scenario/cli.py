"""`iac-scenario`: play a scenario, check one, record one.

Exit status: 0 passed, 1 failed or an error of the model's service, 2 a partial reply, wrong usage
or a broken scenario.
"""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

import anyio
import click

from iac_base.commands import CommandGroup
from iac_base.errors import DISTRIBUTION, missing_packages
from iac_scenario.audit import audit_servers, fuzz_servers, lint_scenario
from iac_scenario.audit_report import REPORTS, AuditCheck
from iac_scenario.bootstrap import first_scenario, parse_server
from iac_scenario.checks import LOOSE, static_problems
from iac_scenario.claude_cli import claude, install_claude
from iac_scenario.contract import compare_contracts, read_contracts
from iac_scenario.conversation import scenario_prompts
from iac_scenario.matching import LIBRARIES
from iac_scenario.mcp_servers import expand_variables, read_config
from iac_scenario.mock_server import serve_mock_tools
from iac_scenario.model import (
    CLIENT_VERSION,
    MODES,
    PERMISSION_MODES,
    PlayError,
    ScenarioError,
    StdioServer,
)
from iac_scenario.output import (
    OUTPUT_FORMATS,
    parts_format,
)
from iac_scenario.play_cli import event_handlers, load_with_warnings, play_prompts, read_prompts
from iac_scenario.player import PlaySettings, inspect_scenario
from iac_scenario.recording import record_client, record_server, relay_messages
from iac_scenario.schema import TIMEOUTS
from iac_scenario.session import latest_session

CLIENT: Final = f"claude-{CLIENT_VERSION.rpartition('.')[0]}"
ANY_FILE: Final = click.Path(path_type=Path, dir_okay=False)
FOUND_FILE: Final = click.Path(path_type=Path, dir_okay=False, exists=True)
ANY_FOLDER: Final = click.Path(path_type=Path, file_okay=False)
FILE = click.argument("file", type=ANY_FILE)
MCP_CONFIG = click.option(
    "--mcp-config",
    type=FOUND_FILE,
    help="A file that lists the MCP servers, in Claude's JSON format.",
)

ALLOW = click.option(
    "--allow",
    "allowed",
    multiple=True,
    type=click.Choice(list(LOOSE)),
    help="Do not fail for this reason; repeatable.",
)


def _timeout_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an option for every timeout."""
    for name, timeout in reversed([*TIMEOUTS.items()]):
        flag = f"--{name.replace('_', '-')}"
        command = click.option(flag, name, type=click.IntRange(min=0), help=timeout.doc)(command)
    return command


@click.command()
@FILE
@click.option("-p", "--prompt", "prompts", multiple=True, help="What the user says; repeatable.")
@click.option(
    "--tool-execution-mode",
    "mode",
    type=click.Choice(MODES),
    help="How tools run. Overrides the file.",
)
@click.option(
    "--sandbox-root",
    type=ANY_FOLDER,
    help="The folder in which simulated tools work (default: a temporary folder).",
)
@click.option(
    "--allow-real-bash",
    is_flag=True,
    help="Let Bash change Git folders, start-up files and the like in your folder.",
)
@click.option(
    "--unconfined",
    is_flag=True,
    help="Run Bash, Grep and Glob without a sandbox, with your own rights.",
)
@MCP_CONFIG
@click.option(
    "--permission-mode",
    type=click.Choice(PERMISSION_MODES),
    help="Which calls require approval. Overrides the file.",
)
@ALLOW
@click.option(
    "--config-dir",
    type=ANY_FOLDER,
    envvar="IAC_SCENARIO_CONFIG_DIR",
    help="Store sessions in this folder, as Claude Code does: projects, todos, plans.",
)
@click.option("--session-id", type=click.UUID, help="The session's id. Overrides the file.")
@click.option("-r", "--resume", type=click.UUID, help="Continue the session with this id.")
@click.option("-c", "--continue", "continued", is_flag=True, help="Continue the last session.")
@click.option(
    "--settings",
    multiple=True,
    type=FOUND_FILE,
    help="A settings.json of Claude Code (permissions, variables, hooks); repeatable.",
)
@click.option(
    "--report",
    "reports",
    multiple=True,
    type=ANY_FILE,
    help="Write a page with the timeline, or JUnit XML if the name ends in .xml; repeatable.",
)
@click.option("--client", type=click.Choice([CLIENT]), default=CLIENT, expose_value=False,
              help="The client whose tools, results and lines the run has.")  # fmt: skip
@click.option(
    "--output-format", "form", type=click.Choice(OUTPUT_FORMATS), default="text", show_default=True
)
@click.option(
    "--include-partial-messages",
    "partial_messages",
    is_flag=True,
    help="Print each message in parts too (stream-json only).",
)
@_timeout_options
def run(file: Path, prompts: tuple[str, ...], form: str, continued: bool, **options: Any) -> None:
    """Play the scenario in FILE. Without -p, prompts come from the file, or from standard input."""
    config = options.pop("mcp_config")
    reports = options.pop("reports")
    if options.pop("partial_messages"):
        form = parts_format(form)
    scenario = load_with_warnings(file).scenario
    chosen, resumed = options.pop("session_id"), options.pop("resume")
    if continued:
        if options["config_dir"] is None:
            raise click.UsageError("--continue needs --config-dir.")
        resumed = latest_session(options["config_dir"])
    if (known := resumed or chosen) is not None:
        identity = replace(scenario.identity, session_id=str(known))
        scenario = replace(scenario, identity=identity)
    timeouts = {name: options.pop(name) for name in TIMEOUTS}
    options["allowed"] = frozenset(options["allowed"])
    settings = PlaySettings(
        **options, servers=_config_servers(config), timeouts=timeouts, resumed=resumed is not None
    )
    spoken = prompts or scenario.prompts or read_prompts()
    sys.exit(play_prompts(scenario, spoken, settings, form, reports))


def _config_servers(config: Path | None) -> dict[str, StdioServer]:
    return {} if config is None else read_config(config)


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=DISTRIBUTION)
def cli() -> None:
    """Run scripted conversations with tools: mocked, simulated or real."""


cli.add_command(run)
cli.add_command(claude)
cli.add_command(install_claude)


@cli.command()
@click.option("-o", "--output", type=ANY_FILE, help="The scenario to write.  [default: NAME.toml]")
@click.option("--call", is_flag=True, help="Call all tools but those that say they destroy.")
@click.argument("server", nargs=-1, required=True, type=click.UNPROCESSED)
def new(output: Path | None, call: bool, server: tuple[str, ...]) -> None:
    """Write a first scenario for SERVER, a command or a URL, from its list of tools.

    Write options of that command after `--`. Tools that say that they only read are called once:
    where the arguments are an error, the scenario expects it.
    """
    output = output or Path(f"{parse_server(server)[0]}.toml")
    if output.exists():
        raise click.UsageError(f"{output} already exists; name another file with -o.")
    text = anyio.run(partial(first_scenario, calls=call), server, output)
    output.write_text(text, encoding="utf-8")
    click.echo(f"{output} is written. Run it with: iac-scenario run {output}")


@cli.command()
@FILE
@click.option(
    "--servers/--no-servers",
    default=True,
    help="Start the servers, and compare the calls with the tools that they list.",
)
@MCP_CONFIG
def check(file: Path, servers: bool, mcp_config: Path | None) -> None:
    """Find mistakes in FILE without running it or calling a tool."""
    scenario, _, secrets = load_with_warnings(file)
    problems = [*map(str, static_problems(scenario)), *secrets]
    if servers:
        settings = PlaySettings(servers=_config_servers(mcp_config))
        problems += map(str, anyio.run(inspect_scenario, scenario, settings))
    for line in problems:
        click.echo(line, err=True)
    rules, prompts = len(scenario.rules), scenario_prompts(scenario) or ()
    click.echo(f"{file}: {rules} rules, {len(prompts)} prompts, {len(problems)} problems.")
    sys.exit(1 if problems else 0)


@cli.command()
@click.option(
    "--mcp-config",
    type=ANY_FILE,
    help="The MCP configuration of the client COMMAND. Calls to its servers are recorded.",
)
@click.option(
    "-o",
    "--output",
    type=ANY_FILE,
    default=Path("recorded.toml"),
    show_default=True,
    help="The scenario to write.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def record(mcp_config: Path | None, output: Path, command: tuple[str, ...]) -> None:
    """Record the messages of a client and a server as a scenario, without secrets.

    With --mcp-config, COMMAND must be a client. Where COMMAND contains the path of that file (or
    {mcp-config}), the client gets a copy with recorded servers. Without --mcp-config, COMMAND is a
    server: this command runs it, and stands in for it on standard input and output.
    """
    if mcp_config is not None:
        status, count = record_client(command, mcp_config, output)
    else:
        status, count = record_server(command, output)
    click.echo(f"{output}: {count} calls recorded.", err=True)
    sys.exit(status)


@cli.command()
@FILE
@ALLOW
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port to listen on; 0 picks a free port.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def model(file: Path, allowed: tuple[str, ...], port: int, command: tuple[str, ...]) -> None:
    """Serve FILE as a model on 127.0.0.1, for agents that talk to Anthropic, OpenAI or Gemini.

    With COMMAND, run that client. Variables such as ANTHROPIC_BASE_URL give it the model's
    address. Without COMMAND, serve until Ctrl-C. What fails `iac-scenario run` fails here too,
    except for calls without expectations.
    """
    from iac_scenario.model_server import run_client, serve_model

    scenario = load_with_warnings(file).scenario
    scenario = replace(scenario, allowed=scenario.allowed | frozenset(allowed))
    take, ended = event_handlers("text", scenario, out=not command, served=True)
    with serve_model(scenario, take, port) as url:
        click.echo(f"A model that gives the scenario's answers listens on {url}", err=True)
        status = run_client(command, url)
    sys.exit(ended() or status)


@cli.command()
@FILE
@click.option("--name", help="Serve only the tools whose names in clients begin with mcp__NAME__.")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Serve over HTTP on this port of 127.0.0.1."
)
def server(file: Path, name: str | None, port: int | None) -> None:
    """Serve the mock tools of FILE as an MCP server over stdio."""
    serve_mock_tools(load_with_warnings(file).scenario, name, port)


@cli.command()
@click.argument("contract", type=ANY_FILE)
@click.option(
    "--mcp-config",
    type=FOUND_FILE,
    required=True,
    help="A file that lists the MCP servers, in Claude's JSON format.",
)
@click.option(
    "--update", is_flag=True, help="Write CONTRACT again, with the tools that the servers list now."
)
def snapshot(contract: Path, mcp_config: Path, update: bool) -> None:
    """Write the tools of servers to the file CONTRACT, or show what has changed since then.

    Exits with 1 if a change breaks callers.
    """
    contracts = anyio.run(read_contracts, mcp_config)
    status = 0
    for change in compare_contracts(contract, contracts, update=update):
        click.echo(change)
        status = status or int(change.breaks and not update)
    sys.exit(status)


def _report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a report."""
    forms = click.Choice([*REPORTS])
    command = click.option("--strict", is_flag=True, help="Exit with 1 for warnings too.")(command)
    flag = "--output-format"
    return click.option(flag, "form", type=forms, default="table", show_default=True)(command)


def _server_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command servers: of a file, or one that its words name."""
    return MCP_CONFIG(click.argument("server", nargs=-1, type=click.UNPROCESSED)(command))


def _named_servers(mcp_config: Path | None, server: tuple[str, ...]) -> dict[str, StdioServer]:
    named = _config_servers(mcp_config)
    named |= [parse_server(server)] if server else []
    if not named:
        raise click.UsageError("Name a server, or a file of servers with --mcp-config.")
    return {name: expand_variables(one, {}) for name, one in named.items()}


def _print_checks(checks: Sequence[AuditCheck], form: str, *, strict: bool) -> NoReturn:
    click.echo(REPORTS[form](checks))
    sys.exit(int(any(one.fault and (strict or one.level == "error") for one in checks)))


@cli.command()
@_server_options
@_report_options
def audit(mcp_config: Path | None, server: tuple[str, ...], form: str, strict: bool) -> None:
    """Check what SERVER, a command or a URL, lists, and how it speaks.

    The rules are those of the specification, of clients, of Anthropic's directory, and advice. No
    tool is called. Exits with 1 for an error.
    """
    servers = _named_servers(mcp_config, server)
    _print_checks(anyio.run(audit_servers, servers), form, strict=strict)


@cli.command()
@_server_options
@click.option("--calls", type=click.IntRange(1), default=200, show_default=True, help="At most.")
@click.option("--destructive", is_flag=True, help="Call tools too that may change something.")
@_report_options
def fuzz(
    mcp_config: Path | None,
    server: tuple[str, ...],
    calls: int,
    destructive: bool,
    form: str,
    strict: bool,
) -> None:
    """Call tools of SERVER with arguments that do not fit their schemas, which it must refuse.

    Only tools that say that they only read are called.
    """
    servers = _named_servers(mcp_config, server)
    run_fuzz = partial(fuzz_servers, servers, calls, destructive=destructive)
    _print_checks(anyio.run(run_fuzz), form, strict=strict)


@cli.command()
@click.argument("files", nargs=-1, required=True, type=FOUND_FILE)
@_report_options
def lint(files: tuple[Path, ...], form: str, strict: bool) -> None:
    """Check how scenario files are written, without playing them or starting a server."""
    _print_checks([one for file in files for one in lint_scenario(file)], form, strict=strict)


@cli.command(hidden=True)
@click.argument("log", type=ANY_FILE)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def proxy(log: Path, command: tuple[str, ...]) -> None:
    """Run between a client and a server, and write their messages to LOG."""
    sys.exit(relay_messages(command, log))


# A group without a command shows its help; before click 8.2 that was no error.
_HELP: Final[tuple[type[Exception], ...]] = tuple(
    filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)])
)


def main() -> int:
    """Run the command line and return its status."""
    if missing := missing_packages("iac-scenario", "scenario", LIBRARIES):
        click.echo(missing, err=True)
        return 2
    try:
        cli.main(prog_name="iac-scenario", standalone_mode=False)
    except click.exceptions.Abort:
        return 130
    except click.ClickException as error:
        text = error.format_message()
        if not isinstance(error, _HELP):
            text = f"iac-scenario: {' '.join(text.split())}"
        click.echo(text, err=True)
        return 2
    except (ScenarioError, PlayError) as error:
        click.echo(str(error), err=True)
        return 2
    except SystemExit as status:
        return int(status.code or 0)
    except OSError as error:
        # What could not be printed must not be tried again at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            fault = f"{error.filename or 'standard output'}: {error.strerror}."
            click.echo(f"iac-scenario: {fault}", err=True)
        return 1
    except BaseExceptionGroup as group:
        return _report_errors(group)
    return 0


def _report_errors(group: BaseExceptionGroup[BaseException]) -> int:
    """Report what the caller can mend, which a task group wraps; the rest goes on up."""
    known, other = group.split((PlayError, KeyboardInterrupt))
    if known is None or other is not None:
        raise group
    click.echo(str(known.exceptions[0]) or "Interrupted.", err=True)
    return 2
