"""What an "always" covers: a function of the effects of a call alone, and the words for it.

Kept are what is done, the app, the class of the object, the names of what is given with the values
that are few (truth values, enumerators), folders, places, hosts and recipients as they are; never
which object it was, nor a text. The same effect is covered by whatever road it comes. What is sent
is DANGEROUS, and that is never remembered, whoever gets it.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from iac_base.text import escape_hidden
from iac_runtime.policy.effects import VERB_WORDS, Effect
from iac_runtime.policy.places import path_identity

MAX_DESCRIPTION: Final = 300
"""Characters of what is covered: what cannot be shown whole is not remembered."""


class ApprovalScope(NamedTuple):
    """What is remembered: a key for each effect, compared whole, and all of them in words."""

    keys: tuple[str, ...]
    description: str

    def is_within(self, keys: Iterable[str]) -> bool:
        """Say whether everything in it is among the keys of another."""
        return set(self.keys) <= set(keys)


def find_approval_scope(
    effects: Sequence[Effect], holder: str = "", *, simulated: bool = False
) -> ApprovalScope | None:
    """Return what an "always" for a call would cover; None where that cannot be told.

    What is given to a holder (`CallFacts.token_client`) covers calls of that holder alone, and what
    is given for simulated apps no real ones.
    """
    acting = [effect for effect in effects if not (effect.is_read_only and effect.level == "SAFE")]
    if not acting or any(effect.is_read_only or effect.given is None for effect in acting):
        return None
    known = [_describe_covered(effect) for effect in acting if not effect.target_unknown]
    doubts = [effect.doubt for effect in acting if effect.doubt]
    says = "; ".join(dict.fromkeys([*known, *doubts]))
    if not known or len(says) > MAX_DESCRIPTION:
        return None
    mine = f"{holder} " if holder else ""
    if simulated:
        mine, says = f"simulated {mine}", f"{says} (simulated apps)"
    return ApprovalScope(tuple(sorted({mine + _effect_key(effect) for effect in acting})), says)


def _effect_key(effect: Effect) -> str:
    flows = sorted({(flow.kind, flow.to) for flow in effect.flow if flow.kind != "file"})
    given = {
        (name, path_identity(value) if value.startswith(("/", "~")) else value)
        for name, value in effect.given or ()
    }
    what = (effect.verb, effect.app, effect.event, effect.kind, effect.doubt)
    return json.dumps([*what, sorted(given), flows])


_EVENTS: Final = {"coreclon": "duplicate", "coresave": "save"}
"""Events that say more than their verb."""

_PLACES: Final = ("at", "to")
"""Parameters that say where something is put."""


def _describe_covered(effect: Effect) -> str:
    """Return what is covered of one effect: `change name of notes in Notes`."""
    code, _, command = effect.event.partition(" ")
    does = command or _EVENTS.get(code) or VERB_WORDS[effect.verb].removesuffix(" in")
    rows = dict.fromkeys(effect.given or ())
    things = ", ".join(value for name, value in rows if not name and value) or effect.kind
    folders = ", ".join(value for name, value in rows if name == "in")
    places = "".join(f" {name} {value}" for name, value in rows if name in _PLACES and value)
    named = {name: value for name, value in rows if name not in ("", "in", *_PLACES)}
    given = ", ".join(f"{name} to {value}" if value else name for name, value in named.items())
    hosts = ", ".join(dict.fromkeys(flow.to for flow in effect.flow if flow.kind != "file"))
    if hosts and (list(named) == ["url"] or (effect.verb == "open" and not things)):
        new = "new " if effect.verb == "create" else ""
        does, given = "open", ""
        things, hosts = f"pages of {hosts}" + (f" in {new}{things}" if things else ""), ""
    if folders:
        things = f"{things or 'files'} in {folders}"
    if given and code == "coresetd":
        said = f"{does} {given} of {things or 'the app'}"
    else:
        said = " ".join(filter(None, (does, things, f"with {given}" if given else "")))
    whole = effect.verb in ("start", "end") and not things
    said += f"{places}{' ' if whole else ' in '}{effect.name or effect.app}"
    return escape_hidden(f"{said}, going to {hosts}" if hosts else said)
