-- What a step does to one thread, and what is read of one; by name, with the line under a name
-- saying what a statement is for. Every dialect runs these; its `overrides.sql` replaces what it
-- must say otherwise. `INDEXED BY` is SQLite's and left out for PostgreSQL,
-- which plans by itself.

-- name: find_thread
-- What a claim or a commit compares itself with.
SELECT key, revision, fence, holder, lease_until, turn, run, stop_fence, owner, agent,
    hold IS NOT NULL
FROM thread WHERE scope = :scope AND id = :id;

-- name: add_thread
-- Create a thread in the hands of its first holder.
INSERT INTO thread (
    scope, id, owner, agent, revision, fence, created_at, updated_at, active_at, holder,
    lease_until, turn, run
) VALUES (:scope, :id, :owner, :agent, :revision, :fence, :created_at, :updated_at, :active_at,
    :holder, :lease_until, :turn, :run)
ON CONFLICT (scope, id) DO NOTHING
RETURNING key;

-- name: read_floor
-- Above which revision and fence a new thread of a scope begins.
SELECT revision, fence FROM floor WHERE scope = :scope;

-- name: raise_floor
-- Let new threads of a scope begin above one that is deleted.
INSERT INTO floor (scope, revision, fence) VALUES (:scope, :revision, :fence)
ON CONFLICT (scope) DO UPDATE SET
    revision = CASE WHEN excluded.revision > floor.revision
        THEN excluded.revision ELSE floor.revision END,
    fence = CASE WHEN excluded.fence > floor.fence THEN excluded.fence ELSE floor.fence END;

-- name: take_thread
-- Hand a thread to a new holder under a new fence.
UPDATE thread
SET agent = :agent, revision = revision + 1, fence = fence + 1, updated_at = :updated_at,
    active_at = :active_at, holder = :holder, lease_until = :lease_until, turn = :turn, run = :run
WHERE key = :key;

-- name: touch_thread
-- Count a write to a thread; changes no indexed column, since every step does it.
UPDATE thread SET revision = revision + 1, updated_at = :updated_at WHERE key = :key;

-- name: hold_thread
-- Put a thread on hold, or lift that.
UPDATE thread SET hold = :hold WHERE key = :key;

-- name: point_thread
-- Name the newest turn and run of a thread.
UPDATE thread SET turn = :turn, run = :run WHERE key = :key;

-- name: release_thread
-- Count a write to a thread and let go of it, if anybody has it; add up what it holds.
UPDATE thread
SET revision = revision + 1, updated_at = :updated_at, active_at = :active_at, holder = NULL,
    lease_until = NULL,
    size = (
        SELECT coalesce(sum(length(body)), 0) FROM message WHERE message.thread = thread.key
    ) + (
        SELECT coalesce(sum(length(data)), 0) FROM entry WHERE entry.thread = thread.key
    ) + (
        SELECT coalesce(sum(length(outcome)), 0) FROM run WHERE run.thread = thread.key
    ) + (
        SELECT coalesce(sum(length(request.body)), 0)
        FROM turn JOIN request ON request.turn_key = turn.key AND request.thread = turn.thread
        WHERE turn.thread = thread.key
    ) + (
        SELECT coalesce(sum(
            coalesce(length(message), 0) + coalesce(length(response_schema), 0)
            + coalesce(length(metadata), 0) + coalesce(length(terms), 0)
            + coalesce(length(progress), 0) + coalesce(length(payload), 0)
            + coalesce(length(answer_metadata), 0) + coalesce(length(held), 0)
        ), 0)
        FROM interrupt WHERE interrupt.thread = thread.key
    ) + (
        SELECT coalesce(sum(length(body)), 0) FROM state WHERE state.thread = thread.key
    ) + (
        SELECT coalesce(sum(length(body)), 0) FROM kept WHERE kept.thread = thread.key
    )
WHERE key = :key;

-- name: mark_due
-- Note when an idle thread will need the server: at an expiry or a reminder, now, or not at all.
UPDATE thread
SET (expires_at, remind_at, ready_at) = (
    SELECT
        CASE WHEN max(turn.status) = 'suspended'
            THEN min(CASE WHEN question.lapsed_at IS NULL THEN question.expires_at END) END,
        CASE WHEN max(turn.status) = 'suspended'
            THEN min(CASE WHEN question.reminded_at IS NULL THEN question.remind_at END) END,
        CASE WHEN max(turn.status) = 'suspended' AND count(question.id) = 0
            THEN thread.updated_at END
    FROM turn
    LEFT JOIN interrupt AS question INDEXED BY interrupt_turn
        ON question.thread = turn.thread
        AND question.turn_key = turn.key
        AND question.status = 'open'
        AND question.held IS NULL
    WHERE turn.key = thread.turn AND turn.thread = thread.key
)
WHERE key = :key;

