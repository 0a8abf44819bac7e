-- min_reader: 1
-- Approvals that stand for later calls, and what they were used for. Older code asks a person instead.
CREATE TABLE approval (
    position INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    tool TEXT NOT NULL,
    thread_id TEXT,
    pattern BLOB NOT NULL,
    rules BLOB NOT NULL,
    given_by TEXT NOT NULL,
    given_at INTEGER NOT NULL,
    interrupt_id TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    revoked_by TEXT,
    UNIQUE (scope, id)
);
CREATE INDEX approval_listed ON approval (scope, given_at);
CREATE INDEX approval_of_tool ON approval (scope, owner, tool, given_at)
    WHERE revoked_at IS NULL;
CREATE INDEX approval_of_thread ON approval (scope, thread_id) WHERE thread_id IS NOT NULL;

CREATE TABLE approval_use (
    position INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (scope, approval_id, call_id)
);
CREATE INDEX approval_use_of_thread ON approval_use (scope, thread_id);
