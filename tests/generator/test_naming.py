"""Names: the JavaScript rule as working scripts show it, Python names, tool names."""

import keyword
import re

import pytest
from dictionaries import ANY_TEXT
from hypothesis import given
from hypothesis import strategies as st

from iac_gen.model import SdefClass
from iac_gen.naming import (
    FUNCTION_RESERVED,
    MAX_TOOL_NAME,
    app_key,
    class_plural,
    clipped_name,
    distinct_names,
    function_name,
    has_verified_name,
    javascript_name,
    literal_alias,
    parameter_key,
    snake_case,
    unique_name,
)
from iac_gen.object_tools import OBJECT_EVENTS
from iac_gen.text import identifier

SEEN_IN_SCRIPTS = {
    "URL": "url",
    "POSIX path": "posixPath",
    "UI elements": "uiElements",
    "AirPlay device": "airplayDevice",
    "AirPlay devices": "airplayDevices",
    "PDF Windows": "pdfWindows",
    "unix id": "unixId",
    "persistent ID": "persistentID",
    "audio CD playlists": "audioCDPlaylists",
    "do JavaScript": "doJavaScript",
    "HTML content": "htmlContent",
    "to dos": "toDos",
    "set eof": "setEof",
    "do shell script": "doShellScript",
    "set the clipboard to": "setTheClipboardTo",
    "getvariable": "getvariable",
    "doscript": "doscript",
    "in": "in",
    "from": "from",
    "for": "for",
    "as": "as",
    "new": "new",
    "with properties": "withProperties",
    "button returned": "buttonReturned",
}
# What the rule gives and nobody was seen to use; only a Mac can confirm these.
FOLLOWS = {
    "MIME type": "mimeType",
    "XML elements": "xmlElements",
    "EQ enabled": "eqEnabled",
    "iCloud account": "icloudAccount",
    "GetURL": "geturl",
    "openVirtualLocation": "openvirtuallocation",
    "PackBits": "packbits",
    "": "",
    "  two  blanks ": "twoBlanks",
}


@pytest.mark.parametrize(("term", "name"), [*SEEN_IN_SCRIPTS.items(), *FOLLOWS.items()])
def test_the_javascript_name_of_a_term(term: str, name: str) -> None:
    assert javascript_name(term) == name


@pytest.mark.parametrize(
    ("name", "declared", "collection"),
    [
        ("person", "people", "people"),
        ("process", "processes", "processes"),
        ("settings set", "", "settingsSets"),
        ("property list item", "", "propertyListItems"),
        ("outgoing message", "", "outgoingMessages"),
        ("inbox task", "", "inboxTasks"),
        ("UI element", "", "uiElements"),
    ],
)
def test_the_collection_of_a_class(name: str, declared: str, collection: str) -> None:
    row = SdefClass(name, "clas", plural=declared)
    assert javascript_name(class_plural(row.name, row.plural)) == collection


@pytest.mark.parametrize(
    ("term", "name"),
    [
        ("GetURL", "get_url"),
        ("do JavaScript", "do_javascript"),
        ("do shell script", "do_shell_script"),
        ("openVirtualLocation", "open_virtual_location"),
        ("executeAATFile", "execute_aat_file"),
        ("path to", "path_to"),
        ("_load module_", "load_module"),
        ("open VIDEO_TS", "open_video_ts"),
        ("import", "import_"),
        ("break", "break_"),
        ("tool", "tool_"),
        ("str", "str_"),
        ("list", "list"),
        ("open", "open"),
        ("match", "match"),
        ("360p", "n360p"),
        ("2 up", "n2_up"),
        ("black & white", "black_and_white"),
        ("read/write", "read_write"),
        ("ICN#", "icn"),
        ("Straße", "strasse"),
        ("café crème", "cafe_creme"),
        ("ƒnet", "fnet"),
    ],
)
def test_the_python_name_of_a_command(term: str, name: str) -> None:
    assert function_name(term, "diarrere") == name


def test_a_command_whose_name_leaves_nothing_is_called_by_its_code() -> None:
    assert function_name("漢字", "diarrere") == "event_6469617272657265"


@pytest.mark.parametrize(
    ("term", "key"),
    [
        ("in", "in_"),
        ("as", "as_"),
        ("from", "from_"),
        ("with properties", "with_properties"),
        ("True", "true"),
        ("using delimiter(s)", "using_delimiter_s"),
        ("§", "code_a46c7374"),
    ],
)
def test_the_key_of_a_parameter(term: str, key: str) -> None:
    assert parameter_key(term, "§lst") == key


@pytest.mark.parametrize(
    ("name", "bundle", "key"),
    [
        ("Google Chrome", "com.google.Chrome", "google_chrome"),
        ("TextEdit", "com.apple.TextEdit", "textedit"),
        ("Straße", "de.example.x", "strasse"),
        ("1Password", "com.example.x", "n1password"),
        ("微信", "com.tencent.xinWeChat", "xinwechat"),
        ("微信", "", "app"),
        ("Import", "", "import_"),
        ("A Name That Goes On And On", "", "a_name_that_goes_on"),
    ],
)
def test_the_key_of_an_app(name: str, bundle: str, key: str) -> None:
    assert app_key(name, bundle) == key


@pytest.mark.parametrize(
    ("term", "name"),
    [
        ("save options", "SaveOptions"),
        ("360p sizes", "N360pSizes"),
        ("ref", "Ref_"),
        ("class name", "ClassName_"),
        ("true", "True_"),
        ("漢", "Values"),
    ],
)
def test_the_alias_of_an_enumeration(term: str, name: str) -> None:
    assert literal_alias(term) == name


