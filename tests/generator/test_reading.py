"""What reading makes of odd spellings: types as one string, names by many roads, merged rows."""

import pytest
from golden import standard
from hypothesis import given
from hypothesis import strategies as st
from making import module, read, sdef, source

from iac_gen.ir import Module
from iac_gen.model import Include, TypeRef
from iac_gen.resolve import STANDARD, find_include, path_of_url, resolve_dictionary, select_included
from iac_gen.types import AppTypes, item_terms
from iac_gen.verify_output import verify_schema

ZOO = """
<class name="animal" code="anml" id="an.imal">
  <synonym name="beast"/><synonym code="bst "/><synonym name="brute" code="brut"/>
</class>
<class name="rich text" code="ctxt"><type type="text"/></class>
<enumeration name="hunger" code="hngr">
  <synonym name="appetite"/>
  <enumerator name="low" code="loww"/>
</enumeration>
<enumeration name="empty" code="empt"/>
<record-type name="meal" code="meal" id="me.al">
  <property name="size" code="size" type="integer"/>
</record-type>
<value-type name="shade" code="cRGB"><synonym name="tint"/></value-type>
"""


def types(items: str = ZOO) -> AppTypes:
    return AppTypes(resolve_dictionary(source(read(sdef(items))), standard())[0], {})


def one(name: str, **facts: bool) -> list[TypeRef]:
    return [TypeRef(name, **facts)]


def built(items: str) -> tuple[Module, list[str]]:
    return module(source(read(sdef(items))))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("animal", "animal"),
        ("an.imal", "animal"),
        ("beast", "animal"),
        ("bst ", "animal"),
        ("brut", "animal"),
        ("anml", "animal"),
        ("Animal", "animal"),
        ("hngr", "hunger"),
        ("appetite", "hunger"),
        ("me.al", "meal"),
        ("meal", "meal"),
        ("tint", "color"),
        ("rich text", "rich text | text"),
        ("Unicode text", "text"),
        ("list", "list of any"),
        ("list of beast", "list of animal"),
        ("animal | text", "animal | text"),
        ("list of text | list of animal", "list of text | list of animal"),
        ("ldt ", "date"),
        ("empty", "any"),
        ("nonsense", "any"),
    ],
)
def test_a_type_is_found_by_every_name_that_the_dictionary_gives_it(name: str, kind: str) -> None:
    found = types()
    assert found.type_string(one(name)) == kind
    assert found.unknown == ({name} if name == "nonsense" else set())


def test_a_list_of_a_union_may_mix() -> None:
    found = types()
    mixed = [TypeRef("", True, items=(TypeRef("text"), TypeRef("number")))]
    kind = found.type_string(mixed)
    assert kind == "list of text|number"
    assert found.json_schema(kind) == {
        "type": "array",
        "items": {"anyOf": [{"type": "string"}, {"type": "number"}]},
    }
    assert found.parameter_annotation(kind) == "ListOf[str | float]"
    assert found.bare_terms(kind) == ["text", "number"]
    assert item_terms("list of list of text") == ["text"]


@pytest.mark.parametrize(
    ("items", "kind"),
    [
        ((TypeRef("text"),), "list of text"),
        ((TypeRef("text"), TypeRef("nonsense")), "list of any"),
        ((TypeRef("text", True), TypeRef("number")), "list of any"),
        ((TypeRef("text", True),), "list of list of text"),
        ((TypeRef("text", hidden=True), TypeRef("number")), "list of number"),
        ((TypeRef("hunger"), TypeRef("animal")), "list of hunger|animal"),
    ],
)
def test_nested_lists(items: tuple[TypeRef, ...], kind: str) -> None:
    found = types()
    assert found.type_string([TypeRef("", True, items=items)]) == kind
    assert found.type_string([TypeRef("", False, items=items)]) != ""
    assert found.type_string([TypeRef("x", True), TypeRef("text", hidden=True)]) == "list of any"


