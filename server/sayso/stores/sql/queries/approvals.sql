-- Statements about approvals, by name.

-- name: add_approval
-- Keep an approval; one that is there stays as it is.
INSERT INTO approval (
    scope, id, owner, tool, thread_id, pattern, rules, given_by, given_at, interrupt_id,
    expires_at, revoked_at, revoked_by, terms
) VALUES (:scope, :id, :owner, :tool, :thread_id, :pattern, :rules, :given_by, :given_at,
    :interrupt_id, :expires_at, :revoked_at, :revoked_by, :terms)
ON CONFLICT (scope, id) DO NOTHING;

-- name: add_approval_use
-- Note that a call ran on an approval.
INSERT INTO approval_use (scope, approval_id, call_id, thread_id, at) VALUES (:scope, :approval_id,
    :call_id, :thread_id, :at)
ON CONFLICT (scope, approval_id, call_id) DO NOTHING;

-- name: find_approval
-- Where an approval is.
SELECT position FROM approval WHERE scope = :scope AND id = :id;

-- name: read_approval
-- An approval with what is known of its uses.
SELECT
    id, owner, tool, thread_id, pattern, rules, given_by, given_at, interrupt_id, expires_at,
    revoked_at, revoked_by, terms,
    (
        SELECT count(*) FROM approval_use AS used
        WHERE used.scope = approval.scope AND used.approval_id = approval.id
    ),
    (
        SELECT max(at) FROM approval_use AS used
        WHERE used.scope = approval.scope AND used.approval_id = approval.id
    )
FROM approval WHERE position = :position;

-- name: read_approval_uses
-- The newest uses of an approval.
SELECT call_id, thread_id, at FROM approval_use
WHERE scope = :scope AND approval_id = :approval_id ORDER BY at DESC, position DESC LIMIT :limit;

-- name: walk_approvals
-- Approvals of a scope, oldest first.
SELECT given_at, position, owner, given_by, revoked_at, expires_at
FROM approval INDEXED BY approval_listed
WHERE scope = :scope AND (given_at, position) > (:moment, :position)
ORDER BY given_at, position LIMIT :walk;

-- name: walk_approvals_of_tool
-- Approvals that stand for calls of a tool in an owner's turns.
SELECT position FROM approval INDEXED BY approval_of_tool
WHERE scope = :scope AND owner = :owner AND tool = :tool AND revoked_at IS NULL
    AND (expires_at IS NULL OR expires_at > :expires_at)
ORDER BY given_at, position;

-- name: revoke_approval
-- Let an approval stand no more.
UPDATE approval SET revoked_at = :revoked_at, revoked_by = :revoked_by
WHERE scope = :scope AND id = :id AND revoked_at IS NULL
RETURNING position;

-- name: delete_approvals
-- Approvals for a thread alone, which is deleted.
DELETE FROM approval WHERE scope = :scope AND thread_id = :thread_id;

-- name: delete_approval_uses
-- Uses in a thread, which is deleted: all of those approvals, some of others.
DELETE FROM approval_use WHERE scope = :scope AND thread_id = :thread_id;
