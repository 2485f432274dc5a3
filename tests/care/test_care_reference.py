"""The pages: what the code says, with links that lead somewhere and commands that exist."""

import importlib.util
import json
import posixpath
import re
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

from iac_base.errors import ErrorType
from iac_runtime.tools.own import TOOLSETS, toolset_tools

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])


def maker(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        return maker("make_reference")


def test_the_questions_are_what_the_program_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    made = maker("make_questions").page()
    there = (DOCS / "questions.md").read_text(encoding="utf-8")
    assert there == made, "write them again: python docs/make_questions.py"


@pytest.mark.slow
def test_the_gallery_is_what_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.syspath_prepend(str(DOCS))
    made = maker("make_gallery").page()
    there = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert there == made, "write it again: python docs/make_gallery.py"


def test_the_pages_of_the_clients_are_what_the_program_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    made = maker("make_clients").made()
    there = {path.name: path.read_text("utf-8") for path in (DOCS / "clients").iterdir()}
    assert there == made, "write them again: python docs/make_clients.py"


def test_the_reference_has_every_tool_with_its_arguments(reference: ModuleType) -> None:
    made = reference.pages()
    for toolset in TOOLSETS:
        page = made[f"toolsets/{toolset}.md"]
        for tool in toolset_tools((toolset,)):
            section = page.partition(f"## {tool.name}\n")[2].partition("\n## ")[0]
            for name in tool.input.get("properties", {}):
                assert f"| `{name}` |" in section, (tool.name, name)
    for line in (reference.TOOLS / "listing.jsonl").read_text(encoding="utf-8").splitlines():
        tool = json.loads(line)
        assert any(f"\n## {tool['name']}\n" in page for page in made.values())


def test_the_links_of_the_reference_lead_to_pages(reference: ModuleType) -> None:
    made = reference.pages()
    for name, text in made.items():
        for link in re.findall(r"\]\(([^)\s#]+)\)", text):
            target = posixpath.normpath(posixpath.join("reference", posixpath.dirname(name), link))
            inside = target.startswith("reference/") and target.partition("/")[2] in made
            assert inside or (DOCS / target).is_file(), (name, link)


@pytest.mark.slow
def test_writing_it_again_removes_what_is_gone(
    reference: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference, "REFERENCE", tmp_path)
    (tmp_path / "old.md").write_text("x")
    assert reference.main() == 0
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")}
    assert written == set(reference.pages())


def test_every_variable_that_is_read_is_in_the_settings(reference: ModuleType) -> None:
    words = re.compile(r"\bIAC_[A-Z][A-Z_]*[A-Z]\b")
    read = {
        word
        for package in (
            "iac_base", "iac_fleet", "iac_mcp", "iac_page", "iac_runtime", "iac_simulator",
        )
        for path in (ROOT / "runtime" / package).rglob("*.py")
        for word in words.findall(path.read_text(encoding="utf-8"))
    }  # fmt: skip
    # The variable of shell completion is click's; the other one makes tests strict.
    assert read - reference.VARIABLES.keys() - {"IAC_MCP_COMPLETE", "IAC_STRICT"} == set()


def test_the_language_check_finds_what_it_promises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lint = maker("lint_language")
    for text, fault in (
        ("word " * 21, "21 words"),
        ("There is no note (any more).", "parenthesis of doubt"),
        ("It deletes what lies in the trash.", "what lies"),
        ("A call never runs without approval.", "negation of a negation"),
        ("Every write is asked about.", "requires approval"),
        ("It works!", "exclamation mark"),
        ("The QXZ is on.", "QXZ is explained nowhere"),
    ):
        assert any(fault in found for found in lint.faults(lint.Sentence("x.md:1", text))), text
    monkeypatch.setattr(lint, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("`iac-mcp undoo` `iac-gen build --prun` [a](no.md) [b](page.md#none)\n")
    assert len([*lint.wrong_commands(page)]) == 2
    assert len([*lint.wrong_links(page)]) == 2


def test_every_type_of_error_has_a_row() -> None:
    text = (DOCS / "errors.md").read_text(encoding="utf-8")
    assert [name for name in get_args(ErrorType) if f"| {name} |" not in text] == []


def test_every_link_leads_to_a_page_and_a_heading() -> None:
    lint = maker("lint_language")
    assert [fault for page in PAGES for fault in lint.wrong_links(page)] == []


def test_every_page_can_be_reached_from_the_first() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in reached or page.suffix != ".md" or not page.exists():
            continue
        reached.add(page)
        text = page.read_text(encoding="utf-8")
        links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
        waiting += [page.parent / link for link in links if "://" not in link]
    assert [page for page in DOCS.rglob("*.md") if page.resolve() not in reached] == []
