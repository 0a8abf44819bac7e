-- Statements about the audit trail, by name.

-- name: last_audit
-- Number and digest of a thread's newest row.
SELECT number, digest FROM audit
WHERE scope = :scope AND thread_id = :thread_id ORDER BY number DESC LIMIT 1;

-- name: add_audit
-- Add a row; nothing ever replaces one.
INSERT INTO audit (scope, thread_id, owner, number, at, kind, content, content_digest, digest)
VALUES (:scope, :thread_id, :owner, :number, :at, :kind, :content, :content_digest, :digest);

-- name: walk_audit_of_thread
-- Rows of a thread in their order.
SELECT number, thread_id, owner, at, kind, content, content_digest, digest FROM audit
WHERE scope = :scope AND thread_id = :thread_id AND number > :number ORDER BY number LIMIT :limit;

-- name: walk_audit
-- Rows of a scope in the order of writing, and whose they are.
SELECT 0, position, owner FROM audit INDEXED BY audit_listed
WHERE scope = :scope AND position > :position ORDER BY position LIMIT :walk;

-- name: read_audit
-- A row.
SELECT number, thread_id, owner, at, kind, content, content_digest, digest
FROM audit WHERE position = :position;