-- name: read_lease
-- A thread that is still a lease's, and whether its holder was asked to stop.
SELECT key, coalesce(stop_fence = fence, false) FROM thread
WHERE scope = :scope AND id = :id AND fence = :fence AND holder = :holder;

-- name: renew_lease
-- Prolong the lease of a thread.
UPDATE thread SET lease_until = :lease_until WHERE key = :key;

-- name: ask_to_stop
-- Ask the holder with that fence to stop; who asks first is noted.
UPDATE thread SET
    stop_by = CASE WHEN stop_noted = fence THEN stop_by ELSE :by END,
    stop_channel = CASE WHEN stop_noted = fence THEN stop_channel ELSE :channel END,
    stop_fence = fence, stop_noted = fence
WHERE scope = :scope AND id = :id AND fence = :fence AND holder IS NOT NULL
RETURNING key;

-- name: due_threads
-- Who needs the server: abandoned by store time, expired or to remind by the caller's, or ready.
SELECT lease_until AS since, key, scope, id, 'abandoned'
FROM thread INDEXED BY thread_held
WHERE holder IS NOT NULL AND lease_until <= :store_now AND (lease_until, key) > (:moment, :position)
UNION ALL
SELECT
    min(coalesce(expires_at, remind_at), coalesce(remind_at, expires_at)), key, scope, id,
    CASE WHEN expires_at <= :now THEN 'expired' ELSE 'remind' END
FROM thread INDEXED BY thread_waking
WHERE holder IS NULL AND (expires_at IS NOT NULL OR remind_at IS NOT NULL)
    AND min(coalesce(expires_at, remind_at), coalesce(remind_at, expires_at)) >= :moment
    AND min(coalesce(expires_at, remind_at), coalesce(remind_at, expires_at)) <= :now
    AND (min(coalesce(expires_at, remind_at), coalesce(remind_at, expires_at)), key)
        > (:moment, :position)
UNION ALL
SELECT ready_at, key, scope, id, 'ready'
FROM thread INDEXED BY thread_ready
WHERE holder IS NULL AND ready_at IS NOT NULL AND (ready_at, key) > (:moment, :position)
ORDER BY since, key
LIMIT :limit;

-- name: read_thread
-- A thread with its state and what it keeps, and the keys of its newest turn and run.
SELECT
    thread.key, thread.turn, thread.run,
    scope, id, owner, agent, revision, fence, created_at, updated_at,
    state.body, holder, lease_until,
    holder IS NOT NULL AND coalesce(stop_fence = fence, false),
    CASE WHEN stop_noted = fence THEN stop_by END,
    CASE WHEN stop_noted = fence THEN stop_channel END,
    kept.body, hold
FROM thread LEFT JOIN state ON state.thread = thread.key LEFT JOIN kept ON kept.thread = thread.key
WHERE scope = :scope AND id = :id;

-- name: put_state
-- Write a thread's state.
INSERT INTO state (thread, body) VALUES (:thread, :body)
ON CONFLICT (thread) DO UPDATE SET body = excluded.body;

-- name: put_kept
-- Write what a thread keeps.
INSERT INTO kept (thread, body) VALUES (:thread, :body)
ON CONFLICT (thread) DO UPDATE SET body = excluded.body;

-- name: known_turn
-- Whether a thread has that turn.
SELECT 1 FROM turn
WHERE key = :key AND thread = (SELECT key FROM thread WHERE thread.scope = :scope AND thread.id =
    :id);

-- name: put_turn
-- Write a turn, all but its request.
INSERT INTO turn (
    thread, key, agent, version, status, subject, subject_scope, subject_roles, started_at, ended_at
) VALUES (:thread, :key, :agent, :version, :status, :subject, :subject_scope, :subject_roles,
    :started_at, :ended_at)
ON CONFLICT (key, thread) DO UPDATE SET
    agent = excluded.agent, version = excluded.version, status = excluded.status,
    subject = excluded.subject, subject_scope = excluded.subject_scope,
    subject_roles = excluded.subject_roles, started_at = excluded.started_at,
    ended_at = excluded.ended_at;

-- name: put_request
-- Write the request of a turn; one that is stored already costs a comparison.
INSERT INTO request (thread, turn_key, body) VALUES (:thread, :turn_key, :body)
ON CONFLICT (turn_key, thread) DO UPDATE SET body = excluded.body
WHERE request.body <> excluded.body;

-- name: read_turn
-- A turn of a thread.
SELECT
    turn.key, agent, version, status, request.body, subject, subject_scope, subject_roles,
    started_at, ended_at
