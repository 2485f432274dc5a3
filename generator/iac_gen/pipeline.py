"""The pipeline: read, resolve, quirks, build tools, render, verify, one app at a time.

`build_folder` is pure but for reading its sources: inputs in, the files of an output folder and a
report out. Apps do not depend on each other, so they are built on all cores.
"""

import hashlib
import json
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from iac_gen import naming
from iac_gen.build_tools import build_module
from iac_gen.discover import SourceFile
from iac_gen.field import compile_field
from iac_gen.intents.wrappers import describe_gain, shortcuts_plist
from iac_gen.ir import Module
from iac_gen.limits import DeadlineError, wall_time_limit
from iac_gen.model import UNFORESEEN, Diagnostic, Dictionary, GeneratorError
from iac_gen.naming import AppIdentity, KeyClaim, app_modules, assign_keys
from iac_gen.output import (
    FIELD,
    FORMAT,
    AcceptedLevels,
    MaybePackedApp,
    PackedApp,
    PreviousBuild,
    app_files,
    pack_app,
    unpack_app,
)
from iac_gen.quirks import QuirkDecisions, QuirkFile, apply_quirks, read_facts
from iac_gen.render import Layout, TeamTemplates, render_module, render_objects, render_package
from iac_gen.report import AppReport, BuildReport, built_counts, declared_counts
from iac_gen.resolve import IncludeMap, ResolvedDictionary, hook_reason, resolve_dictionary
from iac_gen.salvage import keep_sound_parts
from iac_gen.text import clean_text, on_one_line
from iac_gen.verify_output import prove_imports, verify_module, verify_objects
from iac_gen.write import FolderFiles, assemble_folder
from iac_gen.xml import LoadedDictionary, LoadError
from iac_runtime.tool import LEVELS

T = TypeVar("T")

_SECONDS = 60
"""Per app, of the wall clock; the largest real one takes half a one of the processor."""
_FEW = 4
"""Fewer apps than this are built faster here than in processes that must start first."""


@dataclass(frozen=True, slots=True)
class BuildInputs:
    """All that a build depends on.

    `whole` says that the sources are all there are: what the folder holds beyond them is gone.
    `accept` are the full names of what may have a lower level than the lock's, `accepted` those of
    a team with the levels that they may fall to.
    `done` maps the digest of a job to the report of the earlier build that did it; its files
    are in `previous`. In the folder `keep` lies what black made of texts that were met before.
    """

    sources: Sequence[SourceFile | LoadedDictionary]
    includes: IncludeMap
    quirks: Sequence[QuirkFile]
    failed: Sequence[Diagnostic] = ()
    previous: PreviousBuild = field(default_factory=PreviousBuild)
    whole: bool = True
    prune: bool = False
    shipped: bool = False
    accept: Collection[str] = ()
    accepted: AcceptedLevels = field(default_factory=dict)
    wording: bool = False
    templates: TeamTemplates | None = None
    keep: Path | None = None
    done: Mapping[str, AppReport] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BuildJob:
    """One app to build, under which key. `digest` changes with everything of the app's own."""

    source: SourceFile | LoadedDictionary
    identity: AppIdentity
    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class AppRepresentation:
    """What the stages before rendering made of one app."""

    module: Module
    resolved: ResolvedDictionary
    decisions: QuirkDecisions
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class _JobOutcome:
    """A job's outcome: files and report, or the reasons why there are none."""

    files: MaybePackedApp | None
    report: AppReport | None
    faults: tuple[Diagnostic, ...] = ()


def plan_jobs(
    sources: Sequence[SourceFile | LoadedDictionary], previous: PreviousBuild
) -> list[BuildJob]:
    """Return what is to be built, in the order of the keys."""
    apps = [one if isinstance(one, SourceFile) else one.source for one in sources]
    claims = [
        KeyClaim(app.name, app.id, app.version, app.digest, app.kind == "intents") for app in apps
    ]
    identities = assign_keys(claims, previous.bound_keys())
    made = []
    for source, app, identity in zip(sources, apps, identities, strict=True):
        facts = (app.name, app.id, app.version, app.digest, identity.key, app.kind)
        digest = hashlib.sha256("\0".join(facts).encode("utf-8", "surrogatepass")).hexdigest()
        made.append(BuildJob(source, identity, app.name, digest))
    return sorted(made, key=lambda job: job.identity.key)