def test_values_of_classes_that_name_each_other_end() -> None:
    items = (
        '<class name="a" code="aaaa"><type><type type="b"/><type type="text"/></type></class>'
        '<class name="b" code="bbbb"><type><type type="a"/><type type="b"/></type></class>'
    )
    assert types(items).type_string(one("a")) == "a | b | text"


_NAMES = st.sampled_from(["text", "animal", "hunger", "meal", "any", "a | b", "list of text", "?"])
_REFS = st.recursive(
    st.builds(TypeRef, _NAMES, st.booleans(), st.booleans()),
    lambda inner: st.builds(
        TypeRef, st.just(""), st.booleans(), st.booleans(), st.lists(inner, min_size=1).map(tuple)
    ),
    max_leaves=6,
)


@given(st.lists(_REFS, max_size=4))
def test_every_type_has_a_string_that_reads_back(refs: list[TypeRef]) -> None:
    found = types()
    kind = found.type_string(refs)
    for part in kind.split(" | "):
        for term in item_terms(part):
            assert term in ("any", "text", "animal", "hunger", "meal")
    schema = found.json_schema(kind)
    root = {"type": "object", "properties": {"x": schema}, "additionalProperties": False}
    assert verify_schema(root) == []
    assert found.parameter_annotation(kind)


def test_records_are_closed_but_where_nothing_is_known() -> None:
    chain = "".join(
        f'<record-type name="r{n}" code="rec{n}">'
        f'<property name="next" code="next" type="r{n + 1}"/>'
        '<property name="Next" code="nxt2" type="text"/></record-type>'
        for n in range(5)
    )
    schema = types(chain + '<record-type name="r5" code="rec5"/>').json_schema("r0")
    depth = 0
    while "properties" in schema:
        assert schema["additionalProperties"] is False
        assert schema["properties"].keys() == {"next"}
        schema, depth = schema["properties"]["next"], depth + 1
    assert (schema, depth) == ({"type": "object"}, 3)


@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_a_cycle_of_any_length_ends(length: int) -> None:
    items = "".join(
        f'<class name="c{n}" code="cls{n}" inherits="c{(n + 1) % length}">'
        f'<property name="p{n}" code="prp{n}" type="text"/></class>'
        for n in range(length)
    )
    made, told = built(items)
    for name in made.classes:
        seen: list[str] = []
        term: str | None = name
        while term is not None:
            assert term not in seen
            seen.append(term)
            term = made.classes[term].inherits
    assert sum("[cycle]" in line for line in told) == (length > 1)
    assert {f"c{n}" for n in range(length)} <= made.classes.keys()


def test_an_application_under_another_name_is_the_base_of_ours() -> None:
    made, told = built(
        '<class name="Program" code="capp"><property name="name" code="pnam" type="text"/></class>'
    )
    assert made.classes["application"].inherits == "Program"
    assert any("IAC made one that inherits from Program" in line for line in told)


def test_merged_rows_keep_what_each_says() -> None:
    made, told = built(
        '<class name="pen" code="penn"><property name="ink" code="inkk" type="text" access="r"/>'
        '<element type="nib" access="r"/><element type="nib"/></class>'
        '<class name="nib" code="nibb"/>'
        '<class-extension extends="pen"><property name="ink" code="ink2" type="integer"/>'
        "</class-extension>"
        '<enumeration name="tip" code="tipp"><enumerator name="fine" code="fine"/></enumeration>'
        '<enumeration name="tip" code="tip2"><enumerator name="fine" code="fin2"/>'
        '<enumerator name="broad" code="brod"/></enumeration>'
        '<command name="write" code="penswrit"><direct-parameter type="tip2"/>'
        '<direct-parameter type="text"/></command>'
    )
    (ink,) = made.classes["pen"].properties
    assert (ink.code, ink.type, ink.access) == ("inkk", "text | integer", "rw")
    assert made.classes["pen"].elements == (("nib", "rw"),)
    assert made.enums["tip"] == (("fine", "fine"), ("broad", "brod"))
    (write,) = (tool for tool in made.tools if tool.event == "penswrit")
    assert write.parameters[0].row.type == "tip | text"
    assert [line for line in told if "warning" in line] == [
        "app.sdef:3: warning: property ink of pen is declared again with the code 'ink2';"
        " 'inkk' is kept and the types are merged [repeated]",
        "app.sdef:3: warning: enumerator fine of tip is declared again with the code 'fin2';"
        " 'fine' is kept [repeated]",
    ]


