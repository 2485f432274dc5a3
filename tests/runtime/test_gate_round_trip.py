"""A text that is read and written back is the text that was there, or nothing is written."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from copy import deepcopy

import pytest
from diary_world import WORLD, gate_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_cleaning import ALONE, LANGUAGES, NEEDS, TAGS

from iac_base.errors import InvalidParameterError
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall
from iac_runtime.policy.permissions import Requester
from iac_runtime.serve.call import done_result
from iac_runtime.tools.catalogue import Catalogue

MONDAY = 'journals.byId("j1").entries.byId("e1")'


def letters() -> dict[str, str]:
    """Return the letters and marks of each script, by the first word of their names."""
    found: dict[str, str] = defaultdict(str)
    for char in map(chr, (*range(0xA0, 0x3400), *range(0xA000, 0xABFF), *range(0x10000, 0x12000))):
        script = unicodedata.name(char, "").partition(" ")[0]
        if unicodedata.category(char) in ("Lu", "Ll", "Lo", "Mn", "Mc") and char not in ALONE:
            found[script] += char
    return {
        script: chars
        for script, chars in found.items()
        if len(chars) > 20 and script != "VARIATION"
    }


def emoji() -> Iterator[str]:
    """Yield what Unicode makes of the emoji that it has: with a colour, joined, as a flag."""
    faces = [chr(n) for n in range(0x1F300, 0x1FAFF) if unicodedata.name(chr(n), "")]
    people = [
        face for face in faces if unicodedata.name(face) in ("MAN", "WOMAN", "CHILD", "ADULT")
    ]
    for face in faces:
        yield face
        yield face + "\ufe0f"
    for person in people:
        yield from (f"{person}{chr(tone)}" for tone in range(0x1F3FB, 0x1F400))
        yield from (f"{person}\u200d{face}" for face in faces[::40])
        yield from (f"{person}\u200d\u2764\ufe0f\u200d{other}" for other in people)
        yield from (f"{person}\u200d{sign}\ufe0f" for sign in "\u2640\u2642\u2695\u2696\u2708")
    yield from (f"{key}\ufe0f\u20e3" for key in "0123456789#*")
    for code in ("gbeng", "gbsct", "gbwls", "ustx", "fridf"):
        yield "\U0001f3f4" + "".join(chr(0xE0000 + ord(sign)) for sign in code) + "\U000e007f"


SCRIPTS = letters()
WORDS = st.one_of(
    [st.text(st.sampled_from(chars), min_size=1, max_size=3) for chars in SCRIPTS.values()]
    + [st.sampled_from(list(emoji())), st.sampled_from([*NEEDS.values(), *LANGUAGES.values()])]
)


def keeping(catalogue: Catalogue, body: str) -> Gate:
    world = deepcopy(WORLD)
    gate = gate_of(catalogue, world)
    write(gate, body, raw=True)
    return gate


def read(gate: Gate, **more: bool) -> CompletedCall:
    found = gate.call(Call("diary_get", {"target": f"{MONDAY}.body", **more}))
    assert isinstance(found, CompletedCall)
    return found


def write(gate: Gate, body: str, who: str = "", **more: bool) -> None:
    given = {"target": MONDAY, "properties": {"body": body}, **more}
    assert isinstance(
        gate.call(Call("diary_set", given, Requester(token_client=who))), CompletedCall
    )


def test_there_are_many_scripts_and_emoji() -> None:
    assert len(SCRIPTS) > 90
    assert len(list(emoji())) > 2000


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS, min_size=1, max_size=6).map(" ".join))
def test_a_text_in_any_script_comes_back_as_it_was(catalogue: Catalogue, text: str) -> None:
    text = unicodedata.normalize("NFC", text)
    gate = keeping(catalogue, text)
    first = read(gate)
    assert first.value == text
    assert "left out" not in first.note
    write(gate, first.value)
    assert read(gate, raw=True).value == text


HIDING = {
    "tags": f"Dear Ines,{TAGS}\nsee you on Monday.",
    "override": "Please pay \u202e0001\u202c euros.", "zero-width": "Mee\u200bting at noon",
    "short": "a\u200b", "own sign of the Mac": "Bought at the \uf8ff store",
    "soft line end": "Dear Ines,\u2028see you on Monday.",
    "name": "\u795e\ufa19\u6b63\u4eba\u304b\u3089\u306e\u624b\u7d19",
}  # fmt: skip


@pytest.mark.parametrize("text", HIDING.values(), ids=HIDING)
def test_what_a_reader_did_not_get_is_not_deleted_by_writing_the_rest_back(
    catalogue: Catalogue, text: str
) -> None:
    gate = keeping(catalogue, text)
    first = read(gate)
    assert first.value != text
    assert first.note.endswith(
        "hidden characters are left out of a text; `raw: true` gives it as the app has it"
    )
    with pytest.raises(InvalidParameterError, match="IAC left hidden characters out") as caught:
        write(gate, first.value)
    assert "raw: true" in caught.value.suggestion
    assert read(gate, raw=True).value == text
    # By the way that is named, the text stays; or the caller says that it is to go.
    write(gate, text)
    assert read(gate, raw=True).value == text
    write(gate, first.value, raw=True)
    assert read(gate, raw=True).value == first.value


def test_a_text_that_was_edited_elsewhere_is_known_again(catalogue: Catalogue) -> None:
    gate = keeping(catalogue, "The invoice of\u200b the ninth of March. Yours, Ines")
    edited = read(gate).value.replace("Yours, Ines", "Kind regards, Ines")
    with pytest.raises(InvalidParameterError):
        write(gate, edited)
    # Another text is none of it, and another client did not read it.
    write(gate, "The bill of the ninth of March")
    write(gate, edited, who="another")


def test_an_undo_puts_hidden_characters_back(catalogue: Catalogue) -> None:
    gate = keeping(catalogue, HIDING["tags"])
    write(gate, "Snow")
    assert isinstance(gate.call(Call("undo_call", {})), CompletedCall)
    assert read(gate, raw=True).value == HIDING["tags"]


def test_a_model_reads_needed_characters_and_sees_raw_ones(catalogue: Catalogue) -> None:
    gate = keeping(catalogue, NEEDS["Persian"])
    assert NEEDS["Persian"] in done_result(read(gate))["content"][0]["text"]
    gate = keeping(catalogue, HIDING["zero-width"])
    assert "Mee\\u200bting" in done_result(read(gate, raw=True))["content"][0]["text"]
