"""Everything about permission in one object: what the gate asks, in the order in which it asks.

    facts -> judge -> (ask -> a person -> answer) -> run

One belongs to one process; what it keeps is shared through the state folder. No lock is held
while a person thinks.
"""

import contextlib
import json
import math
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from iac_base.errors import SetupError
from iac_base.files import data_folder, require_private_file
from iac_base.secrets import without_secrets
from iac_base.text import escape_hidden
from iac_base.words import fold_name
from iac_runtime.language.raw_event import request_line
from iac_runtime.language.steps import (
    Absent,
    AllElements,
    Event,
    PathValue,
    RecordValue,
    RefValue,
    Step,
    Value,
    Whose,
)
from iac_runtime.language.text import format_reference, format_value
from iac_runtime.policy.decide import (
    TASK,
    PolicyLayer,
    as_refusal,
    decide_by_layers,
    declined,
    strictest,
)
from iac_runtime.policy.effects import (
    IdentifyApp,
    ReadCode,
    hidden_texts_read,
    identify_no_app,
    outgoing_classes,
    request_effects,
)
from iac_runtime.policy.escalation import FROM_RESULT, RuleContext, find_escalations
from iac_runtime.policy.facts import (
    ACCEPTED,
    ApprovalHistory,
    Approver,
    CallFacts,
    Decision,
    TargetDescription,
    Verdict,
    call_digest,
)
from iac_runtime.policy.pause import pause_path
from iac_runtime.policy.places import parse_file_url, path_identity
from iac_runtime.policy.policy_file import load_policy, parse_policy, policy_path
from iac_runtime.policy.prompts import (
    Question,
    build_question,
    describe_differences,
    keep_full_text,
)
from iac_runtime.policy.requests import RequestView, inspect_request, value_path
from iac_runtime.policy.settings import (
    APPROVERS,
    REGISTERED_RULES,
    Policy,
    PolicyFlags,
    PolicySettings,
    read_settings,
)
from iac_runtime.policy.taint import Taint, find_secrets_read
from iac_runtime.tool import Level, Param
from iac_runtime.tools.tables import APPLICATION, Operation, Tables, parameters_of

if TYPE_CHECKING:
    from iac_runtime.policy.approvals import ApprovalStore
    from iac_runtime.policy.tasks import Drafts, TaskBudgets

_TOO_MANY: Final = (
    "Too many approval prompts of {} were declined or ignored. No more will appear for {}."
)
_UNANSWERED: Final = (
    "Nobody declined. Tell the user that an approval prompt will appear, then call again."
)
_SILENT: Final = "Nobody answered the prompt; nothing was sent."
_CAME: Final[Mapping[Verdict, str]] = {
    "cancel": "closed the prompt",
    "error": "failed",
    "timeout": "had no answer in time",
    "unable": "cannot show prompts",
    "unshown": "showed no prompt",
}
_CHANGING: Final = (
    "The objects of the call changed again and again during approval; nothing was sent."
)
_LOOK: Final = "Read the object again, then call again."

_PAUSED: Final = "The user has paused all calls; nothing was sent."
_UNPAUSE: Final = (
    "Stop, and tell the user. They can go on from the page, or with: iac-mcp policy resume"
)

ROUNDS: Final = 3
"""Times that a person says yes to one call, where what it names changes meanwhile."""

_GRANTED: Final = "the same, while this program runs"
_RESUME: Final = "Wait that long. The user can allow prompts again now with: iac-mcp policy resume"


class Requester(NamedTuple):
    """Who calls, and how a person can be asked there.

    Attributes:
        client: As it names itself.
        ways: The ways of asking that there are, in the order in which they are tried.
        preapproved_level: For calls that the person who runs them wrote himself (the library,
            `--allow`).
        unable: The ways that there could be, and are not.
        token_client, max_level, simulated: As in `CallFacts`.
    """

    client: str = ""
    ways: tuple[Approver, ...] = ()
    preapproved_level: Level | None = None
    unable: tuple[Approver, ...] = ()
    token_client: str = ""
    max_level: Level = "DANGEROUS"
    simulated: bool = False


