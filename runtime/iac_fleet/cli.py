"""`iac-fleet`: one record of many Macs.

Exit status: 0 done, 1 an alarm was found, 2 wrong usage or set-up.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from iac_base.commands import CommandGroup
from iac_base.errors import DISTRIBUTION, IacError, SetupError, pip_install, quote_text
from iac_base.files import open_state, write_whole
from iac_base.text import escape_hidden
from iac_fleet import database, enrol, export, forward, verify, versions
from iac_fleet.forward import forward_once, host_facts, run_forwarder, save_progress
from iac_fleet.service import FORWARDER, forwarder_plist
from iac_fleet.versions import BEHIND, FleetSettings, read_settings, write_settings
from iac_mcp.setup import service as launchd
from iac_mcp.setup.interpreter import examine_python
from iac_runtime.audit.store import FORWARDED
from iac_runtime.version import VERSION

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, one object per line.")
DATABASE = click.option(
    "--database",
    "address",
    metavar="ADDRESS",
    envvar="IAC_FLEET_DATABASE",
    help="The database's address (default: the one in fleet.toml).",
)


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=DISTRIBUTION)
def cli() -> None:
    """Keep one record of what assistants did on many Macs, in a PostgreSQL database.

    \b
    Examples:
      iac-fleet demo                       a database, three simulated Macs, and what they did
      iac-fleet join postgresql://mac@db.example.org/fleet
      iac-fleet forward                    send this Mac's audit log, until Ctrl-C
    """


@cli.command()
@DATABASE
def migrate(address: str | None) -> None:
    """Create or update the tables of the database. Run this as the database's owner."""
    with database.open_connection(_database_address(address)) as connection:
        ran = database.run_migrations(connection)
    click.echo(f"Ran {', '.join(ran)}." if ran else "The tables are up to date.")


@cli.command("team")
@click.argument("team")
@click.argument("role")
@click.option("--reads", "duty", flag_value="reader", help="The role can only read the record.")
@click.option(
    "--leads", "duty", flag_value="lead", help="The role reads, publishes policies and answers."
)
@click.option("--host", help="The role belongs to one Mac, and can write only under this name.")
@DATABASE
def add_team(
    team: str, role: str, duty: database.Duty | None, host: str | None, address: str | None
) -> None:
    """Let a database role (a user) send for a team's Macs. Run this as the database's owner.

    With --reads or --leads, the role sends nothing.
    """
    if duty and host:
        raise click.UsageError("--host is for the role of a Mac: leave out --reads and --leads.")
    with database.open_connection(_database_address(address)) as connection:
        database.add_team(connection, team, role, duty or "mac", host)
    click.echo(f"{role} is now a {duty or 'mac'} of {team}.")


@cli.command()
@click.argument("address")
@click.option("--host", help="The name of this Mac in the record; default: its network name.")
@click.option(
    "--behind",
    type=click.IntRange(1),
    default=BEHIND,
    show_default=True,
    help="How many rows may wait for the database. If more wait, tools change nothing.",
)
@click.option(
    "--key", default="", help="The team's public key. With it, this Mac uses the team's policy."
)
@click.option(
    "--approver",
    multiple=True,
    help="The public key of a person who may answer this Mac's approval prompts; repeatable.",
)
def join(address: str, host: str | None, behind: int, key: str, approver: tuple[str, ...]) -> None:
    """Let this Mac send its audit log to a database, such as postgresql://mac@server/fleet."""
    import socket

    settings = FleetSettings(address, host or socket.gethostname(), behind, key, approver)
    with database.open_connection(address) as connection:
        # Also says whether this role may write.
        database.report_host(connection, settings.host, {"version": VERSION})
    path, state = write_settings(settings), open_state()
    if not (state / FORWARDED).exists():
        # From now on too much may not wait, even if the forwarder never runs.
        save_progress(state, settings, 0)
    click.echo(f"{settings.host} has joined the fleet ({path}). Now run: iac-fleet forward")


