"""The state of Diary in the simulator."""

from typing import Any

WORLD: dict[str, Any] = {
    "name": "Diary", "today": {"ref": 'journals.byId("j1")'},
    "journals": [{"id": "j1", "name": "Work", "owner": "me",
      "entries": [{"id": "e1", "name": "Monday", "body": "Rain", "isPrivate": False, "words": 1},
       {"id": "e2", "name": "Tuesday", "body": "Sun", "isPrivate": True, "words": 1}]},
     {"id": "j2", "name": "Home", "owner": "me", "entries": []}],
    "@results": {"diarfind": []},
}  # fmt: skip