class PendingApproval(NamedTuple):
    """A question to be put to a person in some way, and the token that its answer comes with."""

    question: Question
    token: str
    way: Approver
    story: ApprovalHistory


class Permissions:
    """The policy of this process, its memory of results, and the approvals of this user.

    Args:
        policy: The user's policy.
        settings: The settings that hold.
        store: Opens the approvals, on first need; those of this user if left out.
        context: What the rules of escalation look at.
        home: The user's home folder.
        identify: Knows apps by the names of their processes.
        read_code: Knows what the scripts inside of a call do; None where nothing does.
        now: The time of day in seconds.
        team: A second policy, that of a team, which the user's own can only make stricter.
        files: Where the policies are read from again when they change; None where they never are.
        pause: The file that is there while all calls are paused; None for the person's own calls.
    """

    def __init__(
        self,
        policy: Policy,
        settings: PolicySettings,
        store: "Callable[[], ApprovalStore] | None" = None,
        context: RuleContext | None = None,
        home: str | None = None,
        identify: IdentifyApp = identify_no_app,
        read_code: ReadCode | None = None,
        now: Callable[[], float] = time.time,
        team: Policy | None = None,
        files: "PolicyFiles | None" = None,
        pause: Path | None = None,
    ) -> None:
        self._take_policy(policy, settings, team)
        self._files, self.pause = files, pause
        self._stamp = None if files is None else files.stamp()
        self.taint = (context and context.taint) or Taint()
        own = (str(data_folder()), policy.path or str(policy_path()))
        self._context = (context or RuleContext(own=own))._replace(taint=self.taint)
        self._home = os.path.expanduser("~") if home is None else home  # noqa: PTH111 (a text)
        self._identify = identify
        self._read_code = read_code
        self._now = now
        self._make_store = store
        self._granted: set[tuple[str, str]] = set()

    def _take_policy(self, policy: Policy, settings: PolicySettings, team: Policy | None) -> None:
        self.policy, self.settings = policy, settings
        self._team = (
            () if team is None else (PolicyLayer(team, read_settings(PolicyFlags(), {}, team)),)
        )

    def _read_changes(self) -> None:
        """Take a policy file that was changed; while it has a mistake, the one before holds."""
        if self._files is None or (stamp := self._files.stamp()) == self._stamp:
            return
        self._stamp = stamp
        with contextlib.suppress(SetupError):
            self._take_policy(*self._files.read())

    @cached_property
    def store(self) -> "ApprovalStore":
        """The approvals of this user.

        Raises:
            SetupError: The state folder is not safe, or its file cannot be used.
        """
        # Loads sqlite3, which a call that is not asked about does without.
        from iac_runtime.policy.approvals import ApprovalStore

        return (self._make_store or ApprovalStore)()

    @cached_property
    def drafts(self) -> "Drafts":
        """The drafts of clients. Loaded by a call that fills one."""
        from iac_runtime.policy.tasks import Drafts

        return Drafts()

    @cached_property
    def tasks(self) -> "TaskBudgets":
        """The tasks that were approved in this process. Loaded by the first."""
        from iac_runtime.policy.tasks import TaskBudgets

        return TaskBudgets(self._now)

    def request_facts(
        self, facts: CallFacts, event: Event, level: Level, operation: Operation | None = None
    ) -> CallFacts:
        """Return the facts of a request: what it does, what raises it, what it would read.

        Args:
            facts: Tool, arguments and line; what is of the app is filled in here.
            event: The request, which went through `taint.remove_secret_columns`.
            level: What it needs by the tables of its app.
            operation: What the tool does in its app; None for one of the runtime's own.
        """
        tables = operation.tables if operation else None
        rows = parameters_of(operation) if operation else {}
        bound = operation.spec.bind if operation else None
        view = inspect_request(event, rows, self._home, tables)
        effects = request_effects(
            event, view, operation, level, self._identify, self._context.files.resolve_links
        )
        context = self._context._replace(holder=facts.token_client)
        # A read without values raises nothing.
        can_raise = event.writes or view.values or view.paths or view.has_file_objects
        raised = find_escalations(view, context) if can_raise else ()
        secrets = find_secrets_read(event, tables, self.policy.secrets)
        if view.target_processes and effects[0].is_read_only:
            secrets += hidden_texts_read(event, self._identify)
        if effects[0].verb == "run" and self._read_code is not None:
            inner, hidden = self._read_code(view, self.policy.secrets)
            effects, secrets = (*effects, *inner), (*secrets, *hidden)
        return replace(
            facts,
            effects=effects,
            event=event,
            line=facts.line or request_line(event),
            raised=raised,
            draft=_find_draft(view, tables),
            secrets=secrets,
            sent=lambda key: sent_argument_forms(key, view, rows, bound),
            places=self.path_places,
        )

    def with_caller(self, facts: CallFacts, caller: Requester) -> CallFacts:
        """Return the facts of a call with what is known of who calls."""
        approvers = self.policy.approvers
        lacking: Any = tuple((way, "unable") for way in caller.unable if way in approvers)
        known = replace(
            facts,
            client=caller.client,
            token_client=caller.token_client,
            max_level=caller.max_level,
            simulated=caller.simulated,
            server=self.settings.server,
            ways=tuple(way for way in caller.ways if way in approvers),
            story=ApprovalHistory(asked=lacking),
            preapproved_level=caller.preapproved_level,
            at=time.localtime(self._now()),
            places=cache(self.path_places),
            parts=tuple(self.with_caller(part, caller) for part in facts.parts),
        )
        rest = tuple(row for row in facts.raised if row.rule != FROM_RESULT)
        if rest != facts.raised and (caller.token_client, call_digest(known)) in self._granted:
            # A person saw where it came from and said yes to this very call.
            known = replace(known, raised=rest)
        sends = "drafts" in vars(self) and any(effect.verb == "send" for effect in known.effects)
        return self.drafts.hold(known) if known.draft or sends else known

    def path_places(self, path: str) -> tuple[str, ...]:
        """Return where a path leads: as it says, and with its links resolved."""
        path = parse_file_url(path) or path
        whole = self._home + path[1:] if path == "~" or path.startswith("~/") else path
        if not whole.startswith("/"):
            return ()
        forms = (whole, self._context.files.resolve_links(whole))
        return tuple(dict.fromkeys(map(path_identity, forms)))

    def judge_call(self, facts: CallFacts, before: Sequence[CallFacts] = ()) -> Decision:
        """Return what is to be done with a call, or with several together.

        `before` are the calls with it that count for the same tasks.
        """
        self._read_changes()
        decision = self._judge_facts(facts, before)
        if self.pause is not None and os.path.exists(self.pause):  # noqa: PTH110 (in every call)
            refused = as_refusal(decision, _PAUSED, "the pause", _UNPAUSE)
            return replace(refused, reasons=(_PAUSED,))
        return decision

    def _judge_facts(self, facts: CallFacts, before: Sequence[CallFacts] = ()) -> Decision:
        if facts.parts:
            parts = [replace(part, ways=facts.ways) for part in facts.parts]
            call = strictest([self._judge_facts(part, parts[:at]) for at, part in enumerate(parts)])
            if call.action == "allow" and any(part.tool != facts.tool for part in facts.parts):
                # A rule may be about the tool that makes these calls.
                itself = self._judge_facts(replace(facts, parts=(), effects=(), shown=(), pin=""))
                if itself.action != "allow":
                    return replace(itself, level=call.level)
            return call
        known = (
            facts,
            (PolicyLayer(self.policy, self.settings, tuple(REGISTERED_RULES)), *self._team),
        )
        granted = _GRANTED if (facts.token_client, facts.memory) in self._granted else ""
        decision = decide_by_layers(*known, granted)
        if decision.action == "allow":
            return decision
        # Where nobody can be asked, what somebody allowed for good is allowed still.
        able = facts if facts.ways else replace(facts, ways=APPROVERS)
        asked = decision if able is facts else decide_by_layers(able, *known[1:], granted)
        if granted or not asked.offers_always:
            return decision
        if "tasks" in vars(self) and (task := self.tasks.find(facts, before)):
            return decide_by_layers(*known, task.source_name)
        from iac_runtime.policy.approvals import find_approval

        # Without its memory it asks.
        with contextlib.suppress(SetupError):
            row = find_approval(self.store, facts)
            return decide_by_layers(*known, row.source_name) if row else decision
        return decision

    def prepare_approval(self, facts: CallFacts, decision: Decision) -> PendingApproval | Decision:
        """Return the question about a call for the next way of asking, or why it is refused.

        Raises:
            SetupError: The state cannot be written; then the call may not run.
        """
        from iac_runtime.policy.approvals import PromptsPaused, issue_token

        if decision.action == "deny":
            return decision
        story = facts.story
        if sum(said in ACCEPTED for _, said in story.asked) >= ROUNDS:
            return as_refusal(decision, _CHANGING, "what it names", _LOOK, "STALE")
        way = _next_approver(facts)
        if way is None:
            return _refuse_unanswered(decision, story)
        story = story._replace(id=story.id or secrets.token_hex(8))
        facts = replace(facts, story=story)
        token = issue_token(self.store, facts, decision, way, self._now)
        if isinstance(token, PromptsPaused):
            who, span = escape_hidden(facts.client) or "this program", _format_wait(token.seconds)
            reason = _TOO_MANY.format(who, span)
            return as_refusal(decision, reason, "the limit of questions", _RESUME, "UNANSWERED")
        question = build_question(facts, decision, partial(keep_full_text, self.store.folder))
        return PendingApproval(question, token, way, story)

    def apply_answer(
        self, facts: CallFacts, decision: Decision, token: str, verdict: Verdict
    ) -> tuple[CallFacts, Decision]:
        """Return a call and what is to be done with it after an answer, which is used up.

        What was decided to be denied or blocked stays so, whatever was answered. It asks on where
        the answer is no answer, and where what it names has changed.

        Raises:
            SetupError: The state cannot be written; then the call may not run.
        """
        from iac_runtime.policy.approvals import (
            CHANGED,
            TokenError,
            redeem_token,
            remember_approval,
        )

        try:
            said = redeem_token(self.store, token, facts, decision, verdict, self._now)
        except TokenError as error:
            # What was done by the answer that counted stays the end of its story.
            facts = replace(facts, story=ApprovalHistory())
            if verdict == "decline":
                return facts, declined(decision)
            if str(error) == CHANGED:
                return facts, as_refusal(decision, str(error), "the approval", _LOOK, "STALE")
            return facts, as_refusal(decision, str(error), "the approval")
        asked: Any = (*map(tuple, said.asked), (said.way, verdict))
        facts = replace(facts, story=ApprovalHistory(said.story, asked))
        if decision.action == "deny":
            return facts, decision
        if verdict == "decline":
            return facts, declined(decision)
        if verdict not in ACCEPTED:
            return facts, decision
        if said.pin != facts.pin:
            shown = tuple(TargetDescription(*row) for row in said.shown)
            return self.with_changed_targets(facts, shown), decision
        if verdict == "always" and said.always and decision.offers_always:
            remember_approval(self.store, facts)
        chosen = (
            call_digest(part)
            for part in facts.parts or (facts,)
            if any(row.rule == FROM_RESULT for row in part.raised)
        )
        kept = {facts.memory, *chosen} - {""}
        self._granted |= {(facts.token_client, key) for key in kept}
        source = f"the user, asked by {facts.client or 'iac'}"
        return facts, replace(decision, action="allow", source=source)

    def with_changed_targets(
        self, facts: CallFacts, before: tuple[TargetDescription, ...]
    ) -> CallFacts:
        """Return the facts of a call whose objects are otherwise than they were shown."""
        now = without_secrets(facts.shown)
        story = facts.story._replace(changed=describe_differences(without_secrets(before), now))
        return replace(facts, story=story)

    def spend_tasks(self, facts: CallFacts, decision: Decision) -> bool:
        """Count down the tasks that let a call run; False where one was used up meanwhile."""
        if "tasks" not in vars(self):
            return True
        parts = facts.parts or (facts,)
        judged = [self.judge_call(part) if facts.parts else decision for part in parts]
        pairs = zip(parts, judged, strict=True)
        return self.tasks.spend([part for part, one in pairs if one.source.startswith(TASK)])

    def list_tasks(self) -> list[dict[str, Any]]:
        """Return what is left of the tasks that were approved in this process."""
        return self.tasks.rows() if "tasks" in vars(self) else []

    def end_tasks(self) -> None:
        """Let no task that was approved in this process run anything more."""
        if "tasks" in vars(self):
            self.tasks.end()

    def release_answer(self, token: str) -> None:
        """Let an answer be used again: its call has to wait.

        Raises:
            SetupError: The state cannot be written.
        """
        from iac_runtime.policy.approvals import release_token

        release_token(self.store, token)


