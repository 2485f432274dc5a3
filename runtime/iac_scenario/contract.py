"""What a server offers, as a file; and in words what changed since, and whether it breaks callers.

A contract is `{SERVER: {"tools": {NAME: {...}}, "prompts": …, "resources": …, "templates": …}}`.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from iac_base.files import write_whole
from iac_scenario.client_callbacks import ClientAnswers
from iac_scenario.mcp_servers import (
    connect_servers,
    expand_variables,
    list_all_entries,
    read_config,
)
from iac_scenario.model import PlayError
from iac_scenario.protocol_checks import LISTINGS
from iac_scenario.schema import resolve_timeouts

if TYPE_CHECKING:
    from mcp import Client

EVERYTHING: Final = ClientAnswers("auto", roots=("/",), samples=True)
"""Some servers list a tool only for clients that can answer it."""
_PASSED: Final = ("icons", "_meta", "size")
_BROADER: Final[Mapping[str, tuple[str, ...]]] = {"number": ("integer",)}


class ContractChange(NamedTuple):
    """A difference: where, in words, and whether callers of before may fail."""

    where: str
    text: str
    breaks: bool = False

    def __str__(self) -> str:
        return f"{'BREAKS ' if self.breaks else ''}{self.where}: {self.text}"


async def read_contract(client: "Client") -> dict[str, Any]:
    """Return what one server offers. Raises PlayError."""
    from mcp.shared.exceptions import MCPError
    from mcp_types import METHOD_NOT_FOUND

    capabilities = client.server_capabilities.model_dump(exclude_none=True)
    contract: dict[str, Any] = {}
    for kind, (method, field, capability, key) in LISTINGS.items():
        if capability in capabilities or kind == "tools":
            try:
                entries = await list_all_entries(client, method, field)
            except MCPError as error:
                # A server may have resources and no templates.
                if error.code != METHOD_NOT_FOUND:
                    raise PlayError(f"{method}: {error.message}") from None
                entries = []
            contract[kind] = {
                entry[key]: {name: entry[name] for name in sorted(entry) if name not in _PASSED}
                for entry in sorted(entries, key=lambda entry: str(entry[key]))
            }
    return contract


async def read_contracts(config: Path) -> dict[str, Any]:
    """Return what the servers of a configuration offer. Raises PlayError."""
    servers = {name: expand_variables(server, {}) for name, server in read_config(config).items()}
    async with connect_servers(servers, EVERYTHING, resolve_timeouts({}, {})) as real:
        clients = sorted(real.connected_clients().items())
        return {name: await read_contract(client) for name, client in clients}


def compare_contracts(
    path: Path, contracts: Mapping[str, Any], *, update: bool
) -> list[ContractChange]:
    """Return what changed since the file was written; write it where it is missing or asked for.

    Raises PlayError for a file that cannot be read or written.
    """
    try:
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        if before is None or update:
            write_whole(path, json.dumps(contracts, ensure_ascii=False, indent=2) + "\n")
    except (OSError, ValueError) as error:
        raise PlayError(f"{path}: {error}") from None
    return [] if before is None else list(contract_changes(before, contracts))


def contract_changes(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[ContractChange]:
    """Yield what changed from one contract to another, the order of their servers."""
    for server in before.keys() | after.keys():
        for kind in LISTINGS:
            old, new = (side.get(server, {}).get(kind, {}) for side in (before, after))
            for name in sorted(old.keys() | new.keys()):
                where = f"{server} {kind.removesuffix('s')} {name}"
                if name not in new:
                    yield ContractChange(where, "is gone", breaks=True)
                elif name not in old:
                    yield ContractChange(where, "is new")
                else:
                    yield from _entry_changes(where, old[name], new[name])


def _entry_changes(
    where: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[ContractChange]:
    for field in sorted(old.keys() | new.keys()):
        was, now = old.get(field), new.get(field)
        if was == now:
            continue
        if field == "inputSchema":
            yield from _schema_changes(f"{where}, input", was or {}, now or {}, given=True)
        elif field == "outputSchema":
            if was is None or now is None:
                change = "says now what it returns" if was is None else "no longer says it"
                yield ContractChange(f"{where}, output", change, breaks=now is None)
            else:
                yield from _schema_changes(f"{where}, output", was, now, given=False)
        elif field == "arguments":
            tables = (_arguments_schema(side or []) for side in (was, now))
            yield from _schema_changes(f"{where}, arguments", *tables, given=True)
        elif field == "annotations":
            for hint in sorted((was or {}).keys() | (now or {}).keys()):
                pair = (was or {}).get(hint), (now or {}).get(hint)
                if pair[0] != pair[1]:
                    # Clients ask before what destroys, and run what only reads without asking.
                    worse = (hint, pair[1]) in (("readOnlyHint", False), ("destructiveHint", True))
                    yield ContractChange(
                        where, f"{hint} was {pair[0]}, and is now {pair[1]}", breaks=worse
                    )
        else:
            yield ContractChange(where, f"has another {field}")


def _arguments_schema(arguments: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the arguments of a prompt as a schema."""
    return {
        "properties": {argument["name"]: {} for argument in arguments},
        "required": [argument["name"] for argument in arguments if argument.get("required")],
        "additionalProperties": False,
    }


