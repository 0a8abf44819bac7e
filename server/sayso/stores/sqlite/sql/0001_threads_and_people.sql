-- min_reader: 1
-- Threads with their turns, runs, messages, questions, journals and audit trails, approvals, and the
-- notes of what changed.
-- A migration is never edited once released: add the next number instead. `min_reader` is the
-- oldest schema version whose code can still work with a database that this file was applied to.

CREATE TABLE sayso_schema (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    min_reader INTEGER NOT NULL,
    applied_at INTEGER NOT NULL
);

-- `turn` and `run` are the keys of the newest ones. Three columns matter only while nobody holds the
-- thread and its newest turn is suspended: `expires_at` and `remind_at` are the earliest among the
-- questions that are open, `ready_at` the time since when none is open. `active_at`: the last claim,
-- release or settlement. `stop_fence`: the fence whose holder was asked to stop; `stop_noted` that
-- of which `stop_by` and `stop_channel` speak.
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
    active_at INTEGER NOT NULL,
    holder TEXT,
    lease_until INTEGER,
    turn TEXT NOT NULL,
    run TEXT NOT NULL,
    expires_at INTEGER,
    remind_at INTEGER,
    ready_at INTEGER,
    stop_fence INTEGER,
    stop_noted INTEGER,
    stop_by TEXT,
    stop_channel TEXT,
    UNIQUE (scope, id)
);
CREATE INDEX thread_held ON thread (lease_until) WHERE holder IS NOT NULL;
-- Expiries and reminders by one moment, so that a thread is found once.
CREATE INDEX thread_waking
    ON thread (min(coalesce(expires_at, remind_at), coalesce(remind_at, expires_at)))
    WHERE holder IS NULL AND (expires_at IS NOT NULL OR remind_at IS NOT NULL);
CREATE INDEX thread_ready ON thread (ready_at) WHERE holder IS NULL AND ready_at IS NOT NULL;
CREATE INDEX thread_listed ON thread (scope, active_at);
CREATE INDEX thread_owned ON thread (scope, owner, active_at);

-- Apart from the thread's row, which every write touches. No row: the empty object.
CREATE TABLE state (
    thread INTEGER PRIMARY KEY,
    body BLOB NOT NULL
);

-- Private values of agents, of threads that have any.
CREATE TABLE kept (
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
CREATE INDEX turn_thread ON turn (thread);

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

-- Short columns in front of long ones: lists look at the former only. `scope`, `owner` and `agent`
-- are those of the thread when it was first written.
CREATE TABLE interrupt (
    position INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
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
    names TEXT,
    message TEXT,
    response_schema BLOB,
    metadata BLOB,
    terms BLOB,
    progress BLOB,
    payload BLOB,
    answer_metadata BLOB,
    held BLOB,
    UNIQUE (id, thread)
);
CREATE INDEX interrupt_turn ON interrupt (thread, turn_key);
-- Open and settled ones apart: a question enters two of these, and its answer moves it to the others.
CREATE INDEX interrupt_open ON interrupt (scope, created_at) WHERE status = 'open';
CREATE INDEX interrupt_open_owned ON interrupt (scope, owner, created_at) WHERE status = 'open';
CREATE INDEX interrupt_open_assigned ON interrupt (scope, assigned_to, created_at)
    WHERE status = 'open' AND assigned_to IS NOT NULL;
CREATE INDEX interrupt_settled ON interrupt (scope, created_at) WHERE status <> 'open';
CREATE INDEX interrupt_settled_owned ON interrupt (scope, owner, created_at)
    WHERE status <> 'open';

-- The questions that others than the owner answer, by each name (a role, a person) of these.
CREATE TABLE asked (
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    settled INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (scope, name, settled, created_at, position)
) WITHOUT ROWID;
CREATE INDEX asked_at ON asked (position);

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

-- Approvals that stand for later calls, and what they were used for. `terms`: the rules as they were.
CREATE TABLE approval (
    position INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    tool TEXT NOT NULL,
    thread_id TEXT,
    pattern BLOB NOT NULL,
    rules BLOB NOT NULL,
    given_by TEXT NOT NULL,
    given_at INTEGER NOT NULL,
    interrupt_id TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    revoked_by TEXT,
    terms BLOB,
    UNIQUE (scope, id)
);
CREATE INDEX approval_listed ON approval (scope, given_at);
CREATE INDEX approval_of_tool ON approval (scope, owner, tool, given_at)
    WHERE revoked_at IS NULL;
CREATE INDEX approval_of_thread ON approval (scope, thread_id) WHERE thread_id IS NOT NULL;

CREATE TABLE approval_use (
    position INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (scope, approval_id, call_id)
);
CREATE INDEX approval_use_of_thread ON approval_use (scope, thread_id);

-- The people that rows of the audit trail tell of: names stand nowhere else in it.
CREATE TABLE person (
    scope TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    salt BLOB NOT NULL,
    PRIMARY KEY (scope, name)
);
CREATE UNIQUE INDEX person_by_id ON person (scope, id);

-- The audit trail: rows that each seal those before in their thread. Nothing replaces one.
CREATE TABLE audit (
    position INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    thread_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    content BLOB,
    salt BLOB,
    content_digest TEXT NOT NULL,
    digest TEXT NOT NULL,
    UNIQUE (scope, thread_id, number)
);
CREATE INDEX audit_listed ON audit (scope);

CREATE TRIGGER audit_never_changes BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'rows of the audit trail are never changed'); END;
CREATE TRIGGER audit_never_goes BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'rows of the audit trail are never taken away'); END;
-- A replaced row fires no trigger of its own.
CREATE TRIGGER audit_is_never_replaced BEFORE INSERT ON audit
WHEN EXISTS (SELECT 1 FROM audit WHERE position = NEW.position) OR EXISTS (
    SELECT 1 FROM audit
    WHERE scope = NEW.scope AND thread_id = NEW.thread_id AND number = NEW.number
)
BEGIN SELECT RAISE(ABORT, 'rows of the audit trail are never replaced'); END;
