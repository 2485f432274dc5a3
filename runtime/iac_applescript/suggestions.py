"""What to use for an intent: the generated tool that does it, else lines of a guide, else what
worked before; ranked, each with its reason."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from iac_applescript.learning.ranking import Found
from iac_applescript.skills import Skill
from iac_base.words import fold
from iac_runtime.search.request import stems

__all__ = ["HitLike", "Suggestion", "suggest"]

GOOD_TOOL: Final = 0.55
"""From this score on a tool is thought to do what is wanted."""


SAME: Final = 0.9
"""From this score on a pattern was stored for what is asked now."""

_PROVEN: Final = 4


class HitLike(Protocol):
    """A hit of the search for tools."""

    @property
    def tool(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def why(self) -> str: ...


class Suggestion(NamedTuple):
    """One way to do it: `kind` is tool, pattern or skill."""

    kind: str
    use: str
    why: str
    score: float
    script: str = ""

    def data(self) -> dict[str, Any]:
        """Return it as plain values; an empty script is left out."""
        found = self._asdict()
        if not self.script:
            del found["script"]
        return found


def suggest(
    intent: str,
    app: str,
    hits: Sequence[HitLike],
    patterns: Sequence[Found],
    skills: Mapping[str, Skill],
    limit: int = 5,
) -> list[Suggestion]:
    """Return the ways to do something, best first: a tool before a script that does the same."""
    found = [
        Suggestion("tool", hit.tool, f"a tool does this: {hit.why}", round(1 + hit.score, 3))
        for hit in hits
        if hit.score >= GOOD_TOOL
    ][:3]
    found += [
        Suggestion(
            "pattern",
            f"pattern {row.pattern.id}: {row.pattern.intent}",
            row.why,
            # What worked here for just this comes before a tool that might do it.
            round(row.score + (_PROVEN if row.score >= SAME else 0), 3),
            row.pattern.script,
        )
        for row in patterns
        if row.pattern.successes
    ]
    found += _lines(intent, app, skills)
    found.sort(key=lambda row: -row.score)
    return found[:limit]


def _lines(intent: str, app: str, skills: Mapping[str, Skill]) -> list[Suggestion]:
    words = set(stems(intent))
    wanted = fold(app)
    found = []
    for skill in skills.values():
        if app:
            named = wanted in (fold(skill.name), fold(skill.app))
        else:
            named = not words.isdisjoint(stems(skill.title.partition(":")[0]))
        if not named:
            continue
        for line in skill.text.splitlines():
            shared = words & set(stems(line)) if line.startswith("- ") else set()
            if shared:
                score = round(0.2 + len(shared) / (len(words) + 2), 3)
                why = f"the guide of {skill.name} says so"
                found.append(Suggestion("skill", line[2:], why, score))
    return sorted(found, key=lambda row: -row.score)[:2]
