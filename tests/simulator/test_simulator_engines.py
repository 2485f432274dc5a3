"""The two JavaScript engines: chosen by name, interrupted, and equal in what scripts can see."""

import sys
from collections.abc import Callable

import pytest
from simulated_diary import DIARY, WORLD, Script

from iac_simulator import MissingEngineError, Simulator, engine, engine_jsc

D = 'const d = Application("Diary"); '


@pytest.fixture
def on(engine: str) -> Script:
    return Script(Simulator([DIARY], {"diary": WORLD}, engine=engine))


@pytest.fixture
def core() -> Script:
    try:
        engine_jsc.load_library()
    except MissingEngineError as missing:
        pytest.skip(str(missing))
    return Script(Simulator([DIARY], {"diary": WORLD}, engine="jsc"))


def test_the_environment_names_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(engine.VARIABLE, raising=False)
    assert engine.engine_name() == "quickjs"
    monkeypatch.setenv(engine.VARIABLE, "jsc")
    assert engine.engine_name() == "jsc"
    assert engine.engine_name("quickjs") == "quickjs"


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(MissingEngineError, match="no engine 'v8': use one of quickjs, jsc"):
        Simulator([], engine="v8")


@pytest.mark.parametrize("platform", ["linux", "darwin", "sunos"])
def test_a_missing_library_gives_one_line_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(engine_jsc, "_SONAMES", ("libnone.so",))
    monkeypatch.setattr(engine_jsc, "_FRAMEWORK", "/none")
    engine_jsc.load_library.cache_clear()
    try:
        done = Script(Simulator([], engine="jsc")).run("1")
    finally:
        engine_jsc.load_library.cache_clear()
    assert (done.stdout, done.status) == (b"", 1)
    [line] = done.stderr.decode().splitlines()
    assert line.startswith("osascript: The engine jsc is not installed: ")
    assert line.endswith("Or use the engine quickjs.")


def test_without_quickjs_the_line_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "quickjs", None)
    monkeypatch.delitem(sys.modules, "iac_simulator.engine_quickjs", raising=False)
    done = Script(Simulator([], engine="quickjs")).run("1")
    assert b"pip install quickjs-ng" in done.stderr
    assert done.status == 1


@pytest.mark.parametrize("source", [
    "for (;;) ;", "for (;;) { try { Application('None') } catch (e) {} }",
    "try { $.exit(3) } catch (e) {} for (;;) ;",
])  # fmt: skip
def test_javascriptcore_stops_a_script_that_computes_for_ever(core: Script, source: str) -> None:
    done = core.run(source, timeout=0.3)
    assert done.timed_out or done.status == 3
    assert core.value("1 + 1") == 2


@pytest.mark.parametrize(("source", "text"), [
    ("Promise.resolve().then(() => console.log('ran')); 1", "1"), ("'\\ud800'.length", "1"),
    ("JSON.stringify('\\ud800é😀')", '"\\"\\\\ud800é😀\\""'),
    ("[typeof print, typeof performance, typeof gc, typeof navigator].join()",
     '"undefined,undefined,undefined,undefined"'),
])  # fmt: skip
def test_both_engines_show_the_same(on: Script, source: str, text: str) -> None:
    done = on.run(source, "-s", "s")
    assert done.stdout.decode().removesuffix("\n").startswith(text)
    assert done.stderr == b""


ERRORS = {
    "foo": "ReferenceError: Can't find variable: foo",
    "null.x": "TypeError: null is not an object (evaluating 'null.x')",
    "let o = {};\no.p.q = 1": "TypeError: undefined is not an object (evaluating 'o.p.q = 1')",
    "let o = {}; o.f(1)": "TypeError: o.f is not a function. (In 'o.f(1)', 'o.f' is undefined)",
    "let x = ;": "SyntaxError: Unexpected token ';'",
}


@pytest.mark.parametrize("source", ERRORS)
def test_both_engines_use_the_words_of_javascriptcore(on: Script, source: str) -> None:
    line = f"execution error: Error: {ERRORS[source]} (-2700)\n"
    assert on.run(source).stderr.decode() == line


def test_both_engines_change_the_same_world(on: Script) -> None:
    source = D + "const e = d.Entry({name: 'é😀'}); d.journals[0].entries.push(e); e.name()"
    assert on.value(source) == "é😀"
    assert [event.event for event in on.simulator.events] == ["corecrel", "coregetd"]


def test_an_error_of_the_host_ends_the_script(on: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> object:
        raise RuntimeError("broken")

    monkeypatch.setattr("iac_simulator.dispatcher.Dispatcher.answer_request", fails)
    run: Callable[[str], object] = on.run
    with pytest.raises(RuntimeError, match="broken"):
        run(D + "try { d.name() } catch (e) {} 1")
