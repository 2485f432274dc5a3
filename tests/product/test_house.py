"""The house: no circles, one name for one thing, rooms of a size that can be read."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from iac_runtime import toolkit

ROOT = Path(__file__).parents[2]
SOURCES = ("generator", "runtime", "templates")
LONGEST = 700


def modules() -> dict[str, Path]:
    """Return every hand-written module by its dotted name."""
    found: dict[str, Path] = {}
    for source in SOURCES:
        for path in sorted((ROOT / source).rglob("*.py")):
            parts = path.relative_to(ROOT / source).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imported(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """Yield what a module imports, late and for types too, with the names taken from it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, [alias.name for alias in node.names]


def test_no_module_stands_in_a_circle() -> None:
    needs: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        wanted = needs.setdefault(name, set())
        for module, names in imported(ast.parse(path.read_text(encoding="utf-8"))):
            parts = {f"{module}.{part}" for part in names} & MODULES.keys()
            wanted |= parts or {module} & MODULES.keys()
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


PACKAGES = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
HEIGHTS = {
    package: height
    for height, layer in enumerate(reversed(PACKAGES["contracts"][0]["layers"]))
    for package in layer.split(" | ")
}
PLACE = re.compile(r"(iac_\w+)(?:[.:]\w+)*")


def named(tree: ast.Module) -> Iterator[str]:
    """Yield the packages that a module names: in imports of any kind, and in texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Constant) and (place := PLACE.fullmatch(str(node.value))):
            yield place[1]


def test_no_package_names_one_beside_or_above_it() -> None:
    up = {
        (name, package)
        for name, path in MODULES.items()
        for package in named(ast.parse(path.read_text(encoding="utf-8")))
        if (own := name.partition(".")[0]) in HEIGHTS and package in HEIGHTS.keys() - {own}
        if HEIGHTS[package] >= HEIGHTS[own]
    }
    assert up == set()


OPEN_TO_GUESTS = ("tool", "toolkit", "types", "apple_errors")
BEYOND_THE_TOOLKIT = {
    "iac_accessibility": {},
    "iac_applescript": {
        "iac_runtime.execution.answers": "parse_error_line",
        "iac_runtime.policy.places": "BUILT_IN FIXED find_url_hosts",
        "iac_runtime.policy.taint": "is_secret_property iterate_texts secret_classes",
        "iac_runtime.policy.facts": "Flow OWN_APP READ_VERBS",
        "iac_runtime.policy.effects": "RECIPIENTS",
        "iac_runtime.policy.verbs": "Deed STARTERS combine_verbs command_verb find_consequences"
        " is_trash_name",
        "iac_runtime.policy.wording": "plural_of",
        "iac_runtime.search.ranking": "area_scores is_served missing_app named_missing_app",
        "iac_runtime.search.intent": "RequestIntent read_intent same_way_stems",
        "iac_runtime.search.lexicon": "ELSEWHERE known_words load_lexicon",
        "iac_runtime.search.page": "tool_purpose",
        "iac_runtime.search.query": "SearchRequest read_request",
        "iac_runtime.search.weights": "SILENT",
        "iac_runtime.tools.field": "field_rows",
        "iac_runtime.tools.own": "call_tool_for",
    },
    "iac_plans": {
        "iac_runtime.gate.batch": "BatchTargetReader TOLD_AS part_with_decision plan_several",
        "iac_runtime.language.terms": "has_elements",
        "iac_runtime.policy.facts": "VERB_WORDS",
        "iac_runtime.policy.prompts": "LIFETIME",
        "iac_runtime.tools.lock": "damaged_file_error read_part",
        "iac_runtime.tools.tables": "APPLICATION",
    },
}
"""What guests take of the runtime beside its toolkit: nothing is added here."""


@pytest.mark.parametrize("guest", BEYOND_THE_TOOLKIT)
def test_guests_take_of_the_runtime_what_its_toolkit_has(guest: str) -> None:
    taken: dict[str, set[str]] = defaultdict(set)
    for name, path in MODULES.items():
        if name.partition(".")[0] == guest:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module:
                    taken[node.module] |= {alias.name for alias in node.names}
    beside = {
        module: names
        for module, names in taken.items()
        if module.startswith("iac_runtime")
        if module.removeprefix("iac_runtime.") not in OPEN_TO_GUESTS
    }
    assert beside == {
        module: {*names.split()} for module, names in BEYOND_THE_TOOLKIT[guest].items()
    }


def test_the_toolkit_has_at_most_forty_names() -> None:
    assert len(toolkit.__all__) <= 40
    for name in toolkit.__all__:
        assert getattr(toolkit, name) is not None


def test_a_name_means_one_class() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_a_room_can_be_read_at_one_sitting() -> None:
    lines = {
        name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in MODULES.items()
    }
    assert {name: count for name, count in lines.items() if count > LONGEST} == {}
