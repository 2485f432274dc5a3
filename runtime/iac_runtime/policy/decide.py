"""The decision: the facts of a call, the policy and what is remembered, to an action. Pure.

In this order, and the first that speaks has the word:

    secrets, our own files, devices, protected places   refused, whoever allowed what
    more than the token of a client covers              refused
    read-only, the blocklist                            refused for what can change something; of
                                                        read-only, starting an app alone is asked
    the user's own level, then escalation               the level that counts from here on
    deny                                                refused
    a deny by app, and what it reaches is not known     asked
    DANGEROUS, ask                                      asked
    allow, an answer that is remembered                 run
    the preset                                          refused, asked or run

What an "always" covers is a function of the effects of a call alone. Kept are what is done, the
app, the class of the object, the names of what is given with the values that are few (truth
values, enumerators), folders, places, hosts and recipients as they are; never which object it was,
nor a text. The same effect is covered by whatever road it comes. What is sent is DANGEROUS, and
that is never remembered, whoever gets it.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from iac_base.text import escape_hidden
from iac_runtime.policy.facts import Action, CallFacts, Decision, Effect, RaisedLevel
from iac_runtime.policy.places import find_blocklist_entry, path_identity
from iac_runtime.policy.rules import (
    LevelRule,
    Match,
    could_match_unknown,
    first_mismatch,
    matches_call,
)
from iac_runtime.policy.settings import DEFAULT_PRESET, PRESETS, Policy, PolicySettings
from iac_runtime.tool import LEVELS, Level, at_most, highest

MAX_DESCRIPTION: Final = 300
"""Characters of what is covered: what cannot be shown whole is not remembered."""


class ApprovalScope(NamedTuple):
    """What is remembered: a key for each effect, compared whole, and all of them in words."""

    keys: tuple[str, ...]
    description: str

    def is_within(self, keys: Iterable[str]) -> bool:
        """Say whether everything in it is among the keys of another."""
        return set(self.keys) <= set(keys)


@lru_cache(maxsize=256)
def find_approval_scope(
    effects: tuple[Effect, ...], holder: str = "", *, simulated: bool = False
) -> ApprovalScope | None:
    """Return what an "always" for a call would cover; None where that cannot be told.

    What is given to a holder (`CallFacts.token_client`) covers calls of that holder alone, and what
    is given for simulated apps no real ones.
    """
    acting = [effect for effect in effects if not (effect.is_read_only and effect.level == "SAFE")]
    if not acting or any(effect.is_read_only or effect.given is None for effect in acting):
        return None
    # Needed by calls that are asked about, and by no other.
    from iac_runtime.policy.wording import describe_covered

    # What is made with a page in it opens that page, and says so.
    made = {effect.page_hosts for effect in acting if effect.verb == "create"}
    known = [
        describe_covered(effect)
        for effect in acting
        if not (effect.target_unknown or (effect.verb == "open" and effect.page_hosts in made))
    ]
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


_READ_ONLY: Final = "read-only"
_UNKNOWN: Final = "everything that this does"
_MAY_MATCH: Final = "IAC cannot know a part of the call that may match, so it requires approval"
_PLAIN: Final = "Use the app's own tools, or write the name of the app as plain text in the call."


def _reason(match: Match, does: str) -> str:
    why = f": {match.why}" if match.why else ""
    return f"{match.source} {does}{why}".rstrip(".") + "."


@dataclass(frozen=True, slots=True)
class _JudgedLevel:
    """The level of a call, and what made it; whether it provably reads, or starts apps alone."""

    level: Level
    raised: tuple[RaisedLevel, ...]
    own_rule: LevelRule | None
    is_read_only: bool
    only_starts_apps: bool


class PolicyLayer(NamedTuple):
    """A policy, the settings that hold with it, and rules that were registered from Python."""

    policy: Policy
    settings: PolicySettings
    registered: tuple[LevelRule, ...] = ()


def decide_call(
    facts: CallFacts,
    policy: Policy,
    settings: PolicySettings,
    registered: tuple[LevelRule, ...] = (),
    remembered: str = "",
) -> Decision:
    """Return what is to be done with a call.

    Args:
        facts: The call.
        policy: The user's policy.
        settings: The settings that hold (`settings.read_settings`).
        registered: Rules that were registered from Python (`settings.REGISTERED_RULES`).
        remembered: The stored decision that covers this call, in words; empty if there is none.
    """
    judged = _judge_level(facts, (*policy.rules, *registered))
    decision = (
        _deny_forbidden(facts, judged)
        or _deny_beyond_token(facts, judged)
        or _deny_changes(judged, settings)
        or _deny_blocked_app(facts, judged, policy, settings)
        or _apply_rules(facts, judged, PolicyLayer(policy, settings), remembered)
    )
    own = judged.own_rule
    sets = (_reason(own.match, f"sets {own.level}"),) if own else ()
    raises = (f"{row.reason} [{row.rule}]" for row in judged.raised)
    named = replace(
        decision,
        reasons=(*sets, *raises, *decision.reasons),
        rules=tuple(row.rule for row in judged.raised),
        own_rule=own.match.source if own else "",
    )
    return named if named.action != "ask" or facts.ways else _without_prompt(facts, named)


def _judge_level(facts: CallFacts, rules: tuple[LevelRule, ...]) -> _JudgedLevel:
    own = next((rule for rule in rules if not _first_mismatch(rule, facts)), None)
    accept = own.accept if own else ()
    raised = tuple(row for row in facts.raised if row.rule not in accept or row.to == "deny")
    level = raised_level(own.level if own else facts.level, raised)
    looks = facts.is_read_only
    lifted = any(row.to != "SAFE" for row in raised)
    starts = not (looks or lifted) and _is_app_start(facts)
    return _JudgedLevel(level, raised, own, level == "SAFE" and looks, starts)


def _is_app_start(facts: CallFacts) -> bool:
    """Say whether a call starts apps and changes nothing: what reads may need."""
    return all(
        (effect.app and effect.verb == "start" and not effect.flow and effect.level == "MODIFY")
        or (effect.level == "SAFE" and effect.is_read_only)
        for effect in facts.effects
    )


def _first_mismatch(rule: LevelRule, facts: CallFacts) -> str:
    loosens = bool(rule.accept) or not at_most(facts.level, rule.level)
    return first_mismatch(rule.match, facts, facts.level, loosens=loosens)


def explain_rules(
    facts: CallFacts, policy: Policy, level: Level
) -> Iterator[tuple[str, Match, str]]:
    """Yield every rule of a policy: its kind, and the first part that does not hold for a call.

    `level` is the one that the call was found to need. A rule that would ask because of what is
    not known of the call says so.
    """
    for rule in policy.rules:
        yield "rule", rule.match, _first_mismatch(rule, facts)
    kinds = {"deny": policy.all_denials, "ask": policy.ask, "allow": policy.allow}
    for kind, rows in kinds.items():
        for row in rows:
            part = first_mismatch(row, facts, level, loosens=kind == "allow")
            doubtful = part and kind != "allow" and _first_possible_match((row,), facts, level)
            yield kind, row, _MAY_MATCH if doubtful else part


def raised_level(level: Level, raised: tuple[RaisedLevel, ...]) -> Level:
    """Return `level` as the rules raise it: to the highest named, and one up for each `up`."""
    if not raised:
        return level
    named = highest(row.to for row in raised if row.to in LEVELS)
    steps = sum(row.to == "up" for row in raised)
    up = LEVELS[min(LEVELS.index(level) + steps, len(LEVELS) - 1)]
    return highest((level, named, up))


def _deny_call(judged: _JudgedLevel, source: str, reason: str, suggestion: str = "") -> Decision:
    reasons = (reason,) if reason else ()
    return Decision("deny", judged.level, reasons, source, suggestion=suggestion)


def _deny_forbidden(facts: CallFacts, judged: _JudgedLevel) -> Decision | None:
    final = "No setting allows this. The user can do it by hand."
    if facts.secrets:
        names = ", ".join(map(escape_hidden, facts.secrets))
        return _deny_call(judged, "secrets are never read", f"{names} contains a secret.", final)
    rule = next((row.rule for row in facts.raised if row.to == "deny"), "")
    return _deny_call(judged, f"rule {rule}", "", final) if rule else None


BEYOND_SCOPE: Final = "insufficient_scope"
"""What refuses a call that needs more than a client's token covers, in the word of RFC 6750."""


