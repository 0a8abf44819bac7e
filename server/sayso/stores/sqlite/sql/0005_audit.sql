-- min_reader: 1
-- The audit trail: rows that each seal those before in their thread. Older code adds none: a chain has
-- no hole where it ran, but nothing of what it did.
CREATE TABLE audit (
    position INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    content BLOB,
    content_digest TEXT NOT NULL,
    digest TEXT NOT NULL,
    UNIQUE (scope, thread_id, number)
);
CREATE INDEX audit_listed ON audit (scope);
