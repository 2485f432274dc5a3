"""Calls, answers, restarts and rebuilt tools in any order: what may run, and what is written."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from diary_world import WORLD, write_output
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule
from simulated import simulate_apps

from iac_base.errors import ToolError
from iac_base.files import open_state
from iac_runtime.audit.reading import AuditQuery, find_calls, verify_audit
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.opening import open_audit
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall, RefusedCall
from iac_runtime.policy.approvals import resume_clients
from iac_runtime.policy.facts import ACCEPTED, Verdict
from iac_runtime.policy.permissions import Requester, open_permissions
from iac_runtime.tools.catalogue import Catalogue

CALLS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("diary_get", {"target": "entries[0]"}), ("diary_make_entry", {"title": "a"}),
    ("diary_make_entry", {"title": "b"}), ("diary_make", {"element": "entry"}),
    ("diary_delete", {"target": "entries[0]"}), ("diary_delete", {"target": "entries[1]"}),
    ("diary_set", {"target": "today", "properties": {"owner": "x", "password": "x"}}),
)  # fmt: skip
ASKED = Requester("tester", ("client",))
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


class Machine(RuleBasedStateMachine):
    """One user's state folder, and servers that come and go."""

    questions: Bundle[tuple[Call, PendingCall]] = Bundle("questions")

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.before = os.environ.get("IAC_DATA")
        os.environ["IAC_DATA"] = str(self.folder / "data")
        self.output = write_output(self.folder / "tools")
        self.always: set[str] = set()
        self.used: set[str] = set()
        self.ran: list[str] = []
        self.failed = 0
        self.digest = 0
        self.open()
        self.run(Call(*CALLS[0]))

    def open(self) -> None:
        self.waiting: list[PendingCall] = []
        catalogue = Catalogue([self.output])
        self.simulator = simulate_apps(catalogue, {"diary": WORLD})
        self.gate = Gate(
            catalogue,
            Executor(self.simulator),
            home="/Users/me",
            permissions=open_permissions(),
            audit=open_audit,
        )

    def teardown(self) -> None:
        self.gate.close()
        state = open_state()
        assert verify_audit(state).is_intact
        written = find_calls(state, AuditQuery(), 10_000)
        done = sorted(entry.tool for entry in written if entry.result == "done")
        assert done == sorted(self.ran)
        assert len([entry for entry in written if entry.result == "NOT_FOUND"]) == self.failed
        assert all(
            entry.decision == "allow" for entry in written if entry.result in ("done", "NOT_FOUND")
        )
        assert all(entry.result != "interrupted" for entry in written)
        if self.before is None:
            del os.environ["IAC_DATA"]
        else:
            os.environ["IAC_DATA"] = self.before
        shutil.rmtree(self.folder)

    @rule(target=questions, call=st.sampled_from(CALLS))
    def first(self, call: tuple[str, Mapping[str, Any]]) -> Any:
        name, arguments = call
        asked = Call(name, dict(arguments), ASKED)
        outcome = self.run(asked)
        if isinstance(outcome, CompletedCall):
            # Nobody was asked just now: it reads, or the person said always.
            assert outcome.level == "SAFE" or (outcome.level == "MODIFY" and name in self.always)
        if not isinstance(outcome, PendingCall):
            return (asked, None)
        self.waiting.append(outcome)
        return (asked, outcome)

    @rule(asked=questions, verdict=st.sampled_from(VERDICTS), resumed=st.booleans())
    def answer(
        self, asked: tuple[Call, PendingCall | None], verdict: Verdict, *, resumed: bool
    ) -> None:
        """Answer a question: the call goes on as it was planned, or comes again with its token."""
        call, question = asked
        if question is None:
            return
        again = call._replace(token=question.token, verdict=verdict)
        # A server that ended has nothing to go on with.
        able = resumed and any(one is question for one in self.waiting)
        outcome = self.run(again, question if able else None)
        if outcome is None:
            return
        fresh = question.token not in self.used
        self.used.add(question.token)
        if isinstance(outcome, PendingCall):
            # What it names has changed meanwhile.
            assert fresh
            assert verdict in ACCEPTED
            assert "This has changed since the last prompt:" in outcome.question.text
        if isinstance(outcome, RefusedCall) and fresh:
            assert ("The user declined." in outcome.reason) == (verdict == "decline")
        if isinstance(outcome, CompletedCall):
            assert fresh
            assert verdict in ACCEPTED
            if verdict == "always" and question.level == "MODIFY":
                self.always.add(call.tool)

    @rule(asked=questions, other=st.sampled_from(CALLS))
    def answer_another(
        self, asked: tuple[Call, PendingCall | None], other: tuple[str, Mapping[str, Any]]
    ) -> None:
        call, question = asked
        if question is None or (call.tool, call.arguments) == (other[0], dict(other[1])):
            return
        forged = Call(other[0], dict(other[1]), ASKED, token=question.token, verdict="once")
        self.used.add(question.token)
        assert isinstance(self.run(forged), RefusedCall | None)

    @rule(call=st.sampled_from(CALLS), text=st.text(max_size=30))
    def forge(self, call: tuple[str, Mapping[str, Any]], text: str) -> None:
        forged = Call(call[0], dict(call[1]), ASKED, token=text or "x", verdict="always")
        assert isinstance(self.run(forged), RefusedCall | None)

    @rule(call=st.sampled_from(CALLS))
    def alone(self, call: tuple[str, Mapping[str, Any]]) -> None:
        """Call where nobody can be asked."""
        outcome = self.run(Call(call[0], dict(call[1])))
        assert not isinstance(outcome, PendingCall)
        if isinstance(outcome, RefusedCall):
            assert outcome.requires_prompt

    @rule()
    def restart(self) -> None:
        self.gate.close()
        self.open()

    @rule()
    def rebuild(self) -> None:
        """Build the tools anew, changed: what was allowed for good is void."""
        self.digest += 1
        lock = self.output / "tools.lock"
        found = json.loads(lock.read_text()) if lock.exists() else {"tools": {}}
        names = json.loads((self.output / "catalogue.json").read_text())["tools"]
        found["tools"] = {name: {"digest": f"{self.digest:016x}"} for name in names}
        lock.write_text(json.dumps(found))
        os.utime(lock, ns=(self.digest, self.digest * 10**9))
        self.always.clear()

    @rule()
    def go_on(self) -> None:
        """The person lets questions be asked again."""
        resume_clients(self.gate.permissions.store)

    def run(self, call: Call, pending: PendingCall | None = None) -> Any:
        before = len(self.simulator.events)
        try:
            if pending is None:
                outcome = self.gate.call(call)
            else:
                outcome = self.gate.answer(pending, call.verdict)
        except ToolError as error:
            # What it was to change had been deleted meanwhile.
            assert error.type == "NOT_FOUND"
            if not self.acted_since(before):
                return None
            self.failed += 1
            level = "MODIFY" if call.tool in self.always else "DANGEROUS"
            return CompletedCall(None, "", level)  # type: ignore[arg-type]
        if isinstance(outcome, CompletedCall):
            self.ran.append(call.tool)
        else:
            assert not self.acted_since(before), "something was sent for a call that did not run"
        return outcome

    def acted_since(self, before: int) -> bool:
        """Say whether more was sent than what the gate looks at, and counts, by itself."""
        return any(
            row.event not in ("coregetd", "corecnte") for row in self.simulator.events[before:]
        )


Machine.TestCase.settings = settings(stateful_step_count=12)
TestMachine = Machine.TestCase