def represent_app(
    loaded: LoadedDictionary,
    key: str,
    includes: IncludeMap,
    quirks: Sequence[QuirkFile],
    *,
    wording: bool = False,
) -> AppRepresentation:
    """Return the module of one app before it is rendered, and all findings so far.

    With `wording`, the app's own descriptions stand where no sentence is ours.
    """
    resolved, merged = resolve_dictionary(loaded.source, includes)
    decided, decisions, odd = apply_quirks(resolved, list(quirks))
    module, guessed = build_module(decided, decisions, key, wording=wording)
    diagnostics = (*loaded.diagnostics, *merged, *odd, *guessed)
    return AppRepresentation(module, decided, decisions, diagnostics)


def build_folder(
    inputs: BuildInputs, progress: Callable[[str], None] = lambda _: None
) -> tuple[Mapping[str, str], BuildReport]:
    """Return the files of the output folder (name -> text, `write.FolderFiles`) and the report.

    `progress` is called with the name of each app when it is done. An app that cannot be
    read, or whose module does not pass its proof, is left out; what the folder has of it stays.
    """
    built: dict[str, MaybePackedApp] = {}
    reports: list[AppReport] = []
    failed = list(inputs.failed)
    wanted = plan_jobs(inputs.sources, inputs.previous)
    for job, outcome in zip(wanted, _job_outcomes(wanted, inputs), strict=True):
        progress(job.name)
        failed += outcome.faults
        if outcome.files is not None and outcome.report is not None:
            built[job.identity.key] = outcome.files
            reports.append(outcome.report)
    # An input that failed may be any of the apps that seem to be gone.
    whole = inputs.whole and not failed
    attempted = {job.identity.key for job in wanted}
    # A build of dictionaries alone says nothing of intents, and the other way round.
    sources = (one if isinstance(one, SourceFile) else one.source for one in inputs.sources)
    sought = {one.kind == "intents" for one in sources} or {False}
    previous = inputs.previous.apps.items()
    present = {key for key, app in previous if (app.row["kind"] == "intents") in sought}
    gone = sorted(present - attempted) if whole else []
    kept = {
        key: app
        for key, app in inputs.previous.apps.items()
        if key not in built and not (inputs.prune and key in gone)
    }
    everything = {**built, **kept}
    named = inputs.templates.name if inputs.templates else ""
    report = BuildReport(tuple(reports), tuple(failed), tuple(gone), templates=named)
    if not everything:
        return {}, report
    package = render_package(shipped=inputs.shipped, templates=inputs.templates)
    apps = list(_with_distinct_names(everything))
    files, falls = assemble_folder(apps, package, inputs.previous, inputs.accepted)
    # A row that names what its app does not have is told there, and lost.
    unused = {f"{one.file}:{one.line}" for app in reports for one in app.diagnostics}
    theirs = read_facts(file for file in inputs.quirks if file.raises)
    if own := compile_field([fact for fact in theirs if fact.place not in unused]):
        makers = {**files.makers, FIELD: lambda: (json.dumps({"format": FORMAT, "field": own}),)}
        files = FolderFiles(makers)
    pending = tuple(one for one in falls if not {one.name, clean_text(one.name)} & {*inputs.accept})
    return files, replace(report, falls=pending)


