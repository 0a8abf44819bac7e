-- min_reader: 7
-- Values that are kept apart from what they belong to, each under the id that stands there, for as
-- long as the journal of their turn; and, with no thread, the key of a scope that makes such ids.
-- Code that does not know of them would leave them behind.

CREATE TABLE secret (
    position INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    id TEXT NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (scope, thread_id, id)
);
