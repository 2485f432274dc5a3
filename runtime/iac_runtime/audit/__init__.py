"""The audit: what was asked, who decided, what came of it; a row before and a row after each call.

    audit = Audit.open(open_state())
    call = audit.record_intent(AuditIntent(tool="mail_set", level="MODIFY", ...))
    audit.record_outcome(call, AuditOutcome("done", seconds))

Beside the names here there are rooms that those import who need them: `store` (the file and its
chain), `reading`, `upkeep` (anchors, dropping). The store is one SQLite file that several servers
share; each row holds the hash of the one before.
"""

from iac_runtime.audit.store import AuditError
from iac_runtime.audit.writer import AUDIT_LOG, Audit, AuditIntent, AuditOutcome

__all__ = [
    "AUDIT_LOG",
    "Audit",
    "AuditError",
    "AuditIntent",
    "AuditOutcome",
    "reading",
    "store",
    "upkeep",
    "writer",
]
