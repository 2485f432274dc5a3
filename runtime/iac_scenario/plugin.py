"""The pytest plugin: `pytest --scenario DIR` plays every scenario of a folder as a test.

A scenario is a .toml or .json file with `responses`. Its prompts are its own, or those that its
patterns spell out. Imported at every start of pytest, so it imports the rest when it is needed.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

_ENDINGS = (".toml", ".json")
_RECORDS = pytest.StashKey[list[Any]]()
_SHARED = pytest.StashKey[tuple[ExitStack, Any, Any]]()
_FAULTS = pytest.StashKey[list[str]]()


class ScenarioFailedError(Exception):
    """A scenario whose expectations are not all met; the text is the report."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--scenario` and the options of a run that a test may need."""
    group = parser.getgroup("scenario", "scenarios of iac-scenario")
    group.addoption("--scenario", action="append", default=[], metavar="PATH", help="Play these.")
    group.addoption("--scenario-mode", default=None, help="How tools run. Overrides the files.")
    text = "A file that lists the MCP servers for all scenarios."
    group.addoption("--scenario-mcp-config", default=None, help=text)
    text = "Start each server once for all scenarios, which then share what it keeps."
    group.addoption("--scenario-share-servers", action="store_true", help=text)
    group.addoption("--scenario-report", default=None, help="Write a page with the timelines.")


def pytest_configure(config: pytest.Config) -> None:
    """Collect the scenarios: alone where no test was named, else beside those."""
    paths = [str(Path(path).resolve()) for path in config.getoption("--scenario") or ()]
    if not paths:
        return
    from iac_base.errors import missing_packages
    from iac_scenario.matching import LIBRARIES

    if missing := missing_packages("--scenario", "scenario", LIBRARIES):
        raise pytest.UsageError(missing)
    for path in paths:
        if not Path(path).exists():
            raise pytest.UsageError(f"--scenario {path}: this file or folder does not exist.")
    named = config.args_source == pytest.Config.ArgsSource.ARGS
    config.args = [*(config.args if named else ()), *paths]


def _share_servers(config: pytest.Config) -> tuple[Any, Any]:
    """Return the event loop in which the servers of all scenarios run, and their pool."""
    from anyio.from_thread import start_blocking_portal

    from iac_scenario.mcp_servers import open_server_pool

    if _SHARED not in config.stash:
        stack = ExitStack()
        portal = stack.enter_context(start_blocking_portal())
        pool = stack.enter_context(portal.wrap_async_context_manager(open_server_pool()))
        config.stash[_SHARED] = (stack, portal, pool)
    _, portal, pool = config.stash[_SHARED]
    return portal, pool


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End the servers that scenarios shared; how they end can fail the session too."""
    if (shared := session.config.stash.get(_SHARED, None)) is None:
        return
    stack, _, pool = shared
    stack.close()
    faults = [fault for server in pool.sessions for fault in server.take_faults()]
    session.config.stash[_FAULTS] = faults
    if faults and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Write the page that is asked for, and what GitHub shows beside the lines."""
    for fault in config.stash.get(_FAULTS, ()):
        terminalreporter.write_line(f"FAILED {fault}", red=True)
    records = config.stash.get(_RECORDS, [])
    if not records:
        return
    from iac_scenario.output import github_annotations, write_report

    if (name := config.getoption("--scenario-report")) is not None:
        write_report(Path(name), records)
        terminalreporter.write_line(f"{name}: {len(records)} scenarios.")
    for record in records if "GITHUB_ACTIONS" in os.environ else ():
        for _, event in record.events:
            for line in github_annotations(event, record.path):
                terminalreporter.write_line(line)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "ScenarioFile | None":
    """Collect a file below a folder that `--scenario` names."""
    roots = [Path(path).resolve() for path in parent.config.getoption("--scenario") or ()]
    if file_path.suffix not in _ENDINGS or not any(map(file_path.is_relative_to, roots)):
        return None
    if not _is_scenario(file_path) and file_path not in roots:
        return None
    return ScenarioFile.from_parent(parent, path=file_path)


def _is_scenario(path: Path) -> bool:
    """Whether a file has rules; one that cannot be read is collected, so that its test says why."""
    import json
    import tomllib

    try:
        text = path.read_text(encoding="utf-8-sig")
        document: Any = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError):
        return True
    return isinstance(document, dict) and "responses" in document


class ScenarioFile(pytest.File):
    """A file with one test."""

    def collect(self) -> Iterator["ScenarioItem"]:
        """Yield the test."""
        yield ScenarioItem.from_parent(self, name=self.path.stem)


class ScenarioItem(pytest.Item):
    """A scenario, played from its first prompt to its last."""

    def runtest(self) -> None:
        """Play it. Raises ScenarioFailedError with every expectation that was not met."""
        import anyio

        from iac_scenario.conversation import Event, NoteEvent, scenario_prompts
        from iac_scenario.mcp_servers import read_config
        from iac_scenario.output import RunRecorder
        from iac_scenario.player import PlaySettings, play_scenario
        from iac_scenario.reader import load_scenario

        loaded = load_scenario(self.path)
        for warning in loaded.warnings:
            self.add_report_section("call", "scenario", f"warning: {warning}\n")
        prompts = scenario_prompts(loaded.scenario)
        if prompts is None:
            text = f"{self.path.name}: add `prompts`, because the patterns do not give them."
            raise ScenarioFailedError(text)
        config = self.config.getoption("--scenario-mcp-config")
        run, pool = anyio.run, None
        if self.config.getoption("--scenario-share-servers"):
            portal, pool = _share_servers(self.config)
            run = portal.call
        settings = PlaySettings(
            mode=self.config.getoption("--scenario-mode"),
            servers={} if config is None else read_config(Path(config)),
            pool=pool,
        )
        recorder = RunRecorder(loaded.scenario)
        self.config.stash.setdefault(_RECORDS, []).append(recorder)

        def record_event(event: Event) -> None:
            recorder.record_event(event)
            if isinstance(event, NoteEvent):
                self.add_report_section("call", "scenario", f"note: {event.text}\n")

        run(play_scenario, loaded.scenario, prompts, settings, record_event)
        if recorder.failures:
            raise ScenarioFailedError("\n".join(recorder.failures))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """Return the report alone where the scenario is at fault, else the traceback."""
        from iac_scenario.model import PlayError, ScenarioError

        error = excinfo.value
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if isinstance(error, ScenarioFailedError | ScenarioError | PlayError):
            return str(error)
        return str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the test stands."""
        return self.path, 0, f"scenario: {self.path.name}"
