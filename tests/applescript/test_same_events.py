"""Small scripts in both languages: the same Apple events, and the results that a Mac gives.

Both forms are written by rule from the tables: each command of each bundled app with all of its
parameters, and each class read, counted and tested.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from iac_applescript.analysis.analyser import ScriptAnalyzer
from iac_runtime.tools.catalogue import shipped_folder
from iac_runtime.tools.tables import Tables
from iac_simulator import Simulator
from iac_simulator.applescript.terms import spell_label
from iac_simulator.dictionary import enumeration_rows
from iac_simulator.events import command_named
from iac_simulator.osascript import load_tables

PLAIN = {
    "text": ('"x"', '"x"'), "integer": ("3", "3"), "real": ("2.5", "2.5"), "number": ("3", "3"),
    "boolean": ("true", "true"), "any": ('"x"', '"x"'),
    "file": ('POSIX file "/Users/me/Desktop/Todo.txt"', 'Path("/Users/me/Desktop/Todo.txt")'),
}  # fmt: skip
"""A value of a type: as AppleScript writes it, and as JavaScript does."""


OTHERWISE = {
    **dict.fromkeys(("get", "set", "count", "make", "run"), "Statements of the language."),
    **dict.fromkeys(("delay", "offset", "round", "random_number"), "Reckoned by the language."),
    **dict.fromkeys(("load_script", "run_script"), "The language loads and runs scripts itself."),
    **dict.fromkeys(("forward", "redirect"), "Before `message` they are properties of a rule."),
    "end_transaction": "`end` closes a block.",
}
"""Commands that AppleScript sends otherwise, and why."""


def load_bundled() -> list[Tables]:
    folder = shipped_folder()
    assert folder is not None
    return load_tables([folder])


APPS = {tables.key: tables for tables in load_bundled()}


def write_value(tables: Tables, type_: str) -> tuple[str, str] | None:
    """Return a value of a type in both languages; None for one that no rule writes."""
    for part in type_.split("|"):
        name = part.strip().removeprefix("list of ")
        if name in PLAIN:
            return PLAIN[name]
        if rows := enumeration_rows(tables, name):
            return rows[0][0], f'"{rows[0][0]}"'
        term = next(iter(tables.classes)) if name == "specifier" else name
        if term in tables.classes and term != "application":
            return f"{term} 1", f"a.{tables.classes[term].plural}[0]"
    return None


def write_commands(tables: Tables) -> Iterator[tuple[str, str, str]]:
    """Yield the commands of an app: the name of the tool, and the call in both languages."""
    for function, tool in tables.tools.items():
        command = command_named(tables, tool.jxa) if tool.op == "command" else None
        if tool.bind or command is None or function in OTHERWISE:
            continue
        direct, named = "", []
        given: list[str] = []
        if command.direct is not None:
            value = write_value(tables, command.direct.type)
            if value is None:
                continue
            direct, given = f" {value[0]}", [value[1]]
        for key, param in command.params.items():
            value = write_value(tables, param.type)
            if value is not None:
                direct += f" {spell_label(key, param)} {value[0]}"
                named.append(f"{key}: {value[1]}")
        call = ", ".join([*given, f"{{{', '.join(named)}}}"] if named else given)
        words = function.rstrip("_").replace("_", " ")
        yield f"{tables.key}_{function}", words + direct, f"a.{tool.jxa}({call})"


def write_readings(tables: Tables) -> Iterator[tuple[str, str, str]]:
    """Yield how the elements of a class are counted, read and tested, in both languages."""
    for term, row in tables.classes.items():
        if term == "application" or "-" in term or tables.app.kind != "application":
            continue
        many, key = f"a.{row.plural}", f"{tables.key}_{term.replace(' ', '_')}"
        yield f"{key}_count", f"count every {term}", f"{many}.length"
        yield f"{key}_exists", f"exists {term} 2", f"{many}[1].exists()"
        for prop in row.properties[:3]:
            if prop.term in tables.classes:
                # Whether AppleScript takes the word for the class, only a Mac tells.
                continue
            said = f"{prop.term} of every {term}"
            yield f"{key}_{prop.jxa}", f"get {said}", f"{many}.{prop.jxa}()"
            if prop.type == "text":
                test = f'{many}.whose({{{prop.jxa}: {{_contains: "x"}}}})'
                words = f'get every {term} whose {prop.term} contains "x"'
                yield f"{key}_whose_{prop.jxa}", words, f"{test}()"


FORMS = [
    pytest.param(tables, *row[1:], id=row[0])
    for tables in APPS.values()
    for row in (*write_commands(tables), *write_readings(tables))
]


@pytest.fixture(scope="module")
def simulator() -> Simulator:
    return Simulator(list(APPS.values()))


def send(simulator: Simulator, language: str, script: str) -> list[Any]:
    simulator.events.clear()
    done = simulator(["osascript", "-l", language, "-"], script.encode(), 20)
    assert simulator.events, (script, done.stderr.decode())
    return list(simulator.events)


@pytest.mark.parametrize(("tables", "said", "called"), FORMS)
def test_both_languages_send_the_same(
    tables: Tables, said: str, called: str, simulator: Simulator
) -> None:
    addition = tables.app.kind == "addition"
    script = said if addition else f'tell application "{tables.app.name}"\n{said}\nend tell'
    app = "Application.currentApplication()" if addition else f'Application("{tables.app.name}")'
    same = f"const a = {app}; {'a.includeStandardAdditions = true; ' * addition}{called}"
    assert send(simulator, "AppleScript", script) == send(simulator, "JavaScript", same)


Case = dict[str, Any]

LANGUAGE, APP_CASES = (
    tomllib.loads(Path(__file__).with_name(f"{kind}_cases.toml").read_text("utf-8"))["case"]
    for kind in ("language", "app")
)

SYNTAX: Final = -2741
UNREAD: Final = {"fault", "handler", "nesting", "shape", "unknown"}
"""Rules of reasons that say that a statement was not read."""

UNDEFINED: Final = (-1708, -1728, -2753)
"""Numbers of errors about a name that means nothing; the analysis says the same."""

OPAQUE: Final = ("«", "using terms from")
"""Forms of which the analysis says that they hide what they do."""


def case_id(case: Case) -> str:
    return f"{case['topic']}: {case['name']}"


@pytest.mark.parametrize(("cases", "least"), [(LANGUAGE, 150), (APP_CASES, 60)])
def test_each_case_has_a_name_and_one_outcome(cases: list[Case], least: int) -> None:
    for case in cases:
        assert case.keys() in (
            {"topic", "name", "script", "result"}, {"topic", "name", "script", "error"},
        ), case_id(case)  # fmt: skip
        assert isinstance(case.get("result", ""), str)
        assert isinstance(case.get("error", 1), int)
    assert len(cases) >= least
    assert Counter(map(case_id, cases)).most_common(1)[0][1] == 1


@pytest.mark.parametrize("case", [*LANGUAGE, *APP_CASES], ids=case_id)
def test_the_analysis_reads_it(case: Case, analyser: ScriptAnalyzer) -> None:
    reasons = analyser.analyze_script(case["script"], "applescript").reasons
    unread = {reason.rule for reason in reasons} & UNREAD
    if case.get("error") in UNDEFINED or any(form in case["script"] for form in OPAQUE):
        unread -= {"unknown"}
    assert case.get("error") == SYNTAX or not unread


@pytest.fixture(scope="module")
def tables() -> list[Tables]:
    folder = shipped_folder()
    assert folder is not None
    return load_tables([folder])


@pytest.mark.parametrize("case", [*LANGUAGE, *APP_CASES], ids=case_id)
def test_the_simulator_gives_what_a_mac_does(case: Case, tables: list[Tables]) -> None:
    done = Simulator(tables)(["osascript", "-s", "s", "-"], case["script"].encode(), 20)
    said = done.stderr.decode().strip()
    number = re.search(r"\((-?\d+)\)$", said)
    given = int(number[1]) if number else done.stdout.decode().rstrip("\n")
    assert given == case.get("result", case.get("error")), said


@pytest.mark.parametrize(("script", "rule"), [
    ("my nowhere:3 height:4", "unknown"),
    ('on greet given person:p : (do shell script "ls")\nend greet', "handler"),
    ('on greet given person:p, "b"\nend greet', "handler"),
    ("on areaOf:w height\nend areaOf:", "handler"),
    ("set {x, {y of z}} to {1, {2}}\nget z", "unknown"),
    ("1 isn't2", "unknown"),
])  # fmt: skip
def test_what_is_near_a_form_is_not_read(script: str, rule: str, analyser: ScriptAnalyzer) -> None:
    reasons = analyser.analyze_script(script, "applescript").reasons
    assert rule in {reason.rule for reason in reasons}
