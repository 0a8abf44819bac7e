-- min_reader: 1
-- Tokens of services: each by its digest, and by its id in its scope. They are never deleted.

CREATE TABLE service_token (
    digest TEXT PRIMARY KEY,
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    revoked_at INTEGER,
    revoked_by TEXT,
    body BLOB NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX service_token_of_scope ON service_token (scope, id);