def _with_distinct_names(apps: Mapping[str, MaybePackedApp]) -> Iterator[MaybePackedApp]:
    """Yield the apps with tool names that no two of them share, earlier keys first."""
    taken: set[str] = set()
    for _, app in sorted(apps.items()):
        names = list(app.tools)
        forms = set(map(naming.clipped_name, names))
        # All names are looked through only for an app of which some are taken.
        longest = max(map(len, names), default=0)
        if longest > naming.MAX_TOOL_NAME or len(forms) < len(names) or forms & taken:
            names = naming.distinct_names(names, taken)
            files = unpack_app(app).with_tool_names(dict(zip(app.tools, names, strict=True)))
            if isinstance(app, PackedApp):
                app = pack_app(files)._replace(modules=app.modules)
            else:
                app = files
        taken |= set(map(naming.clipped_name, names))
        yield app


def _job_outcomes(wanted: Sequence[BuildJob], inputs: BuildInputs) -> Iterator[_JobOutcome]:
    """Yield the outcome of each job in order; those that were done before are not done again."""
    todo = [job for job in wanted if not _is_done(job, inputs)]
    fresh = map_jobs(_build_app, todo, inputs)
    for job in wanted:
        if _is_done(job, inputs):
            key = job.identity.key
            yield _JobOutcome(inputs.previous.apps[key], inputs.done[job.digest])
        else:
            yield next(fresh)


def _is_done(job: BuildJob, inputs: BuildInputs) -> bool:
    before = inputs.previous.apps.get(job.identity.key)
    return job.digest in inputs.done and before is not None and bool(before.words)


def map_jobs(
    work: Callable[[BuildJob], T], todo: Sequence[BuildJob], inputs: BuildInputs
) -> Iterator[T]:
    """Yield `work(job)` for each job in order, done on all cores; `work` is a module's function."""
    # The sources go one by one, with their jobs.
    common = replace(inputs, sources=(), previous=PreviousBuild(), done={})
    cores = min(os.cpu_count() or 1, len(todo))
    if cores < 2 or len(todo) < _FEW:
        _start_worker(common)
        yield from map(work, todo)
        return
    # A fork starts at once and shares what was imported; other systems start afresh.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
    with ProcessPoolExecutor(cores, context, _start_worker, (common,)) as pool:
        yield from pool.map(work, todo, chunksize=1)


_common: list[BuildInputs] = []


def _start_worker(common: BuildInputs) -> None:
    _common[:] = [common]


def map_representations(
    work: Callable[[str, AppRepresentation], T], inputs: BuildInputs
) -> Iterator[T | Diagnostic]:
    """Yield `work(key, representation)` of each app in order, or why it has none."""
    yield from map_jobs(
        partial(_map_representation, work), plan_jobs(inputs.sources, inputs.previous), inputs
    )


def _map_representation(
    work: Callable[[str, AppRepresentation], T], job: BuildJob
) -> T | Diagnostic:
    try:
        loaded = _read(job)
        try:
            return work(job.identity.key, _represent(loaded, job))
        except Exception:
            rest = _without_faulty_parts(
                loaded, lambda part: work(job.identity.key, _represent(part, job))
            )
            if rest is None:
                raise
            return work(job.identity.key, _represent(rest, job))
    except Exception as error:
        return _faults(error, job)[0]


def _read(job: BuildJob) -> LoadedDictionary:
    return job.source.read() if isinstance(job.source, SourceFile) else job.source


def _represent(loaded: LoadedDictionary, job: BuildJob) -> AppRepresentation:
    common = _common[0]
    return represent_app(
        loaded, job.identity.key, common.includes, common.quirks, wording=common.wording
    )


class _ProofError(Exception):
    """A module does not pass its proof."""

    def __init__(self, faults: Sequence[Diagnostic]) -> None:
        super().__init__(faults[0].message)
        self.faults = tuple(faults)


def _build_app(job: BuildJob) -> _JobOutcome:
    """Build one app: the work of one process.

    What nobody foresaw costs the parts that cannot stand beside the others, and where nothing
    can, the app.
    """
    try:
        with wall_time_limit(_SECONDS):
            loaded = _read(job)
            try:
                return _make(loaded, job, _common[0].keep)
            except (DeadlineError, GeneratorError):
                raise
            except Exception:
                # What the templates of a team do wrong is no item's fault.
                if _common[0].templates:
                    raise
                rest = _without_faulty_parts(loaded, lambda part: _make(part, job, None))
                if rest is None:
                    raise
                return _make(rest, job, _common[0].keep)
    except Exception as error:
        return _JobOutcome(None, None, _faults(error, job))