@cli.command("forward")
@click.option("--once", is_flag=True, help="Send the waiting rows, then stop.")
def forward_rows(once: bool) -> None:
    """Send this Mac's audit log to the team's database, until you press Ctrl-C."""
    settings, state = read_settings(), open_state()
    if once:
        with database.open_connection(settings.database) as connection:
            done = forward_once(settings, state, connection)
            if news := versions.adopt_version(connection, settings, state):
                click.echo(news)
            database.report_host(connection, settings.host, _current_facts())
        click.echo(f"Sent {done.sent} rows; {done.waiting} are waiting.")
        return
    end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end.set())
    run_forwarder(
        settings, state, _current_facts, lambda line: click.echo(line, err=True), end.wait
    )


def _current_facts() -> dict[str, Any]:
    from iac_runtime.tools.catalogue import Catalogue, tool_folders

    facts = host_facts(Catalogue(tool_folders([])), VERSION)
    return {**facts, **versions.team_facts(open_state())}


PRIVATE_FILE = click.Path(path_type=Path, dir_okay=False)
TEAM_KEY = click.option(
    "--key", type=PRIVATE_FILE, required=True, help="The file with the team's private key."
)
SHARE = click.option(
    "--share",
    type=click.IntRange(0, 100),
    default=100,
    show_default=True,
    help="The percentage of Macs that get this version; the same Macs come first each time.",
)


@cli.command("key")
@click.argument("file", type=PRIVATE_FILE)
def make_key(file: Path) -> None:
    """Write a new private key to FILE; print its public key for `join --key` or `--approver`."""
    click.echo(versions.make_key(file))