def _schema_changes(
    where: str, old: Mapping[str, Any], new: Mapping[str, Any], *, given: bool
) -> Iterator[ContractChange]:
    """Yield changes of a schema: what callers give may widen, and what they get may narrow."""
    was, now = old.get("properties", {}), new.get("properties", {})
    must, needs = set(old.get("required", ())), set(new.get("required", ()))
    for name in sorted(was.keys() | now.keys()):
        here = f"{where} {name}"
        if name not in now:
            closed = new.get("additionalProperties") is False
            yield ContractChange(here, "is gone", breaks=closed if given else name in must)
        elif name not in was:
            yield ContractChange(here, "is new and required" if name in needs else "is new",
                         breaks=given and name in needs)  # fmt: skip
        else:
            if (name in must) != (name in needs):
                change = "is needed now" if name in needs else "is no longer needed"
                yield ContractChange(here, change, breaks=(name in needs) is given)
            if was[name] != now[name]:
                yield from _schema_changes(here, was[name], now[name], given=given)
    yield from _value_changes(where, old, new, given=given)
    if isinstance(old.get("items"), dict) and isinstance(new.get("items"), dict):
        yield from _schema_changes(f"{where}[]", old["items"], new["items"], given=given)
    was_closed, is_closed = (side.get("additionalProperties") is False for side in (old, new))
    if was_closed != is_closed:
        change = "takes no other fields now" if is_closed else "takes other fields too"
        yield ContractChange(where, change, breaks=given and is_closed)


def _value_changes(
    where: str, old: Mapping[str, Any], new: Mapping[str, Any], *, given: bool
) -> Iterator[ContractChange]:
    """Yield changes of types, of enumerations, and of what is not looked into."""
    for field in ("type", "enum"):
        sets = [_allowed_values(side.get(field)) for side in (old, new)]
        if sets[0] == sets[1]:
            continue
        # What callers give may be more than before, what they get may be less; none is all.
        wide, narrow = (sets[1], sets[0]) if given else (sets[0], sets[1])
        fits = wide is None or (narrow is not None and narrow <= wide)
        is_now = new.get(field, "anything")
        words = is_now if isinstance(is_now, str) else " or ".join(map(str, is_now))
        yield ContractChange(where, f"its {field} is now {words}", breaks=not fits)
    known = ("properties", "required", "items", "additionalProperties", "type", "enum", "$schema")
    for field in sorted(old.keys() | new.keys()):
        if field not in known and old.get(field) != new.get(field):
            prose = field in ("title", "description", "default", "examples")
            yield ContractChange(where, f"has another {field}", breaks=not prose)


def _allowed_values(value: Any) -> frozenset[Any] | None:
    if value is None:
        return None
    values = [str(item) for item in value] if isinstance(value, list) else [str(value)]
    return frozenset((*values, *(also for item in values for also in _BROADER.get(item, ()))))
