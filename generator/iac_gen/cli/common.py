"""What the commands share: options, finding dictionaries, running a build, ending."""

import functools
import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeAlias

import click

from iac_base.files import TEAM_BUILD, data_folder
from iac_gen import discover, macos
from iac_gen.discover import DiscoveredSources
from iac_gen.macos import PLACES
from iac_gen.model import Diagnostic, GeneratorError
from iac_gen.output import AcceptedLevels, PreviousBuild, read_level
from iac_gen.quirks import known_apps, load_quirks, read_quirks
from iac_gen.text import on_one_line

if TYPE_CHECKING:
    from iac_gen.pipeline import BuildInputs
    from iac_gen.report import BuildReport

PATH = click.Path(path_type=Path)
APPS = click.argument("apps", nargs=-1)
SHIPPED = click.option(
    "--shipped", is_flag=True, hidden=True, help="Build the package that comes with IAC."
)
TEMPLATES = click.option(
    "--templates", type=PATH, help="A folder of your own templates; see iac-gen templates."
)
_paths_option = functools.partial(click.option, multiple=True, type=PATH)
QUIRKS = _paths_option(
    "--quirks", "own", help="A file of your own corrections (quirks), or a folder of them."
)
INSTALLED: Final = "installed"
"""Stands for the places of a Mac where App Intents metadata lies."""

Find: TypeAlias = Callable[[Sequence[str]], DiscoveredSources]
"""Finds the dictionaries that the options name, of these apps or of all."""


def fail(message: str, code: int = 2) -> NoReturn:
    """Print one line and end: 1 for a failure, 2 for wrong usage."""
    click.echo(f"iac-gen: {on_one_line(message, 2000)}", err=True)
    sys.exit(code)