@cli.command()
@click.argument("policy", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@TEAM_KEY
@click.option(
    "--quirks",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A folder of quirk files (corrections of app dictionaries), for all Macs.",
)
@click.option(
    "--accept-levels",
    "accepted",
    multiple=True,
    metavar="NAME,...",
    help="Names whose levels a build may lower to the levels in your own tools.",
)
@SHARE
@DATABASE
def publish(
    policy: Path,
    key: Path,
    quirks: Path | None,
    accepted: tuple[str, ...],
    share: int,
    address: str | None,
) -> None:
    """Publish a team's policy. A Mac's own policy can only make it stricter."""
    signer = versions.read_key(key)
    paths = sorted(quirks.glob("*.toml")) if quirks else []
    if paths:
        _check_quirks(paths)
    names = [name.strip() for one in accepted for name in one.split(",") if name.strip()]
    here = versions.own_levels() if names else {}
    if missing := [name for name in names if name not in here]:
        message = f"No tool, class or property of your tools is called {quote_text(missing[0])}."
        raise SetupError(message)
    texts = {path.name: path.read_text("utf-8") for path in paths}
    levels = {name: here[name] for name in names}
    files = versions.TeamFiles(policy.read_text("utf-8"), texts, levels)
    with database.open_connection(_database_address(address)) as connection:
        number = versions.publish_version(connection, signer, files, share)
    click.echo(f"Published version {number} to {share}% of the Macs.")


def _check_quirks(paths: list[Path]) -> None:
    """Have the generator read quirk files before all Macs do. Raises SetupError."""
    if find_spec("iac_gen") is None:
        raise SetupError(f"To check quirk files, install the generator: {pip_install('gen')}")
    words = [sys.executable, "-m", "iac_gen", "lint", *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SetupError(done.stderr.strip().splitlines()[0].removeprefix("iac-gen: "))


@cli.command()
@click.argument("number", type=click.IntRange(1))
@TEAM_KEY
@SHARE
@DATABASE
def rollback(number: int, key: Path, share: int, address: str | None) -> None:
    """Publish an earlier version of the policy again, under a new number."""
    signer = versions.read_key(key)
    with database.open_connection(_database_address(address)) as connection:
        files = versions.read_version(connection, number)
        new = versions.publish_version(connection, signer, files, share)
    click.echo(f"Published version {new}, a copy of version {number}, to {share}% of the Macs.")


@cli.command("questions")
@JSON
@DATABASE
def list_questions(as_json: bool, address: str | None) -> None:
    """Show the approval prompts of other Macs that wait for an answer."""
    with database.open_connection(_database_address(address)) as connection:
        rows = forward.waiting_questions(connection)
    if as_json:
        _print_rows([row._asdict() for row in rows])
        return
    for row in rows:
        click.echo(
            f"{escape_hidden(row.host)} {escape_hidden(row.id)}\n{_escape_lines(row.text)}\n"
        )


@cli.command("answer")
@click.argument("host")
@click.argument("question")
@click.option("--key", type=PRIVATE_FILE, required=True, help="The file with your private key.")
@DATABASE
def answer_question(host: str, question: str, key: Path, address: str | None) -> None:
    """Show an approval prompt of another Mac, and answer it."""
    signer = versions.read_key(key)
    with database.open_connection(_database_address(address)) as connection:
        asked = forward.find_question(connection, host, question)
        click.echo(_escape_lines(asked.text))
        reply = click.prompt("Answer", type=click.Choice(asked.answers, case_sensitive=False))
        forward.submit_answer(connection, signer, asked, reply)
    click.echo("Your answer is signed and saved. The Mac will fetch it.")


def _escape_lines(text: str) -> str:
    return "\n".join(map(escape_hidden, text.split("\n")))


@cli.command()
@JSON
@DATABASE
def hosts(as_json: bool, address: str | None) -> None:
    """Show each Mac: when it last reported, its version, apps, rows and alarms."""
    with database.open_connection(_database_address(address)) as connection:
        rows = database.list_hosts(connection)
    if as_json:
        _print_rows(rows)
        return
    for row in rows:
        tools = sum(sum(app["tools"].values()) for app in row["apps"])
        alarms = f", {row['alarms']} alarms" if row["alarms"] else ""
        policy = f", policy {row['team']}" if row["team"] else ""
        gone = ", revoked" if row["revoked"] else ""
        click.echo(
            f"{escape_hidden(row['host'])}  {row['seen']:%Y-%m-%d %H:%M}  version"
            f" {escape_hidden(row['version'])}, {len(row['apps'])} apps, {tools} tools,"
            f" {row['rows']} rows{policy}{alarms}{gone}"
        )


@cli.command()
@JSON
@DATABASE
def levels(as_json: bool, address: str | None) -> None:
    """Show each Mac's number of tools per level, and levels that differ from the accepted ones."""
    with database.open_connection(_database_address(address)) as connection:
        hosts_here = database.list_hosts(connection)
    rows, accepted = (
        [{"host": row["host"], **one} for row in hosts_here for one in row[key]]
        for key in ("apps", "levels")
    )
    kinds = Counter((row["key"], row.get("levels", "")) for row in rows)
    most = {key: kind for (key, kind), _ in sorted(kinds.items(), key=lambda one: one[1])}
    for row in rows:
        row["differs"] = row.pop("levels", "") != most[row["key"]]
    if as_json:
        _print_rows([*rows, *accepted])
        return
    for row in rows:
        counts = ", ".join(f"{count} {level}" for level, count in sorted(row["tools"].items()))
        other = "  differs from most Macs" if row["differs"] else ""
        click.echo(f"{escape_hidden(row['host'])}  {escape_hidden(row['name'])}  {counts}{other}")
    for row in accepted:
        told = {key: escape_hidden(value) for key, value in row.items()}
        click.echo("{host}  {name} is {here}; the accepted level is {accepted}".format(**told))


def _filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name in ("text", "until", "since", "decision", "level", "client", "tool", "app", "host"):
        command = click.option(f"--{name}", default="", metavar="TEXT")(command)
    return command


@cli.command()
@_filter_options
@click.option("-n", "--last", type=click.IntRange(1, 10_000), default=20, show_default=True)
@JSON
@DATABASE
def audit(last: int, as_json: bool, address: str | None, **wanted: str) -> None:
    """Search the calls of all Macs. Write times in UTC, such as 2026-03-09T14:30."""
    with database.open_connection(_database_address(address)) as connection:
        rows = database.find_calls(connection, wanted, last)
    if as_json:
        _print_rows(rows)
        return
    for row in reversed(rows):
        told = (row["time"], row["host"], row["client"], row["tool"], row["level"], row["decision"])
        click.echo("  ".join(escape_hidden(str(value or "-")) for value in told))


@cli.command("verify")
@click.option(
    "--silent",
    type=click.FloatRange(0.01),
    default=24.0,
    show_default=True,
    metavar="HOURS",
    help="Raise an alarm if a Mac has not reported for this long.",
)
@click.option("--all", "anew", is_flag=True, help="Check all rows, also those checked before.")
@JSON
@DATABASE
def check(silent: float, anew: bool, as_json: bool, address: str | None) -> int:
    """Check Macs' audit logs; exit with 1 if one was changed or a Mac is silent.

    This machine remembers how far it checked, and reads only newer rows. Alarms stay until you
    check with --all.
    """

    def tell(done: int, total: int) -> None:
        click.echo(f"{done:,} of {total:,} rows are checked.", err=True)

    with database.open_connection(_database_address(address)) as connection:
        rows, alarms, _ = verify.check_new_rows(
            connection, silent, open_state(), anew=anew, tell=tell
        )
    if as_json:
        _print_rows([alarm._asdict() for alarm in alarms])
        return bool(alarms)
    for alarm in alarms:
        place = f", row {alarm.seq} of chain {alarm.store}" if alarm.store else ""
        click.echo(f"{escape_hidden(alarm.host)}{place}: {escape_hidden(alarm.why)}.")
    click.echo(f"{rows} rows, {len(alarms)} alarms.")
    return bool(alarms)


@cli.command("export")
@click.option("--host", default="", metavar="TEXT", help="Only the rows of this Mac.")
@click.option("--since", default="", metavar="TIME", help="Only rows from this time on (UTC).")
@click.option("--until", default="", metavar="TIME", help="Only rows before this time (UTC).")
@click.option(
    "--format",
    "form",
    type=click.Choice(("jsonl", "ocsf")),
    default="jsonl",
    show_default=True,
    help="jsonl: rows with their hashes. ocsf: a call on each line, for a SIEM.",
)
@DATABASE
def export_log(host: str, since: str, until: str, form: str, address: str | None) -> None:
    """Print the audit logs of all Macs, as an auditor or a SIEM reads them."""
    with database.open_connection(_database_address(address)) as connection:
        rows = export.export_rows(connection, host, since, until)
        for row in export.to_ocsf(rows) if form == "ocsf" else rows:
            click.echo(json.dumps(row))


@cli.command("drop")
@click.argument("month", type=click.DateTime(["%Y-%m"]))
@DATABASE
def drop_months(month: datetime, address: str | None) -> None:
    """Drop rows that arrived before MONTH, such as 2026-03. Run this as the database's owner.

    The rest of each log can still be checked. Export the rows first if you must keep them.
    """
    with database.open_connection(_database_address(address)) as connection:
        connection.execute("SET statement_timeout = 0")
        gone = connection.execute("SELECT drop_before(%s)", (month.date(),)).fetchall()
    click.echo(f"Dropped {len(gone)} months: {', '.join(name[5:] for (name,) in gone) or 'none'}.")


@cli.command("enrol")
@click.argument("team")
@click.argument("host")
@click.argument("file", type=PRIVATE_FILE)
@TEAM_KEY
@click.option(
    "--mac-address",
    help="The database's address for the Mac; default: yours, without your user.",
)
@click.option("--approver", multiple=True, help="The public key of an approver; repeatable.")
@click.option(
    "--behind",
    type=click.IntRange(1),
    default=BEHIND,
    show_default=True,
    help="How many rows may wait for the database.",
)
@click.option(
    "--days",
    type=click.FloatRange(0.01),
    default=7.0,
    show_default=True,
    help="How long the file can be used.",
)
@click.option("--no-service", is_flag=True, help="Do not send rows by a launchd agent.")
@DATABASE
def enrol_mac(
    team: str,
    host: str,
    file: Path,
    key: Path,
    mac_address: str | None,
    approver: tuple[str, ...],
    behind: int,
    days: float,
    no_service: bool,
    address: str | None,
) -> None:
    """Write the enrolment FILE of the Mac HOST. Run this as the database's owner.

    The Mac uses the file once, with: iac-mcp join FILE
    """
    here = _database_address(address)
    settings = FleetSettings(
        mac_address or database.address_without_user(here), host, behind, "", approver
    )
    with database.open_connection(here) as connection:
        text = enrol.enrol_mac(
            connection, versions.read_key(key), team, settings, days=days, service=not no_service
        )
    write_whole(file, text, mode=0o600)
    click.echo(f"{file} lets {host} join {team}, once. On that Mac, run: iac-mcp join {file.name}")


@cli.command("revoke")
@click.argument("team")
@click.argument("host")
@DATABASE
def revoke_mac(team: str, host: str, address: str | None) -> None:
    """Let the Mac HOST send nothing more. Run this as the database's owner. Its rows stay."""
    with database.open_connection(_database_address(address)) as connection:
        enrol.revoke_mac(connection, team, host)
    click.echo(f"{host} can send nothing more.")


@cli.command("profile")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@TEAM_KEY
@click.option("--program", default="", help="The full path of the Python that runs IAC.")
@click.option("--requirement", default="", help="What `codesign -d -r -` says of that program.")
@click.option("--app", multiple=True, help="The id of an Apple app to control; repeatable.")
def write_profile(
    file: Path, key: Path, program: str, requirement: str, app: tuple[str, ...]
) -> None:
    """Write a configuration profile (.mobileconfig) for your MDM.

    With it, Macs accept enrolment files of your team only. With --program, --requirement and
    --app, macOS does not ask whether IAC may control these apps.
    """
    if bool(app) != bool(program) or bool(app) != bool(requirement):
        raise click.UsageError("Give --program, --requirement and --app together.")
    grant = enrol.AutomationGrant(program, requirement, app) if app else None
    file.write_bytes(enrol.make_profile(versions.public_key(versions.read_key(key)), grant))
    click.echo(f"The profile is in {file}.")


@cli.group()
def service() -> None:
    """Send this Mac's audit log whenever you are logged in (a launchd agent)."""


@service.command()
@click.option("--print", "only_print", is_flag=True, help="Print the agent's file; change nothing.")
def install(only_print: bool) -> None:
    """Install the service and start it."""
    plist = forwarder_plist(examine_python(), os.environ)
    if only_print:
        click.echo(plist.decode(), nl=False)
        return
    path = launchd.install_agent(plist, agent=FORWARDER)
    click.echo(f"The service is installed: {path}")


@service.command()
def status() -> None:
    """Say whether the service is installed and running."""
    click.echo(launchd.agent_status(agent=FORWARDER))


@service.command()
def uninstall() -> None:
    """End the service and remove its agent. This Mac stays in the fleet."""
    gone = launchd.uninstall_agent(agent=FORWARDER)
    click.echo("The service is removed." if gone else "The service is not installed.")


@cli.command()
@click.option(
    "--keep", type=click.Path(path_type=Path), help="Put the database in this folder, and keep it."
)
@click.option(
    "--page", is_flag=True, help="Then open the page, and keep it running until you press Ctrl-C."
)
def demo(keep: Path | None, page: bool) -> None:
    """Start a database and three simulated Macs, and show what they did."""
    from iac_fleet.demo import run_demo

    # A server that was started is ended, whatever ends this.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    run_demo(keep, click.echo, page=page)


def _database_address(named: str | None) -> str:
    return named or read_settings().database


def _print_rows(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        click.echo(json.dumps(row, default=str))


def main() -> int:
    """Run the command line and return its status."""
    try:
        return int(cli(prog_name="iac-fleet", standalone_mode=False) or 0)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        click.echo(f"iac-fleet: {error.format_message()}", err=True)
        return error.exit_code
    except click.Abort:
        return 130
    except IacError as error:
        sys.stderr.write(f"iac-fleet: {error}\n")
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
