"""What a team expects of its policy, in a file of its own: calls, and what is done with them."""

import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, get_args

from iac_base.positions import Path as Where
from iac_runtime.policy.facts import Action
from iac_runtime.policy.rules import DAYS, TableKeys, TableReader, table_keys

_NOON: Final = "mon 12:00"


class ExpectedDecision(NamedTuple):
    """A call and what is to be done with it.

    Attributes:
        call: The tool.
        decision: What is to be done.
        arguments, client, server: What is called with, by whom, and by which server.
        at: When, of which day and hour count.
        rule: What must stand in what decided or in a reason: `line 3`, `preset`; empty for any.
        line: Where it stands.
    """

    call: str
    decision: Action
    arguments: Mapping[str, Any]
    client: str
    server: str
    at: time.struct_time
    rule: str
    line: int


class Expectations(NamedTuple):
    """The policy that is meant, as a path from the file on (empty for the user's own), and rows."""

    policy: str
    rows: tuple[ExpectedDecision, ...]


def read_expectations(text: str, name: str) -> Expectations:
    """Return what a TOML text expects; `name` is the file's, for messages.

    Raises:
        SetupError: It is not right; one line with the line, and the nearest known word.
    """
    reader = _ExpectationsReader(text, name)
    found = reader.read_table((), reader.document.value, _KEYS)
    return Expectations(found.get("policy", ""), found.get("expect", ()))


class _ExpectationsReader(TableReader):
    """Reads expectations."""

    def read_decision(self, where: Where, value: Any) -> str:
        return self.read_word(where, value, get_args(Action), "there is no decision {}.")

    def read_arguments(self, where: Where, value: Any) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            self.raise_error(where, "arguments must be a table.")
        return value

    def read_time(self, where: Where, value: Any) -> time.struct_time:
        words = value.split(" ") if isinstance(value, str) else []
        try:
            day, moment = DAYS.index(words[0]), time.strptime(words[1], "%H:%M")
        except (ValueError, IndexError):
            self.raise_error(where, f'at must be a day and a time, such as "{_NOON}".')
        return time.struct_time((*moment[:6], day, *moment[7:]))

    def read_rows(self, where: Where, value: Any) -> tuple[ExpectedDecision, ...]:
        if not isinstance(value, list):
            self.raise_error(where, "write each one under a separate line: [[expect]]")
        found: list[ExpectedDecision] = []
        for at, part in enumerate(value):
            spot = (*where, at)
            row = self.read_table(spot, part, _ROW)
            for key in ("call", "decision"):
                if key not in row:
                    self.raise_error(spot, f"this [[expect]] has no {key}.")
            usual = dict.fromkeys(("client", "rule", "server"), "")
            row = {"arguments": {}, "at": self.read_time(spot, _NOON), **usual, **row}
            found.append(ExpectedDecision(**row, line=self.document.line_of(spot)))
        return tuple(found)


_ROW: Final[TableKeys] = {
    "arguments": ("arguments", _ExpectationsReader.read_arguments),
    "at": ("at", _ExpectationsReader.read_time),
    "decision": ("decision", _ExpectationsReader.read_decision),
    **table_keys("call client rule server", _ExpectationsReader.read_single_line),
}
_KEYS: Final[TableKeys] = {
    "expect": ("expect", _ExpectationsReader.read_rows),
    "policy": ("policy", _ExpectationsReader.read_single_line),
}