def test_a_hidden_form_of_a_command_adds_nothing_whichever_comes_first() -> None:
    shown = '<command name="ring" code="bellring"><parameter name="a" code="aaaa" type="text"/>'
    hidden = '<command name="ring" code="bellring" hidden="yes"><direct-parameter type="text"/>'
    for items in (f"{shown}</command>{hidden}</command>", f"{hidden}</command>{shown}</command>"):
        made, _ = built(items)
        (ring,) = made.tools
        assert [p.key for p in ring.parameters] == ["a"]
        assert ring.parameters[0].required


@pytest.mark.parametrize(
    ("href", "path"),
    [
        (f"file://{STANDARD}", STANDARD),
        (f"file://localhost{STANDARD}", STANDARD),
        (f"FILE://LOCALHOST{STANDARD}", STANDARD),
        (f"file:{STANDARD}", STANDARD),
        (STANDARD, STANDARD),
        ("file:///My%20Suites/a.sdef", "/My Suites/a.sdef"),
    ],
)
def test_a_file_url_has_many_spellings(href: str, path: str) -> None:
    assert path_of_url(href) == path


def test_the_standard_suites_step_in_for_their_name_elsewhere() -> None:
    include = Include("file:///Developer/CocoaStandard.sdef")
    path, found, told = find_include(include, standard())
    assert (path, found) == (STANDARD, standard()[STANDARD])
    assert told == f"/Developer/CocoaStandard.sdef was not found; {STANDARD} is used instead"
    assert find_include(include, {})[1] is None
    assert find_include(Include(""), standard())[2].startswith("an include without href")


def test_what_is_taken_in_is_told_at_the_line_of_the_include() -> None:
    path = "/suites.sdef"
    content = sdef(
        '\n\n\n<class name="a" code="aaaa"><property name="p" code="pppp" type="text"/>'
        '<property name="p" code="pppp" type="text"/></class>'
    )
    include = f'<xi:include href="file://{path}"/>'
    whole = sdef("").replace(
        b"<dictionary>",
        f'<dictionary xmlns:xi="http://www.w3.org/2001/XInclude">{include}'.encode(),
    )
    _, found = resolve_dictionary(source(read(whole)), {path: read(content, path)})
    assert [(one.file, one.line) for one in found if one.code == "repeated"] == [("app.sdef", 2)]


@pytest.mark.parametrize(
    "xpointer",
    [
        "xpointer(//*[.//*[.//*[.//*]]])",
        f"xpointer({'/' * 2000})",
        "element(/1)",
        "xpointer(count(/dictionary))",
        "xpointer(/dictionary/suite[)",
        "xpointer($x)",
        "xpointer(\x00)",
        "xpointer(/dictionary)",
        "xpointer(/dictionary/suite/node())",
        "xpointer(/dictionary/suite/class[@name='window'])",
        "xpointer(/dictionary/suite/node()[not(self::command and @name = 'a')][1])",
        "xpointer(/dictionary/suite/node()[not(self::command and @code = 'a')])",
        "xpointer(/dictionary/suite/node()[not(self::class and @name = 'a')])",
        f"xpointer(/dictionary/suite/node()[not(self::command and @name = '{'a' * 1000}')])",
    ],
)
def test_an_xpointer_that_no_dictionary_needs_is_refused(xpointer: str) -> None:
    with pytest.raises(ValueError, match="xpointer"):
        select_included(read(sdef()), Include("", xpointer))
