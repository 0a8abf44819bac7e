-- Lists over all threads. A walk gives the two members that its list is sorted by, then what
-- filters look at; each names the index that it walks along.

-- name: walk_threads
-- Threads of a scope, those that were active last first.
SELECT active_at, key, owner, agent,
    (SELECT status FROM turn WHERE turn.key = thread.turn AND turn.thread = thread.key)
FROM thread INDEXED BY thread_listed
WHERE scope = :scope AND (active_at, key) < (:moment, :position)
ORDER BY active_at DESC, key DESC LIMIT :walk;

-- name: walk_owned_threads
-- The same of one owner.
SELECT active_at, key, owner, agent,
    (SELECT status FROM turn WHERE turn.key = thread.turn AND turn.thread = thread.key)
FROM thread INDEXED BY thread_owned
WHERE scope = :scope AND owner = :owner AND (active_at, key) < (:moment, :position)
ORDER BY active_at DESC, key DESC LIMIT :walk;

-- name: read_listed_thread
-- What a list shows of a thread.
SELECT
    thread.scope, thread.id, thread.owner, thread.agent, thread.revision, thread.created_at,
    thread.active_at, thread.holder IS NOT NULL, turn.status, run.key, run.outcome,
    (
        SELECT count(*) FROM interrupt INDEXED BY interrupt_turn
        WHERE interrupt.thread = thread.key AND interrupt.turn_key = thread.turn
            AND interrupt.status = 'open' AND interrupt.reason <> 'sayso:client-tool'
    ),
    thread.hold IS NOT NULL
FROM thread
JOIN turn ON turn.key = thread.turn AND turn.thread = thread.key
JOIN run ON run.key = thread.run AND run.thread = thread.key
WHERE thread.key = :key;

-- name: walk_open
-- Open interrupts of a scope, oldest first.
SELECT created_at, position, owner, names, status, agent, reason, assigned_to
FROM interrupt INDEXED BY interrupt_open
WHERE scope = :scope AND status = 'open'
    AND (created_at, position) > (:moment, :position)
ORDER BY created_at, position LIMIT :walk;

-- name: walk_open_owned
-- The same of one owner.
SELECT created_at, position, owner, names, status, agent, reason, assigned_to
FROM interrupt INDEXED BY interrupt_open_owned
WHERE scope = :scope AND status = 'open' AND owner = :owner
    AND (created_at, position) > (:moment, :position)
ORDER BY created_at, position LIMIT :walk;

-- name: walk_open_assigned
-- The same of one assignee.
SELECT created_at, position, owner, names, status, agent, reason, assigned_to
FROM interrupt INDEXED BY interrupt_open_assigned
WHERE scope = :scope AND status = 'open' AND assigned_to = :assigned_to
    AND (created_at, position) > (:moment, :position)
ORDER BY created_at, position LIMIT :walk;

-- name: walk_open_for
-- The same of those that approvers of this name answer.
SELECT asked.created_at, asked.position, owner, names, status, agent, reason, assigned_to
FROM asked
JOIN interrupt ON interrupt.position = asked.position
WHERE asked.scope = :scope AND asked.name = :name AND asked.settled = 0
    AND (asked.created_at, asked.position) > (:moment, :position)
ORDER BY asked.created_at, asked.position LIMIT :walk;

-- name: walk_settled
-- Interrupts of a scope that are not open, oldest first.
SELECT created_at, position, owner, names, status, agent, reason, assigned_to
FROM interrupt INDEXED BY interrupt_settled
WHERE scope = :scope AND status <> 'open'
    AND (created_at, position) > (:moment, :position)
ORDER BY created_at, position LIMIT :walk;

-- name: walk_settled_owned
-- The same of one owner.
SELECT created_at, position, owner, names, status, agent, reason, assigned_to
FROM interrupt INDEXED BY interrupt_settled_owned
WHERE scope = :scope AND status <> 'open' AND owner = :owner
    AND (created_at, position) > (:moment, :position)
ORDER BY created_at, position LIMIT :walk;

-- name: walk_settled_for
-- The same of those that approvers of this name answered.
SELECT asked.created_at, asked.position, owner, names, status, agent, reason, assigned_to
FROM asked
JOIN interrupt ON interrupt.position = asked.position
WHERE asked.scope = :scope AND asked.name = :name AND asked.settled = 1
    AND (asked.created_at, asked.position) > (:moment, :position)
ORDER BY asked.created_at, asked.position LIMIT :walk;

