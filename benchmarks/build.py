"""How long builds take, against @jxa/sdef-to-dts on the same files in the same run.

Whole processes, taken in turn, medians of five. Needs the corpus beside the checkout, and npm
for the comparison. Prints a line a figure. What black made of a text is kept for the user, by its
content: the first build of all has nothing of that, one into a new folder has. The one app that
changes is the largest of them, or an ordinary one.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORPUS = ROOT.parent / "shared" / "corpus" / "sdef"
RUNS = 5
GEN = str(Path(sys.executable).with_name("iac-gen"))


def run(argv: list[str], **options: object) -> tuple[float, float]:
    """Run a process; return its seconds and the peak of its memory in MB."""
    start = time.perf_counter()
    child = subprocess.Popen(
        argv,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **options,  # type: ignore[call-overload]
    )
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"{argv[0]} ended with {status}")
    return seconds, usage.ru_maxrss / (1024 if sys.platform == "linux" else 1024 * 1024)


def in_turn(
    work: Mapping[str, Callable[[], tuple[float, float]]],
) -> dict[str, tuple[float, float]]:
    """Run each in turn, five times after one that is not counted; return the medians."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in work}
    for turn in range(RUNS + 1):
        for name, one in work.items():
            figures = one()
            if turn:
                taken[name].append(figures)
    return {
        name: (statistics.median(s for s, _ in rows), max(mb for _, mb in rows))
        for name, rows in taken.items()
    }


def other(folder: Path) -> Callable[[], tuple[float, float]] | None:
    """Install @jxa/sdef-to-dts into `folder`; return what runs it, None without npm."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        return None
    subprocess.run(
        [npm, "install", "--silent", "--no-package-lock", "@jxa/sdef-to-dts@1.3.6"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    script = str(Path(__file__).with_name("sdef_to_dts.cjs"))
    return lambda: run([node, script, str(CORPUS), str(folder / "out")], cwd=folder)


def main() -> None:
    """Print the figures."""
    if not CORPUS.is_dir():
        raise SystemExit("needs ../shared/corpus beside the checkout")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        changing = folder / "changing"
        changing.mkdir()
        for path in CORPUS.iterdir():
            (changing / path.name).write_bytes(path.read_bytes())

        def cold() -> tuple[float, float]:
            shutil.rmtree(folder / "cold", ignore_errors=True)
            return run([GEN, "build", "--dictionary", str(CORPUS), "--output", f"{folder}/cold"])

        def first() -> tuple[float, float]:
            shutil.rmtree(folder / "cold", ignore_errors=True)
            nobody = tempfile.mkdtemp(dir=folder)
            env = {**os.environ, "HOME": nobody, "XDG_CACHE_HOME": f"{nobody}/cache"}
            argv = [GEN, "build", "--dictionary", str(CORPUS), "--output", f"{folder}/cold"]
            return run(argv, env=env)

        def warm() -> tuple[float, float]:
            return run([GEN, "build", "--dictionary", str(changing), "--output", f"{folder}/warm"])

        def one(app: str) -> tuple[float, float]:
            with (changing / f"{app}.sdef").open("a") as file:
                file.write(" \n")
            return warm()

        work = {"build, first of all": first, "build, new folder": cold}
        work["parse to representation"] = lambda: run(
            [GEN, "show", "--all", "--dictionary", str(CORPUS)]
        )
        rival = other(folder)
        if rival is not None:
            work["@jxa/sdef-to-dts"] = rival
        figures = in_turn(work)
        changed = {"build, largest changed": "Illustrator", "build, one changed": "Notes"}
        figures |= in_turn({label: partial(one, app) for label, app in changed.items()})
        figures |= in_turn({"build, nothing changed": warm})
        figures |= imports(folder)
    base = figures.get("@jxa/sdef-to-dts")
    for label, (seconds, peak) in figures.items():
        ratio = f"  {seconds / base[0]:5.2f} of @jxa/sdef-to-dts" if base else ""
        print(f"{label:<40} {seconds * 1000:7.0f} ms  {peak:5.0f} MB{ratio}")


def imports(folder: Path) -> dict[str, tuple[float, float]]:
    """Time the import of one and of all committed modules, with bytecode and without."""
    tools = ROOT / "generated" / "iac_tools"
    names = sorted(path.stem for path in tools.glob("[a-z]*.py"))
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    kept = {**clean, "PYTHONPYCACHEPREFIX": str(folder / "pyc")}
    code = "import sys, time, iac_tools, iac_runtime.tool; t = time.perf_counter(); {}; "
    code += "print(time.perf_counter() - t)"
    found = {}
    for label, some, options in (
        ("import one module", names[:1], kept),
        ("import all committed", names, kept),
        ("import all, no bytecode", names, {**os.environ, "PYTHONDONTWRITEBYTECODE": "1",
                                            "PYTHONPYCACHEPREFIX": str(folder / "none")}),
    ):  # fmt: skip
        line = code.format("; ".join(f"import iac_tools.{name}" for name in some))
        times = [
            float(subprocess.run([sys.executable, "-c", line], env=options, check=True,
                                 capture_output=True, text=True).stdout)
            for _ in range(RUNS + 1)
        ]  # fmt: skip
        found[label] = (statistics.median(times[1:]), 0.0)
    return found


if __name__ == "__main__":
    main()
