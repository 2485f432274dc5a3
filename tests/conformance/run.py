"""Run the official conformance suite on our front and over HTTP: `nox -s conformance`.

    python tests/conformance/run.py

Installs node 22 and the suite with npm, once, outside the repository (`npm.py`), and the clients
that `test_node_clients.py` starts. Without npm one line says so, and the status is 0.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import bridge
import npm

HERE: Final = Path(__file__).parent


class Suite(NamedTuple):
    """A release of the suite, and the runs of it that count."""

    release: str
    runs: tuple[tuple[str, ...], ...]


SUITES: Final = (
    Suite("0.1.16", (("--suite", "all"),)),
    Suite("0.2.0-alpha.12",
     tuple(("--requirements", revision) for revision in ("2025-11-25", "2026-07-28"))),
)  # fmt: skip
"""What npm calls `latest`, and the release that knows both requirement sets."""


def main() -> int:
    """Run all that counts; 1 if anything is not as expected."""
    if shutil.which("npm") is None:
        return skipped("npm is not installed (it comes with node, from nodejs.org)")
    if npm.node() is None and sys.platform == "linux":
        npm.install(npm.NODE)
    node = npm.node()
    if node is None:
        return skipped(f"node {npm.OLDEST} or newer is not installed")
    for client in (npm.INSPECTOR, npm.SDK):
        npm.install(client)
    status = 0
    for suite in SUITES:
        folder = npm.install(f"{npm.CONFORMANCE}@{suite.release}")
        if folder is None:
            skipped(f"{suite.release} of the suite could not be installed")
            continue
        program = str(folder / "node_modules" / npm.CONFORMANCE / "dist" / "index.js")
        for options in suite.runs:
            for over, serving in SERVED.items():
                print(f"== {suite.release} {' '.join(options[:2])}, {over}", flush=True)
                with serving() as url:
                    status |= run(node, program, url, options)
    return status


@contextmanager
def over_stdio() -> Iterator[str]:
    """Give the address of a bridge to servers on pipes."""
    server, children = bridge.serve(0, [sys.executable, str(HERE / "fixture_server.py")])
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        children.close()


@contextmanager
def over_http() -> Iterator[str]:
    """Give the address of a server as `iac-mcp serve --http` serves."""
    command = [sys.executable, str(HERE / "fixture_http.py")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin
        assert server.stdout
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()


SERVED: Final = {"stdio": over_stdio, "HTTP": over_http}


def run(node: str, program: str, url: str, options: tuple[str, ...]) -> int:
    """Run the suite once against a server; print what it found."""
    done = subprocess.run(
        [node, program, "server", "--url", url, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    # The scenarios' own talk is long; what follows the summary is what was found.
    said = done.stdout.rpartition("=== SUMMARY ===")[2]
    print(said.strip() if done.returncode == 0 else done.stdout + done.stderr, flush=True)
    return 1 if done.returncode else 0


def skipped(why: str) -> int:
    """Say in one line why nothing was run."""
    print(f"conformance: skipped, {why}.", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
