"""`iac-scenario`: play a scenario, check one, record one.

Exit status: 0 passed, 1 failed or an error of the model's service, 2 a partial reply, wrong usage
or a broken scenario.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from iac_base.commands import CommandGroup
from iac_base.errors import DISTRIBUTION
from iac_scenario.cli_run import (
    ALLOW,
    ANY_FILE,
    FILE,
    FOUND_FILE,
    MCP_CONFIG,
    event_handlers,
    load_with_warnings,
    run,
)
from iac_scenario.conversation import scenario_prompts
from iac_scenario.errors import PlayError, ScenarioError
from iac_scenario.play import PlaySettings, inspect_scenario
from iac_scenario.reader import load_scenario
from iac_scenario.verdict import static_problems


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=DISTRIBUTION)
def cli() -> None:
    """Run scripted conversations with tools: mocked, simulated or real."""


cli.add_command(run)


@cli.command()
@click.option("-o", "--output", type=ANY_FILE, help="The scenario to write.  [default: NAME.toml]")
@click.argument("server", nargs=-1, required=True, type=click.UNPROCESSED)
def new(output: Path | None, server: tuple[str, ...]) -> None:
    """Write a first scenario for SERVER, a command or a URL, from its list of tools.

    Write options of that command after `--`. No tool is called.
    """
    import anyio

    from iac_scenario.first import first_scenario, parse_server

    output = output or Path(f"{parse_server(server)[0]}.toml")
    if output.exists():
        raise click.UsageError(f"{output} already exists; name another file with -o.")
    output.write_text(anyio.run(first_scenario, server, output), encoding="utf-8")
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
    import anyio

    scenario, warnings, secrets = load_scenario(file)
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    found = [*map(str, static_problems(scenario)), *secrets]
    if servers:
        settings = PlaySettings(mcp_config=mcp_config)
        found += map(str, anyio.run(inspect_scenario, scenario, settings))
    for line in found:
        click.echo(line, err=True)
    rules, prompts = len(scenario.rules), scenario_prompts(scenario) or ()
    click.echo(f"{file}: {rules} rules, {len(prompts)} prompts, {len(found)} problems.")
    sys.exit(1 if found else 0)


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
    from iac_scenario.record import record_client, record_server

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

    scenario = load_with_warnings(file)
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
    from iac_scenario.mock_server import serve_mock_tools

    serve_mock_tools(load_with_warnings(file), name, port)


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
    import anyio

    from iac_scenario.contract import compare_contracts, read_contracts

    found = anyio.run(read_contracts, mcp_config)
    status = 0
    for change in compare_contracts(contract, found, update=update):
        click.echo(change)
        status = status or int(change.breaks and not update)
    sys.exit(status)


@cli.command(hidden=True)
@click.argument("log", type=ANY_FILE)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def proxy(log: Path, command: tuple[str, ...]) -> None:
    """Run between a client and a server, and write their messages to LOG."""
    from iac_scenario.record import relay_messages

    sys.exit(relay_messages(command, log))


_HELP: Final[tuple[type[Exception], ...]] = tuple(
    filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)])
)


def main() -> int:
    """Run the command line and return its status."""
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
            said = f"{error.filename or 'standard output'}: {error.strerror}."
            click.echo(f"iac-scenario: {said}", err=True)
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
