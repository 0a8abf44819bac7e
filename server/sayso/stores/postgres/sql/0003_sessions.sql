-- min_reader: 1
-- People who have signed in on the server: each session by the digest of its id, and under the names
-- that it can be ended by. It ends at `ends_at`, unless it is used before.

CREATE TABLE session (
    digest text COLLATE "C" PRIMARY KEY,
    of_person text COLLATE "C" NOT NULL,
    of_subject text COLLATE "C" NOT NULL,
    of_issuer text COLLATE "C",
    ends_at bigint NOT NULL,
    body bytea NOT NULL
);
CREATE INDEX session_ending ON session (ends_at);
CREATE INDEX session_of_person ON session (of_person);
CREATE INDEX session_of_subject ON session (of_subject);
CREATE INDEX session_of_issuer ON session (of_issuer) WHERE of_issuer IS NOT NULL;