-- name: walk_of_thread
-- All interrupts of a thread, oldest first; sorted, since a thread does not have many.
SELECT created_at, position, owner, names, status, agent, reason, assigned_to
FROM interrupt INDEXED BY interrupt_turn
WHERE thread = (SELECT key FROM thread WHERE scope = :scope AND id = :thread_id)
    AND (created_at, position) > (:moment, :position)
ORDER BY created_at, position LIMIT :walk;

-- name: read_listed_interrupt
-- An interrupt with where it belongs.
SELECT
    (SELECT thread.id FROM thread WHERE thread.key = interrupt.thread), owner, agent,
    id, turn_key, created_at, status, reason, assigned_to, expires_at, remind_at, reminded_at,
    lapsed_at, place, tool_call_id, decided_by, decided_at, channel, run_key, message,
    response_schema, metadata, terms, progress, payload, answer_metadata, held
FROM interrupt WHERE position = :position;

-- name: find_interrupt
-- Where the first interrupt with an id is.
SELECT position FROM interrupt
WHERE id = :id AND scope = :scope ORDER BY position LIMIT 1;

-- name: walk_runs
-- Runs of a thread, oldest first; which, is found out in an index.
SELECT position, key, run_id, turn_key, started_at, ended_at, outcome, delivered
FROM run WHERE position IN (
    SELECT position FROM run INDEXED BY run_named
    WHERE thread = (SELECT thread.key FROM thread WHERE scope = :scope AND id = :id) AND position >
        :position
    ORDER BY position LIMIT :limit
)
ORDER BY position;

-- name: known_marks
-- The oldest and the newest mark of a scope.
SELECT
    (SELECT min(mark) FROM change WHERE scope = :scope),
    (SELECT max(mark) FROM change WHERE scope = :scope);

-- name: read_changes
-- What happened in a scope after a mark.
SELECT mark, kind, thread_id, owner, at, interrupt_id, run_key
FROM change WHERE scope = :scope AND mark > :mark ORDER BY mark LIMIT :limit;

-- name: note_change
-- Note what happened to a thread, under the next mark of its scope: nobody else writes meanwhile.
INSERT INTO change (scope, mark, owner, thread_id, at, kind, interrupt_id, run_key)
VALUES (
    :scope, (SELECT coalesce(max(mark), 0) + 1 FROM change WHERE scope = :scope),
    :owner, :thread_id, :at, :kind, :interrupt_id, :run_key
);

-- name: prune_changes
-- Forget the notes of a scope but for so many.
DELETE FROM change
WHERE scope = :scope AND mark <= (SELECT max(mark) FROM change WHERE scope = :scope) - :kept;

-- name: count_owned
-- An owner's threads and their bytes, and what is open in them.
SELECT
    count(*), coalesce(sum(size), 0),
    (SELECT count(*) FROM interrupt INDEXED BY interrupt_open_owned
        WHERE scope = :scope AND owner = :owner AND status = 'open')
FROM thread INDEXED BY thread_owned WHERE scope = :scope AND owner = :owner;

-- name: count_all
-- The same of all owners of a scope.
SELECT
    count(*), coalesce(sum(size), 0),
    (SELECT count(*) FROM interrupt INDEXED BY interrupt_open
        WHERE scope = :scope AND status = 'open')
FROM thread INDEXED BY thread_listed WHERE scope = :scope;

-- name: count_all_open
-- Open interrupts of all scopes, up to a number, and the oldest: from scope to scope, the first of each.
WITH RECURSIVE asking (scope) AS (
    SELECT * FROM (
        SELECT scope FROM interrupt INDEXED BY interrupt_open WHERE status = 'open'
        ORDER BY scope, created_at, position LIMIT 1
    ) AS lowest
    UNION ALL
    SELECT (
        SELECT scope FROM interrupt INDEXED BY interrupt_open WHERE status = 'open' AND scope >
            asking.scope
        ORDER BY scope, created_at, position LIMIT 1
    )
    FROM asking WHERE asking.scope IS NOT NULL
)
SELECT
    (SELECT count(*) FROM (
        SELECT position FROM interrupt INDEXED BY interrupt_open WHERE status = 'open'
        ORDER BY scope, created_at, position LIMIT :most
    ) AS counted),
    (SELECT min(asked.at) FROM (
        SELECT (
            SELECT created_at FROM interrupt INDEXED BY interrupt_open WHERE status = 'open' AND
                scope = asker.scope
            ORDER BY scope, created_at, position LIMIT 1
        ) AS at
        FROM (SELECT scope FROM asking WHERE scope IS NOT NULL LIMIT :most) AS asker
    ) AS asked);
