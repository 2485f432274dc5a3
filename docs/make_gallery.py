"""Writes docs/gallery.md: what people ask, the call, its level, the question, the result.

Run it with `python docs/make_gallery.py`; a test holds the page to what it writes.
"""

import json
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from make_questions import simulated_gate

from iac_runtime.gate.gate import Gate
from iac_runtime.gate.plans import Call, CompletedCall, PendingCall
from iac_runtime.gate.results import structured_content
from iac_runtime.policy.permissions import Requester

FOLDER: Final = Path(__file__).parent
_LONGEST: Final = 96
_ROWS: Final = 3
_PURPOSES: Final = {
    "look": "Look at something",
    "find": "Find something",
    "make": "Make something",
    "change": "Change something",
    "delete": "Delete or close something",
    "send": "Send something",
    "run": "Run something",
    "end": "End something",
}
_HEAD: Final = """# What can I ask?

Each heading is a request that you can make. Below it are the tool that the assistant calls, the
call's level, the approval prompt if there is one, and the result. The apps are simulated, with
invented mails and notes. SAFE calls run at once; all others require your approval.
`python docs/make_gallery.py` writes this page.
"""


def page() -> str:
    """Return the page."""
    apps = tomllib.loads((FOLDER / "gallery.toml").read_text("utf-8"))
    parts = [_HEAD, "By app: " + ", ".join(f"[{app}](#{_anchor(app)})" for app in apps) + ".\n"]
    told: dict[str, list[str]] = defaultdict(list)
    for app, rows in apps.items():
        parts.append(f"## {app}\n")
        for row in rows["rows"]:
            # Each is asked of a world in which nothing was done yet.
            gate = simulated_gate()
            parts.append(_shown(row, gate))
            gate.close()
            told[row["for"]].append(f"{row['ask']} ({app})")
    parts.append("## By purpose\n")
    for key, title in _PURPOSES.items():
        parts.append(f"**{title}.** " + " · ".join(told[key]) + "\n")
    return "\n".join(parts)


def _anchor(app: str) -> str:
    return app.lower().replace(" ", "-")


def _shown(row: dict[str, Any], gate: Gate) -> str:
    given = row.get("with", {})
    call = Call(row["tool"], given, Requester("Claude", ("client",)))
    answer, asked = gate.call(call), ""
    level = answer.level
    if isinstance(answer, PendingCall):
        # As it looks for real apps.
        said = answer.question.text.replace(" (simulated apps)", "").replace(
            "while this program runs", "for a week"
        )
        asked = said.partition(". All of it: ")[0]
        answer = gate.call(call._replace(token=answer.token, verdict="once"))
    if isinstance(answer, PendingCall):
        raise SystemExit(f"{row['tool']} asks again: {answer.question.text}")
    if isinstance(answer, CompletedCall):
        result = _result(structured_content(answer.value, answer.output))
    else:
        result = f"refused: {answer.reason} {answer.suggestion}"
    words = " ".join(f"{key}={_written(value)}" for key, value in given.items())
    question = f"{asked}\n\n" if asked else ""
    return f"""### {row["ask"]}

`{row["tool"]}` · {level}

```text
{f"{row['tool']} {words}".strip()}

{question}{result}
```
"""


def _result(value: Any) -> str:
    """Return a result as text: of a list the first rows, a line each."""
    if isinstance(value, dict) and set(value) == {"result"}:
        value = value["result"]
    rows = value if isinstance(value, list) else [value]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    short = [line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…" for line in lines[:_ROWS]]
    return "\n".join([*short, *([f"… {len(rows)} in all"] if len(rows) > _ROWS else [])])


def _written(value: Any) -> str:
    return value if isinstance(value, str) and " " not in value else json.dumps(value)


if __name__ == "__main__":
    (FOLDER / "gallery.md").write_text(page(), "utf-8")