def _deny_beyond_token(facts: CallFacts, judged: _JudgedLevel) -> Decision | None:
    if at_most(judged.level, facts.max_level):
        return None
    way = "The user can give it a token with a wider scope."
    who = escape_hidden(facts.token_client)
    reason = f"The token of {who} covers calls up to {facts.max_level}."
    return _deny_call(judged, BEYOND_SCOPE, reason, way)


def _read_only_source(settings: PolicySettings) -> tuple[str, str] | None:
    """Return what says that nothing is changed here, and how that is changed; None if none does."""
    if settings.read_only.value:
        source = settings.read_only.source
        flag = source == "--read-only"
        return source, "start the server without --read-only" if flag else f"change {source}"
    if settings.preset.value == _READ_ONLY:
        return f"preset {_READ_ONLY}", f"change {settings.preset.source}"
    return None


def _deny_changes(judged: _JudgedLevel, settings: PolicySettings) -> Decision | None:
    only = _read_only_source(settings)
    if only is None or judged.is_read_only or judged.only_starts_apps:
        return None
    source, way = only
    reason = "Only calls that read may run here, and this call changes something."
    return _deny_call(judged, source, reason, f"The user can {way}.")


# The list is long, and the same few apps are looked up in it.
_cached_blocklist_entry: Final = lru_cache(maxsize=1024)(find_blocklist_entry)


