"""What `run` answers is what Claude Code answered, but for the differences that are listed.

`nox -s oracle` plays the client itself and records it.
"""

import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).with_name("oracle")
sys.path.insert(0, str(FOLDER))

import oracle  # noqa: E402

RECORDINGS = sorted(FOLDER.glob("claude-*.json"))


@pytest.mark.usefixtures("confinement")
@pytest.mark.parametrize("name", oracle.SESSIONS)
def test_a_session_differs_from_the_client_s_only_where_it_is_listed(name: str) -> None:
    recording = json.loads(RECORDINGS[-1].read_text(encoding="utf-8"))
    recorded = {
        key: value for key, value in recording["answers"].items() if key.split("/")[1] == name
    }
    assert recorded, "The session is not recorded: nox -s oracle -- --write"
    differs = oracle.differing_answers(recorded, oracle.play_session(name, None))
    assert [*differs] == [key for key in recording["differs"] if key.split("/")[1] == name]
