"""Programs that are killed while they audit: nothing that was acknowledged is lost."""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "runtime"))

from audit_trial import trial

pytestmark = pytest.mark.stress


@pytest.mark.timeout(3600)
def test_two_hundred_kills_under_load(tmp_path: Path) -> None:
    rng = random.Random(5)
    wrong: list[str] = []
    acknowledged = 0
    for number in range(200):
        # Ten trials share a file, as a program that crashes again and again.
        count, faults = trial(tmp_path / f"state{number // 10}", rng, at_work=number % 2 > 0)
        acknowledged += count
        wrong += [f"trial {number}: {fault}" for fault in faults]
    print(f"{acknowledged} acknowledged intents in 200 trials, {len(wrong)} faults")
    assert wrong == []
    assert acknowledged > 2_000
