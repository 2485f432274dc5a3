"""What a request is about, by how it is said: what is asked for, and what that is in."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from iac_base.words import stem_words
from iac_gen.output import word_lines
from iac_runtime.search.index import Index
from iac_runtime.search.lexicon import known_words
from iac_runtime.search.query import SearchRequest, read_request
from iac_runtime.tools.catalogue import Catalogue

OBJECTS = ("get", "list", "count", "make", "set")

Words = dict[str, Any]


def read(text: str) -> SearchRequest:
    return read_request(text, known_words().__contains__, lambda _: [])


def row(kind: str, name: str, words: str, owned: str = "", *properties: str) -> list[Any]:
    """Return a row as a build writes it."""
    stemmed = [" ".join(stem_words(part)) for part in (words, owned, "", "")]
    element = "" if kind == "command" else name
    return [kind, name, element, *stemmed, [[one, "rw"] for one in properties]]


def a_class(term: str, *properties: str) -> list[Any]:
    return row("held", term, term, " ".join(properties), *properties)


def an_app(key: str, name: str, commands: str, *classes: list[Any], id: str = "x.y") -> Words:
    rows = [row("command", f"{key}_{one}", one) for one in commands.split()]
    objects = {op: f"{key}_{op}" for op in OBJECTS if classes}
    return {"key": key, "name": name, "id": id, "tools": objects, "rows": [*rows, *classes]}


def an_index(*apps: Words) -> Index:
    """Return the index of a folder of these apps."""
    folder = Path(tempfile.mkdtemp())
    names = {
        name: app["key"]
        for app in apps
        for name in (
            *app["tools"].values(),
            *(one[1] for one in app["rows"] if one[0] == "command"),
        )
    }
    catalogue = {
        "format": 1,
        "apps": {one["key"]: {**one, "kind": "application"} for one in apps},
        "tools": {
            name: {"module": key, "function": name.partition("_")[2], "offset": 0}
            | {"level": "SAFE", "ceiling": "SAFE"}
            for name, key in names.items()
        },
    }
    (folder / "catalogue.json").write_text(json.dumps(catalogue))
    (folder / "words.jsonl").write_text("".join(word_lines(apps)))
    return Index(Catalogue([folder]))


DRAWING = an_app(
    "easel",
    "Easel",
    "open close save print quit delete duplicate exists move smudge varnish",
    a_class("document", "name", "current layer"),
    a_class("layer", "name", "opacity"),
    a_class("artboard", "name"),
    a_class("page item", "name"),
)
OTHERS = [
    an_app(f"a{n}", f"Other{n}", "open", a_class("document", "name", "file"), a_class("page"))
    for n in range(30)
]
"""So that a document is as common a word as it is."""

INDEX = an_index(DRAWING, *OTHERS)


def first(query: str, start: str) -> str:
    return next(hit.element for hit in INDEX.find(query) if hit.tool == f"easel_{start}")


@pytest.mark.parametrize(("query", "op", "element"), [
    ("add a layer to the document in easel", "make", "layer"),
    ("how many layers has this easel document", "count", "layer"),
    ("list the layers of my document, easel", "list", "layer"),
    ("how many documents in easel", "count", "document"),
])  # fmt: skip
def test_a_class_is_what_is_asked_for_not_what_that_is_in(
    query: str, op: str, element: str
) -> None:
    assert first(query, op) == element


def test_an_app_means_by_a_word_what_it_calls_so_itself() -> None:
    assert first("how many artboards are there in easel", "count") == "artboard"


def test_how_many_is_counted_first() -> None:
    assert INDEX.find("how many layers in easel")[0].tool == "easel_count"


def test_an_apps_own_commands_come_before_those_of_all_apps() -> None:
    found = [hit.tool for hit in INDEX.find("something quite unheard of in easel", limit=28)]
    assert found.index("easel_smudge") < found.index("easel_varnish") < found.index("easel_open")


def test_depth_is_counted_from_what_is_asked_for() -> None:
    assert [term.depth for term in read("add a layer to the document").terms][-2:] == [0, 1]
    # What leads to the first thing leads away from nothing.
    assert next(term.depth for term in read("in easel colour the layer").terms) == 0


@pytest.mark.parametrize(("said", "meant"), [
    ("open apple.com", "url"), ("fetch https://a.example/b?c=d", "url"),
])  # fmt: skip
def test_what_is_known_by_how_it_is_written(said: str, meant: str) -> None:
    assert meant in {term.stem for term in read(said).terms}


def test_an_address_of_mail_is_no_page() -> None:
    assert "url" not in {term.stem for term in read("invite bob@example.com").terms}


def test_of_two_apps_that_fit_the_one_of_the_system_comes_first() -> None:
    index = an_index(
        an_app("other", "Alien", "varnish"),
        an_app("ours", "Zebra", "varnish", id="com.apple.zebra"),
    )
    assert [hit.tool for hit in index.find("varnish it")] == ["ours_varnish", "other_varnish"]


def test_a_name_that_is_a_verb_is_one_where_a_request_begins() -> None:
    index = an_index(
        an_app("play", "Play", "stop"), an_app("band", "Band", "play", id="com.apple.b")
    )
    assert index.find("play a tune")[0].tool == "band_play"
    assert index.find("stop it in play")[0].tool == "play_stop"
