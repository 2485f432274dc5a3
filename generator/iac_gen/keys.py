"""Keys: which app has which module name and tool prefix, for good.

`tools.lock` binds a key to an identity, so that a newcomer of the same name gets the number,
never the app that was there.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iac_gen.model import Source
from iac_gen.naming import app_key, unique

__all__ = ["Identity", "assign"]


@dataclass(frozen=True, slots=True)
class Identity:
    """An app's key and what it is bound to: the bundle id, with the version where two share it."""

    key: str
    identity: str


def assign(sources: Sequence[Source], bound: Mapping[str, str]) -> list[Identity]:
    """Return an identity a source, in their order; `bound` maps identities to their keys."""
    shared = Counter(source.id for source in sources)
    names = [
        f"{source.id}@{source.version}" if shared[source.id] > 1 else source.id
        for source in sources
    ]
    taken = set(bound.values())
    keys: dict[int, str] = {}
    # The order of files on a disk must not decide who gets the number.
    order = sorted(range(len(sources)), key=lambda i: (names[i], sources[i].dictionary.digest))
    for index in order:
        known = bound.get(names[index])
        if known is not None and known not in keys.values():
            keys[index] = known
    for index in order:
        if index not in keys:
            key = unique(app_key(sources[index].name, sources[index].id), taken)
            taken.add(key)
            keys[index] = key
    return [Identity(keys[index], names[index]) for index in range(len(sources))]
