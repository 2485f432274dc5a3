"""The commands that show what there is: snapshot, show, list, lint, verify-names."""

import dataclasses
import difflib
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

import click

from iac_gen import discover, verify_names
from iac_gen.cli import common
from iac_gen.discover import SourceFile
from iac_gen.field import describe_fact, fact_names, summarize_facts
from iac_gen.ir import Module, module_data
from iac_gen.lint import RULES, LintFinding, lint_source
from iac_gen.model import Diagnostic, GeneratorError
from iac_gen.output import PreviousBuild
from iac_gen.pipeline import AppRepresentation, BuildInputs, map_representations, plan_jobs
from iac_gen.quirks import known_apps, load_field_book, read_facts, read_quirks
from iac_gen.report import explain_level
from iac_gen.snapshot import facts_only, write_snapshot
from iac_gen.text import clean_text, on_one_line
from iac_gen.unsupported import find_unsupported
from iac_gen.write import lock_folder, write_files
from iac_gen.xml import LoadError
from iac_runtime.tool import INTENTS

T = TypeVar("T")


@common.command("snapshot")
@click.argument("paths", nargs=-1, required=True, type=common.PATH)
@click.option("--output", required=True, type=common.PATH, help="Folder for the snapshots.")
@click.option("--facts", is_flag=True, help="Leave out the dictionary's descriptions.")
@click.option("--name", help="The app's name (for one dictionary).")
@click.option("--bundle-id", help="The app's bundle id (for one dictionary).")
def snapshot_command(
    paths: tuple[Path, ...], output: Path, facts: bool, name: str | None, bundle_id: str | None
) -> None:
    """Write dictionaries as JSON snapshots, so that they can be built anywhere."""
    files: dict[str, str] = {}
    sources = discover.from_paths(paths, known_apps())
    if (name or bundle_id) and len(sources.sources) != 1:
        raise GeneratorError("--name and --bundle-id work only with exactly one dictionary")
    loaded, failed = discover.read_sources(sources)
    for one in loaded:
        source = one.source
        source = replace(source, name=name or source.name, id=bundle_id or source.id)
        if facts:
            source = replace(source, dictionary=facts_only(source.dictionary))
        # An app has two sources, which may lie in one folder.
        ending = INTENTS if source.kind == "intents" else ""
        files[f"{source.stem}{ending}.json"] = write_snapshot(source)
    with lock_folder(output, tools=False):
        for changed in write_files(output, files):
            click.echo(str(output / changed))
    common.exit_with_failures(failed)


@common.command("show")
@common.APPS
@click.option("--all", "everything", is_flag=True, help="Show every app that was found.")
@click.option(
    "--unbound",
    "only_unbound",
    is_flag=True,
    help="List the parts of a dictionary that became no tool.",
)
@click.option(
    "--why",
    "asked",
    nargs=2,
    metavar="APP NAME",
    help="Explain the level of a TOOL, CLASS or CLASS.PROPERTY.",
)
@click.option(
    "--field",
    "only_field",
    is_flag=True,
    help="Print what is known of scripting the apps on real Macs, with sources.",
)
@common.QUIRKS
@common.source_options
def show_command(
    apps: tuple[str, ...],
    everything: bool,
    only_unbound: bool,
    asked: tuple[str, str] | None,
    only_field: bool,
    own: tuple[Path, ...],
    find: common.Find,
) -> None:
    """Print the model of APPS as JSON."""
    told = common.load_corrections(own, None)
    if asked:
        if not {"--help", "-h"}.isdisjoint(asked):
            # They were taken for the name that --why waits for.
            context = click.get_current_context()
            click.echo(context.get_help())
            return
        if apps or everything or only_unbound or only_field:
            common.fail("--why needs one app and one name, and works with no other option")
        _show_why(*asked, find, told)
        return
    if bool(apps) == everything:
        common.fail("give the names of the apps to show, or --all")
    if only_field:
        _show_field(apps, told)
        return
    work = _unsupported_lines if only_unbound else _module_json
    shown, failed = _run_on_each(work, common.build_inputs(find(apps), PreviousBuild(), told=told))
    if only_unbound:
        click.echo("".join(shown), nl=False)
    elif everything or len(shown) != 1:
        rows = ",\n".join(shown)
        click.echo(f"[{rows}]")
    else:
        click.echo(shown[0])
    common.exit_with_failures(failed)


