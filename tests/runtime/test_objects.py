"""The typed objects: the same calls as the functions, in other words."""

import asyncio
import importlib
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from simulated import TOOLS

import iac_runtime as iac
from iac_base.errors import InvalidParameterError, ToolError
from iac_runtime import Session, aio, its
from iac_runtime.objects import Elements, Items, Object, Rect, Rows
from iac_runtime.tools.catalogue import Catalogue, module_tables
from iac_tools import finder, mail, notes, textedit

KEYS = sorted(Catalogue([TOOLS]).apps)


@pytest.fixture
def session() -> Iterator[Session]:
    with iac.connect(simulate=True, tools=TOOLS) as opened:
        yield opened


def sent(session: Session, call: Any) -> list[Any]:
    """Return the events of a call, and behind them the kind of its error."""
    # The log keeps the newest only: it begins anew.
    session.simulator.events.clear()
    try:
        call()
    except ToolError as error:
        return [*session.simulator.events, error.type]
    return list(session.simulator.events)


@pytest.fixture(scope="module")
def world() -> Iterator[Session]:
    with iac.connect(simulate=True, tools=TOOLS) as opened:
        yield opened


@pytest.mark.sweep
@pytest.mark.parametrize("key", KEYS)
def test_each_class_is_read_by_the_events_of_the_functions(key: str, world: Session) -> None:
    module: Any = importlib.import_module(f"iac_tools.{key}")
    tables = module_tables(module)
    for row in tables.elements("application") if tables.classes else ():
        plural = tables.classes[row.term].plural
        items = getattr(module.app, _member(module.app, plural))
        first, readable = items[0], [p for p in tables.properties(row.term) if "r" in p.access]
        pairs = [
            (items.count, partial(module.count, row.term)),
            (partial(items.select, limit=2), partial(module.list, row.term, limit=2)),
            (first.get, partial(module.get, f"{plural}[0]")),
        ]
        for prop in readable:
            value = getattr(first, _member(first, prop.jxa))
            assert str(value) == f"{plural}[0].{prop.jxa}"
            if prop is readable[0] and not isinstance(value, Object) and value._is_single:
                pairs.append((value, partial(module.get, str(value))))
        for mine, theirs in pairs:
            assert sent(world, mine) == sent(world, theirs), row.term


def _member(owner: Object, jxa: str) -> str:
    """Return the Python name of what JavaScript calls `jxa`."""
    rows = {row.name: name for c in type(owner).__mro__ for name, row in vars(c).items()
            if hasattr(row, "name")}  # fmt: skip
    return rows[jxa]


@pytest.mark.parametrize("key", KEYS)
def test_every_class_property_and_element_is_reached(key: str) -> None:
    module = importlib.import_module(f"iac_tools.{key}")
    layer = importlib.import_module(f"iac_tools.{key}_objects")
    tables = module_tables(module)
    for term in tables.classes:
        owner = layer.OBJECTS[term][0]
        names = {r.name for c in owner.__mro__ for r in vars(c).values() if hasattr(r, "name")}
        assert {row.jxa for row in tables.properties(term)} <= names, term
        plurals = {tables.classes[row.term].plural for row in tables.elements(term)}
        assert plurals <= names, term
        for name, row in vars(owner).items():
            if isinstance(row, Elements):
                assert issubclass(layer.OBJECTS[row.term][1], Items), name


def test_commands_send_what_the_functions_send(session: Session) -> None:
    note, folder = notes.app.notes[0], notes.app.folders[-1]
    pairs = [
        (lambda: note.move(to=folder), lambda: notes.move("notes[0]", to="folders[-1]")),
        (lambda: note.show(separately=True), lambda: notes.show("notes[0]", separately=True)),
        (lambda: note.name.set("x"), lambda: notes.set("notes[0]", properties={"name": "x"})),
        (
            lambda: notes.app.folders[0].notes.make(name="a"),
            lambda: notes.make("note", at="folders[0]", properties={"name": "a"}),
        ),
        (
            lambda: mail.app.inbox.messages[mail.Message.read_status == False].count(),  # noqa: E712
            lambda: mail.count("message", of="inbox", where={"read status": False}),
        ),
        (
            lambda: mail.app.check_for_new_mail(for_=mail.app.accounts[0]),
            lambda: mail.check_for_new_mail(for_="accounts[0]"),
        ),
    ]
    for mine, theirs in pairs:
        assert [row.event for row in sent(session, mine)] == [
            row.event for row in sent(session, theirs)
        ]