FROM turn
JOIN request ON request.turn_key = turn.key AND request.thread = turn.thread
WHERE turn.key = :key AND turn.thread = :thread;

-- name: known_run
-- Whether a thread has that run.
SELECT 1 FROM run
WHERE key = :key AND thread = (SELECT key FROM thread WHERE thread.scope = :scope AND thread.id =
    :id);

-- name: put_run
-- Write a run.
INSERT INTO run (
    thread, key, run_id, turn_key, started_at, ended_at, outcome, delivered
) VALUES (:thread, :key, :run_id, :turn_key, :started_at, :ended_at, :outcome, :delivered)
ON CONFLICT (key, thread) DO UPDATE SET
    run_id = excluded.run_id, turn_key = excluded.turn_key, started_at = excluded.started_at,
    ended_at = excluded.ended_at, outcome = excluded.outcome, delivered = excluded.delivered;

-- name: read_run
-- A run of a thread by its key.
SELECT key, run_id, turn_key, started_at, ended_at, outcome, delivered
FROM run WHERE key = :key AND thread = :thread;

-- name: read_named_run
-- The newest run of a thread that has the client's run id.
SELECT key, run_id, turn_key, started_at, ended_at, outcome, delivered
FROM run WHERE thread = :thread AND run_id = :run_id ORDER BY position DESC LIMIT 1;

-- name: note_delivery
-- Note that a run reached its reader.
UPDATE run SET delivered = true
WHERE key = :key AND NOT delivered
    AND (SELECT scope FROM thread WHERE thread.key = run.thread) = :scope;

-- name: append_message
-- Append a message unless its id is stored; a hidden one comes back to sight.
INSERT INTO message (thread, id, role, body, visibility) VALUES (:thread, :id, :role, :body,
    :visibility)
ON CONFLICT (thread, id) DO UPDATE SET visibility = 'visible' WHERE message.visibility = 'hidden';

-- name: put_message
-- Append a message, or replace it in its place.
INSERT INTO message (thread, id, role, body, visibility) VALUES (:thread, :id, :role, :body,
    :visibility)
ON CONFLICT (thread, id) DO UPDATE SET
    role = excluded.role, body = excluded.body, visibility = excluded.visibility;

-- name: hide_message
-- Take a visible message out of sight.
UPDATE message SET visibility = 'hidden' WHERE thread = :thread AND id = :id AND visibility =
    'visible';

-- name: dequeue_messages
-- Move what waits to the end of the history; replacing a row gives it the newest position.
INSERT OR REPLACE INTO message (thread, id, role, body, visibility)
SELECT thread, id, role, body, 'visible' FROM message
WHERE thread = :thread AND visibility = 'waiting' ORDER BY position;

-- name: read_messages
-- All messages of a thread, those that wait last.
SELECT id, role, body, visibility FROM message
WHERE thread = :thread ORDER BY visibility = 'waiting', position;

-- name: read_facts
-- When and by which turn an interrupt was asked, and what its notes are about.
SELECT
    id, turn_key, created_at, status, held, expires_at, assigned_to, reminded_at, lapsed_at,
    progress
FROM interrupt
WHERE thread = (SELECT key FROM thread WHERE thread.scope = :scope AND thread.id = :id)
    AND interrupt.id = :interrupt_id;

-- name: read_many_facts
-- The same of sixteen at a time.
SELECT
    id, turn_key, created_at, status, held, expires_at, assigned_to, reminded_at, lapsed_at,
    progress
FROM interrupt
WHERE thread = (SELECT key FROM thread WHERE thread.scope = :scope AND thread.id = :id)
    AND interrupt.id IN (:id_1, :id_2, :id_3, :id_4, :id_5, :id_6, :id_7, :id_8, :id_9, :id_10,
        :id_11, :id_12, :id_13, :id_14, :id_15, :id_16);

-- name: add_interrupt
-- Write a new question; to whom it belongs is settled now.
INSERT INTO interrupt (
    scope, owner, agent, thread, names,
    id, turn_key, created_at, status, reason, assigned_to, expires_at, remind_at, reminded_at,
    lapsed_at, place, tool_call_id, decided_by, decided_at, channel, run_key, message,
    response_schema, metadata, terms, progress, payload, answer_metadata, held
) VALUES (:scope, :owner, :agent, :thread, :names, :id, :turn_key, :created_at, :status,
    :reason, :assigned_to, :expires_at, :remind_at, :reminded_at, :lapsed_at, :place, :tool_call_id,
    :decided_by, :decided_at, :channel, :run_key, :message, :response_schema, :metadata, :terms,
    :progress, :payload, :answer_metadata, :held);

