"""Whether a call may run: levels from arguments, the user's policy, questions, approvals.

Others import from its rooms, so that none is loaded before it is needed:

    facts         what a call does, as everything here looks at it; the decision
    verbs         what a call does, by its event, its words and its values
    requests      a request as the rules look at it
    effects       from a request to its effects
    escalation    levels that arguments raise
    places        files, addresses, mailboxes and blocked apps
    taint         what must not leave an app, and what came from one
    documents     a TOML document by its tables, every error with its line
    rules         rules of a policy: read, held against a call, told
    policy_file   policy.toml as a whole
    settings      the policy as data, and the settings that hold
    decide        the decision, and what an "always" covers
    approvals     tokens, answers that are remembered, pauses; loads sqlite3
    wording       what a call does in a person's words, by the phrases of deeds.json
    prompts       how a person is asked: which lines, and by which way
    tasks         what one answer covers for several calls: drafts, and tasks as budgets
    pause         the switch that refuses all calls
    permissions   all of it in one object, for the gate
"""

__all__ = [
    "approvals",
    "decide",
    "documents",
    "effects",
    "escalation",
    "facts",
    "pause",
    "permissions",
    "places",
    "policy_file",
    "prompts",
    "requests",
    "rules",
    "settings",
    "taint",
    "tasks",
    "verbs",
    "wording",
]
