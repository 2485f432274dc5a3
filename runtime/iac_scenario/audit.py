"""What is wrong with a server, a scenario file, or a server's answers to bad arguments.

`audit` and `lint` hold what they find against the rules of `audit_rules.toml`. `fuzz` derives from
each tool's schema arguments that do not fit, and a server must refuse them: in time, without
ending, without breaking the protocol and without a stack trace.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio

from iac_scenario.audit_report import AuditCheck, check_rules
from iac_scenario.bootstrap import sample_value
from iac_scenario.checks import static_problems
from iac_scenario.contract import EVERYTHING, read_contract
from iac_scenario.matching import generalize_value, schema_validator
from iac_scenario.mcp_servers import McpExecutor, connect_servers
from iac_scenario.model import PlayError, StdioServer, ToolCall, public_name, scenario_calls
from iac_scenario.reader import load_scenario
from iac_scenario.results import shorten_value
from iac_scenario.schema import resolve_timeouts

if TYPE_CHECKING:
    from mcp import Client

Servers = Mapping[str, StdioServer]

_TRACE: Final = re.compile(
    r"Traceback \(most recent call last\)|^\s+at .+:\d+:\d+\)?$|^goroutine \d+ \[|panicked at ",
    re.M,
)
_ODD_VALUES: Final[Sequence[Any]] = (
    None, True, -1, 0.5, 10**30, "", "x" * 10_000, "\0\ud7ff\U0010ffff", "../../../etc/passwd",
    [], [None], {}, {"a": {"b": {}}},
)  # fmt: skip
"""What an argument may be by mistake or malice; only what its schema forbids is sent."""


async def audit_servers(servers: Servers) -> list[AuditCheck]:
    """Return the checks of what servers say, list, and do until their end. Raises PlayError."""
    answers, timeouts = replace(EVERYTHING, forgives=True), resolve_timeouts({}, {})
    checks: list[AuditCheck] = []
    async with connect_servers(servers, answers, timeouts) as real:
        failed, checkers = real.failed_servers(), real.protocol_checkers()
        for why in (failed[name] for name in failed if not checkers[name].faults):
            raise PlayError(why)
        facts: dict[str, dict[str, Any]] = {name: {} for name in failed}
        for name, client in real.connected_clients(but=failed).items():
            contract = await read_contract(client)
            facts[name] = _server_facts(client, servers[name], contract)
            checks += _listing_checks(name, contract)
    for name, checker in checkers.items():
        facts[name] |= {"faults": checker.faults, "notes": checker.notes}
    own = (check_rules("server", name, known) for name, known in facts.items())
    return [*chain.from_iterable(own), *checks]


def _server_facts(
    client: "Client", server: StdioServer, contract: Mapping[str, Any]
) -> dict[str, Any]:
    tools = contract["tools"]
    said = client.server_info
    return {
        "name": said.name if said else "",
        "version": said.version if said else "",
        "instructions": client.instructions or "",
        "url": server.url,
        "tool_count": len(tools),
        "tokens": sum(map(count_tokens, tools.values())),
    }


def count_tokens(entry: Any) -> int:
    """Return about how many tokens an entry costs a model: its bytes by four."""
    return len(json.dumps(entry, separators=(",", ":")).encode()) // 4


def _listing_checks(server: str, contract: Mapping[str, Any]) -> Iterator[AuditCheck]:
    tools = contract["tools"]
    same = Counter(tool.get("description") for tool in tools.values())
    for name, tool in tools.items():
        where, schema = f"{server} {name}", tool.get("inputSchema") or {}
        known, text = schema.get("properties") or {}, tool.get("description")
        twins = [key for key, other in tools.items() if other.get("description") == text]
        facts = {
            "qualified_name": f"mcp__{public_name(server)}__{name}",
            "tokens": count_tokens(tool),
            "undefined": [key for key in schema.get("required", ()) if key not in known],
            "twins": [key for key in twins if key != name] if text and same[text] > 1 else [],
        }
        yield from check_rules("tool", where, tool | facts)
        for key, value in known.items():
            yield from check_rules("argument", f"{where}.{key}", {"name": key, "schema": value})
    for kind, plural in (("prompt", "prompts"), ("resource", "resources")):
        for name, entry in contract.get(plural, {}).items():
            yield from check_rules(kind, f"{server} {kind} {name}", entry)


def lint_scenario(path: Path) -> Iterator[AuditCheck]:
    """Yield the checks of a scenario file. Raises ScenarioError for one that cannot be read."""
    loaded = load_scenario(path)
    scenario = loaded.scenario
    words = [
        word for server in scenario.servers.values() for word in (server.command, *server.args)
    ]
    facts = {
        "allowed": sorted(scenario.allowed),
        "paths": words,
        "problems": [*map(str, static_problems(scenario)), *loaded.warnings],
        "secrets": [*loaded.secrets],
    }
    yield from check_rules("scenario", path.name, facts)
    for call in scenario_calls(scenario):
        wanted = [check.want for check in call.expect if check.kind == "equals"]
        of_call = {
            "tool": call.tool,
            "expects": sorted({check.kind for check in call.expect}),
            "changing": [str(want) for want in wanted if generalize_value(want) != want],
        }
        if not call.is_answered and call.failure is None:
            yield from check_rules("call", f"{path.name}:{call.line} {call.tool}", of_call)


def bad_arguments(schema: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield arguments that do not fit a schema, and what is wrong with each."""
    validator, good = schema_validator(json.dumps(schema)), sample_value(schema)
    good = good if isinstance(good, dict) else {}
    known = schema.get("properties") or {}
    made = [(f"without {key}", {k: v for k, v in good.items() if k != key}) for key in good]
    made.append(("with another argument", {**good, "unheard_of": 1}))
    for name in known:
        # Models write null where they leave an optional argument out, and servers may take that.
        values = _ODD_VALUES[name not in schema.get("required", ()) :]
        odd = ((shorten_value(json.dumps(value))[:60], value) for value in values)
        made += [(f"{name} = {shown}", {**good, name: value}) for shown, value in odd]
    yield from ((label, given) for label, given in made if not validator.is_valid(given))


