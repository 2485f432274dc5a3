"""Keys: which app has which module name and tool prefix, for good.

`tools.lock` binds a key to an identity, so that a newcomer of the same name gets the number,
never the app that was there.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iac_gen.naming import app_key, unique

__all__ = ["Bound", "Claim", "Identity", "assign"]


@dataclass(frozen=True, slots=True)
class Claim:
    """An app that wants a key. `digest` tells copies of one version apart."""

    name: str
    id: str
    version: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Bound:
    """What `tools.lock` says of an identity."""

    key: str
    version: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Identity:
    """An app's key and what it is bound to: the bundle id; a further copy adds its version."""

    key: str
    identity: str


def assign(claims: Sequence[Claim], bound: Mapping[str, Bound]) -> list[Identity]:
    """Return an identity a claim, in their order; `bound` maps identities to their keys."""
    names = _identities(claims, bound)
    taken = {row.key for row in bound.values()}
    keys = {index: bound[name].key for index, name in names.items() if name in bound}
    # The order of files on a disk must not decide who gets the number.
    for index in sorted(names, key=lambda i: (not _is_apple(claims[i].id), names[i])):
        if index not in keys:
            key = unique(app_key(claims[index].name, claims[index].id), taken)
            taken.add(key)
            keys[index] = key
    return [Identity(keys[index], names[index]) for index in range(len(claims))]


def _is_apple(identifier: str) -> bool:
    """Say whether a bundle id is in Apple's name space: nobody else takes an Apple app's key."""
    return identifier.lower().startswith("com.apple.")


def _identities(claims: Sequence[Claim], bound: Mapping[str, Bound]) -> dict[int, str]:
    """Return the identity of each claim: one of several copies keeps the bare bundle id."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for index, claim in enumerate(claims):
        groups[claim.id].append(index)
    names: dict[int, str] = {}
    for identifier, group in groups.items():
        known = bound.get(identifier, Bound(""))

        def rank(index: int, known: Bound = known) -> tuple[bool, bool, str, str]:
            claim = claims[index]
            return (
                claim.digest != known.digest,
                claim.version != known.version,
                claim.version,
                claim.digest,
            )

        first, *others = sorted(group, key=rank)
        names[first] = identifier
        for index in others:
            wanted = f"{identifier}@{claims[index].version}"
            names[index] = unique(wanted, names.values())
    return names
