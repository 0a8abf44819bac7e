-- min_reader: 4
-- The word of a keeper that nothing of a thread may be deleted, as JSON. Code that does not know of
-- it would delete such threads.

ALTER TABLE thread ADD COLUMN hold BLOB;
