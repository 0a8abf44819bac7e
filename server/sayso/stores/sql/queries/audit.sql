-- Statements about the audit trail, by name.

-- name: last_audit
-- Number and digest of a thread's newest row.
SELECT number, digest FROM audit
WHERE scope = :scope AND thread_id = :thread_id ORDER BY number DESC LIMIT 1;

-- name: add_audit
-- Add a row; nothing ever replaces one.
INSERT INTO audit
(scope, thread_id, at, number, owner, kind, content, salt, content_digest, digest)
VALUES
(:scope, :thread_id, :at, :number, :owner, :kind, :content, :salt, :content_digest, :digest);

-- name: find_person
-- The id that rows have for a name.
SELECT id FROM person WHERE scope = :scope AND name = :name;

-- name: add_person
-- Add a person that rows tell of.
INSERT INTO person (scope, id, name, salt) VALUES (:scope, :id, :name, :salt);

-- name: read_person
-- Who somebody is that rows tell of.
SELECT id, name, salt FROM person WHERE scope = :scope AND id = :id;

-- name: walk_audit_of_thread
-- Rows of a thread in their order, of an owner or of all.
SELECT number, thread_id, owner, at, kind, content, salt, content_digest, digest FROM audit
WHERE scope = :scope AND thread_id = :thread_id AND number > :number AND owner = COALESCE(:owner, owner)
ORDER BY number LIMIT :limit;

-- name: last_decision
-- The newest row of a thread that tells of a person's word.
SELECT number, thread_id, owner, at, kind, content, salt, content_digest, digest FROM audit
WHERE scope = :scope AND thread_id = :thread_id AND kind IN ('resolved', 'cancelled', 'held', 'agreed')
ORDER BY number DESC LIMIT 1;

-- name: walk_audit
-- Rows of a scope in the order of writing, and whose they are.
SELECT 0, position, owner FROM audit INDEXED BY audit_listed
WHERE scope = :scope AND position > :position AND position <= :until
ORDER BY position LIMIT :walk;

-- name: newest_audit
-- Where the newest row of a scope is.
SELECT position FROM audit INDEXED BY audit_listed
WHERE scope = :scope ORDER BY position DESC LIMIT 1;

-- name: read_audit
-- A row.
SELECT number, thread_id, owner, at, kind, content, salt, content_digest, digest
FROM audit WHERE position = :position;

-- name: erase_person
-- Forget who somebody is that rows tell of.
DELETE FROM person WHERE scope = :scope AND name = :name;

-- name: forget_owner
-- Forget whose the threads were that something was noted of; marks stay, so readers go on.
UPDATE change SET owner = '' WHERE scope = :scope AND owner = :owner;
