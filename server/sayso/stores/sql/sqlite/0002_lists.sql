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
CREATE INDEX run_thread ON run (thread);

-- `scope`, `owner` and `agent` are those of the thread, as they were when the row was written first.
ALTER TABLE interrupt ADD COLUMN held BLOB;
ALTER TABLE interrupt ADD COLUMN assigned_to TEXT;
ALTER TABLE interrupt ADD COLUMN remind_at INTEGER;
ALTER TABLE interrupt ADD COLUMN reminded_at INTEGER;
ALTER TABLE interrupt ADD COLUMN lapsed_at INTEGER;
ALTER TABLE interrupt ADD COLUMN scope TEXT;
ALTER TABLE interrupt ADD COLUMN owner TEXT;
ALTER TABLE interrupt ADD COLUMN agent TEXT;
UPDATE interrupt SET (scope, owner, agent) = (
    SELECT scope, owner, agent FROM thread WHERE thread.key = interrupt.thread
);
CREATE TRIGGER interrupt_by_older_code AFTER INSERT ON interrupt WHEN new.scope IS NULL
BEGIN
    UPDATE interrupt SET (scope, owner, agent) = (
        SELECT scope, owner, agent FROM thread WHERE thread.key = new.thread
    ) WHERE position = new.position;
END;

CREATE INDEX interrupt_named ON interrupt (id);
CREATE INDEX interrupt_listed ON interrupt (scope, created_at);
CREATE INDEX interrupt_owned ON interrupt (scope, owner, created_at);
CREATE INDEX interrupt_open ON interrupt (scope, created_at) WHERE status = 'open';
CREATE INDEX interrupt_open_owned ON interrupt (scope, owner, created_at) WHERE status = 'open';
CREATE INDEX interrupt_open_agent ON interrupt (scope, agent, created_at) WHERE status = 'open';
CREATE INDEX interrupt_open_assigned ON interrupt (scope, assigned_to, created_at)
    WHERE status = 'open' AND assigned_to IS NOT NULL;

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
