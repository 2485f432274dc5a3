"""How fast the server starts and answers, against a bare loop and against the SDK alone.

    python benchmarks/serve.py [RUNS]

Every start is a process of its own: spawn -> initialize -> the complete tools/list. The bare loop
prints the very bytes that our server printed; the SDK's low-level server has the same tools. The
three take turns, so that a busy moment falls on all. So do bare starts of Python and starts up to
the first answered call. Medians; ratios travel better than milliseconds. Byte code is kept, as pip
writes it. Exits with 1 when a bound is missed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import psutil
from bounds import exit_status, hold_at_most

ROOT: Final = Path(__file__).parent.parent
SHIPPED: Final = ROOT / "generated" / "iac_tools"
PEERS: Final = Path(__file__).with_name("serve_peers.py")
SERVE: Final = (sys.executable, "-P", "-m", "iac_mcp", "serve")
"""As `iac-mcp install` writes it into a client's configuration."""

RUNS: Final = 15
CALLS: Final = 1_000
APP_TOOLS: Final = 25
CLIENT: Final = {"name": "bench", "version": "1"}
HANDSHAKE: Final = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}

BARE_RATIO: Final = 2.5
SDK_RATIO: Final = 0.15
FIRST_CALL: Final = {"mail_count": 17.0, "read_tool": 17.0, "list_apps": 15.0, "find_tools": 28.0}
RESIDENT: Final = 45.0
OVER_SDK: Final = 0.5


class Peer(NamedTuple):
    """A server and its client's end of the pipes."""

    process: subprocess.Popen[bytes]
    spawned: float

    def ask(self, id_: int, method: str, params: Mapping[str, Any] | None = None) -> bytes:
        """Send a request and return the line that answers it."""
        self.say({"id": id_, "method": method, **({"params": params} if params else {})})
        assert self.process.stdout
        return self.process.stdout.readline()

    def say(self, message: Mapping[str, Any]) -> None:
        """Send a message."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def open(self) -> bytes:
        """Go through the handshake and return the answer."""
        answer = self.ask(1, "initialize", HANDSHAKE)
        self.say({"method": "notifications/initialized"})
        return answer

    def since(self) -> float:
        """Return the milliseconds since the spawn."""
        return (time.perf_counter() - self.spawned) * 1000

    def close(self) -> None:
        """End the input and wait."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class Started(NamedTuple):
    """One start: milliseconds to the whole list, megabytes then, and the two answers."""

    milliseconds: float
    megabytes: float
    opened: bytes
    listed: bytes


def spawn(command: Sequence[str], data: Path) -> Peer:
    """Start a server with a data folder of its own."""
    env = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("IAC_") and key != "PYTHONDONTWRITEBYTECODE"
    }
    env["PYTHONPYCACHEPREFIX"] = str(data / "bytecode")
    now = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**env, "IAC_DATA": str(data)},
    )
    return Peer(process, now)


def start(command: Sequence[str], data: Path) -> Started:
    """Start a server, list its tools, end it."""
    peer = spawn(command, data)
    opened = peer.open()
    listed = peer.ask(2, "tools/list")
    milliseconds = peer.since()
    megabytes = psutil.Process(peer.process.pid).memory_info().rss / 1e6
    peer.close()
    return Started(milliseconds, megabytes, opened, listed)


def write_tools(folder: Path, count: int) -> Path:
    """Write an output folder of `count` tools that are like those of real apps."""
    models = [json.loads(line) for line in (SHIPPED / "listing.jsonl").open("rb")]
    lines, tools, apps = b"", {}, {}
    for number in range(count):
        key = f"bench{number // APP_TOOLS:03}"
        function = f"tool{number % APP_TOOLS:02}"
        entry = {**models[number % len(models)], "name": f"{key}_{function}"}
        apps[key] = {"id": f"com.example.{key}", "name": key.title(), "kind": "application"}
        tools[entry["name"]] = {
            "module": key,
            "function": function,
            "level": "SAFE",
            "ceiling": "SAFE",
        }
        lines += json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    folder.mkdir(parents=True)
    (folder / "listing.jsonl").write_bytes(lines)
    (folder / "catalogue.json").write_text(json.dumps({"format": 1, "apps": apps, "tools": tools}))
    return folder


def result_of(line: bytes) -> bytes:
    """Return the result in a response as the bytes that were printed."""
    return line[line.index(b'"result":') + len(b'"result":') : -2]


