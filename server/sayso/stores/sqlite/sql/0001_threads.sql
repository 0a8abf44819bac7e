-- min_reader: 1
-- Threads with their turns, runs, messages, questions and journals.
-- A migration is never edited once released: add the next number instead. `min_reader` is the
-- oldest schema version whose code can still work with a database that this file was applied to.

CREATE TABLE sayso_schema (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    min_reader INTEGER NOT NULL,
    applied_at INTEGER NOT NULL
);

-- `turn` and `run` are the keys of the newest ones. Two columns matter only while nobody holds the
-- thread and its newest turn is suspended: `expires_at` is the earliest expiry among the questions
-- that are open, `ready_at` the time since when none is open.
CREATE TABLE thread (
    key INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    revision INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    holder TEXT,
    lease_until INTEGER,
    turn TEXT NOT NULL,
    run TEXT NOT NULL,
    expires_at INTEGER,
    ready_at INTEGER,
    UNIQUE (scope, id)
);
CREATE INDEX thread_held ON thread (lease_until) WHERE holder IS NOT NULL;
CREATE INDEX thread_expiring ON thread (expires_at)
    WHERE holder IS NULL AND expires_at IS NOT NULL;
CREATE INDEX thread_ready ON thread (ready_at) WHERE holder IS NULL AND ready_at IS NOT NULL;

-- Apart from the thread's row, which every write touches. No row: the empty object.
CREATE TABLE state (
    thread INTEGER PRIMARY KEY,
    body BLOB NOT NULL
);

CREATE TABLE turn (
    position INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    key TEXT NOT NULL,
    agent TEXT NOT NULL,
    version TEXT NOT NULL,
    status TEXT NOT NULL,
    subject TEXT NOT NULL,
    subject_scope TEXT NOT NULL,
    subject_roles BLOB NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    UNIQUE (key, thread)
);

-- The RunInput that began a turn; apart from the turn's row, which changes its status.
CREATE TABLE request (
    position INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    turn_key TEXT NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (turn_key, thread)
);

CREATE TABLE run (
    position INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    key TEXT NOT NULL,
    run_id TEXT NOT NULL,
    turn_key TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    outcome BLOB,
    delivered INTEGER NOT NULL,
    UNIQUE (key, thread)
);
CREATE INDEX run_named ON run (thread, run_id);

CREATE TABLE message (
    position INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    id TEXT NOT NULL,
    role TEXT NOT NULL,
    body BLOB NOT NULL,
    visibility TEXT NOT NULL,
    UNIQUE (thread, id)
);
CREATE INDEX message_waiting ON message (thread) WHERE visibility = 'waiting';

CREATE TABLE interrupt (
    position INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    id TEXT NOT NULL,
    turn_key TEXT NOT NULL,
    place TEXT NOT NULL,
    reason TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    message TEXT,
    tool_call_id TEXT,
    response_schema BLOB,
    metadata BLOB,
    policy BLOB,
    expires_at INTEGER,
    status TEXT NOT NULL,
    payload BLOB,
    answer_metadata BLOB,
    decided_by TEXT,
    decided_at INTEGER,
    channel TEXT,
    run_key TEXT,
    UNIQUE (thread, id)
);
CREATE INDEX interrupt_turn ON interrupt (thread, turn_key);

CREATE TABLE entry (
    position INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    turn_key TEXT NOT NULL,
    place TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    status TEXT NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (thread, turn_key, place)
);
