"""A hundred thousand mixed calls of one server: its memory, descriptors and threads stay flat."""

import sys
from pathlib import Path

import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "server"))

from piped import Piped

pytestmark = [pytest.mark.stress, pytest.mark.process, pytest.mark.timeout(7200)]

CALLS = 100_000
WARM = 10_000
AT_ONCE = 8
GROWTH = 5_000_000
"""Bytes of resident memory, after the first calls."""

POLICY = """
rate_limit = 2000
[limits]
reads_per_second = 2000
dangerous_per_second = 2000
[[allow]]
app = ["com.apple.*"]
"""

CALL = tuple[str, dict[str, object]]
MIXED: tuple[CALL, ...] = (
    ("mail_count", {"element": "mailbox"}),
    ("notes_get", {"target": "accounts[0].folders[0].notes[0]", "properties": ["name", "body"]}),
    ("notes_list", {"element": "note", "properties": ["name"], "limit": 5}),
    ("reminders_list", {"element": "reminder", "properties": ["name"], "where": {"flagged": True}}),
    ("notes_set", {"target": "accounts[0].folders[0].notes[0]", "properties": {"body": "x"}}),
    ("app_running", {"app": "Music"}),
    ("music_pause", {}),
    ("finder_get", {"target": "nowhere[0]", "properties": ["name"]}),
    ("notes_count", {"element": "note", "of": 'folders["None"]'}),
    ("calendar_list", {"element": "calendar", "properties": ["name"]}),
)
"""Reads, changes and what is refused; nothing grows in the simulated worlds."""


def held(process: psutil.Process) -> tuple[int, int, int]:
    """Return resident bytes, descriptors and threads."""
    return process.memory_info().rss, process.num_fds(), process.num_threads()


def test_memory_descriptors_and_threads_stay_flat(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "policy.toml").write_text(POLICY)
    served = Piped(data, "--expose", "all", "--simulate")
    served.open()
    process = psutil.Process(served.process.pid)
    seen = []
    for start in range(0, CALLS, AT_ONCE):
        calls = [MIXED[number % len(MIXED)] for number in range(start, start + AT_ONCE)]
        ids = [
            served.send("tools/call", {"name": tool, "arguments": arguments})
            for tool, arguments in calls
        ]
        answers = served.wait(*ids)
        assert len(answers) == AT_ONCE
        if (start + AT_ONCE) % WARM < AT_ONCE:
            seen.append(held(process))
            print(start + AT_ONCE, *seen[-1], flush=True)
    assert served.close() == 0
    rss, descriptors, threads = zip(*seen, strict=True)
    assert rss[-1] - rss[0] <= GROWTH, seen
    assert max(descriptors) <= descriptors[0], seen
    # One more or less is a call that was just under way.
    assert max(threads) <= threads[0] + 2, seen