def test_a_taken_name_gets_the_first_free_number() -> None:
    assert unique_name("open", []) == "open"
    assert unique_name("open", ["open", "open_2"]) == "open_3"
    assert unique_name("in_", ["in_"]) == "in_2"


def test_a_long_tool_name_is_shortened_by_meaning_and_never_by_a_hash() -> None:
    full = "diary_export_the_selected_entries_as_one_document"
    assert distinct_names([full]) == ["diary_export_selected_entries_one_doc"]
    alike = [f"diary_concatenate_{way}_transformation_matrix" for way in ("scale", "turn")]
    assert distinct_names(alike) == [
        "diary_concatenate_scale_matrix", "diary_concatenate_turn_matrix",
    ]  # fmt: skip


@given(ANY_TEXT, st.text("abc \u00b6\u00df", min_size=8, max_size=8))
def test_names_are_identifiers_whatever_the_term(term: str, code: str) -> None:
    for name in (function_name(term, code), parameter_key(term, code[:4]), literal_alias(term)):
        assert name.isidentifier()
        assert not keyword.iskeyword(name)
        identifier(name)
    assert function_name(term, code) not in FUNCTION_RESERVED
    assert function_name(term, code) == function_name(term, code)
    assert re.fullmatch(r"([a-z][a-z0-9_]*)?", snake_case(term))
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,20}", app_key(term, f"com.example.{term}"))


@given(st.lists(st.text("aA b_", min_size=1, max_size=90), max_size=8))
def test_names_made_unique_stay_unique_and_identifiers(terms: list[str]) -> None:
    taken: list[str] = []
    for term in terms:
        taken.append(unique_name(function_name(term, "diarrere"), taken))
        identifier(taken[-1])
    assert len(set(taken)) == len(terms)


@given(st.from_regex(r"[a-z][a-z0-9_]{0,18}[a-z0-9]", fullmatch=True), ANY_TEXT | st.text("ab_ "))
def test_tool_names_are_short_and_plain(key: str, term: str) -> None:
    (name,) = distinct_names([f"{key}_{function_name(term, 'diarrere').rstrip('_')}"])
    assert re.fullmatch(rf"[a-z][a-z0-9_]{{0,{MAX_TOOL_NAME - 1}}}", name)
    assert name.startswith(f"{key}_")


def test_object_tools_have_the_names_of_their_verbs() -> None:
    assert {function_name(verb, code) for code, verb in OBJECT_EVENTS.items()} == set(
        OBJECT_EVENTS.values()
    )


@pytest.mark.parametrize("term", [*SEEN_IN_SCRIPTS])
def test_a_name_seen_in_scripts_is_verified(term: str) -> None:
    assert has_verified_name(term)


@pytest.mark.parametrize(
    "term",
    [
        "GetURL",
        "openVirtualLocation",
        "PackBits",
        "iCloud account",
        "computer-object",
        "open VIDEO_TS",
        "Name & Extension panel",
        "read/write",
        "Mac OS Simp. Chinese",
        "360p",
        "café",
        "¶",
        "",
    ],
)
def test_a_name_without_evidence_is_not(term: str) -> None:
    assert not has_verified_name(term)


TOOL_NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,38}[a-z0-9]", fullmatch=True)
LIKE = st.lists(
    st.tuples(st.sampled_from(["a", "system", "system_events"]), st.integers(30, 44)), max_size=12
).map(lambda rows: [f"{key}_{'x' * size}" for key, size in rows])


@given(st.lists(TOOL_NAMES, max_size=12) | LIKE, st.lists(TOOL_NAMES, max_size=6, unique=True))
def test_names_are_told_apart_however_a_client_cuts_them(
    names: list[str], others: list[str]
) -> None:
    taken = distinct_names(others)
    found = distinct_names(names, taken)
    every = [*taken, *found]
    assert all(re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name) for name in every)
    for server in ("", "iac", "s" * 17):
        full = [f"mcp__{server}__{name}" if server else name for name in every]
        assert max(map(len, full), default=0) <= 64
        cut = [name if len(name) <= 60 else name[:30] + name[-30:] for name in full]
        assert len(set(cut)) == len(every)
    assert len({clipped_name(name) for name in every}) == len(every)
    assert distinct_names(names, taken) == found
    assert distinct_names(found, taken) == found


def test_a_name_that_is_fine_stays_and_the_first_of_equals_does() -> None:
    assert distinct_names(["mail_send", "mail_send", "mail_send_2"]) == [
        "mail_send",
        "mail_send_3",
        "mail_send_2",
    ]
    assert distinct_names(["system_events_run"], {"system_events_run"}) == ["system_events_run_2"]
    middle = "abcdef{}" + "x" * 32
    one, other = distinct_names([middle.format("12"), middle.format("34")])
    assert one == middle.format("12")
    assert (other[-2:], len(other)) == ("_2", 40)
    assert distinct_names([]) == []


@given(st.lists(st.text("abc_", min_size=1, max_size=90), max_size=6))
def test_long_names_are_cut_the_same_way_every_time(parts: list[str]) -> None:
    names = [f"key_{part}z" for part in parts]
    found = distinct_names(names)
    assert len(set(found)) == len(names)
    assert all(len(name) <= MAX_TOOL_NAME for name in found)
    for name, given_name in zip(found, names, strict=True):
        if len(given_name) <= MAX_TOOL_NAME and names.count(given_name) == 1:
            assert name == given_name or clipped_name(given_name) != given_name