def test_nothing_is_sent_until_something_is_read(session: Session) -> None:
    message = mail.app.inbox.messages[its.read_status == False][0]  # noqa: E712
    assert repr(message) == (
        'Application("com.apple.mail").inbox.messages.whose({readStatus: false})[0]'
    )
    assert message == mail.app.inbox.messages[mail.Message.read_status == False][0]  # noqa: E712
    assert message != mail.app.inbox.messages[0]
    assert mail.app.inbox.messages[:5]._repr_html_()
    assert session.simulator.events == []


def test_values_come_as_python_has_them(session: Session) -> None:
    note = notes.app.notes[0]
    assert isinstance(note.creation_date(), datetime)
    assert note.container.name() == "Notes"
    assert note.get()["container"].name() == "Notes"
    made = textedit.app.documents.make(text="One two")
    assert made.text() == "One two"
    assert made.text.words[1]() == "two"
    made.text.set("Three")
    assert made.text() == "Three"
    assert isinstance(textedit.app.windows[0].bounds(), Rect)


def test_one_exchange_reads_several_values(session: Session) -> None:
    first, second = notes.app.notes[0], notes.app.notes[1]
    before = len(session.simulator.events)
    assert iac.read(first.name, second.shared) == ("Shopping list", False)
    assert len(session.simulator.events) == before + 2
    with pytest.raises(ToolError, match="There is no notes"):
        iac.read(first.name, notes.app.notes[99].name)


def test_a_slice_acts_on_its_objects_alone(session: Session) -> None:
    names = [note.name() for note in notes.app.notes]
    notes.app.notes[1:2].delete()
    assert [note.name() for note in notes.app.notes] == [names[0], *names[2:]]
    assert notes.app.notes[1:].count() == len(names) - 2
    assert notes.app.notes[1:][0].name() == names[2]


def test_filters_are_joined(session: Session) -> None:
    note = notes.Note
    both = notes.app.notes[note.name.startswith("S") & ~note.name.contains("x")]
    assert [row["name"] for row in both.select("name")] == ["Shopping list"]
    either = notes.app.notes[(note.name == "Gift ideas") | note.name.in_(["Shopping list"])]
    assert either.count() == 2
    assert either[its.name == "Gift ideas"].count() == 1
    with pytest.raises(TypeError, match="&"):
        assert notes.app.notes[(note.name == "a") and (note.name == "b")]


def test_what_is_not_there_is_told(session: Session) -> None:
    # A hidden class, which no schema offers.
    assert mail.app.ldap_servers.count() == len(list(mail.app.ldap_servers)) == 0
    assert notes.app.notes["Gift ideas"].exists()
    assert not notes.app.notes[99].exists()
    with pytest.raises(InvalidParameterError, match="subject"):
        notes.app.notes.select("subject")  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match=r"\.set"):
        notes.app.notes[0].name = "x"  # type: ignore[assignment]


def _unread_filters() -> dict[str, Any]:
    messages: Any = mail.app.inbox.messages
    message: Any = mail.Message
    subject: Any = messages[0].subject
    return {
        "another property": lambda: messages[message.subject != message.sender].delete(),
        "another of its": lambda: messages[its.subject == its.subject].delete(),
        "an unread property": lambda: messages[message.subject == subject].delete(),
        "in a list": lambda: messages[message.sender.in_(["x", subject])].delete(),
        "a part of a text": lambda: messages[message.subject.contains(subject)].delete(),
        "in a test of two": lambda: messages[
            (message.read_status == True) & (message.subject == subject)  # noqa: E712
        ].delete(),
        "an object": lambda: messages[its.subject == mail.app.inbox].delete(),
        "a condition": lambda: messages[its.subject == (its.sender == "x")].delete(),
    }