def _find_draft(view: RequestView, tables: Tables | None) -> str:
    """Return the draft that a request makes or fills; without loading anything where none can."""
    event = view.event
    fills = event.writes and (event.op == "set" or event.code == "corecrel")
    if tables is None or not fills or not outgoing_classes(tables):
        return ""
    from iac_runtime.policy.tasks import find_draft

    return find_draft(view, tables)


def _format_wait(seconds: float) -> str:
    """Return a time to wait in words, as a person counts it."""
    if seconds < 90:
        return f"{math.ceil(seconds)} seconds"
    return f"{math.ceil(seconds / 60)} minutes"


def _next_approver(facts: CallFacts) -> Approver | None:
    """Return the way to ask by now: the one that said yes, where what it was about has changed."""
    asked = facts.story.asked
    if asked and asked[-1][1] in ACCEPTED:
        return asked[-1][0]
    tried = [way for way, _ in asked]
    return next((way for way in facts.ways if way not in tried), None)


def _refuse_unanswered(decision: Decision, story: ApprovalHistory) -> Decision:
    came = (f"the {way} {_CAME[said]}" for way, said in dict(story.asked).items() if said)
    reason = f"No approval prompt was answered: {', '.join(came)}."
    return as_refusal(decision, reason, "no answer", _UNANSWERED, "UNANSWERED", _SILENT)


