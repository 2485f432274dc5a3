"""What a call does in a person's words: the deed, the thing, where to, and with what.

A sentence is a phrase of `deeds.json` with its places filled: of the event and its app, of the
property that is set, or of the verb. Of several phrases the first holds of which every place is
known, so that no sentence is put together from what is not. A command that no phrase knows is named
in quotes. An object is called what it was found to be; where nobody looked, it is its specifier.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from iac_base.errors import quote_text
from iac_base.text import escape_and_cut, escape_hidden
from iac_runtime.language.steps import Boundary, Event, PathValue, RefValue, Step
from iac_runtime.language.text import format_reference
from iac_runtime.policy.facts import OWN_APP, CallFacts, Effect, Verb
from iac_runtime.policy.requests import lowercase_words

VALUE_LIMIT: Final = 300
"""Characters of one value."""

UNSEEN: Final = ("could not be ", "was not ", "not described ")
"""How what is said begins where nothing was seen (`gate.targets`)."""

_NAMES: Final = ("name", "title", "subject", "summary", "displayed name")
"""Properties that a new object is called by."""

_PLACES: Final = ("at", "to")
_PLACE: Final = re.compile(r"\{(\w+)\}")
_OBJECT: Final = "\0"
_THEM: Final = "\1"
_SPELLED: Final = {"url": "URL", "id": "ID", "uid": "UID"}


@cache
def _phrases() -> dict[str, Any]:
    phrases: dict[str, Any] = json.loads(Path(__file__).with_name("deeds.json").read_bytes())
    return phrases


def describe_deeds(facts: CallFacts) -> list[str]:
    """Return what a call does, a phrase for each of its effects that is known."""
    deeds = []
    if "{deeds}" in (facts.deed or "{deeds}"):
        deeds = [said for said, _ in _describe_effects(facts)]
    told = escape_hidden(facts.deed).replace("{deeds}", " and ".join(deeds)) if facts.deed else ""
    return [told] if told else deeds


def _describe_effects(facts: CallFacts, it: str | None = None) -> dict[tuple[str, str], None]:
    """Return what a call does, each deed once, with the class of its object; `it` stands for that.

    Effects of one event on one object are one deed with what comes of it.
    """
    known = [effect for effect in facts.effects if not effect.target_unknown]
    changing = [effect for effect in known if not effect.is_read_only]
    if facts.event is None and changing:
        # What a script also reads says nothing beside what it changes.
        known = changing
    deeds: dict[tuple[str, ...], list[Effect]] = {}
    for effect in known:
        alone = "" if effect.event else f"{effect.verb} {effect.kind}"
        deeds.setdefault((effect.event, effect.reference, effect.app, alone), []).append(effect)
    mac = _phrases()["mac"]
    elsewhere = {key[:2] for key in deeds if key[2] not in mac and facts.event is not None}
    # What System Events does in another app is a deed there.
    return {
        (
            _describe_effect(rows[0], facts, it, dict.fromkeys(row.verb for row in rows)),
            rows[0].kind,
        ): None
        for key, rows in deeds.items()
        if key[2] not in mac or key[:2] not in elsewhere
    }


def _describe_effect(
    effect: Effect, facts: CallFacts, it: str | None, verbs: Iterable[Verb]
) -> str:
    """Return what one effect of a call does, and by the other `verbs` what comes of it."""
    event = facts.event
    name = _given_name(facts) if effect.verb == "create" and event is not None else ""
    if effect.given is None and event is not None and event.op == "set":
        # What an approval cannot hold is told all the same.
        effect = effect._replace(given=tuple((lowercase_words(one), "") for one, _ in event.named))
    if it is None:
        it = _describe_object(effect, facts, name)
    at = describe_destination(facts)
    app = "" if effect.app == OWN_APP else effect.name or effect.app
    pages = " and ".join(effect.page_hosts)
    many = it[:1].isdigit() or count_other_objects(facts) > 0
    places = {"it": it, "at": at, "name": name, "app": app, "pages": pages, "page": "a page"}
    places["them"] = _THEM if it == _OBJECT else "them" if many else "it"
    said = _fill_phrase(effect, places, runs="run" in verbs)
    usual = _phrases()["usual"].get(effect.event, effect.verb)
    known = _phrases()["consequences"]
    comes = [known[verb] for verb in verbs if verb in known and verb != usual]
    return escape_hidden(", which ".join((said, *comes[:1])))


def _fill_phrase(effect: Effect, places: Mapping[str, str], *, runs: bool = False) -> str:
    """Return the first phrase that fits an effect and of which every place is known, filled."""
    fitting = (*_phrases_for(effect, runs=runs), "do what IAC cannot tell")
    phrase = next(one for one in fitting if all(map(places.get, _PLACE.findall(one))))
    said = _PLACE.sub(lambda place: places[place[1]], phrase)
    if "{app}" in phrase or "this Mac" in phrase or not places["app"]:
        return said
    mac = effect.app in _phrases()["mac"]
    return f"{said} on this Mac" if mac else f"{said} in {places['app']}"


def _phrases_for(effect: Effect, *, runs: bool) -> Iterator[str]:
    """Yield the phrases that fit an effect, the closest first."""
    code, command = effect.event[:8], effect.event[9:]
    events = _phrases()["events"]
    for key in (f"{code} {effect.app} {effect.kind}", f"{code} {effect.app}"):
        yield from events.get(key, ())
    if not runs:
        yield from ("open {page} of {pages} in {it}", "open {page} of {pages}")
    yield from events.get(code, ())
    if code == "coresetd" or (effect.verb == "change" and not command and effect.given):
        yield from _property_phrases(effect)
    if command:
        plain = " " not in command and effect.verb != "unknown"
        yield f"{command} {{it}}" if plain else f'use the command "{command}" on {{it}}'
        yield f'use the command "{command}"'
    yield from _phrases()["verbs"][effect.verb]


def _property_phrases(effect: Effect) -> Iterator[str]:
    """Yield what is done by setting properties: `mark {it} as read`, `change the date of {it}`."""
    rows = dict.fromkeys((name, value) for name, value in effect.given or () if name)
    clauses: list[str] = []
    others: list[str] = []
    for name, value in rows:
        term = _SPELLED.get(name, name)
        row: dict[str, str] = _phrases()["properties"].get(name, {})
        if phrase := row.get(value, row.get("", "")):
            clauses.append(phrase)
        elif value in ("true", "false"):
            clauses.append(f'turn {"on" if value == "true" else "off"} "{term}" for {{it}}')
        elif name not in ("in", *_PLACES):
            others.append(f"the {term}")
    if others:
        clauses.append(f"change {_join_words(others)} of {{it}}")
    if clauses:
        first, *more = clauses
        said = [first, *(clause.replace("{it}", "{them}") for clause in more)]
        yield _join_words(said)
        # Of the app as a whole.
        yield _join_words([re.sub(r" (for|of) \{\w+\}", "", clause) for clause in said])


def _join_words(words: Sequence[str]) -> str:
    """Return words as English lists them: `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _given_name(facts: CallFacts) -> str:
    """Return what a new object is called, in quotes; empty where it has no name yet."""
    properties = facts.arguments.get("properties")
    given = properties if isinstance(properties, Mapping) else facts.arguments
    values = (given.get(name) for name in _NAMES)
    return next((quote_text(one, 80) for one in values if isinstance(one, str) and one), "")


def _describe_object(effect: Effect, facts: CallFacts, name: str) -> str:
    """Return what an effect is about, by what was seen of it, by its name, or by its class."""
    it, more = _seen_name(dict(facts.shown).get(effect.reference, "")), count_other_objects(facts)
    if effect.verb == "create" and effect.event.startswith("corecrel"):
        kind = f"{'new ' if effect.page_hosts else ''}{effect.kind}"
        article = "an" if _VOWEL.match(kind) else "a"
        return f"{article} {kind}{f' called {name}' if name else ''}"
    if it:
        pass
    elif effect.reference:
        it = effect.reference if more else f"the {effect.kind} {effect.reference}"
        it = it.replace("the  ", "")
    elif facts.event is not None and (paths := _direct_paths(facts.event)):
        it, more = f"the file {quote_text(paths[0], 200)}", len(paths) - 1
    elif effect.kind and effect.app != OWN_APP:
        # A script: how many there are is not known.
        it = f"the {effect.kind}" if facts.event is not None else plural_of(effect.kind)
    return f"{it} and {more} more" if it and 0 < more < float("inf") else it


_VOWEL: Final = re.compile(r"[aeio]|u[lmnp](?!i)", re.IGNORECASE)
"""Beginnings that take `an`: an item and an upload, but a user, a URL and a unit."""


def plural_of(kind: str) -> str:
    """Return the plural of the name of a class, as English makes it."""
    if re.search(r"[^aeiou]y\Z", kind):
        return f"{kind[:-1]}ies"
    return f"{kind}es" if re.search(r"(s|x|ch|sh)\Z", kind) else f"{kind}s"


def _direct_paths(event: Event) -> list[str]:
    direct = event.direct if isinstance(event.direct, tuple) else (event.direct,)
    return [value.path for value in direct if isinstance(value, PathValue)]


def holder_steps(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return what holds a place to insert at, or the object beside it; else `steps`."""
    if not steps or not isinstance(steps[-1], Boundary):
        return steps
    return steps[:-1] if steps[-1].place in ("before", "after") else steps[:-2]


def describe_destination(facts: CallFacts) -> str:
    """Return where something is put, by what was seen there; empty where that is not known."""
    found, named = dict(facts.shown), facts.event.named if facts.event else ()
    places = (holder_steps(value.steps) for _, value in named if isinstance(value, RefValue))
    names = (_seen_name(found.get(format_reference(steps), "")) for steps in places)
    return next(filter(None, names), "")


def _seen_name(says: str) -> str:
    """Return an object by what was seen of it: `the message "Lunch"`; empty where nothing was."""
    heading = "" if says.startswith(UNSEEN) else object_heading(says)
    return f"the {heading}" if heading and not heading[0].isdigit() else heading


def count_other_objects(facts: CallFacts) -> float:
    """Return how many objects there are beside the first, infinity for what a filter finds."""
    event = facts.event
    if event is None:
        return 0
    direct = event.direct if isinstance(event.direct, tuple) else ()
    known = max(len(event.parts), len(direct)) - 1
    return known if known > 0 else float("inf") if facts.object_count == float("inf") else 0


def object_heading(says: str) -> str:
    """Return what an object is called: `message "Lunch, on Thursday?"`."""
    found = re.match(r'[^",]*(?:"[^"]*")?', says)
    return found.group().strip() if found else says


def summarize_calls(parts: Sequence[CallFacts]) -> str:
    """Return what several calls do, each deed once: `mark 3 messages as read in Mail`."""
    return ", ".join(
        _say_count(*row, count) for row, count in Counter(_countable_deeds(parts)).items()
    )


def _countable_deeds(parts: Iterable[CallFacts]) -> Iterator[tuple[str, str]]:
    """Yield each deed with a mark in place of its object, and the class of that."""
    for part in parts:
        yield from _describe_effects(part, _OBJECT) if not part.deed else [(part.deed, "")]


def _say_count(deed: str, kind: str, count: int) -> str:
    marks = escape_hidden(_OBJECT)
    deed = deed.replace(escape_hidden(_THEM), "it" if count == 1 else "them")
    if marks not in deed:
        return deed if count == 1 else f"{deed} ({count} times)"
    one = f"{'an' if _VOWEL.match(kind) else 'a'} {kind}" if kind else "an object"
    return deed.replace(marks, one if count == 1 else f"{count} {plural_of(kind or 'object')}")


def describe_each_call(parts: Sequence[CallFacts]) -> Iterator[str]:
    """Yield a row for each of several calls: what it does, to what, and with what.

    What all do alike stands above them (`summarize_calls`).
    """
    alike = len(parts) > 1 and len(set(_countable_deeds(parts))) == 1
    for at, part in enumerate(parts, 1):
        seen = [says for _, says in part.shown[:1] if not says.startswith(UNSEEN)]
        deeds = "; ".join(describe_deeds(part))
        said = "".join(seen)
        if not (alike and seen):
            # What it is called is said already.
            more = "; ".join(one.removeprefix(object_heading(one)).lstrip(", ") for one in seen)
            said = f"{deeds} ({more})" if more else deeds
        given = describe_arguments(part, deeds).rstrip(".")
        yield f"  {at}. " + ". ".join(filter(None, (said, given)))


def target_lines(facts: CallFacts, said: str) -> Iterator[str]:
    """Yield what was seen of each object, if more than is `said`; else where it should be."""
    place = describe_destination(facts)
    files = any(flow.kind == "file" for effect in facts.effects for flow in effect.flow)
    for reference, says in facts.shown:
        if files and place and place == _seen_name(says):
            # Where the file will lie is said by itself.
            continue
        if facts.event is None or says.startswith(UNSEEN):
            yield f"  {reference}: {says}"
        elif says != object_heading(says) or says not in said:
            yield f"  {says}"


def describe_arguments(facts: CallFacts, said: str, most: int = VALUE_LIMIT) -> str:
    """Return the arguments that are not `said` yet, properties by themselves.

    Of a script its worst lines are shown, not its head.
    """
    event, found = facts.event, dict(facts.shown)
    things = [effect.reference for effect in facts.effects]
    sets = event is not None and event.op == "set"
    given: list[tuple[str, Any]] = []
    long = most // 4 if event is None and found else sys.maxsize
    told = "{deeds}" not in (facts.deed or "{deeds}")
    for name, value in facts.arguments.items():
        if name == "properties" and isinstance(value, Mapping):
            given += value.items()
        elif told or value in things or len(str(value)) > long or _is_shown(value, found):
            continue
        elif event is None or name not in ("element", "target"):
            given.append((name, value))
        elif name == "target" and isinstance(event.direct, str | int | float):
            given.append(("", value))
    rows = [
        _say_argument(name, value, facts, most)
        for name, value in given
        if not _is_said(name, value, facts, said)
    ]
    return f"{'It sets' if sets else 'With'} {'; '.join(rows)}." if rows else ""


def _is_shown(value: Any, found: Mapping[str, str]) -> bool:
    """Say whether a line of a script is all of it."""
    return isinstance(value, str) and value.strip() in found.values()


def _is_said(name: str, value: Any, facts: CallFacts, said: str) -> bool:
    """Say whether the deed has a value already: a name, a place, `as read`, the app."""
    words = lowercase_words(name)
    if facts.event is not None and facts.event.op == "set":
        return str(value).lower() in _phrases()["properties"].get(words, {})
    if words in (*_PLACES, "in"):
        place = describe_destination(facts) or str(value)
        return place in said
    return (words in _NAMES or words == "app") and (
        quote_text(str(value), 80) in said or str(value) in said
    )


def _say_argument(name: str, value: Any, facts: CallFacts, most: int) -> str:
    words = escape_hidden(name.replace("_", " ").strip())
    said = _argument_text(value, dict(facts.shown), most)
    if facts.event is None or facts.event.op != "set":
        return f"{words}: {said}" if words else said
    was = {lowercase_words(label): text for label, text in facts.before}.get(lowercase_words(name))
    return f"{words} to {said}" + ("" if was is None else f" (was {was or 'nothing'})")


def _argument_text(value: Any, found: Mapping[str, str], most: int) -> str:
    """Return an argument: the object that it names, where that was seen, else as it is."""
    if isinstance(value, str) and (seen := _seen_name(found.get(value, ""))):
        return escape_hidden(seen)
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "yes", False: "no"}[value]
    return escaped_json(value, most)


def describe_covered(effect: Effect) -> str:
    """Return what an "always" covers of an effect: `mark messages as read in Mail`."""
    rows = tuple(dict.fromkeys(effect.given or ()))
    things = ", ".join(value for name, value in rows if not name and value)
    things = things or (plural_of(effect.kind) if effect.kind else "")
    folders = ", ".join(value for name, value in rows if name == "in")
    hosts = ", ".join(dict.fromkeys(flow.to for flow in effect.flow if flow.kind != "file"))
    if folders:
        things = f"{things or 'files'} in {folders}"
    at = next((value for name, value in rows if name in _PLACES and value), "")
    app = effect.name or effect.app
    new = "new " if effect.verb == "create" and effect.page_hosts else ""
    places = {"it": f"{new}{things}" if things else "", "at": at, "app": app}
    places |= {"pages": " and ".join(effect.page_hosts), "page": "pages", "them": "them"}
    said = _fill_phrase(effect, places)
    named = [name for name, _ in rows if name and name not in ("in", "url", *_PLACES)]
    if named and effect.verb != "change":
        values = dict(rows)
        with_ = [f'"{name}" {values[name]}'.strip() for name in named]
        said += f" (with {_join_words(with_)})"
    return escape_hidden(said if places["pages"] or not hosts else f"{said}, going to {hosts}")


def escaped_json(value: Any, limit: int = VALUE_LIMIT) -> str:
    """Return a value as JSON on one line, with nothing in it hidden, cut in the middle."""
    return escape_and_cut(json.dumps(value, ensure_ascii=False, default=str), limit)