def _faults(error: Exception, job: BuildJob) -> tuple[Diagnostic, ...]:
    """Return why an app could not be built."""
    if isinstance(error, LoadError):
        return (error.diagnostic,)
    if isinstance(error, _ProofError):
        return error.faults
    kinds = {GeneratorError: "templates", DeadlineError: "deadline"}
    code = next((code for kind, code in kinds.items() if isinstance(error, kind)), UNFORESEEN)
    told = str(error) if code != UNFORESEEN else f"cannot be built: {_told(error)}"
    return (Diagnostic(job.name, 0, code, told, "error"),)


def _told(error: Exception) -> str:
    kind = "" if isinstance(error, _ProofError) else f"{type(error).__name__}: "
    return on_one_line(f"{kind}{error}", 200)


def _without_faulty_parts(
    loaded: LoadedDictionary, check: Callable[[LoadedDictionary], object]
) -> LoadedDictionary | None:
    """Return a dictionary without the parts that make `check` raise; each is told."""

    def with_dictionary(dictionary: Dictionary) -> LoadedDictionary:
        return replace(loaded, source=replace(loaded.source, dictionary=dictionary))

    whole = loaded.source.dictionary
    rest, lost = keep_sound_parts(whole, lambda part: check(with_dictionary(part)))
    if rest is None:
        return None
    faults = [
        Diagnostic(whole.file, line, UNFORESEEN, f"{what} cannot be built: {_told(error)};"
                   " it is left out", "error")
        for what, line, error in lost
    ]  # fmt: skip
    return replace(with_dictionary(rest), diagnostics=(*loaded.diagnostics, *faults))


def _make(loaded: LoadedDictionary, job: BuildJob, keep: Path | None) -> _JobOutcome:
    """Return the files and the report of one app.

    Raises:
        _ProofError: A module does not pass its proof.
        GeneratorError: The templates of a team fail.
    """
    common = _common[0]
    made = _represent(loaded, job)
    module, templates = made.module, common.templates
    whose = made.resolved.source.identity
    quirks = next((q.file for q in common.quirks if q.app == whose), "")
    layout = Layout(quirks, templates, keep)
    source, objects = render_module(module, layout), render_objects(module, layout)
    shortcuts = shortcuts_plist(module) if module.app.kind == "intents" else ""
    texts = zip(app_modules(module.key), (source, objects, shortcuts), strict=True)
    modules = {name: text for name, text in texts if text}
    named = templates.name if templates else ""
    faults = [*verify_module(module, source, named), *verify_objects(module, objects, named)]
    # Nothing runs that is more than it should be.
    if faults := faults or prove_imports(module.key, modules, keep):
        raise _ProofError(faults)
    file = made.resolved.source.dictionary.file
    files, cut = app_files(module, made.resolved, job.identity.identity, modules, file)
    notes = (*made.diagnostics, *cut)
    return _JobOutcome(pack_app(files), _app_report(replace(made, diagnostics=notes), files.tokens))


def _app_report(made: AppRepresentation, tokens: int) -> AppReport:
    module = made.module
    tools = Counter(tool.level for tool in module.tools)
    levels: dict[str, int] = {level: tools[level] for level in LEVELS}
    visible = sum(not (one.hidden or hook_reason(one)) for one in made.resolved.commands)
    counts = declared_counts(made.resolved.source.dictionary), built_counts(module, visible)
    app = (module.key, module.app.name, module.app.id, len(module.tools))
    gain = ""
    if module.app.kind == "intents":
        actions = counts[0].commands
        gain = f"{module.app.name}: {actions} action{'s'[: actions != 1]}, {describe_gain(module)}"
    return AppReport(*app, levels, tokens, *counts, made.diagnostics, gain)