TEAM: Final = "team-policy.toml"
"""The policy of a team, in the state folder; `iac-fleet forward` keeps it there."""


def load_team_policy() -> Policy | None:
    """Return the policy that a team published for this Mac; None where it has none.

    Raises:
        SetupError: It is not right, or others can write to it.
    """
    path = data_folder() / "state" / TEAM
    try:
        require_private_file(path)
        return parse_policy(path.read_text("utf-8"), TEAM)
    except FileNotFoundError:
        return None


class PolicyFiles(NamedTuple):
    """Where the policies of this user come from; with the user's own, flags and the environment."""

    path: Path
    team: Path
    chosen: Path | None
    flags: PolicyFlags
    environ: Mapping[str, str]

    def stamp(self) -> tuple[object, ...]:
        """Return what is otherwise once a file was changed: two looks at the disk."""
        return (*_file_stamp(self.path), *_file_stamp(self.team))

    def read(self) -> tuple[Policy, PolicySettings, Policy | None]:
        """Return the user's policy, the settings that hold, and the policy of a team.

        Raises:
            SetupError: One is not right, or a flag or a variable is not.
        """
        policy = load_policy(self.chosen)
        return policy, read_settings(self.flags, self.environ, policy), load_team_policy()


def _file_stamp(path: Path) -> tuple[int, ...]:
    try:
        status = os.stat(path)  # noqa: PTH116 (in every call)
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino


