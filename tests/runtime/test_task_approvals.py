"""One answer for several calls: a draft is asked about at its sending, a task is counted down."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from simulated import permissions_under, simulate_apps

from iac_base.errors import InvalidParameterError
from iac_runtime.execution.executor import Executor
from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CallAnswer, CompletedCall, PendingCall, RefusedCall
from iac_runtime.policy.permissions import Requester
from iac_runtime.tools.catalogue import Catalogue
from iac_runtime.tools.own import added_tools
from iac_simulator.simulator import demo_state

MAIL = "inbox.messages.byId({})"
DRAFT = "outgoingMessages.byId(202)"


@pytest.fixture(scope="module")
def catalogue(generated: Path) -> Catalogue:
    return Catalogue([generated])


class Desk:
    """A gate on simulated apps, with a clock that can be set."""

    def __init__(self, catalogue: Catalogue, policy: str = "") -> None:
        self.now = 1_000_000.0
        self.simulator = simulate_apps(catalogue, demo_state())
        self.permissions = permissions_under(policy, now=lambda: self.now)
        self.gate = Gate(
            catalogue,
            Executor(self.simulator),
            home="/Users/me",
            permissions=self.permissions,
            added=added_tools,
        )

    def call(
        self, tool: str, arguments: Any = None, *, client: str = "", ways: Any = ("client",)
    ) -> CallAnswer:
        caller = Requester("Claude", ways, token_client=client)
        given = {"calls": tuple(arguments)} if isinstance(arguments, list) else {}
        plain = {} if given else arguments or {}
        return self.gate.call(Call(tool, plain, caller, **given))

    def accept(self, answer: CallAnswer, verdict: Any = "once") -> CallAnswer:
        assert isinstance(answer, PendingCall), answer
        return self.gate.answer(answer, verdict)

    def approve(
        self, *calls: tuple[str, Any], count: int = 2, minutes: int = 10, **more: Any
    ) -> Any:
        rows = [{"name": name, "arguments": arguments} for name, arguments in calls]
        given = {"calls": rows, "count": count, "minutes": minutes}
        return self.call("approve_task", given, **more)


@pytest.fixture
def desk(catalogue: Catalogue, own_data_folder: Path) -> Desk:
    return Desk(catalogue)


def mark(ident: int) -> tuple[str, Any]:
    return "mail_mark_read", {"message": MAIL.format(ident)}


def runs(answer: CallAnswer) -> bool:
    assert isinstance(answer, CompletedCall | PendingCall), answer
    return isinstance(answer, CompletedCall)


def test_a_task_is_asked_about_as_a_budget_and_counted_down(desk: Desk) -> None:
    asked = desk.approve(mark(101))
    assert isinstance(asked, PendingCall)
    assert asked.question.answers == ("Deny", "Allow once")
    for part in (
        "up to 2 times within 10 minutes",
        "mark messages as read in Mail",
        "only in inbox",
    ):
        assert part in asked.question.text
    done = desk.accept(asked)
    assert isinstance(done, CompletedCall)
    assert done.value["left"] == 2
    assert runs(desk.call(*mark(101)))
    (row,) = desk.permissions.tasks.rows()
    assert (row["client"], row["left"], row["of"]) == ("Claude", 1, 2)
    assert runs(desk.call(*mark(103)))
    assert desk.permissions.tasks.rows() == []
    assert not runs(desk.call(*mark(102)))


def test_a_task_covers_its_kind_in_its_place_and_nothing_else(desk: Desk) -> None:
    desk.accept(desk.approve(mark(101), count=50))
    others = (
        ("mail_mark_unread", {"message": MAIL.format(101)}),
        ("mail_flag_message", {"message": MAIL.format(101)}),
        ("mail_mark_read", {"message": 'accounts[0].mailboxes["Projects"].messages.byId(201)'}),
        ("notes_make_note", {"title": "x", "text": "y"}),
        ("mail_delete", {"target": MAIL.format(101)}),
        ("mail_set", {"target": "inbox.messages", "properties": {"read status": True}}),
    )
    for tool, arguments in others:
        assert not runs(desk.call(tool, arguments)), tool
    # The same change by another road is the same.
    again = {"target": MAIL.format(101), "properties": {"read status": True}}
    assert runs(desk.call("mail_set", again))
    assert not runs(desk.call(*mark(101), client="another"))


def test_a_task_ends_with_its_time(desk: Desk) -> None:
    desk.accept(desk.approve(mark(101), minutes=10))
    desk.now += 601
    assert not runs(desk.call(*mark(101)))


def test_calls_together_count_each(desk: Desk) -> None:
    desk.accept(desk.approve(mark(101), count=2))
    three = [mark(ident)[1] for ident in (101, 102, 103)]
    assert not runs(desk.call("mail_mark_read", three))
    assert runs(desk.call("mail_mark_read", three[:2]))
    assert not runs(desk.call(*mark(103)))


def test_an_approval_in_between_takes_nothing_from_a_task(desk: Desk) -> None:
    desk.accept(desk.approve(mark(101), count=2))
    desk.accept(desk.call("mail_mark_read", [mark(ident)[1] for ident in (101, 102, 103)]))
    assert desk.permissions.tasks.rows()[0]["left"] == 2


def test_a_task_can_be_approved_again_before_it_is_used_up(desk: Desk) -> None:
    for _ in range(2):
        desk.accept(desk.approve(mark(101), count=1))
    ran = [runs(desk.call(*mark(ident))) for ident in (101, 102, 103)]
    assert ran == [True, True, False]


def test_a_script_is_no_call_of_a_task(desk: Desk) -> None:
    # Nobody can tell how many messages it reaches, nor of which mailbox.
    desk.accept(desk.approve(mark(101), count=50))
    marks = 'tell application "Mail" to set read status of every message of inbox to true'
    assert not runs(desk.call("execute_applescript", {"script": marks}))
    with pytest.raises(InvalidParameterError):
        desk.approve(("execute_applescript", {"script": marks}))


def test_the_last_of_a_task_is_taken_once(desk: Desk) -> None:
    desk.accept(desk.approve(mark(101), count=5))
    barrier, ran = threading.Barrier(8), []

    def try_one() -> None:
        barrier.wait()
        ran.append(runs(desk.call(*mark(101))))

    threads = [threading.Thread(target=try_one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ran) == [False] * 3 + [True] * 5


def test_a_no_allows_nothing(desk: Desk) -> None:
    assert isinstance(desk.accept(desk.approve(mark(101)), "decline"), RefusedCall)
    assert not runs(desk.call(*mark(101)))


@pytest.mark.parametrize(("tool", "arguments"), [
    ("mail_delete", {"target": MAIL.format(101)}),
    ("mail_send", {"target": "outgoingMessages[0]"}),
    ("standard_additions_do_shell_script", {"command": "ls"}),
    # Raised by an argument.
    ("mail_set", {"target": "inbox.messages", "properties": {"read status": True}}),
    ("safari_open_url", {"url": "http://plain.example/"}),
    # A place that is another by the next call.
    ("mail_mark_read", {"message": "accounts[0].mailboxes[0].messages[0]"}),
    ("app_launch", {"app": "Notes"}),
])  # fmt: skip
def test_what_must_be_asked_each_time_is_no_task(desk: Desk, tool: str, arguments: Any) -> None:
    if tool == "app_launch":
        # It needs no container, and may be remembered.
        assert isinstance(desk.approve((tool, arguments)), PendingCall)
        return
    with pytest.raises(InvalidParameterError):
        desk.approve(mark(101), (tool, arguments))


def test_deny_and_ask_rules_stand_before_a_task(
    catalogue: Catalogue, own_data_folder: Path
) -> None:
    denied = Desk(catalogue, "[[deny]]\ntool = 'mail_mark_read'\n")
    with pytest.raises(InvalidParameterError, match="denies this call"):
        denied.approve(mark(101))
    asks = Desk(catalogue, "[[ask]]\ntool = 'mail_mark_read'\n")
    with pytest.raises(InvalidParameterError):
        asks.approve(mark(101))
    # A rule about the tool that is used later.
    later = Desk(catalogue, "[[ask]]\ntool = 'mail_set'\n")
    later.accept(later.approve(mark(101)))
    given = {"target": MAIL.format(101), "properties": {"read status": True}}
    assert not runs(later.call("mail_set", given))


def test_a_task_needs_somebody_who_can_be_asked(desk: Desk) -> None:
    answer = desk.approve(mark(101), ways=())
    assert isinstance(answer, RefusedCall)
    assert answer.requires_prompt


def test_what_needs_no_approval_needs_no_task(desk: Desk) -> None:
    with pytest.raises(InvalidParameterError, match="require approval"):
        desk.approve(("mail_list_unread", {}))


# Drafts.


def begun(desk: Desk, **more: Any) -> None:
    made = desk.call("mail_make_message", {"title": "Roof", "body": "Yes. " * 40}, **more)
    assert runs(made)
    assert made.value == DRAFT  # type: ignore[union-attr]


def recipient(address: str, draft: str = DRAFT) -> tuple[str, Any]:
    return "mail_add_recipient", {"message": draft, "address": address}


def test_a_draft_is_asked_about_once_when_it_is_sent(desk: Desk) -> None:
    begun(desk)
    assert runs(desk.call(*recipient("dana@roofs.example")))
    assert runs(desk.call("mail_set", {"target": DRAFT, "properties": {"subject": "The roof"}}))
    asked = desk.call("mail_send", {"target": DRAFT})
    assert isinstance(asked, PendingCall)
    assert asked.level == "DANGEROUS"
    for part in ('"The roof"', "dana@roofs.example", "Yes. " * 30):
        assert part in asked.question.text


def test_the_sending_says_which_address_a_stranger_wrote(desk: Desk) -> None:
    desk.call("mail_list_unread")
    begun(desk)
    assert runs(desk.call(*recipient("ines@example.org")))
    asked = desk.call("mail_send", {"target": DRAFT})
    assert isinstance(asked, PendingCall)
    where = 'stood in the message "Lunch on Thursday?"'
    assert f"ines@example.org {where}" in asked.question.text


@pytest.mark.parametrize(("tool", "arguments"), [
    # By a position it may be another's.
    recipient("dana@roofs.example", "outgoingMessages[0]"),
    ("mail_set", {"target": DRAFT, "properties": {"vcard path": "~/Documents/me.vcf"}}),
    ("mail_set", {"target": DRAFT, "properties": {"message signature": 'signatures["Short"]'}}),
    ("mail_set", {"target": MAIL.format(101), "properties": {"flagged status": True}}),
    ("mail_delete", {"target": DRAFT}), ("mail_save", {"target": DRAFT}),
])  # fmt: skip
def test_what_is_no_part_of_a_draft_is_asked_about(desk: Desk, tool: str, arguments: Any) -> None:
    begun(desk)
    assert not runs(desk.call(tool, arguments))


def test_a_draft_is_its_makers_alone(desk: Desk) -> None:
    begun(desk, client="one")
    assert not runs(desk.call(*recipient("dana@roofs.example"), client="two"))
    assert runs(desk.call(*recipient("dana@roofs.example"), client="one"))


def test_a_draft_that_a_person_made_is_theirs(catalogue: Catalogue, own_data_folder: Path) -> None:
    desk = Desk(catalogue)
    begun(desk)
    other = Desk(catalogue)
    other.simulator = desk.simulator
    other.gate.executor = Executor(desk.simulator)
    other.gate.context.executor = other.gate.executor
    assert not runs(other.call(*recipient("dana@roofs.example")))


@pytest.mark.parametrize("policy", ["[[ask]]\napp = 'Mail'\n", "[[deny]]\napp = 'Mail'\n"])
def test_a_rule_stands_before_a_draft(
    catalogue: Catalogue, own_data_folder: Path, policy: str
) -> None:
    answer = Desk(catalogue, policy).call("mail_make_message", {"title": "x", "body": "y"})
    assert not isinstance(answer, CompletedCall)


def test_nothing_is_begun_where_nobody_can_be_asked(desk: Desk) -> None:
    answer = desk.call("mail_make_message", {"title": "x", "body": "y"}, ways=())
    assert isinstance(answer, RefusedCall)
    assert json.dumps(answer.facts())
