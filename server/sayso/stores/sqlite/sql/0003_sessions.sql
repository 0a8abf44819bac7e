-- min_reader: 1
-- People who have signed in on the server: each session by the digest of its id, and under the names
-- that it can be ended by. It ends at `ends_at`, unless it is used before.

CREATE TABLE session (
    digest TEXT PRIMARY KEY,
    of_person TEXT NOT NULL,
    of_subject TEXT NOT NULL,
    of_issuer TEXT,
    ends_at INTEGER NOT NULL,
    body BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX session_ending ON session (ends_at);
CREATE INDEX session_of_person ON session (of_person);
CREATE INDEX session_of_subject ON session (of_subject);
CREATE INDEX session_of_issuer ON session (of_issuer) WHERE of_issuer IS NOT NULL;