def open_permissions(
    flags: PolicyFlags = PolicyFlags(),  # noqa: B008 (it is immutable)
    policy_file: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    home: str | None = None,
    identify: IdentifyApp = identify_no_app,
    read_code: ReadCode | None = None,
) -> Permissions:
    """Return the permissions of this user.

    Raises:
        SetupError: The policy is not right, or a flag or a variable is not; nothing starts then.
    """
    state = data_folder() / "state"
    known = os.environ if environ is None else environ
    files = PolicyFiles(policy_path(policy_file), state / TEAM, policy_file, flags, known)
    policy, settings, team = files.read()
    return Permissions(
        policy,
        settings,
        home=home,
        identify=identify,
        read_code=read_code,
        team=team,
        files=files,
        pause=pause_path(state),
    )


def default_permissions(home: str | None = None) -> Permissions:
    """Return them without a policy file: what holds where a user said nothing."""
    policy = Policy()
    return Permissions(policy, read_settings(PolicyFlags(), {}, policy), home=home)


ItemForms: TypeAlias = tuple[tuple[str, ...], ...]
"""An entry for each item of a value (one, if it is no list): the texts that all mean this item."""


def sent_argument_forms(
    key: str, view: RequestView, params: Mapping[str, Param], bound: Mapping[str, Any] | None = None
) -> ItemForms | None:
    """Return what would be sent for the argument `key`; None for one that is not sent as such.

    `properties.name` reaches into an object. A recipe's own argument is what it is `bound` to.
    """
    first, *fields = key.split(".")
    first, *fields = (*(_recipe_argument_path(fold_name(first), bound or {}) or (first,)), *fields)
    name = next((param for param in params if fold_name(param) == fold_name(first)), None)
    value = None if name is None else _sent_value(params[name], name, view.event)
    for field in fields:
        record = value.fields if isinstance(value, RecordValue) else ()
        value = next((part for name, part in record if fold_name(name) == fold_name(field)), None)
    items = value if isinstance(value, tuple) else (value,)
    return None if value is None else tuple(_value_forms(item, view) for item in items)


