-- What SQLite says otherwise than the shared text.

-- name: walk_audit_of_thread
-- Rows of a thread in their order.
SELECT number, thread_id, owner, at, kind, CAST(content AS BLOB), content_digest, digest FROM audit
WHERE scope = :scope AND thread_id = :thread_id AND number > :number ORDER BY number LIMIT :limit;

-- name: read_audit
-- A row.
SELECT number, thread_id, owner, at, kind, CAST(content AS BLOB), content_digest, digest
FROM audit WHERE position = :position;
