-- min_reader: 1
-- What one process of all does, and until when it has said that it does.

CREATE TABLE duty (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    lease_until INTEGER NOT NULL
);
