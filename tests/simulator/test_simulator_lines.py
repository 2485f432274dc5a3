"""The interactive mode, the error lines of old systems, and other languages than English."""

from typing import Any

import pytest
from simulated_diary import DIARY, WORLD, Script

from iac_base.errors import ErrorType, ToolError
from iac_runtime.apple_errors import APPLE_ERRORS
from iac_runtime.execution.executor import Executor
from iac_runtime.language.request import Event
from iac_runtime.language.steps import PropertyStep
from iac_simulator import FaultScenario, Simulator, errors

D = 'const d = Application("Diary"); '


def script(engine: str, **machine: Any) -> Script:
    state = {"diary": WORLD}
    return Script(Simulator([DIARY], state, engine=engine, faults=FaultScenario(**machine)))


def test_lines_are_answered_one_by_one(engine: str) -> None:
    text = "let a = [1, 'x']\na\n\nDIARY.journals[9].name()\nDIARY\nf()"
    lines = text.replace("DIARY", "Application('Diary')").encode()
    argv = ["osascript", "-l", "JavaScript", "-i", "-e", "function f() { return 7 }"]
    done = script(engine).simulator(argv, lines, 10)
    assert done.stdout.decode().splitlines() == [
        ">> => undefined", '>> => [1, "x"]', ">> !! Error on line 1: Error: Invalid index.",
        '>> => Application("Diary")', ">> => 7", ">> ",
    ]  # fmt: skip
    assert (done.stderr, done.status) == (b"", 0)


def test_i_may_stand_with_other_letters(engine: str) -> None:
    argv = ["osascript", "-il", "JavaScript"]
    assert script(engine).simulator(argv, b"1", 10).stdout == b">> => 1\n>> \n"


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("let a = 1;\nfoo", "11:14: execution error: Error on line 2: ReferenceError:"
         " Can't find variable: foo (-2700)\n"),
        (D + "\nfunction run() {\n  return d.journals[9].name()\n}", "51:80: execution error:"
         " Error on line 3: Error: Invalid index. (-1719)\n"),
    ],
)  # fmt: skip
def test_old_systems_name_the_place(source: str, line: str, engine: str) -> None:
    done = script(engine, error_lines="old").run(source)
    if "run()" in source:
        assert done.stderr.decode().endswith(line.partition(" Error on")[2].partition(":")[2])
        assert b"execution error: Error on line " in done.stderr
    else:
        assert done.stderr.decode() == line


@pytest.mark.parametrize("language", errors.LANGUAGES[1:])
def test_another_language_changes_every_text_and_no_number(language: str) -> None:
    english, other = (
        {n: errors.error_message(n, "Diary", said) for n in [*range(-11000, 1003), -25211]}
        for said in ("en", language)
    )
    assert [n for n in english if english[n] == other[n]] == []


@pytest.mark.parametrize("language", errors.LANGUAGES[1:])
@pytest.mark.parametrize(
    ("source", "number"),
    [("d.journals[9].name()", -1719), ("d.doNonsense(1)", -1708), ("Application('None')", -2700)],
)
def test_a_script_meets_the_language(source: str, number: int, language: str) -> None:
    english, other = script("quickjs"), script("quickjs", language=language)
    assert english.error(D + source) == other.error(D + source) == number
    assert english.run(D + source).stderr != other.run(D + source).stderr


@pytest.mark.parametrize(("source", "said"), [
    ("d.journals[0].bodi()", "Diary: journals[0].bodi: bodi is not in the dictionary"),
    ("d.nonsense[5].name()", "Diary: nonsense[5].name: nonsense is not in the dictionary"),
    ("d.journals[0].name()", None), ("d.publish(d.entries[0])", None), ("d.journals.x", None),
])  # fmt: skip
def test_the_strict_variant_tells_names_that_the_dictionary_lacks(
    source: str, said: str | None
) -> None:
    strict = Script(Simulator([DIARY], {"diary": WORLD}, faults=FaultScenario(strict=True)))
    err = strict.run(D + source).stderr.decode()
    assert [line for line in err.splitlines() if line.startswith("warning: ")] == (
        [f"warning: {said}"] if said else []
    )


def type_in(language: str, number: int) -> ErrorType:
    """Return the type of error that a caller gets where the app answers this number."""
    event = Event(
        "com.example.Diary", "application", "get", "coregetd", target=(PropertyStep("name"),)
    )
    world = {"diary": {"@errors": {"coregetd": number}}}
    simulator = Simulator([DIARY], world, faults=FaultScenario(language=language))
    with pytest.raises(ToolError) as caught:
        Executor(simulator).execute(event, app="Diary", command="diary_get")
    return caught.value.type


ONE_OF_EACH = {row.type: number for number, row in APPLE_ERRORS.items()}


@pytest.mark.parametrize("language", errors.LANGUAGES[1:])
@pytest.mark.parametrize("numbers", [
    pytest.param(sorted(ONE_OF_EACH.values()), id="one-of-each-type"),
    pytest.param(list(APPLE_ERRORS), id="all", marks=pytest.mark.stress),
])  # fmt: skip
def test_a_number_is_of_its_type_in_every_language(language: str, numbers: list[int]) -> None:
    for number in numbers:
        assert type_in(language, number) == APPLE_ERRORS[number].type


def test_the_words_are_those_of_the_language() -> None:
    """Each table says of each common number something of its own."""
    for number in (-43, -128, -600, -609, -1700, -1708, -1712, -1719, -1728, -1743, -10000):
        said = {errors.error_message(number, "Mail", language) for language in errors.LANGUAGES}
        assert len(said) == len(errors.LANGUAGES), said