def _run_on_each(
    work: Callable[[str, AppRepresentation], T], inputs: BuildInputs
) -> tuple[list[T], list[Diagnostic]]:
    """Return what `work` makes of each app, and why some have nothing."""
    outcomes = [*map_representations(work, inputs)]
    failed = [one for one in outcomes if isinstance(one, Diagnostic)]
    return [one for one in outcomes if not isinstance(one, Diagnostic)], failed


def _show_why(app: str, name: str, find: common.Find, told: common.QuirkCorrections) -> None:
    inputs = common.build_inputs(find((app,)), PreviousBuild(), told=told)
    modules, failed = _run_on_each(_module_of, inputs)
    common.exit_with_failures(failed)
    for line in (line for module in modules for line in explain_level(module, name)):
        click.echo(on_one_line(line, 500))


def _show_field(apps: tuple[str, ...], told: common.QuirkCorrections) -> None:
    """Print the field book's rows of apps by file, name or bundle id, or of all."""
    (files, faults), (own, wrong) = load_field_book(), read_quirks(told.files)
    facts = read_facts([*files, *own])
    wanted = {app: [fact for fact in facts if app.lower() in fact_names(fact)] for app in apps}
    for app, rows in wanted.items():
        if not rows:
            known = sorted(set().union(*map(fact_names, facts)))
            near = difflib.get_close_matches(app.lower(), known, 3, 0.5)
            hint = f"; nearest: {', '.join(near)}" if near else ""
            common.fail(f"the field book has no rows for {app}{hint}")
    shown = [row for rows in wanted.values() for row in rows] if apps else facts
    lines = [line for fact in shown for line in describe_fact(fact)]
    for line in (*lines, "", *summarize_facts(shown)):
        click.echo(clean_text(line))
    common.exit_with_failures([*faults, *wrong])


def _module_of(_: str, made: AppRepresentation) -> Module:
    return made.module


def _module_json(_: str, made: AppRepresentation) -> str:
    return json.dumps(module_data(made.module, made.diagnostics))


def _unsupported_lines(key: str, made: AppRepresentation) -> str:
    return "".join(f"{key}: {row}\n" for row in find_unsupported(made.resolved, made.diagnostics))


@common.command("list")
@common.source_options
def list_command(find: common.Find) -> None:
    """List the apps that are found, and why some have no tools."""
    sources = find(())
    failed: list[Diagnostic] = []
    for job in plan_jobs(sources.sources, PreviousBuild()):
        assert isinstance(job.source, SourceFile)
        file = job.source
        try:
            file.read()
        except LoadError as error:
            failed.append(error.diagnostic)
            continue
        version = f" {file.version}" if file.version else ""
        click.echo(f"{job.identity.key}  {file.name}{version}  {file.id}")
    for one in failed:
        click.echo(f"-  {one}")
    for app in sources.unscriptable:
        click.echo(f"-  {app.name}  {app.reason}")
    if result := sources.search_result():
        click.echo(clean_text(result))


@common.command("lint")
@click.argument("paths", nargs=-1, required=True, type=common.PATH, metavar="PATH...")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option(
    "--rule", "names", multiple=True, metavar="NAME", help="Check only this rule; can be repeated."
)
def lint_command(paths: tuple[Path, ...], as_json: bool, names: tuple[str, ...]) -> None:
    """List what is odd or wrong at PATH: dictionaries, snapshots, folders of either, quirk files.

    Exits with 0 if there is no error, 1 if there is one or a file could not be read, 2 for
    wrong usage.
    """
    for name in names:
        if name not in RULES:
            near = difflib.get_close_matches(name, RULES, 3, 0.4)
            hint = f"nearest: {', '.join(near)}" if near else f"the rules are {', '.join(RULES)}"
            common.fail(f"there is no rule {name}; {hint}")
    rules = {name: rule for name, rule in RULES.items() if not names or name in names}
    own = [path for path in paths if path.suffix == ".toml"]
    named = [path for path in paths if path not in own]
    found_there = (
        discover.from_paths(named, known_apps()) if named else discover.DiscoveredSources(())
    )
    loaded, failed = discover.read_sources(found_there, as_written=True)
    unread = [*failed, *read_quirks(common.load_corrections(own, Path()).files)[1]]
    includes = discover.load_includes()
    findings: list[LintFinding] = []
    for one in loaded:
        findings += lint_source(one.source, includes, one.diagnostics, rules)
    if as_json:
        rows = [dataclasses.asdict(finding) for finding in findings]
        told = [dataclasses.asdict(diagnostic) for diagnostic in unread]
        click.echo(json.dumps({"findings": rows, "failed": told}, indent=1))
    else:
        for finding in findings:
            click.echo(clean_text(str(finding)))
    for diagnostic in unread:
        click.echo(f"iac-gen: skipped {clean_text(str(diagnostic))}", err=True)
    click.echo(f"iac-gen: {_finding_total(findings, len(loaded))}", err=True)
    if unread or any(finding.severity == "error" for finding in findings):
        sys.exit(1)


