"""The audit: what was asked, who decided, what came of it; a row before and a row after each call.

    audit = Audit.open(open_state())
    call = audit.intent(AuditIntent(tool="mail_set", level="MODIFY", ...))
    audit.outcome(call, AuditOutcome("done", seconds))

The store is one SQLite file that several servers share; each row holds the hash of the one before.
"""

from iac_runtime.audit.store import AuditError
from iac_runtime.audit.writer import AUDIT_LOG, Audit, AuditIntent, AuditOutcome

__all__ = ["AUDIT_LOG", "Audit", "AuditError", "AuditIntent", "AuditOutcome"]
