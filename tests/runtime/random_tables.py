"""Random class tables, and random references into them."""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from iac_base.words import fold_name
from iac_runtime.language.steps import (
    AllElements,
    Boundary,
    ById,
    ByIndex,
    ByName,
    Compare,
    DateValue,
    Filter,
    Join,
    Operator,
    PropertyStep,
    Step,
    Value,
    Whose,
)
from iac_runtime.language.terms import camel_case, object_classes
from iac_runtime.tool import App, Class, Element, Property
from iac_runtime.tools.tables import Tables

# Words that the grammar keeps for itself; an app that has one cannot be asked for it, in JXA too.
TAKEN = {"first", "last", "end", "beginning", "application", "class", "and", "or", "not", "match"}
TAKEN |= {"at", "byname", "byid", "whose", "where", "specifier", "text", "any"}
PLAIN = ("text", "integer", "boolean", "date", "any", "specifier", "missing value")
WORD = st.text("abcdefghijkXYZ0ñß日", min_size=1, max_size=6).filter(
    lambda word: not word[0].isdigit()
)
TERM = st.builds(" ".join, st.lists(WORD, min_size=1, max_size=3))
PICK: st.SearchStrategy[Step] = st.one_of(
    st.builds(ByIndex, st.integers(-100, 2**31 - 1)),
    st.builds(ByName, st.text()),
    st.builds(ById, st.one_of(st.text(), st.integers(-(2**53), 2**53))),
)
MOMENT = st.builds(DateValue, st.integers(-62135596800000, 253402300799999))
VALUES: dict[str, st.SearchStrategy[Value]] = {
    "text": st.text(), "integer": st.integers(-(2**53), 2**53), "boolean": st.booleans(),
    "date": MOMENT,
    "any": st.one_of(st.none(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False)),
}  # fmt: skip

OPERATORS: dict[str, tuple[Operator, ...]] = {
    "text": ("=", "<", ">", "_contains", "_beginsWith", "_endsWith"),
    "integer": ("=", "<", ">", "<=", ">="),
}


@dataclass(frozen=True)
class Place:
    """Where a chain has come: the classes there, whether an item can be picked, and whether what
    stands in brackets is an item, so that a name must be written with a dot.
    """

    classes: tuple[str, ...] | None
    selectable: bool = False
    brackets: bool = False


@st.composite
def tables(draw: st.DrawFn) -> Tables:
    found = draw(st.lists(TERM, min_size=4, max_size=14, unique_by=fold_name))
    terms = [
        term
        for term in found
        if fold_name(term) not in TAKEN and fold_name(f"{term}s") not in TAKEN
    ]
    terms = terms or ["thing"]
    count = draw(st.integers(1, max(1, len(terms) // 2)))
    names, rest = terms[:count], terms[count:]
    plurals = {name: camel_case(f"{name} of all") for name in names}
    classes: dict[str, Class] = {}
    kinds = [*PLAIN, *names, *(f"list of {name}" for name in names)]
    for number, name in enumerate(["application", *names]):
        own = draw(st.lists(st.sampled_from(rest), unique=True)) if rest else []
        rest = [term for term in rest if term not in own]
        properties = tuple(
            Property(term, "xxxx", camel_case(term), draw(st.sampled_from(kinds)), "rw", "SAFE")
            for term in own
        )
        held = draw(st.lists(st.sampled_from(names), unique=True))
        parent = draw(st.sampled_from([None, *names[: number - 1]])) if number > 1 else None
        classes[name] = Class(
            "xxxx",
            camel_case(name),
            plurals.get(name, "applications"),
            parent,
            "SAFE",
            "SAFE",
            properties,
            tuple(Element(term, "rw") for term in held),
        )
    return Tables("random", App("com.example.random", "Random"), classes, {}, {}, {})


@st.composite
def chains(draw: st.DrawFn, known: Tables) -> tuple[Step, ...]:
    steps: list[Step] = []
    place = Place(("application",))
    for _ in range(draw(st.integers(0, 6))):
        options = list(_options(known, place))
        if not options:
            break
        option = draw(st.sampled_from(options))
        step, place = draw(option)
        steps.append(step)
        if isinstance(step, Boundary):
            break
    return tuple(steps)


def _options(known: Tables, place: Place) -> list[st.SearchStrategy[tuple[Step, Place]]]:
    options: list[st.SearchStrategy[tuple[Step, Place]]] = []
    if place.selectable:
        options.append(PICK.map(lambda step: (step, Place(place.classes))))
        options.append(_tests(known, place.classes).map(lambda t: (Whose(t), place)))
        ends = st.sampled_from(["end", "beginning"])
        options.append(ends.map(lambda word: (Boundary(word), place)))
    if place.classes is None:
        options.append(st.just((PropertyStep("wildName"), Place(None))))
        return options
    for term in place.classes:
        for prop in known.properties(term):
            if place.brackets and not prop.jxa.isascii():
                # Brackets after a collection name an object, not a property.
                continue
            listed = prop.type.startswith("list of")
            there = Place(object_classes(prop.type, known), brackets=listed)
            options.append(st.just((PropertyStep(prop.jxa), there)))
        for element in known.elements(term):
            plural = known.classes[element.term].plural
            if place.brackets and not plural.isascii():
                continue
            options.append(st.just((AllElements(plural), Place((element.term,), True, True))))
    return options


def _properties_of(known: Tables, one: Property) -> Sequence[Property]:
    return known.properties(one.type) if one.type in known.classes else ()


def _tests(known: Tables, classes: tuple[str, ...] | None) -> st.SearchStrategy[Filter]:
    rows = [
        (*path, row)
        for term in classes or ()
        for one in known.properties(term)
        for path, rows in (((), [one]), ((one,), _properties_of(known, one)))
        for row in rows
        if row.type in VALUES
    ]
    tests: list[st.SearchStrategy[Filter]] = [
        st.builds(
            Compare,
            st.just(tuple(PropertyStep(one.jxa) for one in path)),
            st.sampled_from(OPERATORS.get(path[-1].type, ("=", "<", ">"))),
            VALUES[path[-1].type],
        )
        for path in rows
    ]
    tests.append(
        st.builds(Compare, st.just((PropertyStep("class"),)), st.just("="), st.just("zzz"))
    )
    one = st.one_of(tests)
    return st.recursive(
        one,
        lambda inner: st.one_of(
            st.builds(
                Join,
                st.sampled_from(["and", "or"]),
                st.lists(inner, min_size=2, max_size=3).map(tuple),
            ),
            st.builds(Join, st.just("not"), st.lists(inner, min_size=1, max_size=2).map(tuple)),
        ),
        max_leaves=4,
    )
