"""A page that runs, with a record of calls in it, and a real browser."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opened_page import OpenPage, environment, write_calls

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the views are held against, from npm: axe, and the host of MCP Apps."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("axe and the host of MCP Apps come from npm, which is not installed")
    folder = tmp_path_factory.mktemp("npm")
    wanted = ("axe-core@4.14.1", "@modelcontextprotocol/ext-apps@2.0.4")
    argv = [npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *wanted]
    done = subprocess.run(argv, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"npm could not install: {done.stderr[-200:]}")
    return folder / "node_modules"


@pytest.fixture(scope="session")
def axe(modules: Path) -> str:
    return (modules / "axe-core" / "axe.min.js").read_text()


@pytest.fixture(scope="module")
def opened() -> Iterator[Callable[[Path], OpenPage]]:
    """Open pages, and end them."""
    running: list[subprocess.Popen[str]] = []

    def begin(data: Path, *more: str) -> OpenPage:
        argv = [sys.executable, "-m", "iac_mcp", "open", "--no-browser", "--simulate", *more]
        child = subprocess.Popen(argv, env=environment(data), stdout=subprocess.PIPE, text=True)
        running.append(child)
        assert child.stdout is not None
        found = re.search(r"(http://127\.0\.0\.1:\d+)/enter\S+", child.stdout.readline())
        assert found is not None
        return OpenPage(found[1], found[0], data)

    yield begin
    for child in running:
        child.terminate()
        child.wait(20)
        assert child.stdout is not None
        child.stdout.close()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with twenty calls and a hostile one."""
    folder = tmp_path_factory.mktemp("page") / "data"
    state = folder / "state"
    state.mkdir(parents=True, mode=0o700)
    write_calls(state, 20)
    return folder


@pytest.fixture(scope="module")
def page(opened: Callable[[Path], OpenPage], data: Path) -> OpenPage:
    return opened(data)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser, ended with its module: its driver holds an event loop on this thread."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def visitor(browser: Any, page: OpenPage) -> Iterator[Any]:
    """A browser that was let in."""
    context = browser.new_context(viewport={"width": 1100, "height": 800})
    context.new_page().goto(page.address)
    yield context
    context.close()


@pytest.fixture
def tab(visitor: Any) -> Iterator[Any]:
    """A tab that was let in; a script that ran from a text would open a dialog."""
    found = visitor.new_page()
    said: list[str] = []

    def refuse(dialog: Any) -> None:
        said.append(dialog.message)
        dialog.dismiss()

    def listen(line: Any) -> None:
        if "Content Security" in line.text:
            said.append(line.text)

    found.on("dialog", refuse)
    found.on("console", listen)
    yield found
    found.close()
    assert said == []
