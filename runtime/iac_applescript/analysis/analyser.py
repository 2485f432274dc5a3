"""What a script may do: its level, the reasons, its targets, what it reaches, the better tool.

SAFE only where every statement is understood and reads. What is not understood is DANGEROUS.
Analysis can raise what a script needs, never lower it; JavaScript is MODIFY at least, because its
names are decided at run time.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from iac_applescript.analysis.applescript_reader import read_applescript
from iac_applescript.analysis.findings import (
    AppStart,
    Findings,
    Language,
    LevelReason,
    OverBudgetError,
    text_at,
    within_budget,
)
from iac_applescript.analysis.javascript_level import TextLevel
from iac_applescript.analysis.javascript_tree import parse, processes_in, scan_javascript
from iac_applescript.analysis.nested import find_nested_scripts
from iac_applescript.analysis.statement_effects import ADDITIONS, verb_for
from iac_applescript.analysis.vocabulary import (
    COMMANDS,
    HARMFUL_NAMES,
    Vocabulary,
    build_vocabulary,
)
from iac_base.script_tokens import Scan, ScanFault, ScriptToken, scan_applescript
from iac_runtime.policy.verbs import command_verb
from iac_runtime.tool import Level, highest
from iac_runtime.toolkit import Catalogue, Effect

SYSTEM_EVENTS: Final = "com.apple.systemevents"
_PROCESS: Final = frozenset(("process", "processes"))
_UNBOUND: Final = frozenset(("dynamic", "fault", "nesting", "target"))
"""Rules of reasons after which the members that are asked are not known."""

_UNREAD: Final = frozenset(("fault", "nesting", "shape"))
"""Rules of reasons for which statements were not read, or in the wrong place."""

_BLIND: Final = frozenset(
    """
    dynamic fault handler member name nesting phrase raw shape target text unknown
    """.split()
)
"""Rules of reasons after which anything may be reached: code, keys, what was not understood."""


MOST: Final = 100
"""Objects of an app that a script changes by one verb, where nobody saw which."""

_LOOKS: Final = ("read",)
_READS: Final = frozenset(("count", "exist", "exists", "get", "log"))

MAX_DEPTH: Final = 3
"""Scripts within one another that are read; what is deeper is code that is not seen."""

MAX_NESTED: Final = 20
"""Texts of one script that are read as scripts."""


class JavaScriptBounds(NamedTuple):
    """What a JavaScript may ask of apps when it runs: the rest is held back.

    Attributes:
        apps: The apps, as it names them.
        names: Members that are asked; `sets` those that are set.
        open: Whether what was found says that members are not known before it runs.
        code: Whether it makes code of texts.
        bridge: Whether it goes to Objective-C.
        secrets: Properties that are never read: taken out of what apps answer.
        texts: What the script spells out: an address, path or recipient that goes out stands there,
            or in what its `run` handler is given.
        acts: App, as it is named -> what may be called or set that changes something of it.
        most: The objects that a verb may change, where no table was approved; 0 for no bound.
        writes: App, as it is named -> each member that changes something -> what it gives: 0
            nothing, 1 an object, 2 a value.
        mode: `record` keeps what would be changed, `commit` sends it if it is `lines`; empty sends
            as the script goes.
        mark: What stands before that on the log.
        lines: The changes that were approved, each with the name of its object.
    """

    apps: tuple[str, ...]
    names: tuple[str, ...]
    sets: tuple[str, ...]
    open: bool
    code: bool
    bridge: bool
    secrets: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    acts: Mapping[str, Sequence[str]] = {}
    most: int = 0
    writes: Mapping[str, Mapping[str, int]] = {}
    mode: str = ""
    mark: str = ""
    lines: tuple[tuple[str, str], ...] = ()


class ScriptAnalysis(NamedTuple):
    """What was found.

    Attributes:
        level: What running it needs.
        reasons: Why, the highest first, then by place.
        targets: Bundle ids of the apps that it names.
        unknown: Names of apps that are not known here.
        tools: Generated tools that do what its statements do.
        starts: The apps that it starts if they do not run.
        effects: What its statements do, as far as they were understood.
        processes: Of a JavaScript, those it goes through; empty for one that is not named.
        asked: Of a JavaScript, what it is held to when it runs.
        secrets: What it reads that no setting allows to read; it is refused then.
    """

    level: Level
    reasons: tuple[LevelReason, ...]
    targets: tuple[str, ...]
    unknown: tuple[str, ...]
    tools: tuple[str, ...]
    starts: tuple[AppStart, ...] = ()
    effects: tuple[Effect, ...] = ()
    processes: tuple[str, ...] = ()
    bounds: JavaScriptBounds | None = None
    secrets: tuple[str, ...] = ()


def include_app_starts(analysis: ScriptAnalysis, runs: Callable[[str], bool]) -> ScriptAnalysis:
    """Return an analysis that counts starting an app as a change, as reads start none.

    Args:
        analysis: The analysis of the text alone.
        runs: Says whether the app of a bundle id runs; asked only of a script that else reads.
    """
    if analysis.level != "SAFE":
        return analysis
    stopped = [start for start in analysis.starts if not runs(start.app)]
    if not stopped:
        return analysis
    reasons = tuple(
        LevelReason("MODIFY", "launch", f"would start {start.name}", start.app, start.place)
        for start in stopped
    )
    starts = (Effect("start", start.app, start.name, level="MODIFY") for start in stopped)
    return analysis._replace(level="MODIFY", reasons=reasons, effects=(*analysis.effects, *starts))


def scan_script(script: str, language: Language) -> Scan:
    """Return the tokens of a script and what cannot be read of it."""
    return scan_applescript(script) if language == "applescript" else scan_javascript(script)


class ScriptAnalyzer:
    """Analyses scripts against the dictionaries of a catalogue; safe to share between threads.

    `secrets` are the policy's globs over properties that are never read.
    """

    def __init__(self, catalogue: Catalogue, secrets: tuple[str, ...] = ()) -> None:
        self.catalogue = catalogue
        self.secrets = secrets
        self._known: dict[str, Vocabulary] = {}
        self._unbuilt: dict[str, Vocabulary | None] = {}

    def analyze_script(self, script: str, language: Language, depth: int = 0) -> ScriptAnalysis:
        """Return what a script may do; never raises for any text.

        `depth` is how many scripts it stands in.
        """
        findings = Findings(script)
        additions = self.app_vocabulary(ADDITIONS)
        faults: Sequence[ScanFault] = ()
        try:
            with within_budget():
                if language == "javascript":
                    says = "is JavaScript, which decides names at run time"
                    findings.add("MODIFY", "language", says, "", 0)
                    tree, faults = parse(script)
                    TextLevel(tree, findings, self.find_vocabulary, additions).read()
                    findings.processes += processes_in(tree)
                else:
                    scan = scan_applescript(script)
                    faults = scan.faults
                    read_applescript(scan, findings, self.find_vocabulary, additions)
        except (OverBudgetError, RecursionError):
            says = "takes more steps to judge than IAC follows; split it into shorter scripts"
            findings.add("DANGEROUS", "nesting", says, "", 0)
            self._name_targets(script, language, findings)
        for fault in faults:
            findings.add("DANGEROUS", "fault", fault.message, "", fault.start)
        if language == "applescript" and findings.found(_UNREAD):
            # No bridge takes out what a statement reads that was not followed.
            for target in map(self.find_vocabulary, findings.targets):
                if target and target.secrets:
                    findings.read_secret(f"an unknown object of {target.name}", "", 0)
        if language == "applescript":
            findings.effects += _raw_event_effects(script, findings)
        for event, text in findings.nested[:MAX_NESTED] if depth < MAX_DEPTH else ():
            for one in find_nested_scripts(event, text):
                inner = self.analyze_script(one.text, one.language, depth + 1)
                findings.effects += inner.effects
                findings.secrets |= dict.fromkeys(inner.secrets)
        told = {effect.app for effect in findings.effects}
        apps = filter(None, map(self.find_vocabulary, findings.targets))
        reads = (Effect("read", app.bundle, app.name) for app in apps if app.bundle not in told)
        effects = (*findings.effects, *reads)
        least: Level = "MODIFY" if language == "javascript" else "SAFE"
        order = {"DANGEROUS": 0, "MODIFY": 1, "SAFE": 2}
        told_why = (reason for reason in findings.reasons.values() if reason.level != "SAFE")
        reasons = sorted(told_why, key=lambda row: (order[row.level], row.place.start))
        known = (name for name in findings.tools if name in self.catalogue.tools)
        return ScriptAnalysis(
            findings.highest_level(),
            tuple(reasons),
            tuple(findings.targets),
            tuple(findings.unknown),
            tuple(known),
            tuple(findings.starts.values()),
            tuple(row._replace(level=highest((row.level, least))) for row in effects),
            tuple(dict.fromkeys(findings.processes)),
            self._asked(findings, reasons) if language == "javascript" else None,
            tuple(findings.secrets),
        )

    def _name_targets(self, script: str, language: Language, findings: Findings) -> None:
        """Count every app whose name a script spells out as a target."""
        tokens = scan_script(script, language).tokens
        spelled = {token.folded.removesuffix(".app") for token in tokens}
        for app in self.catalogue.apps.values():
            if spelled & {app.name.casefold(), app.id.casefold()}:
                findings.targets[app.id] = None

    def _asked(self, findings: Findings, reasons: Sequence[LevelReason]) -> JavaScriptBounds:
        code = any(reason.message == HARMFUL_NAMES["eval"] for reason in reasons)
        unknown = findings.found(_UNBOUND)
        rows = (findings.named, findings.asked, findings.put)
        apps, names, sets = (tuple(sorted(row)) for row in rows)
        wide = unknown or code
        known = map(self.find_vocabulary, apps)
        if wide:
            known = map(self.app_vocabulary, self.catalogue.apps)
        secrets = tuple(sorted({name for app in known if app for name in app.secrets}))
        acts = {name: self._approved_members(name, findings) for name in (*apps, "")}
        writes = {name: self._write_members(name, findings.used) for name in (*apps, "")}
        return JavaScriptBounds(
            apps,
            names,
            sets,
            wide,
            code,
            "ObjC" in names,
            secrets,
            tuple(sorted(findings.spelled)),
            acts,
            0 if findings.highest_level() == "DANGEROUS" else MOST,
            {name: members for name, members in writes.items() if members},
        )

    def _approved_members(self, name: str, findings: Findings) -> tuple[str, ...]:
        app = self.find_vocabulary(name)
        keys = (app.key if app else "", ADDITIONS)
        return tuple(sorted({member for key, member in findings.acts if key in keys}))

    def _write_members(self, name: str, used: Collection[str]) -> dict[str, int]:
        """Return the members of an app that change something, and what each gives."""
        app, additions = self.find_vocabulary(name), self.app_vocabulary(ADDITIONS)
        if name and app is None:
            return {}
        found = {word: 0 for word, level in COMMANDS.items() if word not in _READS}
        for words in (additions, app):
            rows = words.names.items() if words else ()
            for member, uses in rows:
                for row in uses:
                    if row.use == "command" and verb_for(member, row, row.level) not in _LOOKS:
                        found[member] = 2 if row.answers and member in used else 0
        return found | dict.fromkeys(("duplicate", "make", "move", "open"), 1)

    def find_vocabulary(self, name: str) -> Vocabulary | None:
        """Return the vocabulary of the app with this name or bundle id, exactly but for case.

        Of an app without tools it is made of the dictionary that is installed or shipped.
        """
        wanted = name.casefold().removesuffix(".app")
        for app in self.catalogue.apps.values():
            if app.kind == "application" and wanted in (app.name.casefold(), app.id.casefold()):
                return self.app_vocabulary(app.key)
        return self._unbuilt_vocabulary(wanted)

    def _unbuilt_vocabulary(self, name: str) -> Vocabulary | None:
        """Return the vocabulary of an app that has a dictionary and no tools; it is made once."""
        if name not in self._unbuilt:
            tables = self.catalogue.find_unbuilt_tables(name)
            self._unbuilt[name] = build_vocabulary(tables, self.secrets) if tables else None
        return self._unbuilt[name]

    def app_vocabulary(self, key: str) -> Vocabulary | None:
        """Return the vocabulary of an app of the catalogue; it is made once."""
        if key not in self._known and key in self.catalogue.apps:
            tables = self.catalogue.load_tables(self.catalogue.apps[key])
            self._known[key] = build_vocabulary(tables, self.secrets)
        return self._known.get(key)


_RAW_EVENT: Final = re.compile(r"«event (.{8})»")


def _raw_event_effects(script: str, findings: Findings) -> Iterator[Effect]:
    """Yield what events do that a script gives by their codes, to whichever app it names."""
    names = (*((app, "") for app in findings.targets), *(("", name) for name in findings.unknown))
    for code in dict.fromkeys(_RAW_EVENT.findall(script)):
        verb = command_verb(code, "", "DANGEROUS", answers=False)
        for app, name in names if verb != "unknown" else ():
            yield Effect(verb, app, name, level="DANGEROUS")


class NestedEffects(NamedTuple):
    """What scripts inside of a call do, as far as that is understood, and the secrets they read."""

    effects: tuple[Effect, ...] = ()
    secrets: tuple[str, ...] = ()


def find_nested_effects(
    catalogue: Catalogue, hidden: tuple[str, ...], event: str, text: str, language: str
) -> NestedEffects:
    """Return what the scripts in a text do that an event runs.

    Args:
        catalogue: The apps that are known.
        hidden: Globs over properties that are never read.
        event, text, language: As `find_nested_scripts`.
    """
    analyser = shared_analyzer(catalogue, hidden)
    scripts = find_nested_scripts(event, text, language)
    found = [analyser.analyze_script(script.text, script.language) for script in scripts]
    effects = dict.fromkeys(effect for one in found for effect in one.effects)
    unknown = (name for one in found for name in one.unknown)
    effects |= dict.fromkeys(Effect("unknown", "", name, level="DANGEROUS") for name in unknown)
    secrets = dict.fromkeys(name for one in found for name in one.secrets)
    return NestedEffects(tuple(effects), tuple(secrets))


@lru_cache(maxsize=4)
def shared_analyzer(catalogue: Catalogue, hidden: tuple[str, ...] = ()) -> ScriptAnalyzer:
    """Return an analyser that is made once for a catalogue."""
    return ScriptAnalyzer(catalogue, hidden)


class ProcessReach(NamedTuple):
    """Names of the processes that are gone through, and why that is not all; empty if it is."""

    processes: tuple[str, ...]
    unsure: str


def script_reach(script: str, language: Language, analysis: ScriptAnalysis) -> ProcessReach:
    """Return what a script reaches beside its targets; doubt makes it unsure."""
    dangers = (row for row in analysis.reasons if row.level == "DANGEROUS" and row.rule in _BLIND)
    unsure = next((f"{row.text} {row.message}".strip() for row in dangers), "")
    if SYSTEM_EVENTS not in (target.casefold() for target in analysis.targets):
        return ProcessReach((), unsure)
    names: Sequence[str] = analysis.processes
    if language == "applescript":
        names = _process_names(scan_applescript(script).tokens)
    known = tuple(dict.fromkeys(name for name in names if name))
    if not unsure and "" in names:
        unsure = "it goes through a process that it does not name"
    return ProcessReach(known, unsure)


def _process_names(tokens: Sequence[ScriptToken]) -> list[str]:
    """Return the name of each process; an empty one where it is not a plain text."""
    names: list[str] = []
    elements = False
    for at, token in enumerate(tokens):
        if token.kind != "word":
            continue
        after = text_at(tokens, at + 1).casefold()
        elements = elements or (token.folded == "ui" and after.startswith("elem"))
        if token.folded in _PROCESS:
            given = at + (2 if after == "named" else 1)
            plain = text_at(tokens, given + 1) != "&"
            names.append(_literal_at(tokens, given) if plain else "")
    # A process is an interface element of System Events too.
    return names or ([""] if elements else [])


def _literal_at(tokens: Sequence[ScriptToken], place: int) -> str:
    """Return the text that is written out at a place; empty where none is."""
    string = place < len(tokens) and tokens[place].kind == "string"
    return tokens[place].text if string else ""
