-- Statements about values that are kept apart, by name.

-- name: put_secret
-- Keep a value; one that is there is the same.
INSERT INTO secret (scope, thread_id, id, body) VALUES (:scope, :thread_id, :id, :body)
ON CONFLICT (scope, thread_id, id) DO NOTHING;

-- name: read_secrets
-- All that is kept for a thread.
SELECT id, body FROM secret WHERE scope = :scope AND thread_id = :thread_id ORDER BY id;

-- name: forget_secrets
-- Drop all that is kept for a thread.
DELETE FROM secret WHERE scope = :scope AND thread_id = :thread_id;

-- name: next_secrets
-- Values of all scopes.
SELECT position, scope, thread_id, id, body
FROM secret WHERE position > :position ORDER BY position LIMIT :limit;

-- name: rekey_secret
-- Write a value anew.
UPDATE secret SET body = :body WHERE position = :position;
