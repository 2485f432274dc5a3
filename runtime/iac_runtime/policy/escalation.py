"""Levels that arguments raise, decided when a call is made. Rules are rows; levels only go up.

The rows are the table of what arguments can do beyond their tool's level: overwrite, discard,
reach many things, run something, lead elsewhere, act later, or carry on what a stranger wrote.
A row looks at the request that would be sent, never at words about it. Whether a document has
unsaved changes, and whether a calendar or a list is shared, is not in a request: the app's own
dialog and the level of the tool stand there.
"""

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from iac_base.text import escaped
from iac_runtime.language.levels import highest
from iac_runtime.policy import escalation_files as files
from iac_runtime.policy import escalation_values as values
from iac_runtime.policy.call_view import CallView, RuleContext
from iac_runtime.policy.facts import Raised
from iac_runtime.tool import LEVELS, Level

__all__ = ["RULES", "EscalationRule", "escalate", "raised_level"]


class EscalationRule(NamedTuple):
    """A row: `test` returns what it found, shown to a person, or an empty text."""

    name: str
    to: Level | Literal["up", "deny"]
    says: str
    test: Callable[[CallView, RuleContext], str]


def escalate(view: CallView, world: RuleContext) -> tuple[Raised, ...]:
    """Return the rules that hold for a request, in the order of the table."""
    found: list[Raised] = []
    for rule in RULES:
        evidence = rule.test(view, world)
        if evidence:
            found.append(Raised(rule.name, rule.says.format(_shown(evidence)), rule.to))
    return tuple(found)


def raised_level(level: Level, raised: tuple[Raised, ...]) -> Level:
    """Return `level` as the rules raise it: to the highest named, and one up for each `up`."""
    named = highest(row.to for row in raised if row.to in LEVELS)
    steps = sum(row.to == "up" for row in raised)
    up = LEVELS[min(LEVELS.index(level) + steps, len(LEVELS) - 1)]
    return highest((level, named, up))


def _shown(text: str, limit: int = 120) -> str:
    text = escaped(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


RULES: Final[tuple[EscalationRule, ...]] = (
    EscalationRule("own-state", "deny", "{} belongs to this program.", files.own_state),
    EscalationRule("special-file", "deny", "{} is a device or a pipe, not a file.", files.special),
    EscalationRule("protected-place", "deny", "Tools never write to {}.", files.protected),
    EscalationRule(
        "destination-exists",
        "DANGEROUS",
        "{} is there already and would be written over.",
        files.exists,
    ),
    EscalationRule(
        "outside-documents", "DANGEROUS", "{} lies outside your documents.", files.outside_documents
    ),
    EscalationRule(
        "executable-destination", "DANGEROUS", "{} would run when it is opened.", files.executable
    ),
    EscalationRule(
        "program-place",
        "DANGEROUS",
        "{} is where programs lie, or it cannot be told where that is.",
        files.program_place,
    ),
    EscalationRule("to-trash", "DANGEROUS", "What goes to {} is thrown away.", values.to_trash),
    EscalationRule(
        "other-account", "DANGEROUS", "It leaves its account for {}.", values.other_account
    ),
    EscalationRule("writes-file", "MODIFY", "It writes {}.", files.writes_file),
    EscalationRule("opens-executable", "DANGEROUS", "{} may run when it is opened.", files.opens),
    EscalationRule(
        "opens-protected",
        "DANGEROUS",
        "{} lies where things start by themselves.",
        files.opens_protected,
    ),
    EscalationRule(
        "executable-name",
        "DANGEROUS",
        "A file called {} would run when it is opened.",
        files.renames,
    ),
    EscalationRule(
        "without-saving",
        "DANGEROUS",
        "Changes that are not saved would be lost ({}).",
        values.no_saving,
    ),
    EscalationRule(
        "replacing", "DANGEROUS", "What is there would be replaced ({}).", values.replaces
    ),
    EscalationRule("many-objects", "up", "It changes {} at once.", values.many),
    EscalationRule("more-than-20", "DANGEROUS", "It takes {} items at once.", values.list_of_many),
    EscalationRule(
        "top-folder", "DANGEROUS", "{} holds much more than one thing.", files.top_folder
    ),
    EscalationRule("url-scheme", "DANGEROUS", "{} is no https address.", values.scheme),
    EscalationRule("url-query", "DANGEROUS", "{} carries a long query.", values.long_query),
    EscalationRule(
        "acts-later", "DANGEROUS", "A new {} acts later, by itself or on others.", values.later
    ),
    EscalationRule(
        "hidden-answer",
        "DANGEROUS",
        "It asks for a text, which may be a password ({}).",
        values.asks_for_text,
    ),
    EscalationRule(
        "write-permission",
        "DANGEROUS",
        "It opens a file for writing ({}).",
        values.flag("write permission", "perm"),
    ),
    EscalationRule(
        "registers-apps",
        "MODIFY",
        "It changes which app opens what ({}).",
        values.flag("registering applications", "reg?"),
    ),
    EscalationRule(
        "from-a-result",
        "up",
        "{} stood in an earlier result, and may be a stranger's choice.",
        values.tainted,
    ),
)
"""All rules. `deny` is final: no policy and no approval lets such a call run."""
