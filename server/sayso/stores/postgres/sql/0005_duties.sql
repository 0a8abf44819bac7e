-- min_reader: 1
-- What one process of all does, and until when it has said that it does.

CREATE TABLE duty (
    name text PRIMARY KEY,
    holder text NOT NULL,
    lease_until bigint NOT NULL
);
