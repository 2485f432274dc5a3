"""Calls with generated arguments: the line that is shown sends what the harness sends."""

import contextlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import built, complete, route, same_reads
from simulated import TOOLS
from unguarded import HOME, unguarded

from iac_base.errors import InvalidParameterError, ToolError
from iac_base.words import fold_name
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.language.compose import compose_request
from iac_runtime.language.steps import ABSENT, DateValue, PathValue, RecordValue, RefValue, Value
from iac_runtime.tool import Property
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.checking import check_arguments
from iac_runtime.tools.tables import APPLICATION, Operation, Tables
from iac_runtime.types import parse_type
from iac_simulator import Simulator

CATALOGUE = Catalogue([TOOLS])
APPS = ("finder", "mail", "music", "notes", "standard_additions", "system_events")
NAMES = sorted(
    name
    for name, row in CATALOGUE.tools.items()
    if row.module in APPS and CATALOGUE.load_operation(name).spec.event != "aevtquit"
)
TEXT = st.text(max_size=12)
DATES = st.datetimes().map(lambda moment: moment.isoformat() + "Z")
PATHS = st.sampled_from(["/", "~", "~/Desktop/a b.txt", "/Volumes/USB/x", "~/.Trash", "/tmp/ü\"'"])
SIMPLE: Mapping[str, st.SearchStrategy[Any]] = {
    "any": st.one_of(TEXT, st.booleans(), st.integers(-99, 99), st.lists(TEXT, max_size=2)),
    "boolean": st.booleans(), "color": st.lists(st.floats(0, 1), min_size=3, max_size=3),
    "date": DATES, "file": PATHS, "integer": st.integers(-(2**53), 2**53),
    "number": st.floats(allow_nan=False, allow_infinity=False, width=32),
    "point": st.tuples(st.integers(0, 9), st.integers(0, 9)).map(list),
    "real": st.floats(allow_nan=False, allow_infinity=False, width=32),
    "record": st.dictionaries(st.sampled_from(["name", "some thing"]), TEXT, max_size=2),
    "rectangle": st.fixed_dictionaries({k: st.integers(0, 9) for k in ("x", "y", "width",
       "height")}),
    "text": TEXT, "type": st.sampled_from(["file", "document", "zzz"]),
}  # fmt: skip


def values(kind: str, tables: Tables) -> st.SearchStrategy[Any]:
    """Return values of a type string, of any of its alternatives."""
    found: list[st.SearchStrategy[Any]] = []
    for part in kind.split(" | "):
        if part.startswith("list of "):
            items = values(part.removeprefix("list of "), tables)
            found.append(st.lists(items, min_size=1, max_size=2, unique_by=repr))
        elif part in tables.enums:
            found.append(st.sampled_from([row[0] for row in tables.enums[part]]))
        elif part in SIMPLE:
            found.append(SIMPLE[part])
        elif part in tables.records:
            found.append(fields(tables.records[part].properties, tables))
        elif part in tables.classes:
            found.append(st.just(route(tables, part)))
        elif part != "missing value":
            found.append(st.just(route(tables, None)))
    return st.one_of(found) if found else TEXT


def fields(rows: Sequence[Property], tables: Tables) -> st.SearchStrategy[Any]:
    plain = {r.term: values(r.type, tables) for r in rows if r.type in (*SIMPLE, *tables.enums)}
    return st.fixed_dictionaries({}, optional=dict(list(plain.items())[:4]))


def is_sent(value: Any, sent: Value, kind: str, tables: Tables) -> bool:
    """Say whether what is sent is what a value means as a type."""
    kinds = parse_type(kind)
    if isinstance(value, dict):
        if any(one.name == "rectangle" for one in kinds):
            return isinstance(sent, RecordValue) and dict(sent.fields) == value
        return isinstance(sent, RecordValue) and len(sent.fields) == len(value)
    if isinstance(value, list):
        held = " | ".join(one.name for one in kinds if one.many) or kind
        return isinstance(sent, tuple) and all(
            is_sent(one, part, held, tables) for one, part in zip(value, sent, strict=True)
        )
    if all(one.many for one in kinds) and isinstance(sent, tuple):
        return is_sent(value, sent[0], kind.removeprefix("list of "), tables)
    if not isinstance(value, str):
        return value == sent
    for one in kinds:
        if one.name in ("text", "any", "data", "type", "class", "property") and sent == value:
            return True
        if one.name == "date" and isinstance(sent, DateValue):
            return True
        if one.name in tables.enums and (sent, True) in [
            (term, fold_name(term) == fold_name(value)) for term, _ in tables.enums[one.name]
        ]:
            return True
        if one.name in ("type", "class") and isinstance(sent, str):
            return True
        if isinstance(sent, PathValue | RefValue) and one.name not in ("text", *tables.enums):
            return True
    return False