def _finding_total(findings: Sequence[LintFinding], dictionaries: int) -> str:
    counts = Counter(one.severity for one in findings)
    parts = [
        _counted_noun(counts[level], level)
        for level in ("error", "warning", "note")
        if counts[level]
    ]
    listed = f" ({', '.join(parts)})" if parts else ""
    total = _counted_noun(len(findings), "finding")
    return f"{total}{listed} in {_counted_noun(dictionaries, 'dictionary', 'dictionaries')}"


def _counted_noun(number: int, word: str, plural: str = "") -> str:
    return f"{number} {word if number == 1 else plural or f'{word}s'}"


# By name, because the generator never imports the simulator; and not out of the folder that the
# command happens to be run in.
_SIMULATOR: Final = (sys.executable, "-P", "-m", "iac_simulator.osascript")


@common.command("verify-names")
@common.APPS
@common.source_options
@click.option("--osascript", "program", metavar="PROGRAM", help="The osascript program to use.")
@click.option("--simulate", is_flag=True, help="Compare with the simulator instead of a Mac.")
@click.option(
    "--tools", type=common.PATH, help="With --simulate: simulate the tools in this folder."
)
def verify_names_command(
    apps: tuple[str, ...],
    find: common.Find,
    program: str | None,
    simulate: bool,
    tools: Path | None,
) -> None:
    """Compare IAC's JavaScript names with JXA's reflection; no app is started."""
    if simulate and program:
        common.fail("give --osascript or --simulate, not both")
    if tools and not simulate:
        common.fail("--tools works only with --simulate")
    if not simulate and not program and sys.platform != "darwin":
        common.fail("this is not a Mac; give --simulate, or --osascript with another program")
    simulated = {"IAC_SIMULATOR_TOOLS": str(tools)} if tools else {}
    asked = _SIMULATOR if simulate else (program or "osascript",)
    failed: list[Diagnostic] = []
    wrong = parameters = 0
    for outcome in map_representations(
        _keyed_names, common.build_inputs(find(apps), PreviousBuild())
    ):
        if isinstance(outcome, Diagnostic):
            failed.append(outcome)
            continue
        key, names = outcome
        if names.kind == "intents":
            click.echo(f"{key}: App Intents have no JavaScript names")
            continue
        try:
            rows = verify_names.compare_names(
                names, verify_names.run_reflection(names, asked, environment=simulated)
            )
        except verify_names.ReflectionError as error:
            if names.kind == "addition" and isinstance(error, verify_names.NoReflectionError):
                # An addition is reached through osascript itself, which has no dictionary.
                click.echo(
                    f"{key}: {names.count_names()} names of Standard Additions are not compared"
                )
                continue
            failed.append(Diagnostic(names.app, 0, "reflection", str(error), "error"))
            continue
        for row in rows:
            click.echo(on_one_line(f"{key}: {row}", 500))
        click.echo(f"{key}: {names.count_names()} names, {len(rows)} differ")
        wrong += len(rows)
        parameters += names.parameters
    if parameters:
        click.echo(
            f"JavaScript does not show names of parameters, so {parameters} names are not compared."
        )
    common.exit_with_failures(failed)
    if wrong:
        sys.exit(1)


def _keyed_names(key: str, made: AppRepresentation) -> tuple[str, verify_names.AskedNames]:
    return key, verify_names.collect_names(made.resolved)


@common.command("templates")
@click.option(
    "--write",
    "folder",
    required=True,
    type=common.PATH,
    help="The folder to write to, which must be new or empty.",
)
def templates_command(folder: Path) -> None:
    """Write the module templates, to change them for `build --templates`."""
    from iac_gen.render import shipped_templates

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        common.fail(f"{folder} is not empty; give a new or empty folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in shipped_templates().items():
        (folder / name).write_text(text, encoding="utf-8")
        click.echo(str(folder / name))
