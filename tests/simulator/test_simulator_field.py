"""The hard profile: each row of the field book that is to be played changes what a script sees."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from iac_gen.field import FAULTS
from iac_gen.quirks import load_field_book, read_facts
from iac_runtime.language.terms import camel_case
from iac_runtime.tool import App, Class, Element, Param, Property, Spec
from iac_runtime.tools.tables import Tables
from iac_simulator import Simulator, field_profile
from iac_simulator.events import command_named
from iac_simulator.field_faults import EVENT_FAULTS, FORMS, READ_FAULTS
from iac_simulator.field_profile import FieldRow
from iac_simulator.scenario import FaultScenario

PLAYED = [fact for fact in read_facts(load_field_book()[0]) if "fault" in fact.play]
ROWS: Mapping[str, FieldRow] = {
    fact.id: {"id": fact.id, "terms": fact.terms, "play": fact.play, "general": False}
    for fact in PLAYED
}
VALUES: tuple[tuple[str, Any], ...] = (
    ("text", '<div><a href="https://x.y">a</a> &amp; "b"</div>\n<li></li><ul></ul>'),
    ("text", "2026-01-02 3.5 é-1"),
    ("text", "7"),
    ("text", '"q"'),
    ("text", "x" * 300),
    ("integer", 70000),
    ("date", {"date": "2026-02-03T10:20:30.000Z"}),
)
SAME = {word for word, form in FORMS.items() if not form}
"""Forms that a script sees in the friendly profile too, or never."""


def _member(term: str, row: FieldRow, type_: str) -> tuple[Property, ...]:
    own = [("id", "ID  ", "text"), ("name", "pnam", "text"), ("when", "when", "date")]
    own += [
        ("remark", "rmrk", type_),
        ("selection", "sele", "text"),
        ("modified", "imod", "boolean"),
    ]
    named = row["play"].get("property")
    if named and named not in ("id", "name", "selection"):
        own.append((named, "prop", type_))
    if having := row["play"].get("having"):
        own.append((having, "have", "text"))
    return tuple(Property(t, c, camel_case(t), k, "rw", "SAFE") for t, c, k in own)


def described(row: FieldRow, type_: str) -> Tables:
    """Return an app with what the row speaks of: rooms that hold things, which hold parts."""
    play = row["play"]
    of = play.get("of", "thing")
    thing, part = ("thing" if of == "application" else of), "part"
    if play["fault"] == "missing" and "verb" not in play:
        part = "scrap" if len(play.get("part", "").split()) != 1 else play["part"].rstrip("s")
    held = (Element(thing, "rw"), Element(part, "rw"), Element("document", "rw"))
    classes = {}
    for term, elements in (("application", (Element("room", "rw"), *held)), ("room", held)):
        classes[term] = Class(
            "capp" if term == "application" else "room", camel_case(term), camel_case(f"{term}s"),
            None, "SAFE", "SAFE", _member(term, row, type_), elements,
        )  # fmt: skip
    for term, code in (("document", "docu"), (part, "part"), (thing, "thin")):
        if term == "document" == thing and code == "docu":
            continue
        plural = camel_case(f"{term}s")
        properties = _member(term, row, type_)
        classes[term] = Class(
            code, camel_case(term), plural, None, "SAFE", "SAFE", properties, held
        )  # fmt: skip
    verb = play.get("verb", "get")
    tables = Tables("made", App("com.example.made", "Made"), classes, {}, {}, {})
    own_run = verb == "run" and ("of" in play or "form" in play or "part" in play)
    if verb == "whose" or (command_named(tables, camel_case(verb)) is not None and not own_run):
        return tables
    # An unknown verb answers something, or changes something.
    event = "coredelo" if type_ == "date" else "TESTverb"
    direct = {"direct": Param("", "----", "any")}
    spec = Spec(event, "SAFE", "SAFE", direct, "command", camel_case(verb), "text", {})
    return Tables("made", tables.app, classes, {}, {}, {"verb": spec})


def world_of(row: FieldRow, tables: Tables, value: Any) -> dict[str, Any]:
    """Return two rooms with three things each, of which the first holds two parts and a thing."""
    play = row["play"]
    named = camel_case(play.get("property", "name"))
    parts, things = _plurals(tables)
    count = 0

    def thing(*inner: Any) -> dict[str, Any]:
        nonlocal count
        count += 1
        made: dict[str, Any] = {
            "id": f"i-{count}",
            "name": ("INBOX", "Notes", "Thing")[count % 3],
            parts: [],
        }
        made["when"] = {"date": f"2026-02-0{(2, 3, 1)[count % 3]}T00:00:00.000Z"}
        made |= {"remark": value, "modified": True}
        if named == "id" and not isinstance(value, dict):
            made["id"] = f"{value}-{count}" if isinstance(value, str) else value + count
        elif play.get("property") and named != "id":
            made[named] = value
        if having := play.get("having"):
            made[camel_case(having)] = "yes" if count % 2 else ""
        if inner:
            made[parts] = [{"id": f"p-{n}", "name": f"Part {n}"} for n in (1, 2)]
            made[things] = [*made.get(things, []), *inner]
        return made

    rooms = [
        {"name": name, things: [thing(thing(), thing()), thing(), thing()]} for name in ("A", "B")
    ]
    root = {camel_case(play["property"]): value} if "property" in play else {}
    own = {parts: [{"id": "q-1", "name": "Q"}, {"id": "q-2", "name": "R"}]}
    app = {"@results": {"TESTverb": value}}
    return {**root, **own, **app, "rooms": rooms}


def _plurals(tables: Tables) -> tuple[str, str]:
    """Return the collections of the parts and of the things."""
    rows = list(tables.classes.values())
    return rows[-2 if rows[-1].code == "thin" else -1].plural, rows[-1].plural


MARKS = ("@hard", "@odd")
"""What only says that a world was made hard."""


def scripted(row: FieldRow, tables: Tables, value: Any) -> Iterator[str]:
    """Yield what a script does about a row's verb and class, then what it reads."""
    play = row["play"]
    verb, named = camel_case(play.get("verb", "get")), camel_case(play.get("property", "name"))
    parts, plural = _plurals(tables)
    things, jxa = f"a.rooms[0].{plural}", list(tables.classes.values())[-1].jxa
    given = json.dumps("2026-01-02 (x) <a b='c'>d</a>" if isinstance(value, str) else 5)
    given = "new Date(0)" if isinstance(value, dict) else given
    on_app = play.get("of") == "application" or ("of" not in play and "property" in play)
    where = "a" if on_app else f"{things}[1]"
    at = f"a.rooms[1].{plural}.end"
    values = f"{{name: 'Made', remark: {given}, {named}: {given}}}"
    whose = f"{things}.whose({{{named}: {{'=': 'q'}}}}).name()"
    does = {
        "whose": (whose, f"{things}.whose({{{named}: {things}[0].{named}()}}).name()"),
        "set": (f"{where}.{named} = {given}",),
        "make": (f"a.make({{new: '{jxa}', at: {at}, withProperties: {values}}}).id()",),
        "move": (f"{things}[1].move({{to: {at}}})",),
        "duplicate": (f"{things}[1].duplicate({{to: {at}}})",),
        "open": ("a.open(Path('/x'))",),
        "get": (f"{where}.{named}()", f"{where}.remark = {given}", f"{where}.{named} = {given}"),
        **{word: (f"a.{word}()",) for word in ("activate", "launch")},
        "quit": ("a.quit({saving: 'no'})",),
        "close": (f"a.close({things}[1], {{saving: 'no'}})",),
    }
    several = (f"a.{verb}([{things}[1], {things}[2]])", f"a.{verb}({things})")
    direct = (f"a.{verb}({things}[1])", f"{things}.id()", f"a.{verb}()", *several)
    yield from does.get(verb, direct)
    yield from ("a.running()", "a.frontmost()", f"{where}.{named}()", "a.documents.name()")
    for _ in range(2):
        yield from (f"{things}.{word}()" for word in (named, "remark", "modified", "name", "id"))
        yield from (f"{things}[0].{parts}.id()", f"{things}[0].{plural}.id()")
        yield from (f"a.{parts}.name()", f"a.rooms[0].{parts}.name()", f"{things}.length")
        yield f"{things}.byId(a.rooms[1].{plural}[1].id()).name()"
        yield f"{things}.byName('INBOX').id()"
        yield "delay(100000)"


