"""Many Macs at once, whose connections break and whose database is killed."""

import asyncio
import sys
from pathlib import Path

import pytest
from fleet_record import Fleet

from iac_fleet import database, verify

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import fleet_scale


@pytest.mark.sweep
def test_nothing_is_lost_when_many_send_and_the_server_is_killed(fleet: Fleet) -> None:
    server = fleet.server
    macs = [fleet_scale.Mac(f"mac-{number}", number) for number in range(12)]
    kills = asyncio.run(fleet_scale.run_fleet(fleet.address, server, macs, 9.0, 20.0))
    found = fleet_scale.compare_rows(fleet.address, macs)
    assert kills >= 2
    assert sum(mac.outages for mac in macs) >= len(macs)
    assert found.sent > 500
    assert found[1:] == (0, 0, 0, 0)
    with database.open_connection(fleet.address("lead")) as lead:
        assert verify.check_chains(lead, 24.0).rows == found.sent
