-- min_reader: 1
-- Lists of threads, interrupts and runs; kept answers, reminders, stop requests, notes of changes.
-- Code of schema 1 goes on beside newer code. What it writes is listed, but it sets no reminders,
-- notes no changes, does not move a thread in the list, and finds expiries without an index.

-- `active_at`: the last claim, release or settlement. `remind_at` stands beside `expires_at` and
-- `ready_at`. `stop_fence`: the fence whose holder was asked to stop.
ALTER TABLE thread ADD COLUMN active_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE thread ADD COLUMN remind_at INTEGER;
ALTER TABLE thread ADD COLUMN stop_fence INTEGER;
UPDATE thread SET active_at = updated_at;
-- Expiries and reminders by one moment, so that a thread is found once.
DROP INDEX thread_expiring;
CREATE INDEX thread_waking
    ON thread (min(coalesce(expires_at, remind_at), coalesce(remind_at, expires_at)))
    WHERE holder IS NULL AND (expires_at IS NOT NULL OR remind_at IS NOT NULL);
CREATE INDEX thread_listed ON thread (scope, active_at);
CREATE INDEX thread_owned ON thread (scope, owner, active_at);

CREATE INDEX turn_thread ON turn (thread);

-- Anew, to be found by its id alone, and with short columns in front of long ones: lists look at
-- the former only. `scope`, `owner` and `agent` are those of the thread when it was first written.
ALTER TABLE interrupt RENAME TO older_interrupt;
CREATE TABLE interrupt (
    position INTEGER PRIMARY KEY,
    scope TEXT,
    owner TEXT,
    agent TEXT,
    thread INTEGER NOT NULL,
    id TEXT NOT NULL,
    turn_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    assigned_to TEXT,
    expires_at INTEGER,
    remind_at INTEGER,
    reminded_at INTEGER,
    lapsed_at INTEGER,
    place TEXT NOT NULL,
    tool_call_id TEXT,
    decided_by TEXT,
    decided_at INTEGER,
    channel TEXT,
    run_key TEXT,
    message TEXT,
    response_schema BLOB,
    metadata BLOB,
    policy BLOB,
    payload BLOB,
    answer_metadata BLOB,
    held BLOB,
    UNIQUE (id, thread)
);
INSERT INTO interrupt (
    position, scope, owner, agent, thread, id, turn_key, created_at, status, reason, expires_at,
    place, tool_call_id, decided_by, decided_at, channel, run_key, message, response_schema,
    metadata, policy, payload, answer_metadata
)
SELECT
    position, scope, owner, agent, old.thread, old.id, turn_key, old.created_at, status, reason,
    old.expires_at, place, tool_call_id, decided_by, decided_at, channel, old.run_key, message,
    response_schema, metadata, policy, payload, answer_metadata
FROM older_interrupt AS old JOIN thread ON thread.key = old.thread
ORDER BY position;
DROP TABLE older_interrupt;
CREATE INDEX interrupt_turn ON interrupt (thread, turn_key);
CREATE TRIGGER interrupt_by_older_code AFTER INSERT ON interrupt WHEN new.scope IS NULL
BEGIN
    UPDATE interrupt SET (scope, owner, agent) = (
        SELECT scope, owner, agent FROM thread WHERE thread.key = new.thread
    ) WHERE position = new.position;
END;

-- Open and settled ones apart: a question enters two of these, and its answer moves it to the others.
CREATE INDEX interrupt_open ON interrupt (scope, created_at) WHERE status = 'open';
CREATE INDEX interrupt_open_owned ON interrupt (scope, owner, created_at) WHERE status = 'open';
CREATE INDEX interrupt_open_assigned ON interrupt (scope, assigned_to, created_at)
    WHERE status = 'open' AND assigned_to IS NOT NULL;
CREATE INDEX interrupt_settled ON interrupt (scope, created_at) WHERE status <> 'open';
CREATE INDEX interrupt_settled_owned ON interrupt (scope, owner, created_at)
    WHERE status <> 'open';

-- What happened, numbered within a scope; only the newest are kept.
CREATE TABLE change (
    scope TEXT NOT NULL,
    mark INTEGER NOT NULL,
    kind TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    at INTEGER NOT NULL,
    interrupt_id TEXT,
    run_key TEXT,
    PRIMARY KEY (scope, mark)
) WITHOUT ROWID;

-- Above these a new thread of a scope begins; no row: nothing was deleted.
CREATE TABLE floor (
    scope TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    fence INTEGER NOT NULL
) WITHOUT ROWID;
