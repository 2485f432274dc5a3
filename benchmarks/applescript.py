"""How well scripts are judged, failures explained and patterns found, and how fast.

    python benchmarks/applescript.py [--patterns 100000]

Prints a line for each figure and ends with status 1 if a bound is missed. The samples are those of
tests/applescript; the stored patterns are filled up with invented ones to the number that is asked.
"""

import argparse
import itertools
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "tests" / "applescript"
sys.path.insert(0, str(SAMPLES))

from script_cases import read_cases  # noqa: E402
from script_variations import variations  # noqa: E402

from iac_applescript.analysis.analyser import ScriptAnalyzer  # noqa: E402
from iac_applescript.failures import explain_failure  # noqa: E402
from iac_applescript.library import find_scripts  # noqa: E402
from iac_applescript.patterns import RunOutcome, pattern_from_json  # noqa: E402
from iac_applescript.store import PatternStore  # noqa: E402
from iac_runtime.tools.catalogue import Catalogue  # noqa: E402

SEEDS = 5
VERBS = "list count get set make close open move copy find show play add export rename".split()
THINGS = (
    "window tab message note event reminder file folder track playlist cell row document page"
    " image contact mailbox calendar shape layer project task tag bookmark label account rule"
).split()
TRAITS = (
    "selected unread recent old large empty shared hidden duplicate flagged favourite draft"
    " overdue first last weekly local remote locked named marked broken"
).split()


def rows(name: str) -> list[list[str]]:
    """Return the lines of a sample, cut at tabs."""
    return [line.split("\t") for line in (SAMPLES / name).read_text("utf-8").splitlines()]


def judged() -> bool:
    """Print how scripts are judged."""
    analyser = ScriptAnalyzer(Catalogue([ROOT / "generated" / "iac_tools"]))
    dangerous = [*read_cases("dangerous.txt"), *read_cases("dangerous_more.txt")]
    harmless = [*read_cases("harmless.txt"), *read_cases("harmless_more.txt")]
    changed = [v for seed in range(SEEDS) for case in dangerous for v in variations(case, seed)]
    begun = time.process_time()
    below = [
        case
        for case in (*dangerous, *changed)
        if analyser.analyze_script(case.script, case.language).level != "DANGEROUS"
    ]
    spent = time.process_time() - begun
    levels = [analyser.analyze_script(case.script, case.language).level for case in harmless]
    called = levels.count("DANGEROUS")
    print(f"dangerous: {len(below)} of {len(dangerous)} and {len(changed)} variations below")
    print(f"harmless: {called} of {len(harmless)} called dangerous, {levels.count('SAFE')} safe")
    print(f"analysis: {spent / (len(dangerous) + len(changed)) * 1000:.2f} ms a script")
    return not below and called <= len(harmless) * 0.05


def explained() -> bool:
    """Print how many error texts get the right cause."""
    texts = [*rows("errors.tsv"), *rows("errors_more.tsv")]
    right = sum(explain_failure(text).cause == cause for text, cause in texts)
    print(f"failures: {right} of {len(texts)} with the right cause")
    return right / len(texts) >= 0.95


def found(count: int) -> bool:
    """Print recall among the sample alone, and the time among `count` patterns."""
    asked = [*rows("phrasings.tsv"), *rows("phrasings_more.tsv")]
    with tempfile.TemporaryDirectory() as folder:
        store = PatternStore(Path(folder), limit=count * 2)
        for intent, app in (*rows("patterns.tsv"), *rows("patterns_more.tsv")):
            store.remember_run(intent, app, "applescript", f"-- {intent}", RunOutcome(True, "text"))
        hits = sum(
            wanted in [row.pattern.intent for row in store.find_patterns(query)]
            for query, wanted in asked
        )
        print(f"patterns: recall at 3 is {hits / len(asked):.3f} ({len(asked)} phrasings)")
        alone = statistics.median(timed(store, query) for query, _ in asked)
        store.add_patterns([pattern_from_json(row) for row in invented(count)])
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 2**20
        for query, _ in asked[:20]:
            store.find_patterns(query)
        times = [timed(store, query) for query, _ in asked]
        still = sum(
            wanted in [row.pattern.intent for row in store.find_patterns(query)]
            for query, wanted in asked
        )
        store.close()
    slow = sorted(times)[int(len(times) * 0.95)]
    print(
        f"patterns: {statistics.median(times):.1f} ms median, {slow:.1f} ms at 95 %,"
        f" {max(times):.1f} ms at most, recall {still / len(asked):.3f}, among {count}"
        f" ({size:.0f} MB)"
    )
    print(f"patterns: {alone:.1f} ms median among those of the sample alone")
    return hits / len(asked) >= 0.9 and slow <= 10


def timed(store: PatternStore, query: str) -> float:
    """Return the milliseconds of the processor that a search takes."""
    begun = time.process_time()
    store.find_patterns(query)
    return (time.process_time() - begun) * 1000


def invented(count: int) -> list[dict[str, object]]:
    """Return rows of an export that nobody asked for."""
    chance = random.Random(7)  # noqa: S311 (a sample)
    kinds = list(itertools.product(VERBS, TRAITS, THINGS, THINGS))
    made = []
    for number in range(count):
        verb, trait, thing, place = kinds[number % len(kinds)]
        intent = f"{verb} the {trait} {thing}s of {place} {chance.randrange(5000)}"
        app = f"com.example.app{chance.randrange(60)}"
        script = f'tell application id "{app}" to {verb} {thing} {number} of {place} 1'
        made.append(
            {
                "intent": intent,
                "app": app,
                "language": "applescript",
                "script": script,
                "kind": "text",
                "error": "",
                "number": None,
                "milliseconds": 10,
                "successes": chance.randrange(9),
                "failures": chance.randrange(3),
                "first": "2026-01-01T00:00:00+00:00",
                "last": "2026-06-01T00:00:00+00:00",
            }
        )
    return made


def offered() -> bool:
    """Print how many wishes find their script in the library first, and the time that takes."""
    asked, times, right = rows("wishes.tsv"), [], 0
    for wish, wanted in asked:
        begun = time.process_time()
        got = find_scripts(wish)
        times.append((time.process_time() - begun) * 1000)
        right += [row.script.name for row in got[:1]] == [wanted]
    print(
        f"library: {right} of {len(asked)} wishes find their script first,"
        f" {statistics.median(times):.1f} ms median"
    )
    return right / len(asked) >= 0.85


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--patterns", type=int, default=100_000)
    asked = parser.parse_args()
    return 0 if all([judged(), explained(), offered(), found(asked.patterns)]) else 1


if __name__ == "__main__":
    sys.exit(main())
