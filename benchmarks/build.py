"""How long a build takes, stage by stage, and how long its modules take to import.

Prints medians of five runs in one process each; compare figures of one run only.
"""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORPUS = ROOT.parent / "shared" / "corpus" / "sdef"
RUNS = 5


def median(argv: list[str]) -> float:
    """Return the median of the seconds that a whole process takes."""
    code = "import subprocess, sys, time; t = time.perf_counter();"
    code += " subprocess.run(sys.argv[1:], check=True, capture_output=True);"
    code += " print(time.perf_counter() - t)"
    times = []
    for _ in range(RUNS):
        done = subprocess.run(
            [sys.executable, "-c", code, *argv], check=True, capture_output=True, text=True
        )
        times.append(float(done.stdout))
    return statistics.median(times)


def main() -> None:
    """Print a line a measurement."""
    gen = str(Path(sys.executable).with_name("iac-gen"))
    sources = ["--dictionary", str(CORPUS)] if CORPUS.is_dir() else ["--bundled"]
    with tempfile.TemporaryDirectory() as folder:
        base = median([sys.executable, "-c", "pass"])
        show = median([gen, "show", "--all", *sources])
        cold = median([gen, "build", *sources, "--json", "--output", f"{folder}/cold"])
        names = sorted(p.stem for p in (ROOT / "generated/iac_tools").glob("[a-z]*.py"))
        imports = "; ".join(f"import iac_tools.{name}" for name in names)
        modules = median([sys.executable, "-c", imports])
        contract = median([sys.executable, "-c", "import iac_tools, iac_runtime.tool"])
    print(f"an empty Python process          {base * 1000:8.0f} ms")
    print(f"parse to representation          {show * 1000:8.0f} ms  ({' '.join(sources)[:40]})")
    print(f"whole build into a new folder    {cold * 1000:8.0f} ms")
    print(f"importing {len(names)} committed modules   {(modules - contract) * 1000:8.0f} ms")


if __name__ == "__main__":
    main()
