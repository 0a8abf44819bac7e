-- Statements about sessions of people, by name.

-- name: add_session
-- Keep a session; one that is there stays as it is.
INSERT INTO session (digest, of_person, of_subject, of_issuer, ends_at, body)
VALUES (:digest, :of_person, :of_subject, :of_issuer, :ends_at, :body)
ON CONFLICT (digest) DO NOTHING;

-- name: forget_ended_sessions
-- Forget what has ended.
DELETE FROM session WHERE ends_at <= :now;

-- name: read_session
-- A session as it was kept last.
SELECT body FROM session WHERE digest = :digest;

-- name: prolong_session
-- Note that a session was used.
UPDATE session SET ends_at = :ends_at, body = :body WHERE digest = :digest;

-- name: end_sessions
-- End those of one name.
DELETE FROM session
WHERE digest = :name OR of_person = :name OR of_subject = :name OR of_issuer = :name
RETURNING digest, body;

-- name: read_sessions
-- Those of one name.
SELECT digest, body FROM session
WHERE digest = :name OR of_person = :name OR of_subject = :name OR of_issuer = :name;
