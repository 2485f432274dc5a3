"""Load on `iac-mcp serve --http`: many sessions, broken streams, slow readers, a busy app, an end.

    python tests/server/http_load.py [SESSIONS [CALLS]]
    python tests/server/http_load.py endure SESSIONS SECONDS

Apps are simulated by processes, as osascript is one; Music takes a second for each event.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any, Final, NamedTuple

import httpx2
import psutil
from over_http import BOTH, HELLO, call_of, events

from iac_mcp.http.clients import add_client
from iac_runtime.audit.reading import AuditQuery, find_calls, verify_audit

POLICY: Final = "[limits]\nreads_per_second = 5000\n"
FAULTS: Final = '[[fault]]\napp = "com.apple.Music"\ndelay = 1.0\ntimes = 0\n'
BUSY: Final = "music_list"
OTHERS: Final = ("notes_list", "mail_list", "reminders_list", "calendar_list", "finder_list")
ELEMENTS: Final = {
    "music_list": "playlist", "notes_list": "note", "mail_list": "mailbox",
    "reminders_list": "reminder", "calendar_list": "calendar", "finder_list": "disk",
}  # fmt: skip


SLOW: Final = 0.3
FASTER: Final = 10
"""How much faster time goes for slow clients in `endure_slow_clients`: six minutes are an hour."""

_PROGRAM: Final = f"""
from iac_mcp.entry import main
from iac_mcp.http import guard, serve
for name in ("_HEAD_SECONDS", "_STALLED_SECONDS", "_REST_SECONDS"):
    setattr(serve, name, getattr(serve, name) / {FASTER})