def _deny_blocked_app(
    facts: CallFacts, judged: _JudgedLevel, policy: Policy, settings: PolicySettings
) -> Decision | None:
    if judged.is_read_only:
        return None
    added = settings.added_blocklist if settings.blocklist else ()
    for app, _ in facts.apps:
        blocked = _cached_blocklist_entry(app, added, policy.blocklist_remove)
        if blocked is not None:
            way = _KEPT if blocked.fixed else _REMOVABLE.format(blocked.entry)
            reason = f"No tool may change {escape_hidden(blocked.what)}."
            return _deny_call(judged, f"blocklist entry {blocked.entry}", reason, way)
    return None


_REMOVABLE: Final = (
    'The user can remove the app from the blocklist in policy.toml: [blocklist] remove = ["{}"].'
)
_KEPT: Final = "This app cannot be removed from the blocklist. The user can do it by hand."


def _first_match(
    rows: tuple[Match, ...], facts: CallFacts, level: Level, *, loosens: bool = False
) -> Match | None:
    return next((row for row in rows if matches_call(row, facts, level, loosens=loosens)), None)


def _apply_rules(
    facts: CallFacts, judged: _JudgedLevel, layer: PolicyLayer, remembered: str
) -> Decision:
    level, policy, settings = judged.level, layer.policy, layer.settings
    denied = _first_match(policy.all_denials, facts, level)
    if denied is not None:
        way = f"The user can change {denied.source}."
        return _deny_call(judged, denied.source, _reason(denied, "denies this call"), way)
    asks = _first_match(policy.ask, facts, level) or _first_possible_match(policy.ask, facts, level)
    hidden = _first_possible_match(policy.all_denials, facts, level)
    if hidden is not None:
        # Nobody vouches for what they cannot know: it may be the app that they denied.
        doubt = f"which apps this reaches ({escape_hidden(facts.doubt)})" if facts.doubt else ""
        reason = f"IAC cannot know {doubt or _UNKNOWN}, and {hidden.source} may deny it."
        return Decision("ask", level, (reason,), hidden.source, suggestion=_PLAIN)
    free = asks is None and not (judged.only_starts_apps and _read_only_source(settings))
    most = facts.preapproved_level
    if free and most is not None and at_most(level, most):
        return Decision("allow", level, (), f"the caller allows calls up to {most}")
    if level == "DANGEROUS":
        source = asks.source if asks else "DANGEROUS always requires approval"
        return Decision("ask", level, ("DANGEROUS calls always require approval.",), source)
    if asks is not None:
        return Decision("ask", level, (_reason(asks, "requires approval"),), asks.source)
    allows = _first_match(policy.allow, facts, level, loosens=True)
    if allows is not None:
        return Decision("allow", level, (_reason(allows, "allows this call"),), allows.source)
    if remembered and _can_remember(facts, judged):
        given = "Your approval" if remembered.startswith(TASK) else 'Your "always allow" answer'
        reason = f"{given} covers this call: {remembered}."
        return Decision("allow", level, (reason,), remembered)
    return _apply_preset(facts, judged, policy, settings)


def _first_possible_match(rows: Iterable[Match], facts: CallFacts, level: Level) -> Match | None:
    """Return the first rule that speaks of a call if what is not known of it is what it means."""
    for row in rows:
        rest = could_match_unknown(row, facts)
        if rest is not None and matches_call(rest, facts, level, loosens=False):
            return row
    return None


def _can_remember(facts: CallFacts, judged: _JudgedLevel) -> bool:
    """Say whether an answer may be kept: for MODIFY alone, where no argument raised the level."""
    return facts.level == judged.level == "MODIFY" and not judged.raised


