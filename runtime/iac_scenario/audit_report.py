"""Rules as data, what they are held against, and the findings as a table, JSON or JUnit's XML."""

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from iac_scenario.matching import schema_validator
from iac_scenario.output import JunitCase, junit_xml
from iac_scenario.results import shorten_value

LEVELS: Final = ("error", "warning")
_SHOWN: Final = ("faults", "notes", "problems", "secrets", "undefined", "twins", "changing")
"""Facts that say themselves what is wrong."""


class AuditCheck(NamedTuple):
    """One rule held against one thing; `fault` says what is wrong, or is empty."""

    where: str
    rule: str
    source: str
    level: str
    fault: str


class AuditRule(NamedTuple):
    """A rule of `audit_rules.toml`."""

    name: str
    of: str
    source: str
    level: str
    text: str
    schema: str


@cache
def read_rules() -> tuple[AuditRule, ...]:
    """Return the rules in the order of their file."""
    path = Path(__file__).with_name("audit_rules.toml")
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return tuple(
        AuditRule(
            name, row["of"], row["source"], row["level"], row["text"], json.dumps(row["schema"])
        )
        for name, row in table.items()
    )


def check_rules(of: str, where: str, facts: Mapping[str, Any]) -> Iterator[AuditCheck]:
    """Hold what is known of a thing against the rules of its kind."""
    for rule in read_rules():
        if rule.of != of:
            continue
        fault = ""
        if not schema_validator(rule.schema).is_valid(facts):
            named = json.loads(rule.schema).get("properties", {})
            said = [str(item) for key in _SHOWN if key in named for item in facts.get(key, ())]
            fault = " ".join([rule.text, *map(shorten_value, said)])
        yield AuditCheck(where, rule.name, rule.source, rule.level, fault)


def failing_checks(checks: Iterable[AuditCheck]) -> list[AuditCheck]:
    """Return the checks with a fault, the worst level first."""
    return sorted((one for one in checks if one.fault), key=lambda one: LEVELS.index(one.level))


def format_table(checks: Sequence[AuditCheck]) -> str:
    """Return a line a finding in columns, and a last line that counts."""
    found = failing_checks(checks)
    rows = [(one.level, one.where, f"{one.rule} ({one.source})", one.fault) for one in found]
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(3)]
    lines = ["  ".join((*map(str.ljust, row[:3], widths), row[3])) for row in rows]
    counts = [sum(one.level == level for one in found) for level in LEVELS]
    passed = len(checks) - len(found)
    share = passed * 100 // max(len(checks), 1)
    total = f"{passed} of {len(checks)} checks passed ({share} %)"
    return "\n".join([*lines, f"{total}: {counts[0]} errors, {counts[1]} warnings."])


def format_json(checks: Sequence[AuditCheck]) -> str:
    """Return the findings, and how many checks there were."""
    found = [one._asdict() for one in failing_checks(checks)]
    facts = {"checks": len(checks), "passed": len(checks) - len(found), "findings": found}
    return json.dumps(facts, ensure_ascii=False, indent=2)


def format_junit(checks: Sequence[AuditCheck]) -> str:
    """Return JUnit's XML: a suite a thing, a case a rule; a warning is no failure there."""
    suites: dict[str, list[JunitCase]] = {}
    for one in checks:
        failed = [one.fault] if one.fault and one.level == "error" else []
        case = JunitCase(one.rule, failed, f"warning: {one.fault}" if one.fault else "")
        suites.setdefault(one.where, []).append(case)
    return junit_xml((where, {}, cases) for where, cases in suites.items())


REPORTS: Final[Mapping[str, Callable[[Sequence[AuditCheck]], str]]] = {
    "table": format_table, "json": format_json, "junit": format_junit,
}  # fmt: skip
