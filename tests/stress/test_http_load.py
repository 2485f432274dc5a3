"""Two hundred sessions over HTTP, two thousand calls in flight, the server ended among them."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "server"))

from http_load import endure_slow_clients, load, soak

pytestmark = [pytest.mark.stress, pytest.mark.process, pytest.mark.timeout(1200)]

GROWTH = 300
"""Megabytes: of what is in flight, beside what an idle server has."""


def test_nothing_is_lost_and_memory_is_bounded(tmp_path: Path) -> None:
    found = load(tmp_path / "data", sessions=200, calls=2000, clients=20)
    print(found)
    assert (found["unrecorded"], found["twice"], found["chain"]) == (0, 0, True)
    # Music takes a second for each call; the others go on beside it.
    assert found["others"] == {"done": sum(found["others"].values())}
    assert found["beside_busy"] == {"done": 40}
    assert found["beside_p50_p95"][1] < 2.0
    before, most, _ = found["memory_mb"]
    assert most - before < GROWTH


def test_memory_is_given_back_when_sessions_end(tmp_path: Path) -> None:
    found = soak(tmp_path / "data", bursts=10, sessions=200, calls=600, clients=20)
    print(found)
    assert found[-1] <= 1.2 * found[1]


def test_slow_clients_cost_nobody_anything(tmp_path: Path) -> None:
    found = endure_slow_clients(tmp_path / "data", 10_000, seconds=360, clients=20, each=5)
    print(found)
    assert set(found["came"]) == {"done"}
    assert found["sessions"] >= 10_000
    assert found["slow_hours"] >= 1
    # Each kind of them is ended, again and again.
    assert min(found["slow_ended"].values()) > 100
    assert found["memory_ratio"] <= 1.2
    assert found["log_bytes"] < 2_000