def _unread_values() -> dict[str, Any]:
    all_notes: Any = notes.app.notes
    note, other = all_notes[0], all_notes[1]
    documents: Any = textedit.app.documents
    pane: Any = finder.app.finder_windows[0]
    letters: Any = mail.app.outgoing_messages
    return {
        "set": lambda: note.name.set(other.name),
        "set to an object": lambda: note.name.set(other),
        "set to a collection": lambda: note.name.set(all_notes),
        "set to a class's property": lambda: note.name.set(notes.Note.name),
        "set without a call": lambda: note.name.set(other.name.get),
        "set of text with parts": lambda: documents[0].text.set(documents[1].text),
        "set of an object": lambda: pane.target.set(pane.name),
        "make": lambda: all_notes.make(body=other.body),
        "make with an object": lambda: all_notes.make(body=other),
        "make with text with parts": lambda: letters.make(
            content=mail.app.inbox.messages[0].content
        ),
        "a command": lambda: notes.app.open_note_location(other.name),
        "a command with an object": lambda: notes.app.open_note_location(other),
        "a command that wants an object": lambda: note.move(to=other.name),
        "a record": lambda: note.duplicate(with_properties={"name": other.name}),
        "a name in a record": lambda: note.duplicate(with_properties={other.name: "x"}),
        "a list": lambda: notes.app.open([other.name]),
        "the name of one": lambda: all_notes[other.name].delete(),
        "the id of one": lambda: all_notes.by_id(other.id).delete(),
        "a column": lambda: all_notes.select(notes.Note.name),
        "an order": lambda: all_notes.select("name", order=[other.name]),
        "a number of rows": lambda: all_notes.select("name", limit=other.id),
        "a function": lambda: notes.set("notes[0]", properties={"name": other.name}),
    }


@pytest.mark.sweep
@pytest.mark.parametrize("name", [*_unread_filters(), *_unread_values()])
def test_what_was_not_read_is_never_a_value(session: Session, name: str) -> None:
    textedit.app.documents.make(text="One")
    textedit.app.documents.make(text="Two")
    session.simulator.events.clear()
    with pytest.raises(InvalidParameterError, match="call it to read it"):
        ({**_unread_filters(), **_unread_values()})[name]()
    assert session.simulator.events == []


def test_a_property_that_was_not_read_decides_nothing() -> None:
    message: Any = mail.app.inbox.messages[0]
    for wrong in (
        lambda: message.subject != "Keep",
        lambda: message.subject == None,  # noqa: E711
        lambda: "Keep" in [message.subject],
        lambda: not message.read_status,
        lambda: bool(message.content),
    ):
        with pytest.raises(TypeError, match="call it to read it"):
            wrong()
    assert message.subject == mail.app.inbox.messages[0].subject
    assert message.subject != message.sender


def test_an_object_is_taken_where_one_is_wanted(session: Session) -> None:
    note, folder = notes.app.notes[0], notes.app.folders[-1]
    inbox, message = mail.app.inbox, mail.Message
    name = note.name()
    note.move(to=folder)
    assert folder.notes[name].exists()
    notes.app.notes[1].move(to=notes.app.notes[0].container)
    notes.app.selection.set([note])
    notes.app.selection.set(notes.app.notes[:2])  # type: ignore[arg-type]
    notes.app.default_account.set(notes.app.accounts[0])
    finder.app.finder_windows[0].target.set(finder.app.home)
    finder.app.desktop.items.sort(by=finder.Item.name)  # type: ignore[arg-type]
    assert inbox.messages[message.mailbox == inbox].count() == inbox.messages.count()
    assert inbox.messages[message.mailbox != inbox].count() == 0


def test_rows_are_a_bounded_table(session: Session) -> None:
    rows: Rows[Any, Any] = Rows([{"name": f"<{n}>"} for n in range(60)])
    html = rows._repr_html_()
    assert "&lt;0&gt;" in html
    assert "50 of 60 rows" in html
    assert html.count("<tr>") == 51


def test_what_blocks_can_be_awaited(session: Session) -> None:
    async def script() -> tuple[Any, ...]:
        note = notes.app.notes[0]
        names = [await aio.call(one.name) async for one in aio.each(notes.app.notes)]
        return await aio.call(note.name), await aio.read(note.name, note.shared), names

    name, both, names = asyncio.run(script())
    assert both == (name, False)
    assert names[0] == name
    assert len(names) == notes.app.notes.count()


def test_the_policy_holds_for_objects_too() -> None:
    with iac.connect(simulate=True, tools=TOOLS, allow="SAFE") as session:
        with pytest.raises(ToolError):
            notes.app.notes[0].delete()
        assert all(event.event != "coredelo" for event in session.simulator.events)
