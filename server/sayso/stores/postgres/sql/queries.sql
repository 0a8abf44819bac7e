-- Every statement of the PostgreSQL store, by name; the line under a name says what it is for.

-- name: find_thread
-- What a claim or a commit compares itself with.
SELECT key, revision, fence, holder, lease_until, turn, run, stop_fence, owner, agent
FROM thread WHERE scope = %s AND id = %s FOR UPDATE;

-- name: add_thread
-- Create a thread in the hands of its first holder.
INSERT INTO thread (
    scope, id, owner, agent, revision, fence, created_at, updated_at, active_at, holder,
    lease_until, turn, run
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (scope, id) DO NOTHING
RETURNING key;

-- name: read_floor
-- Above which revision and fence a new thread of a scope begins.
SELECT revision, fence FROM floor WHERE scope = %s;

-- name: raise_floor
-- Let new threads of a scope begin above one that is deleted.
INSERT INTO floor (scope, revision, fence) VALUES (%s, %s, %s)
ON CONFLICT (scope) DO UPDATE SET
    revision = greatest(floor.revision, excluded.revision),
    fence = greatest(floor.fence, excluded.fence);

-- name: take_thread
-- Hand a thread to a new holder under a new fence.
UPDATE thread
SET agent = %s, revision = revision + 1, fence = fence + 1, updated_at = %s, active_at = %s,
    holder = %s, lease_until = %s, turn = %s, run = %s
WHERE key = %s;

-- name: touch_thread
-- Count a write to a thread; changes no indexed column, since every step does it.
UPDATE thread SET revision = revision + 1, updated_at = %s WHERE key = %s;

-- name: point_thread
-- Name the newest turn and run of a thread.
UPDATE thread SET turn = %s, run = %s WHERE key = %s;

-- name: release_thread
-- Count a write to a thread and let go of it, if anybody has it.
UPDATE thread
SET revision = revision + 1, updated_at = %s, active_at = %s, holder = NULL, lease_until = NULL
WHERE key = %s;

-- name: mark_due
-- Note when an idle thread will need the server: at an expiry or a reminder, now, or not at all.
UPDATE thread
SET (expires_at, remind_at, ready_at) = (
    SELECT
        CASE WHEN turn.status = 'suspended'
            THEN min(question.expires_at) FILTER (WHERE question.lapsed_at IS NULL) END,
        CASE WHEN turn.status = 'suspended'
            THEN min(question.remind_at) FILTER (WHERE question.reminded_at IS NULL) END,
        CASE WHEN turn.status = 'suspended' AND count(question.id) = 0 THEN thread.updated_at END
    FROM turn
    LEFT JOIN interrupt AS question
        ON question.thread = turn.thread
        AND question.turn_key = turn.key
        AND question.status = 'open'
        AND question.held IS NULL
    WHERE turn.key = thread.turn AND turn.thread = thread.key
    GROUP BY turn.status
)
WHERE key = %s;

-- name: read_lease
-- A thread that is still a lease's, and whether its holder was asked to stop.
SELECT key, coalesce(stop_fence = fence, false) FROM thread
WHERE scope = %s AND id = %s AND fence = %s AND holder = %s FOR UPDATE;

-- name: renew_lease
-- Prolong the lease of a thread.
UPDATE thread SET lease_until = %s WHERE key = %s;

-- name: ask_to_stop
-- Ask the holder with that fence to stop; who asks first is noted.
UPDATE thread SET
    stop_by = CASE WHEN stop_noted = fence THEN stop_by ELSE %(by)s END,
    stop_channel = CASE WHEN stop_noted = fence THEN stop_channel ELSE %(channel)s END,
    stop_fence = fence, stop_noted = fence
WHERE scope = %(scope)s AND id = %(id)s AND fence = %(fence)s AND holder IS NOT NULL
RETURNING key;

-- name: due_threads
-- Who needs the server: abandoned by store time, expired or to remind by the caller's, or ready.
-- No more of each than all may be: so none is read that is not in the page or next to it.
(
    SELECT lease_until AS since, key, scope, id, 'abandoned'
    FROM thread
    WHERE holder IS NOT NULL AND lease_until <= %(store_now)s
        AND (lease_until, key) > (%(moment)s::bigint, %(position)s::bigint)
    ORDER BY lease_until, key LIMIT %(limit)s
) UNION ALL (
    SELECT
        least(expires_at, remind_at), key, scope, id,
        CASE WHEN expires_at <= %(now)s THEN 'expired' ELSE 'remind' END
    FROM thread
    WHERE holder IS NULL AND (expires_at IS NOT NULL OR remind_at IS NOT NULL)
        AND least(expires_at, remind_at) <= %(now)s
        AND (least(expires_at, remind_at), key) > (%(moment)s::bigint, %(position)s::bigint)
    ORDER BY least(expires_at, remind_at), key LIMIT %(limit)s
) UNION ALL (
    SELECT ready_at, key, scope, id, 'ready'
    FROM thread
    WHERE holder IS NULL AND ready_at IS NOT NULL
        AND (ready_at, key) > (%(moment)s::bigint, %(position)s::bigint)
    ORDER BY ready_at, key LIMIT %(limit)s
)
ORDER BY since, key
LIMIT %(limit)s;

-- name: read_thread
-- A thread with its state, and the keys of its newest turn and run.
SELECT
    thread.key, thread.turn, thread.run,
    scope, id, owner, agent, revision, fence, created_at, updated_at,
    coalesce(state.body, '\x7b7d'::bytea), holder, lease_until,
    holder IS NOT NULL AND coalesce(stop_fence = fence, false),
    CASE WHEN stop_noted = fence THEN stop_by END,
    CASE WHEN stop_noted = fence THEN stop_channel END
FROM thread LEFT JOIN state ON state.thread = thread.key
WHERE scope = %s AND id = %s;

-- name: put_state
-- Write a thread's state.
INSERT INTO state (thread, body) VALUES (%s, %s)
ON CONFLICT (thread) DO UPDATE SET body = excluded.body;

-- name: known_turn
-- Whether a thread has that turn.
SELECT 1 FROM turn
WHERE key = %s AND thread = (SELECT key FROM thread WHERE thread.scope = %s AND thread.id = %s);

-- name: put_turn
-- Write a turn, all but its request.
INSERT INTO turn (
    thread, key, agent, version, status, subject, subject_scope, subject_roles, started_at, ended_at
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (key, thread) DO UPDATE SET
    agent = excluded.agent, version = excluded.version, status = excluded.status,
    subject = excluded.subject, subject_scope = excluded.subject_scope,
    subject_roles = excluded.subject_roles, started_at = excluded.started_at,
    ended_at = excluded.ended_at;

-- name: put_request
-- Write the request of a turn; one that is stored already costs a comparison.
INSERT INTO request (thread, turn_key, body) VALUES (%s, %s, %s)
ON CONFLICT (turn_key, thread) DO UPDATE SET body = excluded.body
WHERE request.body IS DISTINCT FROM excluded.body;

-- name: read_turn
-- A turn of a thread.
SELECT
    turn.key, agent, version, status, request.body, subject, subject_scope, subject_roles,
    started_at, ended_at
FROM turn
JOIN request ON request.turn_key = turn.key AND request.thread = turn.thread
WHERE turn.key = %s AND turn.thread = %s;

-- name: known_run
-- Whether a thread has that run.
SELECT 1 FROM run
WHERE key = %s AND thread = (SELECT key FROM thread WHERE thread.scope = %s AND thread.id = %s);

-- name: put_run
-- Write a run.
INSERT INTO run (
    thread, key, run_id, turn_key, started_at, ended_at, outcome, delivered
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (key, thread) DO UPDATE SET
    run_id = excluded.run_id, turn_key = excluded.turn_key, started_at = excluded.started_at,
    ended_at = excluded.ended_at, outcome = excluded.outcome, delivered = excluded.delivered;

-- name: read_run
-- A run of a thread by its key.
SELECT key, run_id, turn_key, started_at, ended_at, outcome, delivered
FROM run WHERE key = %s AND thread = %s;

-- name: read_named_run
-- The newest run of a thread that has the client's run id.
SELECT key, run_id, turn_key, started_at, ended_at, outcome, delivered
FROM run WHERE thread = %s AND run_id = %s ORDER BY position DESC LIMIT 1;

-- name: note_delivery
-- Note that a run reached its reader.
UPDATE run SET delivered = true
FROM thread
WHERE thread.key = run.thread AND run.key = %s AND NOT run.delivered AND thread.scope = %s;

-- name: append_message
-- Append a message unless its id is stored; a hidden one comes back to sight.
INSERT INTO message (thread, id, role, body, visibility) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (thread, id) DO UPDATE SET visibility = 'visible' WHERE message.visibility = 'hidden';

-- name: put_message
-- Append a message, or replace it in its place.
INSERT INTO message (thread, id, role, body, visibility) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (thread, id) DO UPDATE SET
    role = excluded.role, body = excluded.body, visibility = excluded.visibility;

-- name: hide_message
-- Take a visible message out of sight.
UPDATE message SET visibility = 'hidden' WHERE thread = %s AND id = %s AND visibility = 'visible';

-- name: dequeue_messages
-- Move what waits to the end of the history, in its order.
UPDATE message SET visibility = 'visible', position = moved.fresh
FROM (
    SELECT thread, position, nextval(pg_get_serial_sequence('message', 'position')) AS fresh
    FROM (
        SELECT thread, position FROM message
        WHERE thread = %s AND visibility = 'waiting' ORDER BY position
    ) AS waiting
) AS moved
WHERE message.thread = moved.thread AND message.position = moved.position;

-- name: read_messages
-- All messages of a thread, those that wait last.
SELECT id, role, body, visibility FROM message
WHERE thread = %s ORDER BY visibility = 'waiting', position;

-- name: read_facts
-- When and by which turn an interrupt was asked, and what its notes are about.
SELECT
    id, turn_key, created_at, status, held, expires_at, assigned_to, reminded_at, lapsed_at, policy
FROM interrupt
WHERE thread = (SELECT key FROM thread WHERE thread.scope = %s AND thread.id = %s)
    AND interrupt.id = %s;

-- name: read_many_facts
-- The same of sixteen at a time.
SELECT
    id, turn_key, created_at, status, held, expires_at, assigned_to, reminded_at, lapsed_at, policy
FROM interrupt
WHERE thread = (SELECT key FROM thread WHERE thread.scope = %s AND thread.id = %s)
    AND interrupt.id IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s);

-- name: add_interrupt
-- Write a new question; to whom it belongs is settled now.
INSERT INTO interrupt (
    scope, owner, agent, thread,
    id, turn_key, created_at, status, reason, assigned_to, expires_at, remind_at, reminded_at,
    lapsed_at, place, tool_call_id, decided_by, decided_at, channel, run_key, message,
    response_schema, metadata, policy, payload, answer_metadata, held
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s);

-- name: move_interrupt
-- Write another turn or time of asking; apart, since most lists are in that order.
UPDATE interrupt SET turn_key = %s, created_at = %s WHERE thread = %s AND id = %s;

-- name: put_interrupt
-- Write everything else of a question that is stored: its answer, mostly.
UPDATE interrupt SET
    status = %s, reason = %s, assigned_to = %s, expires_at = %s, remind_at = %s, reminded_at = %s,
    lapsed_at = %s, place = %s, tool_call_id = %s, decided_by = %s, decided_at = %s, channel = %s,
    run_key = %s, message = %s, response_schema = %s, metadata = %s, policy = %s, payload = %s,
    answer_metadata = %s, held = %s
WHERE thread = %s AND id = %s;

-- name: read_interrupts
-- All questions of a turn in the order of asking.
SELECT
    id, turn_key, created_at, status, reason, assigned_to, expires_at, remind_at, reminded_at,
    lapsed_at, place, tool_call_id, decided_by, decided_at, channel, run_key, message,
    response_schema, metadata, policy, payload, answer_metadata, held
FROM interrupt WHERE thread = %s AND turn_key = %s ORDER BY position;

-- name: read_earlier_interrupt
-- A question of a thread by its id, behind its position.
SELECT
    position,
    id, turn_key, created_at, status, reason, assigned_to, expires_at, remind_at, reminded_at,
    lapsed_at, place, tool_call_id, decided_by, decided_at, channel, run_key, message,
    response_schema, metadata, policy, payload, answer_metadata, held
FROM interrupt WHERE thread = %s AND id = %s;

-- name: put_entry
-- Write a journal entry at its place; its position stays that of the first writing.
INSERT INTO entry (
    thread, turn_key, place, kind, name, fingerprint, status, data
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (thread, turn_key, place) DO UPDATE SET
    kind = excluded.kind, name = excluded.name, fingerprint = excluded.fingerprint,
    status = excluded.status, data = excluded.data;

-- name: read_journal
-- The entries of a turn in the order of first writing.
SELECT entry.place, entry.kind, entry.name, entry.fingerprint, entry.status, entry.data
FROM turn
JOIN thread ON thread.key = turn.thread
JOIN entry ON entry.thread = turn.thread AND entry.turn_key = turn.key
WHERE turn.key = %s AND thread.scope = %s
ORDER BY entry.position;

-- name: forget_journal
-- Drop the journal of a turn.
DELETE FROM entry WHERE thread = %s AND turn_key = %s;

-- name: forget_journals
-- Drop the journals of all turns of a thread.
DELETE FROM entry WHERE thread = %s;

-- name: delete_messages
-- Drop the messages of a thread.
DELETE FROM message WHERE thread = %s;

-- name: delete_interrupts
-- Drop the questions and answers of a thread.
DELETE FROM interrupt WHERE thread = %s;

-- name: delete_requests
-- Drop what began the turns of a thread; before the turns themselves.
DELETE FROM request
WHERE thread = %s;

-- name: delete_turns
-- Drop the turns of a thread.
DELETE FROM turn WHERE thread = %s;

-- name: delete_runs
-- Drop the runs of a thread.
DELETE FROM run WHERE thread = %s;

-- name: delete_state
-- Drop the state of a thread.
DELETE FROM state WHERE thread = %s;

-- name: delete_thread
-- Drop a thread itself.
DELETE FROM thread WHERE key = %s;
