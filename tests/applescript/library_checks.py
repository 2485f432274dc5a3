"""Dictionaries beyond the bundled ones, what a kept script needs by them, and its names.

    python tests/applescript/library_checks.py

writes `library.lock` anew: a line a script with its level and what it does, and
`library_runs.lock`: how each AppleScript ends on the seeded world, what it prints and changes.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import iac_gen.render
from iac_applescript.analysis.analyser import ScriptAnalysis, ScriptAnalyzer
from iac_applescript.library import SavedScript, shipped_scripts
from iac_applescript.wrapping import wrap_script
from iac_gen.discover import from_paths, load_includes, read_sources
from iac_gen.pipeline import BuildInputs, build_folder
from iac_gen.quirks import known_apps, load_quirks
from iac_runtime.tools.tables import Tables
from iac_simulator import Simulator, difference, parse_profile
from iac_simulator.simulator import demo_state
from iac_simulator.world import default_world

HERE = Path(__file__).parent
SNAPSHOTS = HERE.parents[1] / "generator" / "iac_gen" / "snapshots" / "untooled"
LOCK = HERE / "library.lock"
RUNS_LOCK = HERE / "library_runs.lock"
ADDITIONS = "Standard Additions"

_TAKEN = frozenset(
    """
    alias all and any ask as at back before beginning character characters class close
    constant contents copy count date day days delete div document documents else end error
    every exists exit false file files first folder front get given hour hours id if ignoring
    in index integer into is it item items last length list log make me middle minute minutes
    missing mod month months my name new not number of on open or paragraph paragraphs pi
    print property put quit quote real record repeat rest result return returning reverse run
    save script second seconds selection set some space string tab tell text the then time to
    transaction true try until using value version week weekday weeks where while whose window
    windows with without word words year
    """.split()
)
"""Words of the language that a script may not take for a variable."""


def dictionaries(folder: Path) -> Path:
    """Write modules of the dictionaries beside this file into a folder, as `iac-gen build` does."""
    # How a module is laid out says nothing here, and takes most of the time.
    laid, iac_gen.render._format_with_black = iac_gen.render._format_with_black, lambda text: text
    try:
        quirks, _ = load_quirks()
        loaded, failed = read_sources(from_paths([SNAPSHOTS], known_apps()))
        assert not failed
        files, _ = build_folder(BuildInputs(loaded, load_includes(), quirks))
    finally:
        iac_gen.render._format_with_black = laid
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def locked(script: SavedScript, found: ScriptAnalysis) -> str:
    """Return the line of the lock of a script."""
    did = sorted({" ".join(filter(None, effect.audit_row()[:2])) for effect in found.effects})
    return f"{script.name}\t{found.level}\t{', '.join(did)}"


def judged(analyser: ScriptAnalyzer) -> dict[str, ScriptAnalysis]:
    """Return the analysis of each shipped script by its name."""
    return {
        row.name: analyser.analyze_script(row.script, row.language) for row in shipped_scripts()
    }


def lock(found: Mapping[str, ScriptAnalysis]) -> str:
    """Return the text of the lock."""
    return "".join(f"{locked(row, found[row.name])}\n" for row in shipped_scripts())


_AROUND: Final = re.compile(
    r"""(?mx)
    ^\s*(?: on\ run.* | end\ run | end\ tell | tell\ application\ "[^"]*" | function\ run.* | \} )$
    | \btell\ application\ "[^"]*"\ to\  | \breturn\ Application\("[^"]*"\) | \[0\] | ;$"""
)
_OF_ITS_OWN: Final = re.compile(r"""["'`&+*/^\d=?]|\bnot\b| - """)


def forwards_arguments(script: SavedScript) -> bool:
    """Say whether a script gives one command to one app, with nothing in it but its arguments."""
    lines = [line for line in _AROUND.sub("", script.script).splitlines() if line.strip()]
    return len(lines) == 1 and len(script.apps) == 1 and not _OF_ITS_OWN.search(lines[0])


def taken(script: SavedScript, analyser: ScriptAnalyzer) -> list[str]:
    """Return the names of a script that are words of the language or of its apps."""
    text = script.script
    names = set(re.findall(r"\brepeat with (\w+)", text))
    for found in re.findall(r"\bon run \{([^}]*)\}", text):
        names |= {name.strip() for name in found.split(",")}
    sets = {
        name.strip()
        for found in re.findall(r"\bset (\w+|\{[\w, ]*\}) to", text)
        for name in found.strip("{}").split(",")
    }
    terms, properties = set(_TAKEN), set[str]()
    for app in (ADDITIONS, *script.apps):
        row = analyser.catalogue.find_app(app)
        words = analyser.app_vocabulary(row.key) if row else None
        for term, uses in words.terms.items() if words else ():
            settable = any(use.use == "property" for use in uses)
            (properties if settable and app != ADDITIONS else terms).add(term)
    found = {name for name in names if name.casefold() in terms | properties}
    # In a tell block a property may be set by its bare name.
    found |= {name for name in sets if name.casefold() in terms - properties}
    return sorted(found)


