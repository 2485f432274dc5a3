"""The pipeline: load, resolve, quirks, lower, classify, render, prove, one app at a time.

`generate` is pure: inputs in, the files of an output folder and a report out.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from iac_gen.diagnostics import Diagnostic
from iac_gen.includes import IncludeMap
from iac_gen.ir import Module
from iac_gen.keys import assign
from iac_gen.load import Loaded
from iac_gen.lower import lower
from iac_gen.output import AppFiles, Previous, app_files, assemble
from iac_gen.prove import prove
from iac_gen.quirks import QuirkFile, apply
from iac_gen.render import render_module, render_package
from iac_gen.report import AppReport, Report, built_counts, declared_counts
from iac_gen.resolve import resolve

__all__ = ["Inputs", "generate", "represent"]


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that a build depends on.

    `whole` says that the sources are all there are: what the folder holds beyond them is gone.
    """

    sources: Sequence[Loaded]
    includes: IncludeMap
    quirks: Sequence[QuirkFile]
    failed: Sequence[Diagnostic] = ()
    previous: Previous = field(default_factory=Previous)
    whole: bool = True
    prune: bool = False
    shipped: bool = False


def represent(
    loaded: Loaded, key: str, inputs: Inputs
) -> tuple[Module, int, tuple[Diagnostic, ...]]:
    """Return the module of one app, the number of visible commands, and all findings so far."""
    resolved, merged = resolve(loaded.source, inputs.includes)
    decided, decisions, odd = apply(resolved, list(inputs.quirks))
    module, guessed = lower(decided, decisions, key)
    commands = sum(not command.hidden for command in decided.commands)
    return module, commands, (*loaded.diagnostics, *merged, *odd, *guessed)


def generate(
    inputs: Inputs, progress: Callable[[str], None] = lambda _: None
) -> tuple[dict[str, str], Report]:
    """Return the files of the output folder (name -> text) and the report.

    `progress` is called with the name of each app before it is built. An app whose module
    does not pass its proof is left out, and what the folder has of it stays.
    """
    quirk_files = {quirk.app: quirk.file for quirk in inputs.quirks if quirk.app}
    identities = assign([loaded.source for loaded in inputs.sources], inputs.previous.keys())
    built: dict[str, AppFiles] = {}
    reports: list[AppReport] = []
    failed = list(inputs.failed)
    for loaded, identity in sorted(
        zip(inputs.sources, identities, strict=True), key=lambda pair: pair[1].key
    ):
        progress(loaded.source.name)
        module, commands, found = represent(loaded, identity.key, inputs)
        source = render_module(module, quirks=quirk_files.get(loaded.source.id, ""))
        faults = prove(module, source)
        if faults:
            failed += faults
            continue
        files = app_files(module, identity.identity, source)
        built[files.key] = files
        reports.append(_report(module, commands, files, loaded, found))
    attempted = {identity.key for identity in identities}
    # An input that failed may be any of the apps that seem to be gone.
    whole = inputs.whole and not inputs.failed
    gone = sorted(inputs.previous.apps.keys() - attempted) if whole else []
    kept = {
        key: app
        for key, app in inputs.previous.apps.items()
        if key not in built and not (inputs.prune and key in gone)
    }
    everything = [*built.values(), *kept.values()]
    if not everything:
        return {}, Report(tuple(reports), tuple(failed), tuple(gone))
    files_out = assemble(everything, render_package(shipped=inputs.shipped))
    return files_out, Report(tuple(reports), tuple(failed), tuple(gone))


def _report(
    module: Module,
    commands: int,
    files: AppFiles,
    loaded: Loaded,
    found: tuple[Diagnostic, ...],
) -> AppReport:
    levels = Counter(tool.level for tool in module.tools)
    return AppReport(
        module.key,
        module.app.name,
        module.app.id,
        len(module.tools),
        {level: levels[level] for level in ("SAFE", "MODIFY", "DANGEROUS")},
        files.tokens,
        declared_counts(loaded.source.dictionary),
        built_counts(module, commands),
        found,
    )