def seen(row: FieldRow, type_: str, value: Any, profile: str) -> list[Any]:
    """Return the answers to each line, the state at the end and the seconds that it took."""
    tables = described(row, type_)
    scenario = FaultScenario(profile=profile, play=[row["id"]])
    simulator = Simulator([tables], {"made": world_of(row, tables, value)}, faults=scenario)
    lines = [line for line in scripted(row, tables, value) if line]
    attempts = ", ".join(f"t(() => {line})" for line in lines)
    source = "const t = f => { try { const v = f(); return v === undefined ? null : "
    source += "(typeof v === 'function' ? 'reference' : v) } catch (e) { return e.errorNumber } }; "
    source += f"const a = Application('Made'); JSON.stringify([{attempts}])"
    done = simulator(["osascript", "-l", "JavaScript", "-e", source], b"", 1e9)
    state = json.dumps(simulator.state()["made"])
    own = json.loads(
        state, object_hook=lambda data: {key: data[key] for key in data if key not in MARKS}
    )
    return [done.stdout, done.stderr, round(simulator.waited), own]


def test_each_fault_of_the_book_is_played() -> None:
    elsewhere = {"order", "localised", "ambiguous", "unscoped", "by-path", *READ_FAULTS}
    assert FAULTS.keys() == EVENT_FAULTS.keys() | elsewhere


def test_each_form_of_the_book_is_known() -> None:
    named = {str(fact.play["form"]) for fact in PLAYED if "form" in fact.play}
    localised = [fact.play for fact in PLAYED if fact.play["fault"] == "localised"]
    named |= {str(play["part"]) for play in localised if "of" not in play and "part" in play}
    assert named == FORMS.keys()


@pytest.mark.sweep
@pytest.mark.parametrize("name", ROWS)
def test_a_row_changes_what_a_script_sees(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    row = ROWS[name]
    monkeypatch.setattr(field_profile, "book_rows", lambda _app: (row,))
    differs = any(
        seen(row, type_, value, "hard") != seen(row, type_, value, "friendly")
        for type_, value in VALUES
    )
    form = row["play"].get("form") or row["play"].get("part", "")
    assert differs == (form not in SAME)
