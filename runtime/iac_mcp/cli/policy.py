"""`iac-mcp policy`: what may run, why, and what was allowed for good.

Exit status: 0 done, 1 the call of `check` would not run, 2 wrong usage or set-up.
"""

import contextlib
import secrets
from pathlib import Path

import click

from iac_base.errors import SetupError
from iac_base.files import FileContent, read_file_content, replace_file_content
from iac_base.text import escape_hidden
from iac_mcp.cli.common import HELP
from iac_mcp.cli.policy_check import check, explain, policy_options, test
from iac_runtime.gate.limiter import RateLimits, calls_per_second
from iac_runtime.policy.permissions import open_permissions
from iac_runtime.policy.places import BUILT_IN, FIXED
from iac_runtime.policy.policy_file import load_policy, parse_policy, policy_path
from iac_runtime.policy.rules import describe_rule
from iac_runtime.policy.settings import PRESETS, Policy, PolicyFlags
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.folders import tool_folders
from iac_runtime.tools.lock import lock_digest


@click.group(context_settings=HELP)
def policy() -> None:
    """Show, test and change what tools may do."""


@policy.command()
@policy_options
def show(
    policy_file: Path | None,
    blocklist: tuple[str, ...],
    rate_limit: float | None,
    server: str,
    read_only: bool,
) -> None:
    """Show the settings in force, and where each comes from."""
    permissions = open_permissions(
        PolicyFlags(read_only, rate_limit, blocklist, server), policy_file
    )
    path = policy_path(policy_file)
    click.echo(f"file        {path}{'' if path.exists() else '  (missing: the defaults apply)'}")
    settings, found = permissions.settings, permissions.policy
    preset, usual = str(settings.preset.value), RateLimits()
    limits = (
        ("writes", settings.rate_limit.value, settings.rate_limit.source),
        (
            "reads",
            found.reads_per_second or calls_per_second(usual.reads),
            _limit_source(found, "reads"),
        ),
        (
            "DANGEROUS calls",
            found.dangerous_per_second or calls_per_second(usual.dangerous),
            _limit_source(found, "dangerous"),
        ),
    )
    off = found.blocklist_remove
    count = len(FIXED) + len(BUILT_IN) - len(off)
    rows = [
        ("preset", f"{preset}: {PRESETS[preset].description}", settings.preset.source),
        ("read-only", "yes" if settings.read_only.value else "no", settings.read_only.source),
        *([("server", settings.server, "--server or IAC_SERVER")] if settings.server else ()),
        *(("limit", f"{count:.3g} {kind} a second", source) for kind, count, source in limits),
        *(("blocklist", str(entry.value), entry.source) for entry in settings.blocklist),
        *(("blocklist", f"without {entry}", found.source_of_key("blocklist")) for entry in off),
        ("blocklist", f"{count} entries, {len(FIXED)} of them fixed", "default"),
        ("approvers", ", ".join(found.approvers) or "nobody", found.source_of_key("approvers")),
        *(("launch", app, found.source_of_key("launch")) for app in found.launch),
        *(("reads", app, found.source_of_key("reads")) for app in found.reads),
        *(("secrets", app, found.source_of_key("secrets")) for app in found.secrets),
        *(("deny", describe_rule(match), match.source) for match in found.all_denials),
        *(("ask", describe_rule(match), match.source) for match in found.ask),
        *(("allow", describe_rule(match), match.source) for match in found.allow),
        *(
            ("your rule", f"{describe_rule(rule.match)} is {rule.level}", rule.match.source)
            for rule in found.rules
        ),
    ]
    for name, value, source in rows:
        click.echo(escape_hidden(f"{name:<11} {value}  ({source or 'default'})"))


def _limit_source(found: Policy, kind: str) -> str:
    said = getattr(found, f"{kind}_per_second") is not None
    return found.source_of_key("limits") if said else "default"


policy.add_command(check)
policy.add_command(explain)
policy.add_command(test)


@policy.command()
@click.option(
    "--policy",
    "policy_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The policy file.",
)
def edit(policy_file: Path | None) -> int:
    """Open the policy in $VISUAL or $EDITOR; save it only if it is valid."""
    path = policy_path(policy_file)
    found = read_file_content(path)
    draft = read_file_content(path.with_name(f"{path.name}.draft-{secrets.token_hex(4)}"))
    sample = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    before = sample if found.content is None else _policy_text(found)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file_content(draft, before.encode())
    failed = ""
    try:
        click.edit(filename=str(draft.path))
    except click.ClickException as error:
        failed = error.message
    after = _policy_text(read_file_content(draft.path))
    if failed:
        kept = f" Your text is in {draft.path}." if after != before else ""
        if not kept:
            draft.path.unlink()
        raise SetupError(f"{failed.rstrip('.')}. The policy is unchanged.{kept}")
    if after == before and found.content is not None:
        draft.path.unlink()
        click.echo("Nothing was changed.")
        return 0
    try:
        parse_policy(after, path.name)
    except SetupError as error:
        raise SetupError(
            f"{error} The policy is unchanged. Your text is saved in {draft.path}."
        ) from None
    # The file may be a link into a folder of settings, and stays one.
    replace_file_content(found, after.encode())
    draft.path.unlink()
    click.echo(f"{path} is saved. It takes effect when a server starts.")
    return 0


def _policy_text(found: FileContent) -> str:
    try:
        return (found.content or b"").decode()
    except UnicodeDecodeError:
        raise SetupError(f"{found.path} is not UTF-8; save it as UTF-8.") from None


@policy.command()
@click.option("--revoke", metavar="ID|all", help="Revoke one answer, or all.")
def decisions(revoke: str | None) -> int:
    """List your "always allow" answers, or revoke them."""
    from iac_runtime.policy.approvals import ApprovalStore, list_approvals
    from iac_runtime.policy.approvals import revoke_approvals as forget

    store = ApprovalStore()
    if revoke is not None:
        if revoke != "all" and not revoke.isdecimal():
            raise click.UsageError("--revoke needs the number of a decision, or all.")
        count = forget(store, None if revoke == "all" else int(revoke))
        click.echo(f"Revoked: {count}.")
        return 0 if count or revoke == "all" else 1
    rows = list_approvals(store)
    current = _current_digests()
    for row in rows:
        state = "" if row.valid else "  void: this row was changed by hand"
        if row.valid and current.get(row.tool, row.digest) != row.digest:
            state = "  void: the tools of the app have changed"
        client = f" by {row.client}" if row.client else ""
        click.echo(escape_hidden(f"{row.id}  {row.says}  {row.made}{client}{state}"))
    if not rows:
        click.echo('You have no "always allow" answers.')
    return 0


def _current_digests() -> dict[str, str]:
    with contextlib.suppress(SetupError):
        catalogue = Catalogue(tool_folders())
        return {name: lock_digest(row.app.folder, name) for name, row in catalogue.tools.items()}
    return {}


@policy.command()
def resume() -> int:
    """Allow approval prompts again after too many were declined."""
    from iac_runtime.policy.approvals import ApprovalStore
    from iac_runtime.policy.approvals import resume_clients as begin_anew

    load_policy()
    was = begin_anew(ApprovalStore())
    click.echo("Approval prompts can appear again." if was else "Approval prompts were not paused.")
    return 0