def problems(found: ScriptAnalysis) -> Iterator[str]:
    """Yield what the analysis did not understand of a script."""
    blind = ("unknown", "fault", "target", "shape", "raw", "handler", "dynamic", "member")
    for reason in found.reasons:
        if reason.rule in blind:
            yield f"{reason.place.line}: {reason.text} {reason.message}"


_ALWAYS: Final = ("finder", "system_events", "standard_additions")
_SHOWN: Final = 160
"""Characters of a line of the lock that a text takes at most."""

RUNS: Final[dict[str, dict[str, Any]]] = tomllib.loads(
    HERE.joinpath("library_runs.toml").read_text("utf-8")
)
VALUES: Final[dict[str, Any]] = {
    "text": "a", "integer": 2, "number": 2.5, "boolean": True, "list": ["a", "b"],
    "date": "2026-03-02T10:00", "path": "/Users/me/Desktop",
}  # fmt: skip


def given_arguments(script: SavedScript) -> list[Any]:
    """Return what a script is run with: what is given for it or its app, else its default."""
    layers = [
        RUNS["given"].get(name, {}) for name in ("all", script.name.partition(".")[0], script.name)
    ]
    values: dict[str, Any] = {}
    for name, one in script.parameters.items():
        default = VALUES[one.type] if one.default is None else one.default
        found = [row[name] for row in layers if name in row]
        values[name] = found[-1] if found else default
    return script.bind_arguments(values)


def library_world(tables: Iterable[Tables]) -> dict[str, Any]:
    """Return the shipped world with what the scripts of the library need beside it."""
    known = {row.key: row for row in tables}
    state = {key: world for key, world in demo_state().items() if key in known or key == "@now"}
    for app, more in RUNS["world"].items():
        if app in known:
            _merge_world(state.setdefault(app, default_world(known[app])), more)
    return state


def run_script(
    script: SavedScript, analyser: ScriptAnalyzer, tables: Sequence[Tables], profile: str
) -> tuple[str, str, str]:
    """Return how an AppleScript ends, what it prints and what it changes in the seeded world."""
    bounds = analyser.analyze_script(script.script, script.language).bounds
    worn = wrap_script(script.script, script.language, 30, bounds, given_arguments(script))
    needed = {row.key for row in tables if row.app.name in script.apps} | set(_ALWAYS)
    state = library_world(row for row in tables if row.key in needed)
    simulator = Simulator(tables, state, faults=parse_profile(profile))
    before = simulator.state()
    done = simulator(["osascript", "-s", "s", "-", *worn.arguments], worn.text.encode(), 30)
    said = re.sub(r"^\d+:\d+: ", "", done.stderr.decode().strip().replace("\n", " "))
    found = difference(before, simulator.state())
    places = [f"+ {place}" for place, _ in found.added] + [
        f"- {place}" for place, _ in found.removed
    ]
    places += [f"{row.place} = {row.after}" for row in found.changed]
    shown = [repr(text)[1:-1][:_SHOWN] for text in (said, done.stdout.decode(), "; ".join(places))]
    return ("timeout" if done.timed_out else shown[0] or "ran"), shown[1], shown[2]


def library_lines(analyser: ScriptAnalyzer) -> list[str]:
    """Return the lines of the lock of runs, by both profiles."""
    catalogue = analyser.catalogue
    tables = [catalogue.load_tables(app) for app in catalogue.apps.values()]
    lines = []
    for script in shipped_scripts():
        if script.language == "applescript":
            friendly = run_script(script, analyser, tables, "friendly")
            hard = run_script(script, analyser, tables, "hard")[0]
            lines.append("\t".join((script.name, hard, *friendly)))
    return lines


def _merge_world(world: Any, more: Mapping[str, Any]) -> None:
    """Put values into a world; an object of a list is named by its place or its name."""
    for key, value in more.items():
        place: Any = key
        if isinstance(world, list):
            names = [item.get("name") for item in world]
            place = names.index(key) if key in names else int(key)
        inside = isinstance(world, list) or key in world
        if inside and isinstance(value, dict) and "ref" not in value:
            _merge_world(world[place], value)
        else:
            world[place] = value


if __name__ == "__main__":
    import tempfile

    from iac_runtime.tools.catalogue import Catalogue

    shipped_tools = HERE.parent.parent / "generated" / "iac_tools"
    with tempfile.TemporaryDirectory() as made:
        # As the product judges them, and run with the tables of all their apps.
        product = ScriptAnalyzer(Catalogue([shipped_tools]))
        LOCK.write_text(lock(judged(product)), encoding="utf-8")
        known = ScriptAnalyzer(Catalogue([dictionaries(Path(made)), shipped_tools]))
        RUNS_LOCK.write_text("\n".join([*library_lines(known), ""]), encoding="utf-8")
    sys.exit(0)