async def fuzz_servers(servers: Servers, most: int, *, destructive: bool) -> list[AuditCheck]:
    """Call tools with bad arguments, at most so many calls a server. Raises PlayError.

    Tools that do not say that they only read are called only if `destructive` says so, as a server
    may do what it should refuse.
    """
    checks: list[AuditCheck] = []
    timeouts = resolve_timeouts({}, {})
    async with connect_servers(servers, EVERYTHING, timeouts) as real:
        for name, client in real.connected_clients().items():
            tools = (await read_contract(client))["tools"]
            cases = [
                [(tool, label, given) for label, given in bad_arguments(listed["inputSchema"])]
                for tool, listed in tools.items()
                if destructive or (listed.get("annotations") or {}).get("readOnlyHint") is True
            ]
            # Every tool gets its turn before the limit is reached.
            turns = filter(None, chain.from_iterable(zip_longest(*cases)))
            for tool, label, given in islice(turns, most):
                fault = await _bad_call_fault(real, name, tool, given, timeouts)
                row = AuditCheck(f"{name} {tool}", label, "fuzz", "error", fault)
                checks.append(row)
                if real.has_ended(name):
                    break
    return checks


async def _bad_call_fault(
    real: McpExecutor, server: str, tool: str, given: Any, timeouts: Mapping[str, int]
) -> str:
    begun = anyio.current_time()
    qualified = f"mcp__{public_name(server)}__{public_name(tool)}"
    outcome = await real.run(ToolCall(qualified, given, send_invalid=True))
    if real.has_ended(server) or anyio.current_time() - begun >= timeouts["mcp_timeout_ms"] / 1000:
        return outcome.text
    if not outcome.is_error:
        return f"It accepts arguments that do not fit: {shorten_value(outcome.text)}"
    if found := _TRACE.search(outcome.text):
        return f"It answers with a stack trace: {found[0].strip()}"
    return ""
