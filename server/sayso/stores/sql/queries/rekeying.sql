-- Texts that are written anew under another key, by name.

-- name: next_threads
-- Threads in the order of their creation.
SELECT key, scope, id FROM thread WHERE key > :key ORDER BY key LIMIT :limit;

-- name: texts_of_thread
-- Why nothing of a thread may be deleted.
SELECT hold FROM thread WHERE key = :thread AND hold IS NOT NULL;

-- name: texts_of_state
-- The state of a thread.
SELECT body FROM state WHERE thread = :thread;

-- name: texts_of_kept
-- What a thread keeps.
SELECT body FROM kept WHERE thread = :thread;

-- name: texts_of_request
-- What began each turn.
SELECT turn_key, body FROM request
WHERE (turn_key, thread) IN (SELECT key, thread FROM turn WHERE thread = :thread);

-- name: texts_of_run
-- How each run has ended.
SELECT key, outcome FROM run WHERE thread = :thread AND outcome IS NOT NULL;

-- name: texts_of_message
-- All messages.
SELECT id, body FROM message WHERE thread = :thread;

-- name: texts_of_entry
-- All that was recorded.
SELECT turn_key, place, fingerprint, data FROM entry WHERE thread = :thread;

-- name: texts_of_interrupt
-- All questions.
SELECT id, message, response_schema, metadata, terms, progress, payload, answer_metadata, held
FROM interrupt WHERE thread = :thread;

-- name: rekey_thread
-- Write a hold anew.
UPDATE thread SET hold = :hold WHERE key = :thread;

-- name: rekey_state
-- Write a state anew.
UPDATE state SET body = :body WHERE thread = :thread;

-- name: rekey_kept
-- Write anew what a thread keeps.
UPDATE kept SET body = :body WHERE thread = :thread;

-- name: rekey_request
-- Write a request anew.
UPDATE request SET body = :body WHERE thread = :thread AND turn_key = :turn_key;

-- name: rekey_run
-- Write an outcome anew.
UPDATE run SET outcome = :outcome WHERE thread = :thread AND key = :key;

-- name: rekey_message
-- Write a message anew.
UPDATE message SET body = :body WHERE thread = :thread AND id = :id;

-- name: rekey_entry
-- Write an entry anew.
UPDATE entry SET fingerprint = :fingerprint, data = :data
WHERE thread = :thread AND turn_key = :turn_key AND place = :place;

-- name: rekey_interrupt
-- Write a question anew.
UPDATE interrupt SET
    message = :message, response_schema = :response_schema, metadata = :metadata, terms = :terms,
    progress = :progress, payload = :payload, answer_metadata = :answer_metadata, held = :held
WHERE thread = :thread AND id = :id;

-- name: next_approvals
-- Approvals of all scopes.
SELECT position, scope, coalesce(thread_id, ''), id, owner, tool, pattern, terms
FROM approval WHERE position > :position ORDER BY position LIMIT :limit;

-- name: rekey_approval
-- Write an approval anew.
UPDATE approval SET pattern = :pattern, terms = :terms WHERE position = :position;

-- name: next_audit
-- Contents of the audit trail, of all scopes.
SELECT position, scope, thread_id, number, content, salt
FROM audit WHERE position > :position ORDER BY position LIMIT :limit;

-- name: rekey_audit
-- Write a content anew, unless somebody has taken it away.
UPDATE audit SET content = :content, salt = :salt WHERE position = :position AND content IS NOT NULL;
