"""The REST paths: agents, threads, interrupts, approvals, the audit trail."""
