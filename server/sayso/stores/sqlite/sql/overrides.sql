-- What SQLite says otherwise than the shared text.

-- name: walk_audit_of_thread
-- Rows of a thread in their order, of an owner or of all.
SELECT number, thread_id, owner, at, kind, CAST(content AS BLOB), salt, content_digest, digest FROM audit
WHERE scope = :scope AND thread_id = :thread_id AND number > :number AND owner = COALESCE(:owner, owner)
ORDER BY number LIMIT :limit;

-- name: last_decision
-- The newest row of a thread that tells of a person's word.
SELECT number, thread_id, owner, at, kind, CAST(content AS BLOB), salt, content_digest, digest FROM audit
WHERE scope = :scope AND thread_id = :thread_id AND kind IN ('resolved', 'cancelled', 'held', 'agreed')
ORDER BY number DESC LIMIT 1;

-- name: read_audit
-- A row.
SELECT number, thread_id, owner, at, kind, CAST(content AS BLOB), salt, content_digest, digest
FROM audit WHERE position = :position;

-- name: next_audit
-- Contents of the audit trail, of all scopes.
SELECT position, scope, thread_id, number, CAST(content AS BLOB), salt
FROM audit WHERE position > :position ORDER BY position LIMIT :limit;

-- name: open_audit
-- Let contents be written under another key, or taken away, until the end of the transaction or `close_audit`.
DROP TRIGGER audit_never_changes;

-- name: close_audit
-- Let nothing change a row.
CREATE TRIGGER audit_never_changes BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'rows of the audit trail are never changed'); END;
