"""The library around the modules: where calls go, and what a failure carries."""

from pathlib import Path
from typing import Any, assert_type

import iac_runtime
from iac_runtime import Session, ToolError
from iac_tools import notes

with iac_runtime.connect(simulate=True, timeout=5.0, allow="SAFE") as session:
    assert_type(session, Session)
    assert_type(session.call("notes_count", element="note"), Any)
    try:
        notes.count("note")
    except ToolError as error:
        if error.type == "APP_NOT_RUNNING" and error.retryable:
            print(error.app, error.command, error.number, error.suggestion, error.facts()["type"])

other = iac_runtime.connect(simulate=Path("state.json"), tools="tools")
other.close()
