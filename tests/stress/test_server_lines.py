"""Ten thousand bad lines between good calls, a thousand calls at once, a client that is slow."""

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "server"))

from malformed import GOOD, KINDS, PIECES
from piped import COUNT, MODERN_COUNT, PATIENCE, SERVE, Piped, message

pytestmark = [pytest.mark.stress, pytest.mark.process, pytest.mark.timeout(3600)]

LINES = 10_000
BETWEEN = 25
AT_ONCE = 1_000


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Piped]:
    data = tmp_path / "data"
    data.mkdir()
    (data / "policy.toml").write_text("[limits]\nreads_per_second = 1000\n")
    found = Piped(data, "--expose", "all", "--simulate")
    found.open()
    yield found
    assert found.close() == 0
    assert "Traceback" not in found.log.read_text()


def mutated(chance: random.Random, line: bytes) -> bytes:
    """Return a line with bytes cut, doubled, put in or flipped."""
    found = bytearray(line)
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(found))
        to = min(len(found), at + chance.randint(0, 40))
        what = chance.choice(["cut", "double", "put", "flip"])
        if what == "cut":
            del found[at:to]
        elif what == "double":
            found[at:at] = found[at:to]
        elif what == "put":
            found[at:at] = chance.choice(PIECES)
        elif at < len(found):
            found[at] ^= 1 << chance.randint(0, 7)
    return bytes(found)


@pytest.mark.parametrize("seed", range(3))
def test_every_good_call_between_ten_thousand_bad_lines_is_answered(
    served: Piped, seed: int
) -> None:
    chance = random.Random(seed)
    # What is very deep is slow to read and is sent as it is, elsewhere.
    seeds = [line for name, kind in KINDS.items() if name != "depth" for line in kind()]
    good = 0
    for number in range(LINES // BETWEEN):
        lines = [mutated(chance, chance.choice([*seeds, *GOOD])) for _ in range(BETWEEN)]
        served.write(*lines)
        answer = served.ask("tools/call", (COUNT, MODERN_COUNT)[number % 2])
        assert answer["result"]["structuredContent"]["result"] == 2, lines
        good += 1
    assert good == LINES // BETWEEN
    assert served.process.poll() is None


def test_a_thousand_calls_at_once_are_each_answered(served: Piped) -> None:
    threads = psutil.Process(served.process.pid)
    ids = [served.send("tools/call", COUNT) for _ in range(AT_ONCE)]
    answers = served.wait(*ids)
    kinds = Counter(kind_of(answer["result"]) for answer in answers.values())
    assert set(kinds) <= {"done", "BUSY"}
    assert kinds["done"] >= 4
    assert threads.num_threads() < 200
    assert served.call("mail_count", element="mailbox")["structuredContent"]["result"] == 2


def kind_of(result: dict[str, object]) -> str:
    """Return `done`, or the type of the failure."""
    content = result["content"]
    assert isinstance(content, list)
    return str(json.loads(content[0]["text"])["type"]) if result["isError"] else "done"


def test_a_client_that_stops_reading_is_left_and_memory_stays_flat(tmp_path: Path) -> None:
    """The pipe fills, the server waits ten seconds for it, and ends."""
    with subprocess.Popen(
        [*SERVE, "--expose", "all", "--simulate"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "IAC_DATA": str(tmp_path)},
    ) as process:
        assert process.stdin
        memory = psutil.Process(process.pid)
        with contextlib.suppress(BrokenPipeError):
            for number in range(40):
                params = {"_meta": MODERN_COUNT["_meta"]}
                process.stdin.write(message(number, "tools/list", params) + b"\n")
                process.stdin.flush()
        assert memory.memory_info().rss < 200_000_000
        assert process.wait(PATIENCE) == 0


def test_a_slow_client_gets_every_answer(tmp_path: Path) -> None:
    """A listing of 200 kB at some 20 kB a second, longer than a client that reads nothing has."""
    with subprocess.Popen(
        [*SERVE, "--expose", "all", "--simulate"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "IAC_DATA": str(tmp_path)},
    ) as process:
        assert process.stdin
        assert process.stdout
        params = {"_meta": MODERN_COUNT["_meta"]}
        process.stdin.write(message(1, "tools/list", params) + b"\n")
        process.stdin.write(message(2, "tools/list", params) + b"\n")
        process.stdin.flush()
        got = b""
        while got.count(b"\n") < 2:
            got += os.read(process.stdout.fileno(), 2_000)
            time.sleep(0.1)
        assert [json.loads(line)["id"] for line in got.splitlines()] == [1, 2]
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