class GeneratorCommand(click.Command):
    """A command that says in one line what cannot be done."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except GeneratorError as error:
            fail(str(error))


command = functools.partial(click.command, cls=GeneratorCommand)


def source_options(command: Callable[..., None]) -> Any:
    """Add the options that say which dictionaries; the command gets `find`, which looks there."""

    @_paths_option(
        "--dictionary", "dictionaries", help="An .sdef file, a snapshot, or a folder of either."
    )
    @_paths_option("--search", help="Also look for apps in this folder (macOS).")
    @_paths_option(
        "--intents",
        help="Where to read App Intents: a file, an app, a folder, or `installed` (macOS).",
    )
    @click.option("--bundled", is_flag=True, help="Use the snapshots that come with iac-gen.")
    @functools.wraps(command)
    def with_find(
        dictionaries: Sequence[Path],
        search: Sequence[Path],
        intents: Sequence[Path],
        bundled: bool,
        **given: Any,
    ) -> None:
        def find(apps: Sequence[str] = ()) -> DiscoveredSources:
            intent_sources = _find_intents(intents)
            if not intents or dictionaries or search or bundled:
                named = _find_dictionaries(dictionaries, search, bundled)
                both = (*named.unscriptable, *intent_sources.unscriptable)
                every = (*named.sources, *intent_sources.sources)
                intent_sources = replace(named, sources=every, unscriptable=both)
            return discover.pick_sources(intent_sources, apps)

        command(find=find, **given)

    return with_find


def _find_intents(paths: Sequence[Path]) -> DiscoveredSources:
    if not paths:
        return DiscoveredSources(())
    places = [one for path in paths for one in (PLACES if str(path) == INSTALLED else [path])]
    wanted = [Path(one) for one in places]
    # Of the Mac's own places not all are there.
    return discover.from_intents(one for one in wanted if one.exists() or one in paths)


def _find_dictionaries(
    dictionaries: Sequence[Path], search: Sequence[Path], bundled: bool
) -> DiscoveredSources:
    if dictionaries and bundled:
        raise GeneratorError("give --dictionary or --bundled, not both")
    if dictionaries:
        return discover.from_paths(dictionaries, known_apps())
    if bundled:
        return discover.from_bundled_snapshots()
    if sys.platform == "darwin" or search:
        for folder in search:
            if not folder.is_dir():
                raise GeneratorError(f"{folder}, given with --search, is not a folder")
        return discover.from_bundles(*macos.installed_bundles(search))
    click.echo("iac-gen: this is not a Mac, so the bundled snapshots are used", err=True)
    return discover.from_bundled_snapshots()


def default_output() -> Path:
    return data_folder() / "tools"


class QuirkCorrections(NamedTuple):
    """Quirk files that do not come with the generator (path -> content), and accepted levels."""

    files: Mapping[str, bytes] = MappingProxyType({})
    accepted: AcceptedLevels = MappingProxyType({})

    def digest(self) -> str:
        """Return what changes with any of it."""
        told = [[name, content.hex()] for name, content in self.files.items()]
        return hashlib.sha256(json.dumps([told, dict(self.accepted)]).encode()).hexdigest()


def load_corrections(own: Sequence[Path], output: Path | None) -> QuirkCorrections:
    """Return the quirks that are named; for the data folder's tools also yours and the team's.

    Tools for elsewhere, such as a repository, must come out the same on every machine.

    Raises:
        GeneratorError: A file cannot be read.
    """
    ours = data_folder() / "quirks"
    paths = [*([ours] if output is None and ours.is_dir() else []), *own]
    try:
        every = [sorted(at.glob("*.toml")) if at.is_dir() else [at] for at in paths]
        files = {str(path): path.read_bytes() for paths in every for path in paths}
    except OSError as error:
        raise GeneratorError(f"{error.filename} cannot be read: {error.strerror}") from None
    team = data_folder() / "state" / TEAM_BUILD
    if output is not None or not team.exists():
        return QuirkCorrections(files)
    try:
        told = json.loads(team.read_bytes())
        theirs = {f"team/{name}": text.encode() for name, text in told["quirks"].items()}
        rows = told["accepted"].items()
        accepted: AcceptedLevels = {
            str(name): tuple(read_level(level) for level in levels) for name, levels in rows
        }
        return QuirkCorrections({**theirs, **files}, accepted)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise GeneratorError(
            f"{team} is damaged; run iac-fleet forward, which writes it again"
        ) from None


def build_inputs(
    sources: DiscoveredSources,
    previous: PreviousBuild,
    *,
    whole: bool = True,
    templates: Path | None = None,
    told: QuirkCorrections | None = None,
) -> "BuildInputs":
    from platformdirs import user_cache_path

    from iac_gen.pipeline import BuildInputs

    told = told or QuirkCorrections()
    (quirks, faults), (own, wrong) = load_quirks(), read_quirks(told.files)
    every, failed = [*quirks, *own], [*faults, *wrong]
    keep = user_cache_path("iac", appauthor=False) / "formatted"
    made = BuildInputs(
        sources.sources, discover.load_includes(), every, failed, previous, whole, keep=keep
    )
    made = replace(made, accepted=told.accepted)
    if templates is None:
        return made
    from iac_gen.render import own_templates

    return replace(made, templates=own_templates(templates))


def run_build(inputs: "BuildInputs", quiet: bool) -> "tuple[Mapping[str, str], BuildReport]":
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    from iac_gen.pipeline import build_folder

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.completed}"))
    hidden = quiet or not console.is_terminal
    # No refreshing thread: the builders are forked from this process.
    with Progress(
        *columns, console=console, transient=True, disable=hidden, auto_refresh=False
    ) as progress:
        task = progress.add_task("Building", total=len(inputs.sources))

        def step(name: str) -> None:
            progress.update(task, description=f"Built {name}", advance=1, refresh=True)

        return build_folder(inputs, step)


def exit_with_failures(failed: Sequence[Diagnostic]) -> None:
    for one in failed:
        click.echo(f"iac-gen: skipped {one}", err=True)
    if failed:
        sys.exit(1)