def misfit(kind: str, tables: Tables) -> list[Any]:
    """Return values that are one step off a type; none where everything goes."""
    kinds = [one for one in parse_type(kind) if one.name != "missing value"]
    names = {one.name for one in kinds}
    if {"any", "point", "data", "color", "filter"} & names or not kinds:
        return []
    if len(kinds) > 1:
        return [] if "boolean" in names else [True]
    (one,) = kinds
    off: dict[str, list[Any]] = {
        "integer": [1.5, "1", True], "boolean": ["yes", 1], "real": ["1.5", True],
        "number": ["x"], "date": ["soon", 5], "record": ["x", 5], "text": [5, True, {}],
        "rectangle": [{"x": 1}, "x"], "file": [5, "not absolute"],
    }  # fmt: skip
    if one.many:
        return (
            [{}] if one.name.startswith("list of ") else [[part] for part in off.get(one.name, [5])]
        )
    if one.name in tables.enums:
        return ["zzz9", 5]
    if one.name in tables.records:
        return [{"zzz9": 1}, "x"] if tables.records[one.name].properties else ["x"]
    return off.get(one.name, [5])


def judged(tool: Operation, schema: Mapping[str, Any], draw: st.DataObject) -> None:
    """Hold one tool to its declaration: what fits is sent, what does not is refused by its key."""
    tables, given = tool.tables, dict[str, Any]()
    for key, row in tool.spec.params.items():
        if key in schema.get("required", ()) or draw.draw(st.booleans()):
            # A class that nothing holds is used as a record.
            shown = schema["properties"][key].get("type")
            is_record = row.type in tables.classes and shown == "object"
            found = fields(tables.properties(row.type), tables)
            drawn = found if is_record else values(row.type, tables)
            # What the app does not know can be held to words of ours.
            words = schema["properties"][key].get("enum") if not row.code else None
            given[key] = draw.draw(st.sampled_from(words) if words else drawn)
    event = compose_request(tool, check_arguments(given, schema), HOME)
    named = [value for _, value in event.named]
    for key, row in tool.spec.params.items():
        if key in given and row.code:
            sent = event.direct if row.code == "----" else named.pop(0)
            assert sent is not ABSENT
            assert is_sent(given[key], sent, row.type, tables), (key, row.type, given, sent)
    for key, row in tool.spec.params.items():
        for off in misfit(row.type, tool.tables):
            with pytest.raises(InvalidParameterError, match=re.escape(key)):
                compose_request(tool, check_arguments({**given, key: off}, schema), HOME)


def commands(catalogue: Catalogue) -> list[str]:
    found = sorted(catalogue.tools)
    specs = {name: catalogue.load_operation(name).spec for name in found}
    return [n for n in found if specs[n].op == "command" and specs[n].params and not specs[n].bind]


@given(name=st.sampled_from(commands(CATALOGUE)), draw=st.data())
def test_what_fits_is_sent_and_what_is_one_step_off_is_refused(
    name: str, draw: st.DataObject
) -> None:
    judged(
        CATALOGUE.load_operation(name), CATALOGUE.load_tool(CATALOGUE.find_row(name)).input, draw
    )


@pytest.mark.stress
def test_every_tool_of_every_dictionary_holds_to_its_declaration(
    corpus: Path, tmp_path: Path
) -> None:
    catalogue = built(corpus / "sdef", tmp_path)
    found = {name: catalogue.load_operation(name) for name in commands(catalogue)}
    schemas = {name: catalogue.load_tool(catalogue.find_row(name)).input for name in found}

    @settings(max_examples=5)
    @given(draw=st.data())
    def hold(name: str, draw: st.DataObject) -> None:
        judged(found[name], schemas[name], draw)

    for name in found:
        hold(name=name)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    name = draw(st.sampled_from(NAMES))
    tool: Operation = CATALOGUE.load_operation(name)
    spec, tables = tool.spec, tool.tables
    if spec.op != "command" and not spec.bind:
        return name, draw(object_calls(name, tool))
    required = CATALOGUE.load_tool(CATALOGUE.find_row(name)).input.get("required", ())
    given: dict[str, Any] = {}
    for key, row in spec.params.items():
        if key in required or draw(st.booleans()):
            given[key] = draw(values(row.type, tables))
    return name, given


