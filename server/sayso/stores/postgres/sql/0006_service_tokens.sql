-- min_reader: 1
-- Tokens of services: each by its digest, and by its id in its scope. They are never deleted.

CREATE TABLE service_token (
    digest text COLLATE "C" PRIMARY KEY,
    scope text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    revoked_at bigint,
    revoked_by text COLLATE "C",
    body bytea NOT NULL
);
CREATE UNIQUE INDEX service_token_of_scope ON service_token (scope, id);
