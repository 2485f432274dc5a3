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
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from iac_base.text import escaped
from iac_runtime.policy.blocklist import Blocked, blocked
from iac_runtime.policy.effects import Action, CallFacts, Decision, Raised
from iac_runtime.policy.matching import LevelRule, Match, failing, matches, may_mean
from iac_runtime.policy.model import DEFAULT, PRESETS, Policy, PolicySettings
from iac_runtime.policy.scope import scope_of
from iac_runtime.tool import LEVELS, Level, at_most, highest

_READ_ONLY: Final = "read-only"
_UNKNOWN: Final = "everything that this does"
_MAY_MATCH: Final = "IAC cannot know a part of the call that may match, so it requires approval"
_PLAIN: Final = "Use the app's own tools, or write the name of the app as plain text in the call."


def _said(match: Match, does: str) -> str:
    why = f": {match.why}" if match.why else ""
    return f"{match.source} {does}{why}".rstrip(".") + "."


@dataclass(frozen=True, slots=True)
class _Judged:
    """The level of a call, and what made it; whether it provably reads, or starts apps alone."""

    level: Level
    raised: tuple[Raised, ...]
    own: LevelRule | None
    reads: bool
    starts: bool


def decide(
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
        settings: The settings that hold (`model.read_settings`).
        registered: Rules that were registered from Python (`model.REGISTERED`).
        remembered: The stored decision that covers this call, in words; empty if there is none.
    """
    judged = _judge(facts, (*policy.rules, *registered))
    decision = (
        _forbidden(facts, judged)
        or _beyond_token(facts, judged)
        or _read_only(judged, settings)
        or _blocklist(facts, judged, policy, settings)
        or _ruled(facts, judged, policy, settings, remembered)
    )
    own = judged.own
    sets = (_said(own.match, f"sets {own.level}"),) if own else ()
    raises = (f"{row.says} [{row.rule}]" for row in judged.raised)
    named = replace(
        decision,
        reasons=(*sets, *raises, *decision.reasons),
        rules=tuple(row.rule for row in judged.raised),
        own_rule=own.match.source if own else "",
    )
    return named if named.action != "ask" or facts.ways else _unasked(facts, named)


def _judge(facts: CallFacts, rules: tuple[LevelRule, ...]) -> _Judged:
    own = next((rule for rule in rules if _speaks(rule, facts)), None)
    accept = own.accept if own else ()
    raised = tuple(row for row in facts.raised if row.rule not in accept or row.to == "deny")
    level = raised_level(own.level if own else facts.level, raised)
    looks = facts.looks
    lifted = any(row.to != "SAFE" for row in raised)
    starts = not (looks or lifted) and _starts(facts)
    return _Judged(level, raised, own, level == "SAFE" and looks, starts)


def _starts(facts: CallFacts) -> bool:
    """Say whether a call starts apps and changes nothing: what reads may need."""
    return all(
        (effect.app and effect.verb == "start" and not effect.flow and effect.level == "MODIFY")
        or (effect.level == "SAFE" and effect.looks)
        for effect in facts.effects
    )


def _speaks(rule: LevelRule, facts: CallFacts) -> bool:
    return not _fails(rule, facts)


def _fails(rule: LevelRule, facts: CallFacts) -> str:
    loosens = bool(rule.accept) or not at_most(facts.level, rule.level)
    return failing(rule.match, facts, facts.level, loosens=loosens)


def looked_at(facts: CallFacts, policy: Policy, level: Level) -> Iterator[tuple[str, Match, str]]:
    """Yield every rule of a policy: its kind, and the first part that does not hold for a call.

    `level` is the one that the call was found to need. A rule that would ask because of what is
    not known of the call says so.
    """
    for rule in policy.rules:
        yield "rule", rule.match, _fails(rule, facts)
    kinds = {"deny": policy.denied, "ask": policy.ask, "allow": policy.allow}
    for kind, rows in kinds.items():
        for row in rows:
            part = failing(row, facts, level, loosens=kind == "allow")
            rest = may_mean(row, facts) if part and kind != "allow" else None
            hidden = rest is not None and matches(rest, facts, level, loosens=False)
            yield kind, row, _MAY_MATCH if hidden else part


def raised_level(level: Level, raised: tuple[Raised, ...]) -> Level:
    """Return `level` as the rules raise it: to the highest named, and one up for each `up`."""
    if not raised:
        return level
    named = highest(row.to for row in raised if row.to in LEVELS)
    steps = sum(row.to == "up" for row in raised)
    up = LEVELS[min(LEVELS.index(level) + steps, len(LEVELS) - 1)]
    return highest((level, named, up))


def _deny(judged: _Judged, source: str, reason: str, suggestion: str = "") -> Decision:
    reasons = (reason,) if reason else ()
    return Decision("deny", judged.level, reasons, source, suggestion=suggestion)


def _forbidden(facts: CallFacts, judged: _Judged) -> Decision | None:
    final = "No setting allows this. The user can do it by hand."
    if facts.secrets:
        names = ", ".join(escaped(name) for name in facts.secrets)
        return _deny(judged, "secrets are never read", f"{names} contains a secret.", final)
    for row in facts.raised:
        if row.to == "deny":
            return _deny(judged, f"rule {row.rule}", "", final)
    return None


BEYOND_SCOPE: Final = "insufficient_scope"
"""What refuses a call that needs more than a client's token covers, in the word of RFC 6750."""


def _beyond_token(facts: CallFacts, judged: _Judged) -> Decision | None:
    if at_most(judged.level, facts.most):
        return None
    reason = f"The token of {escaped(facts.holder)} covers calls up to {facts.most}."
    return _deny(judged, BEYOND_SCOPE, reason, "The user can give it a token with a wider scope.")


def _only_reads(settings: PolicySettings) -> tuple[str, str] | None:
    """Return what says that nothing is changed here, and how that is changed; None if none does."""
    if settings.read_only.value:
        source = settings.read_only.source
        flag = source == "--read-only"
        return source, "start the server without --read-only" if flag else f"change {source}"
    if settings.preset.value == _READ_ONLY:
        return f"preset {_READ_ONLY}", f"change {settings.preset.source}"
    return None


def _read_only(judged: _Judged, settings: PolicySettings) -> Decision | None:
    only = _only_reads(settings)
    if only is None or judged.reads or judged.starts:
        return None
    source, way = only
    reason = "Only calls that read may run here, and this call changes something."
    return _deny(judged, source, reason, f"The user can {way}.")


# The list is long, and the same few apps are looked up in it.
_blocked: Final = lru_cache(maxsize=1024)(blocked)


def _blocklist(
    facts: CallFacts, judged: _Judged, policy: Policy, settings: PolicySettings
) -> Decision | None:
    if judged.reads:
        return None
    added = settings.added if settings.blocklist else ()
    for app, _ in facts.apps:
        found = _blocked(app, added, policy.blocklist_remove)
        if found is not None:
            reason = f"No tool may change {escaped(found.what)}."
            return _deny(judged, f"blocklist entry {found.entry}", reason, _unblock(found))
    return None


def _unblock(found: Blocked) -> str:
    if found.fixed:
        return "This app cannot be removed from the blocklist. The user can do it by hand."
    return (
        "The user can remove the app from the blocklist in policy.toml:"
        f' [blocklist] remove = ["{found.entry}"].'
    )


def _first(
    rows: tuple[Match, ...], facts: CallFacts, judged: _Judged, *, loosens: bool = False
) -> Match | None:
    return next((row for row in rows if matches(row, facts, judged.level, loosens=loosens)), None)


def _ruled(
    facts: CallFacts, judged: _Judged, policy: Policy, settings: PolicySettings, remembered: str
) -> Decision:
    level = judged.level
    denied = _first(policy.denied, facts, judged)
    if denied is not None:
        way = f"The user can change {denied.source}."
        return _deny(judged, denied.source, _said(denied, "denies this call"), way)
    asks = _first(policy.ask, facts, judged) or _hidden(policy.ask, facts, judged)
    hidden = _hidden(policy.denied, facts, judged)
    if hidden is not None:
        # Nobody vouches for what they cannot know: it may be the app that they denied.
        what = f"which apps this reaches ({escaped(facts.doubt)})" if facts.doubt else _UNKNOWN
        reason = f"IAC cannot know {what}, and {hidden.source} may deny it."
        return Decision("ask", level, (reason,), hidden.source, suggestion=_PLAIN)
    free = asks is None and not (judged.starts and _only_reads(settings))
    if free and facts.vouched is not None and at_most(level, facts.vouched):
        return Decision("allow", level, (), f"the caller allows calls up to {facts.vouched}")
    if level == "DANGEROUS":
        reason = "DANGEROUS calls always require approval."
        source = asks.source if asks else "DANGEROUS always requires approval"
        return Decision("ask", level, (reason,), source)
    if asks is not None:
        return Decision("ask", level, (_said(asks, "requires approval"),), asks.source)
    allows = _first(policy.allow, facts, judged, loosens=True)
    if allows is not None:
        return Decision("allow", level, (_said(allows, "allows this call"),), allows.source)
    if remembered and _rememberable(facts, judged):
        reason = f'Your "always allow" answer covers this call: {remembered}.'
        return Decision("allow", level, (reason,), remembered)
    return _by_preset(facts, judged, policy, settings)


def _hidden(rows: tuple[Match, ...], facts: CallFacts, judged: _Judged) -> Match | None:
    """Return the first rule that speaks of a call if what is not known of it is what it means."""
    for row in rows:
        rest = may_mean(row, facts)
        if rest is not None and matches(rest, facts, judged.level, loosens=False):
            return row
    return None


def _rememberable(facts: CallFacts, judged: _Judged) -> bool:
    """Say whether an answer may be kept: for MODIFY alone, where no argument raised the level."""
    return facts.level == judged.level == "MODIFY" and not judged.raised


def _by_preset(
    facts: CallFacts, judged: _Judged, policy: Policy, settings: PolicySettings
) -> Decision:
    name = str(settings.preset.value)
    preset = PRESETS[name]
    source = f"preset {name}"
    if only := judged.starts and _only_reads(settings):
        # Else a read of an app that does not run would lead nowhere.
        preset, source = PRESETS[DEFAULT], only[0]
    action: Action = preset.levels[judged.level]
    if action == "allow" and judged.level == "SAFE" and preset.reads != "allow" and facts.effects:
        opted = Match(app=policy.reads)
        if not (policy.reads and matches(opted, facts, judged.level, loosens=True)):
            whom = escaped(facts.whom) or "What this call reaches"
            reason = f"{whom} is not in the list reads of policy.toml."
            return Decision(preset.reads, judged.level, (reason,), source)
    decision = Decision(action, judged.level, (), source)
    if action == "ask" and _rememberable(facts, judged):
        scope = scope_of(facts.effects, simulated=facts.simulated)
        if scope is not None:
            return replace(decision, offers_always=True, scope=scope.says)
    return decision


class PolicyLayer(NamedTuple):
    """A policy, the settings that hold with it, and rules that were registered from Python."""

    policy: Policy
    settings: PolicySettings
    registered: tuple[LevelRule, ...] = ()


_TEAM: Final = "Only the person who publishes the team's policy can change this."


def decide_within(
    facts: CallFacts, bounds: Sequence[PolicyLayer], remembered: str = ""
) -> Decision:
    """Return the strictest decision: the user's own policy comes first, then that of a team."""
    own, *others = (decide(facts, *bound, remembered) for bound in bounds)
    found = own
    for other in others:
        if (_strictness(other), LEVELS.index(other.level)) > (
            _strictness(found),
            LEVELS.index(found.level),
        ):
            final = other.action == "deny" and not other.requires_prompt
            way = _TEAM if final else other.suggestion
            found = replace(other, source=f"the team's policy, {other.source}", suggestion=way)
    always = all(row.offers_always for row in (own, *others))
    return replace(found, offers_always=always) if others else own


def _strictness(decision: Decision) -> tuple[int, bool]:
    return ("allow", "ask", "deny").index(decision.action), not decision.requires_prompt


def together(decisions: Sequence[Decision]) -> Decision:
    """Return what is to be done with calls that stand or fall together: the strictest counts.

    A refusal says which call it is about. Nothing is remembered of an answer.
    """
    at, worst = max(enumerate(decisions, 1), key=lambda row: _strictness(row[1]))
    said = dict.fromkeys(reason for row in decisions for reason in row.reasons)
    if worst.action == "deny" and not worst.requires_prompt:
        said = dict.fromkeys((f"This is about call {at} of {len(decisions)}.", *worst.reasons))
    return replace(
        worst,
        level=highest(row.level for row in decisions),
        reasons=tuple(said),
        rules=tuple(dict.fromkeys(rule for row in decisions for rule in row.rules)),
        offers_always=False,
        scope="",
    )


def _unasked(facts: CallFacts, decision: Decision) -> Decision:
    """Return a decision to ask as it is where nobody can be asked."""
    if decision.level == "DANGEROUS":
        way = (
            "The user can run it in a terminal with iac-mcp call, or in a client that can show"
            f' prompts. A [[rule]] with tool = "{facts.tool}" in policy.toml sets another level.'
        )
    else:
        way = f'The user can allow it in policy.toml: [[allow]] with tool = "{facts.tool}".'
    return replace(
        decision,
        action="deny",
        reasons=(*decision.reasons, "No approval prompt is available in this client."),
        error="UNANSWERED",
        suggestion=decision.suggestion or way,
        offers_always=False,
        scope="",
    )


_FINAL: Final = "Do not call again; ask the user what they want instead."
_NO: Final = "You declined; nothing was sent."


def said_no(decision: Decision) -> Decision:
    """Return the decision after a person said no."""
    return refused(decision, "The user declined.", "the user", person=_NO)


def refused(
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