@st.composite
def object_calls(draw: st.DrawFn, name: str, tool: Operation) -> dict[str, Any]:
    spec, tables = tool.spec, tool.tables
    given: dict[str, Any] = {}
    if spec.op in ("list", "count", "make"):
        held = [row.term for row in tables.elements(APPLICATION) if row.term in tables.classes]
        given["element"] = draw(st.sampled_from(held))
        rows = list(tables.properties(given["element"]))
        plain = [row for row in rows if row.type in ("text", "integer", "boolean", "date")]
        if spec.op == "make":
            writable = [row for row in plain if "w" in row.access]
            chosen = draw(st.lists(st.sampled_from(writable), max_size=3)) if writable else []
            given["properties"] = {row.term: draw(values(row.type, tables)) for row in chosen}
            return given
        if plain and draw(st.booleans()):
            row = draw(st.sampled_from(plain))
            word = draw(st.sampled_from(["=", "!=", ">", "<=", "contains"]))
            given["where"] = {row.term: {word: draw(values(row.type, tables))}}
        readable = [row.term for row in rows if "r" in row.access]
        if spec.op == "list" and readable and draw(st.booleans()):
            given["properties"] = draw(
                st.lists(st.sampled_from(readable), min_size=1, max_size=4, unique=True)
            )
        return given
    return complete(name, spec, given, tables)


def fresh(name: str) -> tuple[Gate, Simulator]:
    row = CATALOGUE.find_row(name)
    apps = [app for app in CATALOGUE.apps.values() if app.key == row.module]
    simulator = Simulator([CATALOGUE.load_tables(app) for app in apps])
    return unguarded(CATALOGUE, simulator), simulator


@given(call=calls())
def test_the_line_sends_what_the_call_sends(call: tuple[str, dict[str, Any]]) -> None:
    name, given_ = call
    gate, called = fresh(name)
    try:
        planned = gate.call(Call(name, given_), dry_run=True)
    except ToolError as error:
        assert "\n" not in str(error)
        return
    assert isinstance(planned, CompletedCall)
    failed: list[ToolError] = []
    done: object = None
    try:
        done = gate.call(Call(name, given_, confirm=False))
    except ToolError as error:
        failed.append(error)
    if failed and "would wait" in failed[0].message:
        # A delay beyond the end of the call is never begun.
        assert not called.events
        return
    gate, shown = fresh(name)
    ended = None
    with contextlib.suppress(ToolError):
        ended = shown(["osascript", "-l", "JavaScript", "-e", planned.line], b"", 10)
    assert shown.events
    refused = failed or ended is None or ended.status != 0
    if refused or "filtered here" in str(planned.note):
        # Where the app refuses, the harness may go on by another way; the first event is the same.
        assert called.events[0] == shown.events[0]
        return
    if CATALOGUE.load_operation(name).spec.op == "list":
        found = bool(isinstance(done, CompletedCall) and done.value)
        assert same_reads(called.events, shown.events, found=found)
        return
    sent, more = called.events[: len(shown.events)], called.events[len(shown.events) :]
    assert shown.events == sent
    # The gate asks an original for the text that a reply quotes.
    asked = (".id", ".content") if name == "mail_reply" else (".id",)
    assert all(e.event == "coregetd" and str(e.direct).endswith(asked) for e in more)


@pytest.mark.parametrize("app", APPS)
def test_the_committed_apps_are_all_asked(app: str) -> None:
    assert any(CATALOGUE.find_row(name).module == app for name in NAMES)


def test_a_track_in_two_playlists_is_one_track_in_a_list() -> None:
    gate, simulator = fresh("music_list")
    outcome = gate.call(Call("music_list", {"element": "track", "properties": ["name"]}))
    assert isinstance(outcome, CompletedCall)
    refs = [row["ref"] for row in outcome.value]
    assert len(refs) == len(set(refs)) > 0
    # How many there are decides the way; then the name between the ids.
    reads = [str(sent.direct) for sent in simulator.events]
    assert reads == ["tracks", *(f"tracks.{read}" for read in ("id", "name", "id"))]
