"""The command that builds."""

import json
import shlex
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, get_args

import click

from iac_gen import changes, write
from iac_gen.changes import Change
from iac_gen.cli import common
from iac_gen.model import UNFORESEEN, Diagnostic
from iac_gen.naming import app_modules
from iac_gen.output import (
    CATALOGUE,
    FIELD,
    LISTING,
    LOCK,
    WORDS,
    AppFiles,
    LevelFall,
    PreviousBuild,
)
from iac_gen.report import LEFT_OUT, AppReport, BuildReport
from iac_gen.text import clean_text, on_one_line

if TYPE_CHECKING:
    from iac_gen.pipeline import BuildInputs


_SOURCE_FACTS: Final = attrgetter("file", "digest", "name", "id", "version", "kind")
DESCRIPTIONS: Final = click.option(
    "--descriptions",
    type=click.Choice(["own", "app"]),
    default="app",
    help="own: only IAC's descriptions. app: the app's own words where IAC has no sentence.",
)


@common.command("build")
@common.APPS
@common.source_options
@click.option(
    "--output", type=common.PATH, help="Folder for the tools (default: your data folder)."
)
@click.option("--prune", is_flag=True, help="Remove the modules of apps that are no longer there.")
@DESCRIPTIONS
@click.option(
    "--accept-levels",
    "accepted",
    multiple=True,
    metavar="NAME,...",
    help="Accept lower levels for these names: TOOL, APP.CLASS.PROPERTY or APP.CLASS.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@common.TEMPLATES
@common.QUIRKS
@common.SHIPPED
def build_command(
    apps: tuple[str, ...],
    find: common.Find,
    output: Path | None,
    prune: bool,
    descriptions: str,
    accepted: tuple[str, ...],
    as_json: bool,
    templates: Path | None,
    own: tuple[Path, ...],
    shipped: bool,
) -> None:
    """Build tools for APPS, or for every app that is found.

    A level that is lower than the one in tools.lock stops the build before it writes anything.
    Exits with 0 if every app was built, 1 if one was skipped or a level fell, 2 for wrong usage.
    """
    if prune and apps:
        common.fail("--prune works only with a build of all apps; leave out the names of apps")
    folder = output or common.default_output()
    sources = find(apps)
    if result := sources.search_result():
        click.echo(f"iac-gen: {clean_text(result)}", err=True)
    told = common.load_corrections(own, output)
    generator = f"{write.generator_digest(templates)} {told.digest()}"
    # One after the other: what a build reads of the folder must stand until it has written.
    with write.lock_folder(folder):
        options = [not apps, prune, shipped, descriptions]
        stamp = json.dumps([generator, options, [*map(_SOURCE_FACTS, sources.sources)]])
        cache = write.read_cache(folder)
        if cache and cache.stamp == stamp and cache.matches_files(folder):
            _report_and_exit(
                BuildReport.from_data(cache.report), folder, prune=prune, as_json=as_json
            )
            return
        made_by = f"{generator} {descriptions}"
        previous = write.read_previous(folder)
        inputs = replace(
            common.build_inputs(sources, previous, whole=not apps, templates=templates, told=told),
            prune=prune,
            shipped=shipped,
            accept=[*accepted, *(name.strip() for one in accepted for name in one.split(","))],
            wording=descriptions == "app",
            done=_unchanged_apps(cache, made_by, folder),
        )
        files, report = common.run_build(inputs, quiet=as_json)
        if report.falls:
            if as_json:
                click.echo(json.dumps(report.to_data(), indent=1))
            else:
                _print_falls(report.falls)
            _exit_with_falls(report, "nothing was written", sys.argv[1:])
        if files:
            gone = [name for key in report.gone if prune for name in app_modules(key)]
            gone += [] if FIELD in files else [FIELD]
            write.write_files(folder, files, gone)
        kept = [name for key in previous.apps for name in app_modules(key) if name not in files]
        names = [*files, *kept]
        written = write.digest_of_files(folder, names)
        write.write_cache(
            folder,
            write.BuildCache(made_by, stamp, report.to_data(), _job_keys(inputs, report), written),
        )
        _report_and_exit(report, folder, prune=prune, as_json=as_json)


def _unchanged_apps(
    cache: write.BuildCache | None, generator: str, folder: Path
) -> dict[str, AppReport]:
    """Return what need not be built again: nothing, if anything of the last build has changed."""
    if cache is None or cache.generator != generator or not cache.matches_files(folder):
        return {}
    reports = {app.key: app for app in BuildReport.from_data(cache.report).apps}
    return {digest: reports[key] for digest, key in cache.jobs.items()}


def _job_keys(inputs: "BuildInputs", report: BuildReport) -> dict[str, str]:
    from iac_gen.pipeline import plan_jobs

    built = {app.key for app in report.apps}
    keys = {job.digest: job.identity.key for job in plan_jobs(inputs.sources, inputs.previous)}
    return {digest: key for digest, key in keys.items() if key in built}


def _report_and_exit(report: BuildReport, folder: Path, *, prune: bool, as_json: bool) -> None:
    """Print what was built and end with the status that it deserves."""
    if as_json:
        click.echo(json.dumps(report.to_data(), indent=1))
    else:
        _print_report(report, folder, prune)
    common.exit_with_failures(report.lost)
    if not report.apps:
        common.fail("no app with a scripting dictionary was found; run iac-gen list to see why", 1)


def _print_report(report: BuildReport, folder: Path, prune: bool) -> None:
    heads = ("app", "name", "tools", "safe", "modify", "dangerous", "tokens", "skipped")
    rows: list[tuple[str, ...]] = [heads]
    for app in report.apps:
        numbers = (app.tools, *app.levels.values(), app.tokens, app.skipped_count)
        rows.append((app.key, app.name, *(str(number) for number in numbers)))
    if report.apps:
        widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
        for row in rows:
            words = [f"{cell:<{width}}" for cell, width in zip(row[:2], widths[:2], strict=True)]
            words += [f"{cell:>{width}}" for cell, width in zip(row[2:], widths[2:], strict=True)]
            click.echo("  ".join(words).rstrip())
        tools = sum(app.tools for app in report.apps)
        click.echo(
            f"{len(report.apps)} apps or libraries, {tools} tools, in {folder};"
            f" about {report.tokens} tokens if all are listed"
        )
    for gain in filter(None, (app.gain for app in report.apps)):
        click.echo(clean_text(gain))
    if report.templates:
        click.echo(f"The templates in {report.templates} were used instead of iac-gen's own.")
    _print_warnings(one for app in report.apps for one in app.diagnostics)
    cleaned = sum(app.cleaned_count for app in report.apps)
    if cleaned:
        click.echo(f"Invisible characters were removed from {cleaned} items.")
    if report.gone:
        keys = ", ".join(report.gone)
        click.echo(
            f"Removed, because the app is no longer there: {keys}"
            if prune
            else f"Kept, although the app is no longer there: {keys} (--prune removes them)"
        )


_TOLD: Final = 10
"""Findings of one kind in one file that are printed; the others are counted."""


def _print_warnings(diagnostics: Iterable[Diagnostic]) -> None:
    told: Counter[tuple[str, str]] = Counter()
    for one in diagnostics:
        # What an unforeseen error cost is told at the end.
        noted = one.level == "note" and one.code not in LEFT_OUT
        if noted or one.code == UNFORESEEN:
            continue
        told[one.file, one.code] += 1
        if told[one.file, one.code] <= _TOLD:
            click.echo(f"iac-gen: {on_one_line(str(one), 1000)}", err=True)
    for (file, code), count in told.items():
        if count > _TOLD:
            text = f"{file}: {count - _TOLD} more of this kind [{code}]; --json lists all"
            click.echo(f"iac-gen: {on_one_line(text, 1000)}", err=True)


_FORMAT: Final = click.option(
    "--format",
    "form",
    type=click.Choice(get_args(changes.Format)),
    default="text",
    help="markdown: a comment for a pull request. github: annotations of GitHub Actions.",
)


def _print_changes(
    found: Sequence[Change], form: changes.Format, folder: Path, apps: Mapping[str, AppFiles]
) -> None:
    def place(change: Change) -> tuple[str, int]:
        name = f"{change.app}.py"
        row = apps[change.app].tools.get(change.tool) if change.app in apps else None
        lines = write.read_files(folder, [name] if row else []).get(name, "").splitlines()
        head = f"def {row['function']}(" if row else ""
        at = (number for number, line in enumerate(lines, 1) if line.startswith(head))
        return str(folder / name), next(at, 0)

    match form:
        case "text":
            lines = changes.changes_as_text(found)
        case "markdown":
            lines = changes.changes_as_markdown(found)
        case "github":
            lines = changes.changes_as_annotations(found, place)
    click.echo("".join(f"{line}\n" for line in lines), nl=False)


def _built_apps(
    previous: PreviousBuild, files: Mapping[str, str], report: BuildReport
) -> Mapping[str, AppFiles]:
    """Return the apps as a build leaves them, without those that are gone."""
    if not files:
        return previous.apps
    new = PreviousBuild.read(*(files[name] for name in (CATALOGUE, LISTING, LOCK, WORDS)))
    return {key: app for key, app in new.apps.items() if key not in report.gone}


def _edited_files(
    folder: Path, files: Mapping[str, str], differing: Iterable[str], known: Collection[str]
) -> Iterator[Change]:
    """Yield which files are not what the dictionaries give, but for the apps that are known."""
    for name in differing:
        key = name.partition(".")[0].removesuffix("_objects")
        if key in known or (known and name in (CATALOGUE, LISTING, LOCK, WORDS)):
            continue
        now = write.read_files(folder, [name]).get(name)
        if now is None:
            yield Change("breaks", key, f"{name} is missing")
        else:
            pairs = zip_longest(*(text.splitlines(keepends=True) for text in (now, files[name])))
            line = next(at for at, (one, other) in enumerate(pairs, 1) if one != other)
            text = f"{name} is not what a build writes, from line {line} on"
            yield Change("other", key, text)


@common.command("check")
@common.APPS
@common.source_options
@click.option("--output", type=common.PATH, help="The folder to check (default: your data folder).")
@DESCRIPTIONS
@common.TEMPLATES
@common.QUIRKS
@common.SHIPPED
@_FORMAT
def check_command(
    apps: tuple[str, ...],
    find: common.Find,
    output: Path | None,
    descriptions: str,
    templates: Path | None,
    own: tuple[Path, ...],
    shipped: bool,
    form: changes.Format,
) -> None:
    """Fail if a build would change the folder; say what `diff` says of it, and the fix."""
    folder = output or common.default_output()
    waiting = _warn_unfinished(folder)
    previous = write.read_previous(folder)
    told = common.load_corrections(own, output)
    inputs = common.build_inputs(
        find(apps), previous, whole=not apps, templates=templates, told=told
    )
    files, report = common.run_build(
        replace(inputs, shipped=shipped, wording=descriptions == "app"), quiet=True
    )
    differing = write.changed_files(folder, files)
    built = _built_apps(previous, files, report)
    found = changes.describe_changes(previous.apps, built)
    found += _edited_files(folder, files, differing, {change.app for change in found})
    _print_changes(changes.sort_changes(found), form, folder, previous.apps)
    _print_falls(report.falls)
    for key in report.gone:
        click.echo(f"Gone: {key}")
    arguments = _without_format(sys.argv[2:])
    again = " ".join(["iac-gen build", *arguments])
    if report.falls:
        _exit_with_falls(report, "a build stops", ["build", *arguments])
    common.exit_with_failures(report.lost)
    if differing:
        count = "1 file differs" if len(differing) == 1 else f"{len(differing)} files differ"
        common.fail(f"{count} from what a build would write; correct this with: {again}", 1)
    if report.gone:
        common.fail(f"some apps are no longer there; remove their modules with: {again} --prune", 1)
    if waiting:
        sys.exit(1)


def _without_format(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of `check` that `build` takes too."""
    pairs = zip(["", *arguments], arguments, strict=False)
    return [one for last, one in pairs if last != "--format" and not one.startswith("--format")]


def _exit_with_falls(report: BuildReport, outcome: str, arguments: Sequence[str]) -> NoReturn:
    """Print the command that accepts by name the levels that fell, and end with 1."""
    _print_warnings(report.failed)
    names = sorted({clean_text(fall.name) for fall in report.falls})
    plain = ",".join(name for name in names if "," not in name)
    flags = [f"--accept-levels={name}" for name in (plain, *(n for n in names if "," in n)) if name]
    fell = "1 level" if len(names) == 1 else f"{len(names)} levels"
    way = shlex.join(["iac-gen", *arguments, *flags])
    # Not cut like other lines: half a command is no way out.
    click.echo(f"iac-gen: {fell} fell, and {outcome}. If you accept this, run: {way}", err=True)
    sys.exit(1)


def _print_falls(falls: Sequence[LevelFall]) -> None:
    for fall in falls:
        click.echo(f"A level fell: {clean_text(str(fall))}")


def _warn_unfinished(folder: Path) -> bool:
    waiting = write.unfinished_write(folder)
    if waiting:
        click.echo(f"iac-gen: {on_one_line(waiting, 1000)}", err=True)
    return bool(waiting)


@common.command("diff")
@common.APPS
@common.source_options
@click.option(
    "--output", type=common.PATH, help="The folder to compare (default: your data folder)."
)
@click.option(
    "--to", "other", type=common.PATH, help="Compare with the tools in this folder instead."
)
@click.option("--json", "as_json", is_flag=True, help="Print the changes as JSON.")
@common.QUIRKS
@_FORMAT
def diff_command(
    apps: tuple[str, ...],
    find: common.Find,
    output: Path | None,
    other: Path | None,
    as_json: bool,
    own: tuple[Path, ...],
    form: changes.Format,
) -> None:
    """Describe what a build would change, the most dangerous first: levels, calls, tools, words."""
    folder = output or common.default_output()
    _warn_unfinished(folder)
    previous = write.read_previous(folder)
    failed: list[Diagnostic] = []
    rest: dict[str, Any] = {}
    built: Mapping[str, AppFiles]
    if other is not None:
        if not (other / LOCK).exists():
            raise click.UsageError(f"--to {other}: there are no tools in this folder.")
        built = write.read_previous(other).apps
    else:
        told = common.load_corrections(own, output)
        inputs = common.build_inputs(find(apps), previous, whole=not apps, told=told)
        files, report = common.run_build(replace(inputs, wording=True), quiet=True)
        built = _built_apps(previous, files, report)
        rest, failed = {key: report.to_data()[key] for key in ("falls", "failed")}, report.lost
    found = changes.describe_changes(previous.apps, built)
    if as_json:
        levels = changes.changed_levels(previous.apps, built)
        groups = changes.group_changes(found)
        data = {"changes": [*map(str, found)], "groups": groups, "levels": levels, **rest}
        click.echo(json.dumps(data, indent=1))
    else:
        _print_changes(found, form, folder, previous.apps)
    common.exit_with_failures(failed)