def _apply_preset(
    facts: CallFacts, judged: _JudgedLevel, policy: Policy, settings: PolicySettings
) -> Decision:
    name = str(settings.preset.value)
    preset = PRESETS[name]
    source = f"preset {name}"
    if only := judged.only_starts_apps and _read_only_source(settings):
        # Else a read of an app that does not run would lead nowhere.
        preset, source = PRESETS[DEFAULT_PRESET], only[0]
    action: Action = preset.levels[judged.level]
    if action == "allow" and judged.level == "SAFE" and preset.reads != "allow" and facts.effects:
        opted = Match(app=policy.reads)
        if not (policy.reads and matches_call(opted, facts, judged.level, loosens=True)):
            whom = escape_hidden(facts.app_names) or "What this call reaches"
            reason = f"{whom} is not in the list reads of policy.toml."
            return Decision(preset.reads, judged.level, (reason,), source)
    if action == "ask" and facts.draft and facts.ways and judged.level == "MODIFY":
        return Decision("allow", judged.level, ("You are asked before it is sent.",), DRAFT)
    decision = Decision(action, judged.level, (), source)
    if action == "ask" and _can_remember(facts, judged):
        scope = find_approval_scope(facts.effects, simulated=facts.simulated)
        if scope is not None:
            return replace(decision, offers_always=True, scope=scope.description)
    return decision


_TEAM: Final = "Only the person who publishes the team's policy can change this."


def decide_by_layers(
    facts: CallFacts, bounds: Sequence[PolicyLayer], remembered: str = ""
) -> Decision:
    """Return the strictest decision: the user's own policy comes first, then that of a team."""
    decisions = [decide_call(facts, *bound, remembered) for bound in bounds]
    if len(decisions) == 1:
        return decisions[0]
    worst = max(decisions, key=lambda row: (*_strictness(row), LEVELS.index(row.level)))
    if worst is not decisions[0]:
        way = _TEAM if _is_final(worst) else worst.suggestion
        worst = replace(worst, source=f"the team's policy, {worst.source}", suggestion=way)
    return replace(worst, offers_always=all(row.offers_always for row in decisions))


def _strictness(decision: Decision) -> tuple[int, bool]:
    return ("allow", "ask", "deny").index(decision.action), not decision.requires_prompt


def _is_final(decision: Decision) -> bool:
    return decision.action == "deny" and not decision.requires_prompt


def strictest(decisions: Sequence[Decision]) -> Decision:
    """Return what is to be done with calls that stand or fall together: the strictest counts.

    A refusal says which call it is about. Nothing is remembered of an answer.
    """
    at, worst = max(enumerate(decisions, 1), key=lambda row: _strictness(row[1]))
    reasons = [reason for row in decisions for reason in row.reasons]
    if _is_final(worst):
        reasons = [f"This is about call {at} of {len(decisions)}.", *worst.reasons]
    return replace(
        worst,
        level=highest(row.level for row in decisions),
        reasons=tuple(dict.fromkeys(reasons)),
        rules=tuple(dict.fromkeys(rule for row in decisions for rule in row.rules)),
        offers_always=False,
        scope="",
    )


def _without_prompt(facts: CallFacts, decision: Decision) -> Decision:
    """Return a decision to ask as it is where nobody can be asked."""
    if decision.level == "DANGEROUS":
        way = (
            "The user can run it in a terminal with iac-mcp call, or in a client that can show"
            f' prompts. A [[rule]] with tool = "{facts.tool}" in policy.toml sets another level.'
        )
    else:
        way = f'The user can allow it in policy.toml: [[allow]] with tool = "{facts.tool}".'
    reason, way = "No approval prompt is available in this client.", decision.suggestion or way
    return replace(as_refusal(decision, reason, decision.source, way, "UNANSWERED"), scope="")


TASK: Final = "a task that you approved"
"""How the source begins of what a task lets run."""

DRAFT: Final = "a draft is asked about when it is sent"
"""What lets a call run that fills a draft of the client's own."""

_FINAL: Final = "Do not call again; ask the user what they want instead."


def declined(decision: Decision) -> Decision:
    """Return the decision after a person said no."""
    said = "You declined; nothing was sent."
    return as_refusal(decision, "The user declined.", "the user", person=said)


def as_refusal(
    decision: Decision,
    reason: str,
    source: str,
    way: str = _FINAL,
    error: Literal["REFUSED", "UNANSWERED", "STALE"] = "REFUSED",
    person: str = "",
) -> Decision:
    """Return a decision that was to ask, or to run, as a refusal."""
    return replace(
        decision,
        action="deny",
        reasons=(*decision.reasons, reason),
        source=source,
        offers_always=False,
        error=error,
        suggestion=way,
        person=person,
    )
