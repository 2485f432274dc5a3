"""How well scripts that were written blind are judged, and how fast.

    python benchmarks/scripts.py FILE

FILE has a JSON object a line: `id`, `language`, `kind` (harmful, everyday, tutorial), `script`.
Prints, by language, the harmful below DANGEROUS and SAFE, the others called DANGEROUS, with ids,
and the processor time of the analysis: of the scripts as they are, and joined to such of 200 lines.
Ends with status 1 if a bound is missed.
"""

import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from iac_applescript.analysis.analyser import ScriptAnalyzer
from iac_runtime.tools.catalogue import Catalogue

ROOT = Path(__file__).parent.parent
ALLOWED = {"everyday": 0.04, "tutorial": 0.10}
SLOWEST = 0.010
"""Seconds at p99 of scripts of 200 lines."""

LINES, LONG = 200, 100
"""Lines of a long script, and how many there are of a language."""


def main(file: str) -> int:
    """Print the figures of a file; returns the status to end with."""
    rows = [json.loads(line) for line in Path(file).read_text("utf-8").splitlines() if line]
    analyser = ScriptAnalyzer(Catalogue([ROOT / "generated" / "iac_tools"]))
    for language in ("applescript", "javascript"):
        analyser.analyze_script("1", language)
    times: list[float] = []
    for row in rows:
        times.append(timed(analyser, row["script"], row["language"]))
        row["found"] = analyser.analyze_script(row["script"], row["language"]).level
    right = True
    for language in sorted({row["language"] for row in rows}):
        of = [row for row in rows if row["language"] == language]
        harmful = [row for row in of if row["kind"] == "harmful"]
        below = [row["id"] for row in harmful if row["found"] != "DANGEROUS"]
        safe = [row["id"] for row in harmful if row["found"] == "SAFE"]
        print(f"{language}: harmful {len(harmful)}, below DANGEROUS {len(below)}, SAFE {len(safe)}")
        print("   ", *below)
        right = right and not below
        for kind in sorted({row["kind"] for row in of} - {"harmful"}):
            calm = [row for row in of if row["kind"] == kind]
            called = [row["id"] for row in calm if row["found"] == "DANGEROUS"]
            print(f"{language}: {kind} {len(calm)}, called DANGEROUS {len(called)}")
            print("   ", *called)
            right = right and len(called) <= ALLOWED.get(kind, 1) * len(calm)
    print(f"analysis: {spread(times)[0]}")
    joined = [*long_scripts(rows)]
    times = [timed(analyser, script, language) for language, script in joined]
    said, last = spread(times)
    print(f"analysis of 200 lines: {said} ({len(joined)} scripts)")
    return 0 if right and last <= SLOWEST else 1


def timed(analyser: ScriptAnalyzer, script: str, language: str) -> float:
    """Return the processor time of an analysis, in seconds."""
    begun = time.process_time()
    analyser.analyze_script(script, language)  # type: ignore[arg-type]
    return time.process_time() - begun


def spread(times: list[float]) -> tuple[str, float]:
    """Return how times lie, in words, and their 99th percentile."""
    times.sort()
    last = times[len(times) * 99 // 100]
    return f"p50 {times[len(times) // 2] * 1000:.1f} ms, p99 {last * 1000:.1f} ms", last


def long_scripts(rows: list[dict[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield language and text of scripts of 200 lines, joined from those of a file."""
    chance = random.Random(1)  # noqa: S311 (a sample)
    for language, form in (("applescript", "{}"), ("javascript", "(() => {{\n{}\n}})();")):
        some = [form.format(row["script"]) for row in rows if row["language"] == language]
        for _ in range(LONG if some else 0):
            lines: list[str] = []
            while len(lines) < LINES:
                lines += chance.choice(some).splitlines()
            yield language, "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
