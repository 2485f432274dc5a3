"""What the page's tests share: an open page, an audit with hostile text in it."""

import os
from pathlib import Path
from typing import NamedTuple

from iac_runtime.audit.writer import Audit, AuditIntent, AuditOutcome

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[31m'\""


class OpenPage(NamedTuple):
    """A page: where it is, the address that lets in once, the data folder behind it."""

    base: str
    address: str
    data: Path

    @property
    def port(self) -> int:
        return int(self.base.rpartition(":")[2])


def environment(data: Path) -> dict[str, str]:
    return {**os.environ, "IAC_DATA": str(data)}


def write_calls(state: Path, count: int) -> None:
    """Write calls into an audit; the last one is hostile in every field."""
    audit = Audit.open(state)
    for number in range(count):
        intent = AuditIntent("notes_count", "SAFE", app="com.apple.Notes", client="tester",
                             arguments={"element": "note"}, line=f"line {number}")  # fmt: skip
        audit.record_outcome(audit.record_intent(intent), AuditOutcome("done", 0.002))
    effects = (("delete", HOSTILE, HOSTILE, HOSTILE),)
    audit.record_intent(
        AuditIntent(
            HOSTILE,
            "DANGEROUS",
            app=HOSTILE,
            client=HOSTILE,
            reasons=(HOSTILE,),
            decision="deny",
            source=HOSTILE,
            arguments={HOSTILE: HOSTILE},
            line=HOSTILE,
            effects=effects,
            story=HOSTILE,
            asked=(("page", "decline"),),
        )
    )
    audit.close()