def _recipe_argument_path(name: str, bound: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the way to the argument that a recipe puts its own argument `name` into."""
    for key, part in bound.items():
        if isinstance(part, str) and part.startswith("$") and fold_name(part) == name:
            return (key,)
        recipe_argument_path = (
            _recipe_argument_path(name, part) if isinstance(part, Mapping) else None
        )
        if recipe_argument_path is not None:
            return (key, *recipe_argument_path)
    return None


def _sent_value(row: Param, key: str, event: Event) -> Value:
    if row.code == "----" and event.op == "command":
        return None if isinstance(event.direct, Absent) else event.direct
    if row.code == "----" and event.parts:
        return tuple(RefValue(part.target) for part in event.parts)
    if row.code == "----":
        return RefValue(_collection_owner(event.target) if key == "of" else event.target)
    if key == "properties" and event.op == "set":
        return RecordValue(event.named)
    wanted = fold_name(row.jxa or row.term)
    named = (*event.named, *event.more)
    return next((value for name, value in named if wanted and fold_name(name) == wanted), None)


def _collection_owner(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Return the steps to what holds the collection that is listed or counted."""
    while steps and isinstance(steps[-1], Whose):
        steps = steps[:-1]
    return steps[:-1] if steps and isinstance(steps[-1], AllElements) else steps


def _value_forms(value: Value, view: RequestView) -> tuple[str, ...]:
    forms: list[str] = []
    if isinstance(value, RefValue):
        forms.append(format_reference(value.steps) or APPLICATION)
    elif isinstance(value, str):
        forms.append(value)
    elif not isinstance(value, PathValue):
        forms.append(json.dumps(value) if isinstance(value, int | float) else format_value(value))
    path = value_path(value, view.event.app, view.home)
    if path is not None and not isinstance(value, str):
        forms.append(path)
        if view.home and (path == view.home or path.startswith(view.home + "/")):
            forms.append("~" + path[len(view.home) :])
    return tuple(forms)
