-- Statements about the audit trail, by name.

-- name: last_audit
-- Number and digest of a thread's newest row.
SELECT number, digest FROM audit
WHERE scope = %s AND thread_id = %s ORDER BY number DESC LIMIT 1;

-- name: add_audit
-- Add a row; nothing ever replaces one.
INSERT INTO audit (scope, thread_id, owner, number, at, kind, content, content_digest, digest)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s);

-- name: empty_audit
-- Take the contents of the rows of a thread, which is deleted.
UPDATE audit SET content = NULL WHERE scope = %s AND thread_id = %s;

-- name: walk_audit_of_thread
-- Rows of a thread in their order.
SELECT number, thread_id, owner, at, kind, content, content_digest, digest FROM audit
WHERE scope = %s AND thread_id = %s AND number > %s ORDER BY number LIMIT %s;

-- name: walk_audit
-- Rows of a scope in the order of writing, and whose they are.
SELECT 0, position, owner FROM audit
WHERE scope = %(scope)s AND position > %(position)s ORDER BY position LIMIT %(walk)s;

-- name: read_audit
-- A row.
SELECT number, thread_id, owner, at, kind, content, content_digest, digest
FROM audit WHERE position = %s;