limits = guard.HttpLimits()
serve.make_app.__defaults__ = (guard.HttpLimits(body=limits.body / {FASTER}),)
raise SystemExit(main())
"""


class CallMade(NamedTuple):
    """A call: its own mark, its tool, what came (an error's type, or `done`), and its seconds."""

    mark: str
    tool: str
    came: str
    seconds: float


class LoadServer:
    """The server as a process, on a port that stays over its restarts."""

    def __init__(self, data: Path, *options: str) -> None:
        self._options = options
        data.mkdir(parents=True, exist_ok=True)
        self.data = data
        (data / "policy.toml").write_text(POLICY)
        (data / "faults.toml").write_text(FAULTS)
        osascript = data / "osascript"
        osascript.write_text(f'#!/bin/sh\nexec {sys.executable} -m iac_simulator.osascript "$@"\n')
        osascript.chmod(0o755)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.env = {
            **{key: value for key, value in os.environ.items() if not key.startswith("IAC_")},
            "IAC_DATA": str(data),
            "IAC_OSASCRIPT": str(osascript),
            "IAC_SIMULATOR_FAULTS": str(data / "faults.toml"),
        }
        os.environ["IAC_DATA"] = str(data)
        self.process: subprocess.Popen[bytes] | None = None
        self.program = ("-m", "iac_mcp")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        words = ("serve", "--http", "--port", str(self.port), *self._options)
        with (self.data / "said").open("ab") as said:
            self.process = subprocess.Popen(
                [sys.executable, *self.program, *words], env=self.env, stderr=said
            )
        end = time.monotonic() + 60
        while time.monotonic() < end:
            assert self.process.poll() is None, (self.data / "said").read_text()
            try:
                assert httpx2.post(self.url, trust_env=False).status_code == 401
            except httpx2.TransportError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError("it does not answer")

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it by a signal, and return its status."""
        assert self.process is not None
        self.process.send_signal(how)
        return self.process.wait(20)

    def memory(self) -> int:
        """Return the resident bytes of the server and what it started."""
        assert self.process is not None
        with_children = [psutil.Process(self.process.pid)]
        with_children += with_children[0].children(recursive=True)
        found = 0
        for process in with_children:
            try:
                if "simulator" not in " ".join(process.cmdline()):
                    found += process.memory_info().rss
            except psutil.Error:
                pass
        return found


class LoadSession:
    """A session of a client, which makes its calls at once."""

    def __init__(
        self, http: httpx2.AsyncClient, url: str, token: str, name: str, tools: Sequence[str]
    ) -> None:
        self.http, self.url, self.name, self.tools = http, url, name, tools
        self.headers = {
            "authorization": f"Bearer {token}",
            "accept": BOTH,
            "content-type": "application/json",
        }

    async def open(self) -> None:
        """Begin a session of the older era, whose streams can be taken up again."""
        self.headers.pop("mcp-session-id", None)
        answer = await self.http.post(self.url, json=HELLO, headers=self.headers)
        assert answer.status_code == 200, answer.text
        self.headers["mcp-session-id"] = answer.headers["mcp-session-id"]
        self.headers["mcp-protocol-version"] = "2025-11-25"

    async def call(self, at: int, kind: str) -> CallMade:
        """Make a call; of the kind `broken` the stream is dropped and taken up again."""
        mark = f"{self.name}-{at}"
        tool = BUSY if kind == "busy" and self.tools is OTHERS else self.tools[at % len(self.tools)]
        given = {"element": ELEMENTS[tool], "where": {"name": mark}}
        began = time.monotonic()
        try:
            text = await self._text(call_of(tool, at, **given), kind)
            (result,) = [row["result"] for row in events(text) if row.get("id") == at]
        except (httpx2.TransportError, ValueError, KeyError):
            return CallMade(mark, tool, "lost", time.monotonic() - began)
        came = "done"
        if result["isError"]:
            came = json.loads(result["content"][0]["text"])["type"]
        return CallMade(mark, tool, came, time.monotonic() - began)

    async def _text(self, body: Any, kind: str) -> str:
        said: Mapping[str, str] = self.headers
        content, method, text = json.dumps(body).encode(), "POST", ""
        while True:
            async with self.http.stream(method, self.url, content=content, headers=said) as got:
                if got.status_code != 200:
                    raise ValueError(got.status_code)
                async for line in got.aiter_lines():
                    text += f"{line}\n"
                    if kind == "slow":
                        await asyncio.sleep(SLOW)
                    if '"result"' in line or '"error"' in line:
                        return text
                    if kind == "broken" and line.startswith("id:"):
                        break
                else:
                    raise ValueError("the stream ended")
            # Dropped after its first event: what comes meanwhile is kept.
            await asyncio.sleep(0.2)
            said = {**self.headers, "last-event-id": line.partition(":")[2].strip()}
            kind, method, content = "resumed", "GET", b""


async def burst(
    url: str,
    tokens: Sequence[str],
    sessions: int,
    calls: int,
    name: str,
    tools: Sequence[str] = OTHERS,
    begun: asyncio.Event | None = None,
    *,
    close: bool = False,
) -> tuple[list[CallMade], float]:
    """Open sessions, then make all calls at once, and close them if asked; return the calls and
    the seconds.
    """
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
    kinds = {0: "busy", 1: "broken", 2: "slow"}
    async with httpx2.AsyncClient(limits=limits, timeout=120, trust_env=False) as http:
        rows = [
            LoadSession(http, url, tokens[at % len(tokens)], f"{name}-{at}", tools)
            for at in range(sessions)
        ]
        for at in range(0, sessions, 20):
            await asyncio.gather(*(row.open() for row in rows[at : at + 20]))
        began = time.monotonic()
        if begun is not None:
            begun.set()
        made = await asyncio.gather(
            *(
                row.call(number, kinds.get((7 * at + number) % 20, ""))
                for at, row in enumerate(rows)
                for number in range(1, calls // sessions + 1)
            )
        )
        took = time.monotonic() - began
        for row in rows if close else ():
            await http.delete(url, headers=row.headers)
        return list(made), took


def soak(data: Path, bursts: int, sessions: int, calls: int, clients: int) -> list[int]:
    """Return the megabytes of a server after each of many bursts, whose sessions are closed."""
    server = LoadServer(data, "--simulate")
    tokens = [add_client(f"client-{number}", "SAFE") for number in range(clients)]
    server.start()
    found = []
    for number in range(bursts):
        made, _ = asyncio.run(
            burst(server.url, tokens, sessions, calls, f"burst-{number}", close=True)
        )
        assert "lost" not in {row.came for row in made}
        found.append(round(server.memory() / 1e6))
    assert server.end() == 0
    return found


class SlowClients:
    """Connections that hold a server up in each way that there is, each begun anew when it ends."""

    def __init__(self, port: int, token: str) -> None:
        head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        mine = f"{head}Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        whole = f"{head}Content-Length: 2\r\n\r\n{{}}"
        self._port = port
        self.ended: Counter[str] = Counter()
        self._starts = {
            "silent": "", "head": head[:20], "second head": whole + head[:20],
            "body": f"{mine}Content-Length: 90000\r\n\r\n[",
            "body of a stranger": f"{head}Content-Length: 90000\r\n\r\n[",
            "chunked": f"{mine}Transfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n",
        }  # fmt: skip

    async def keep(self, kind: str) -> None:
        """Keep one open for good."""
        while True:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            reading = asyncio.create_task(reader.read())
            try:
                writer.write(self._starts[kind].encode())
                while not reading.done():
                    await asyncio.wait([reading], timeout=1 / FASTER)
                    if kind != "silent":
                        writer.write(b"1\r\n \r\n" if kind == "chunked" else b" ")
                await reading
            except ConnectionError:
                pass
            finally:
                reading.cancel()
                writer.close()
            self.ended[kind] += 1

    def begin(self, each: int) -> list[asyncio.Task[None]]:
        """Begin that many of each kind."""
        return [asyncio.create_task(self.keep(kind)) for kind in self._starts for _ in range(each)]


def endure_slow_clients(
    data: Path, sessions: int, seconds: float, clients: int, each: int
) -> dict[str, Any]:
    """Open and close many sessions beside slow clients, whose time goes `FASTER`.

    Each session makes a call; what is refused, and the most memory after the first tenth, is told.
    """
    server = LoadServer(data, "--simulate")
    server.program = ("-c", _PROGRAM)
    tokens = [add_client(f"client-{number}", "SAFE") for number in range(clients)]
    slow_token = add_client("slow", "SAFE")
    server.start()
    came: Counter[str] = Counter()
    memory: list[int] = []

    async def one(http: httpx2.AsyncClient, at: int) -> None:
        row = LoadSession(http, server.url, tokens[at % clients], f"s-{at}", OTHERS)
        try:
            await row.open()
            # The executor runs four calls at once, so one session in 20 calls an app.
            if at % 20:
                ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
                answer = await http.post(server.url, json=ping, headers=row.headers)
                came["done" if answer.status_code == 200 else str(answer.status_code)] += 1
            else:
                came[(await row.call(1, "")).came] += 1
            await http.delete(server.url, headers=row.headers)
        except (AssertionError, httpx2.TransportError) as error:
            came[f"refused: {error!r}"[:90]] += 1

    async def main() -> tuple[float, Counter[str]]:
        slow = SlowClients(server.port, slow_token)
        running = slow.begin(each)
        began = time.monotonic()
        # An idle connection has its own time, which goes as ever.
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        async with httpx2.AsyncClient(limits=limits, timeout=60, trust_env=False) as http:
            at = 0
            while at < sessions or time.monotonic() - began < seconds:
                await asyncio.gather(*(one(http, number) for number in range(at, at + 50)))
                at += 50
                if not at % 500:
                    memory.append(await asyncio.to_thread(server.memory))
        took = time.monotonic() - began
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        return took, slow.ended

    took, ended = asyncio.run(main())
    assert server.end() == 0
    base = memory[len(memory) // 10]
    return {
        "sessions": sum(came.values()), "came": dict(came), "seconds": round(took),
        "slow_hours": round(took * FASTER / 3600, 1), "slow_ended": dict(ended),
        "memory_mb": [round(size / 1e6) for size in memory],
        "memory_ratio": round(max(memory) / base, 2),
        "log_bytes": (data / "said").stat().st_size,
    }  # fmt: skip


async def beside(url: str, tokens: Sequence[str]) -> list[CallMade]:
    """Have all clients but one wait for the busy app, and return what the one got meanwhile."""
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
    async with httpx2.AsyncClient(limits=limits, timeout=120, trust_env=False) as http:
        rows = [
            LoadSession(http, url, token, f"beside-{at}", OTHERS) for at, token in enumerate(tokens)
        ]
        await asyncio.gather(*(row.open() for row in rows))
        busy = [asyncio.create_task(row.call(at, "busy")) for row in rows[1:] for at in range(1, 9)]
        await asyncio.sleep(1.0)
        made = [await rows[0].call(at, "") for at in range(100, 140)]
        for task in busy:
            task.cancel()
        await asyncio.gather(*busy, return_exceptions=True)
        return made


def recorded(data: Path) -> Counter[tuple[str, str]]:
    """Return how often each mark is in the audit, with each result."""
    entries = find_calls(data / "state", AuditQuery(), 1_000_000)
    rows = ((json.loads(json.dumps(entry.to_json_object())), entry) for entry in entries)
    found: Counter[tuple[str, str]] = Counter()
    for facts, _ in rows:
        where = (facts.get("arguments") or {}).get("where") or {}
        if "name" in where:
            found[where["name"], facts["result"]] += 1
    return found


def load(data: Path, sessions: int, calls: int, clients: int, *options: str) -> dict[str, Any]:
    """Load a server, end it in a second burst, start it anew; return what was seen."""
    server = LoadServer(data, *options)
    tokens = [add_client(f"client-{number}", "SAFE") for number in range(clients)]
    server.start()
    warm_up, _ = asyncio.run(burst(server.url, tokens, min(sessions, 20), min(calls, 100), "warm"))
    before, most = server.memory(), 0
    done: list[Any] = []

    async def watched() -> None:
        nonlocal most
        running = asyncio.create_task(burst(server.url, tokens, sessions, calls, "first"))
        while not running.done():
            most = max(most, await asyncio.to_thread(server.memory))
            await asyncio.sleep(0.2)
        done.append(await running)

    asyncio.run(watched())
    made, seconds = done[0]
    after = server.memory()

    async def ended() -> list[CallMade]:
        begun = asyncio.Event()
        work = burst(server.url, tokens, sessions, calls, "second", begun=begun)
        running = asyncio.create_task(work)
        await begun.wait()
        await asyncio.sleep(seconds / 3)
        status = await asyncio.to_thread(server.end)
        assert status == 0, status
        return (await running)[0]

    second = asyncio.run(ended())
    server.start()
    third, _ = asyncio.run(burst(server.url, tokens, min(sessions, 20), min(calls, 100), "third"))
    aside = asyncio.run(beside(server.url, tokens))
    assert server.end() == 0
    rows = recorded(data)
    each = Counter(mark for mark, _ in rows.elements())
    answered = [row for row in (*warm_up, *made, *second, *third, *aside) if row.came != "lost"]
    unrecorded = [row for row in answered if not rows[row.mark, row.came]]
    return {
        "sessions": sessions, "calls": len(made), "seconds": round(seconds, 1),
        "came": dict(Counter(row.came for row in made)),
        "others": dict(Counter(row.came for row in made if row.tool != BUSY)),
        "others_p50_p95": _middle_and_most([row for row in made if row.tool != BUSY]),
        "cut_off": dict(Counter(row.came for row in second)),
        "after_restart": dict(Counter(row.came for row in third)),
        "beside_busy": dict(Counter(row.came for row in aside)),
        "beside_p50_p95": _middle_and_most(aside), "unrecorded": len(unrecorded),
        "twice": sum(count > 1 for count in each.values()),
        "chain": verify_audit(data / "state").is_intact,
        "memory_mb": [round(size / 1e6) for size in (before, most, after)],
    }  # fmt: skip


def _middle_and_most(made: Sequence[CallMade]) -> list[float]:
    cuts = quantiles(sorted(row.seconds for row in made), n=20)
    return [round(cuts[at], 2) for at in (9, 18)]


if __name__ == "__main__":
    wanted = [int(word) for word in sys.argv[1:] if word.isdecimal()] or [200, 2000]
    with tempfile.TemporaryDirectory() as folder:
        if "endure" in sys.argv:
            print(json.dumps(endure_slow_clients(Path(folder) / "data", *wanted, 20, 5)))
            raise SystemExit
        print(json.dumps(load(Path(folder) / "data", wanted[0], wanted[-1], 20), indent=1))