def starts(folder: Path, count: int, runs: int) -> None:
    """Print the starts with `count` tools."""
    others = (SHIPPED / "listing.jsonl").read_bytes().count(b"\n") + own_tools()
    tools = write_tools(folder / f"tools{count}", count - others)
    ours = (*SERVE, "--tools", str(tools), "--expose", "all")
    first = start(ours, folder)
    entries = json.loads(first.listed)["result"]["tools"]
    assert len(entries) == count, len(entries)
    answers, listing = folder / f"answers{count}", folder / f"entries{count}"
    answers.write_bytes(result_of(first.opened) + b"\n" + result_of(first.listed) + b"\n")
    listing.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    commands = {
        "bare": (sys.executable, str(PEERS), "bare", str(answers)),
        "ours": ours,
        "sdk": (sys.executable, str(PEERS), "sdk", str(listing)),
    }
    taken: dict[str, list[Started]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            taken[name].append(start(command, folder))
    assert taken["bare"][0].listed == first.listed, "not the same bytes"
    medians = {name: statistics.median(t.milliseconds for t in ts) for name, ts in taken.items()}
    memory = {name: statistics.median(t.megabytes for t in ts) for name, ts in taken.items()}
    print(f"{count} tools, {len(first.listed) / 1e6:.2f} MB of listing, {runs} starts each")
    for name in commands:
        print(f"  {name:<30} {medians[name]:8.1f} ms  {memory[name]:6.1f} MB resident")
    hold_at_most("  times the bare loop", medians["ours"] / medians["bare"], BARE_RATIO)
    hold_at_most("  of the SDK's time", medians["ours"] / medians["sdk"], SDK_RATIO)


def own_tools() -> int:
    """Return how many tools the runtime itself lists beside `all`."""
    from iac_runtime.tools.own import OWN_TOOLS

    return len(OWN_TOOLS)


CALLED: Final = (
    {"name": "mail_count", "arguments": {"element": "mailbox"}},
    {"name": "read_tool", "arguments": {"name": "notes_list", "arguments": {"element": "note"}}},
    {"name": "list_apps", "arguments": {}},
    {"name": "find_tools", "arguments": {"query": "unread mail"}},
)


def first_calls(folder: Path, runs: int) -> None:
    """Print the starts up to the first answered call, and what ten calls take."""
    taken: dict[str, list[tuple[float, float]]] = {}
    bare = []
    for number in range(runs + 1):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        bare.append((time.perf_counter() - begun) * 1000)
        for call in CALLED:
            found = first_call(folder, call)
            # The first writes byte code.
            if number:
                taken.setdefault(call["name"], []).append(found)
    start = statistics.median(bare)
    print(f"  {'a bare start of Python':<30} {start:8.1f} ms")
    for name, rows in taken.items():
        milliseconds, megabytes = (statistics.median(column) for column in zip(*rows, strict=True))
        print(f"  {name:<30} {milliseconds:8.1f} ms  {megabytes:6.1f} MB after ten calls")
        hold_at_most("  bare starts to the first call", milliseconds / start, FIRST_CALL[name])
        hold_at_most("  MB resident after ten", megabytes, RESIDENT, "MB")


def first_call(folder: Path, call: Mapping[str, Any]) -> tuple[float, float]:
    """Return the milliseconds from spawn to the first answer, and the megabytes after ten."""
    peer = spawn((*SERVE, "--simulate"), folder)
    peer.open()
    answer = json.loads(peer.ask(3, "tools/call", call))
    milliseconds = peer.since()
    assert not answer["result"]["isError"], answer
    for number in range(9):
        peer.ask(10 + number, "tools/call", call)
    megabytes = psutil.Process(peer.process.pid).memory_info().rss / 1e6
    peer.close()
    return milliseconds, megabytes


def later_calls(folder: Path) -> None:
    """Print what a call costs with a stubbed gate, and with the SDK alone."""
    listing = folder / "entries1000"
    peers = {
        name: spawn((sys.executable, str(PEERS), name, str(listing)), folder)
        for name in ("stub", "sdk")
    }
    for peer in peers.values():
        peer.open()
    call = {"name": "bench000_tool00", "arguments": {}}
    taken: dict[str, list[float]] = {name: [] for name in peers}
    for number in range(CALLS):
        for name, peer in peers.items():
            ask = partial(peer.ask, number + 9, "tools/call", call)
            taken[name].append(timed(ask))
    for peer in peers.values():
        peer.close()
    medians = {name: statistics.median(values[50:]) for name, values in taken.items()}
    print(f"  a later call: ours {medians['stub']:.3f} ms, the SDK {medians['sdk']:.3f} ms")
    hold_at_most("  over the SDK", medians["stub"] - medians["sdk"], OVER_SDK, "ms")


def timed(call: Callable[[], object]) -> float:
    """Return the milliseconds that a call took."""
    begun = time.perf_counter()
    call()
    return (time.perf_counter() - begun) * 1000


def main() -> int:
    """Print all figures; 1 if a bound is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="?", type=int, default=RUNS)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count in (1000, 5000):
            starts(folder, count, runs)
        first_calls(folder, runs)
        later_calls(folder)
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