-- name: move_interrupt
-- Write another turn or time of asking; apart, since most lists are in that order.
UPDATE interrupt SET turn_key = :turn_key, created_at = :created_at WHERE thread = :thread AND id =
    :id;

-- name: put_interrupt
-- Write everything else of a question that is stored: its answer, mostly.
UPDATE interrupt SET
    names = :names, status = :status, reason = :reason, assigned_to = :assigned_to, expires_at = :expires_at,
        remind_at = :remind_at, reminded_at = :reminded_at,
    lapsed_at = :lapsed_at, place = :place, tool_call_id = :tool_call_id, decided_by = :decided_by,
        decided_at = :decided_at, channel = :channel,
    run_key = :run_key, message = :message, response_schema = :response_schema,
    metadata = :metadata, terms = :terms, progress = :progress, payload = :payload,
    answer_metadata = :answer_metadata, held = :held
WHERE thread = :thread AND id = :id;

-- name: list_for
-- List a question under a name of its approvers.
INSERT INTO asked (scope, name, settled, created_at, position)
SELECT scope, :name, :settled, created_at, position FROM interrupt
WHERE thread = :thread AND id = :id;

-- name: unlist
-- List a question under no name.
DELETE FROM asked
WHERE position = (SELECT interrupt.position FROM interrupt WHERE thread = :thread AND id = :id);

-- name: read_interrupts
-- All questions of a turn in the order of asking.
SELECT
    id, turn_key, created_at, status, reason, assigned_to, expires_at, remind_at, reminded_at,
    lapsed_at, place, tool_call_id, decided_by, decided_at, channel, run_key, message,
    response_schema, metadata, terms, progress, payload, answer_metadata, held
FROM interrupt INDEXED BY interrupt_turn WHERE thread = :thread AND turn_key = :turn_key ORDER BY
    position;

-- name: read_earlier_interrupt
-- A question of a thread by its id, behind its position.
SELECT
    position,
    id, turn_key, created_at, status, reason, assigned_to, expires_at, remind_at, reminded_at,
    lapsed_at, place, tool_call_id, decided_by, decided_at, channel, run_key, message,
    response_schema, metadata, terms, progress, payload, answer_metadata, held
FROM interrupt WHERE thread = :thread AND id = :id;

-- name: put_entry
-- Write a journal entry at its place; its position stays that of the first writing.
INSERT INTO entry (
    thread, turn_key, place, kind, name, fingerprint, status, data
) VALUES (:thread, :turn_key, :place, :kind, :name, :fingerprint, :status, :data)
ON CONFLICT (thread, turn_key, place) DO UPDATE SET
    kind = excluded.kind, name = excluded.name, fingerprint = excluded.fingerprint,
    status = excluded.status, data = excluded.data;

-- name: read_journal
-- The entries of a turn in the order of first writing, behind the thread's id.
SELECT
    thread.id, entry.place, entry.kind, entry.name, entry.fingerprint, entry.status, entry.data
FROM turn
JOIN thread ON thread.key = turn.thread
JOIN entry ON entry.thread = turn.thread AND entry.turn_key = turn.key
WHERE turn.key = :key AND thread.scope = :scope
ORDER BY entry.position;

-- name: forget_journal
-- Drop the journal of a turn.
DELETE FROM entry WHERE thread = :thread AND turn_key = :turn_key;

-- name: forget_journals
-- Drop the journals of all turns of a thread.
DELETE FROM entry WHERE thread = :thread;

-- name: delete_messages
-- Drop the messages of a thread.
DELETE FROM message WHERE thread = :thread;

-- name: delete_asked
-- List no question of a thread under a name.
DELETE FROM asked
WHERE position IN (SELECT interrupt.position FROM interrupt WHERE thread = :thread);

-- name: delete_interrupts
-- Drop the questions and answers of a thread.
DELETE FROM interrupt WHERE thread = :thread;

-- name: delete_requests
-- Drop what began the turns of a thread; before the turns themselves.
DELETE FROM request WHERE (turn_key, thread) IN (
    SELECT key, thread FROM turn INDEXED BY turn_thread WHERE thread = :thread
);

-- name: delete_turns
-- Drop the turns of a thread.
DELETE FROM turn WHERE thread = :thread;

-- name: delete_runs
-- Drop the runs of a thread.
DELETE FROM run WHERE thread = :thread;

-- name: delete_state
-- Drop the state of a thread.
DELETE FROM state WHERE thread = :thread;

-- name: delete_kept
-- Drop what a thread keeps.
DELETE FROM kept WHERE thread = :thread;

-- name: delete_thread
-- Drop a thread itself.
DELETE FROM thread WHERE key = :key;
