-- Statements about what is kept for how long, by name.

-- name: first_scope
-- The first scope of all that have something.
SELECT min(scope) FROM (
    SELECT min(scope) AS scope FROM thread
    UNION ALL SELECT min(scope) FROM approval
    UNION ALL SELECT min(scope) FROM audit
) AS firsts;

-- name: next_scope
-- The first scope behind another one.
SELECT min(scope) FROM (
    SELECT min(scope) AS scope FROM thread WHERE scope > :scope
    UNION ALL SELECT min(scope) FROM approval WHERE scope > :scope
    UNION ALL SELECT min(scope) FROM audit WHERE scope > :scope
) AS firsts;

-- name: take_duty
-- Take what one process of all does, unless another one has it.
INSERT INTO duty (name, holder, lease_until) VALUES (:name, :holder, :lease_until)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, lease_until = excluded.lease_until
WHERE duty.holder = excluded.holder OR duty.lease_until <= :store_now
RETURNING name;

-- name: delete_approval
-- Remove an approval.
DELETE FROM approval WHERE scope = :scope AND id = :id;

-- name: delete_uses_of_approval
-- Forget what an approval was used for.
DELETE FROM approval_use WHERE scope = :scope AND approval_id = :approval_id;

-- name: erase_audit
-- Take contents with their salts away.
UPDATE audit SET content = NULL, salt = NULL
WHERE scope = :scope AND thread_id = :thread_id AND number <= :number AND content IS NOT NULL;

-- name: end_of_trail
-- Number, digest and owner of a thread's newest row.
SELECT number, digest, owner FROM audit
WHERE scope = :scope AND thread_id = :thread_id ORDER BY number DESC LIMIT 1;
