-- What PostgreSQL says otherwise than the shared text: locks, its own marks, its own plans.

-- name: find_thread
-- What a claim or a commit compares itself with.
SELECT key, revision, fence, holder, lease_until, turn, run, stop_fence, owner, agent,
    hold IS NOT NULL
FROM thread WHERE scope = :scope AND id = :id FOR UPDATE;

-- name: read_lease
-- A thread that is still a lease's, and whether its holder was asked to stop.
SELECT key, coalesce(stop_fence = fence, false) FROM thread
WHERE scope = :scope AND id = :id AND fence = :fence AND holder = :holder FOR UPDATE;

-- name: due_threads
-- Who needs the server: abandoned by store time, expired or to remind by the caller's, or ready.
-- No more of each than all may be: so none is read that is not in the page or next to it.
(
    SELECT lease_until AS since, key, scope, id, 'abandoned'
    FROM thread
    WHERE holder IS NOT NULL AND lease_until <= :store_now
        AND (lease_until, key) > (:moment::bigint, :position::bigint)
    ORDER BY lease_until, key LIMIT :limit
) UNION ALL (
    SELECT
        least(expires_at, remind_at), key, scope, id,
        CASE WHEN expires_at <= :now THEN 'expired' ELSE 'remind' END
    FROM thread
    WHERE holder IS NULL AND (expires_at IS NOT NULL OR remind_at IS NOT NULL)
        AND least(expires_at, remind_at) <= :now
        AND (least(expires_at, remind_at), key) > (:moment::bigint, :position::bigint)
    ORDER BY least(expires_at, remind_at), key LIMIT :limit
) UNION ALL (
    SELECT ready_at, key, scope, id, 'ready'
    FROM thread
    WHERE holder IS NULL AND ready_at IS NOT NULL
        AND (ready_at, key) > (:moment::bigint, :position::bigint)
    ORDER BY ready_at, key LIMIT :limit
)
ORDER BY since, key
LIMIT :limit;

-- name: dequeue_messages
-- Move what waits to the end of the history, in its order.
UPDATE message SET visibility = 'visible', position = moved.fresh
FROM (
    SELECT thread, position, nextval(pg_get_serial_sequence('message', 'position')) AS fresh
    FROM (
        SELECT thread, position FROM message
        WHERE thread = :thread AND visibility = 'waiting' ORDER BY position
    ) AS waiting
) AS moved
WHERE message.thread = moved.thread AND message.position = moved.position;

-- name: known_marks
-- The oldest and the newest mark of a scope.
SELECT
    (SELECT min(mark) FROM change WHERE scope = :scope),
    (SELECT newest FROM mark WHERE scope = :scope);

-- name: note_change
-- Note what happened to a thread, under one of the marks that were taken: so many before the newest.
INSERT INTO change (scope, owner, thread_id, at, kind, interrupt_id, run_key, mark)
SELECT :scope, :owner, :thread_id, :at::bigint, :kind, :interrupt_id, :run_key,
    mark.newest - :before
FROM mark WHERE mark.scope = :scope;

-- name: prune_changes
-- Forget the notes of a scope but for so many.
DELETE FROM change
USING mark
WHERE mark.scope = :scope AND change.scope = mark.scope AND change.mark <= mark.newest - :kept;

-- name: next_marks
-- Take the next marks of a scope, so many: whoever else notes in this scope waits.
INSERT INTO mark (scope, newest) VALUES (:scope, :newest)
ON CONFLICT (scope) DO UPDATE SET newest = mark.newest + excluded.newest;

-- name: walk_runs
-- Runs of a thread, oldest first.
SELECT position, key, run_id, turn_key, started_at, ended_at, outcome, delivered
FROM run
WHERE thread = (SELECT thread.key FROM thread WHERE scope = :scope AND id = :id)
    AND position > :position
ORDER BY position LIMIT :limit;

-- name: writing_audit
-- Transactions that may have added a row and have not ended: who adds one locks the table before
-- the row has its position, and lets go once the row is seen.
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND relation = 'audit'::regclass
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database());

-- name: open_audit
-- Let contents be written under another key, or taken away, until the end of the transaction or `close_audit`.
ALTER TABLE audit DISABLE TRIGGER audit_never_changes;

-- name: close_audit
-- Let nothing change a row.
ALTER TABLE audit ENABLE TRIGGER audit_never_changes;
