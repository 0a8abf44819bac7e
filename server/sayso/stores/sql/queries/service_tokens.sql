-- Statements about tokens of services, by name.

-- name: add_service_token
-- Keep a token; nothing comes back if its digest or its id is known.
INSERT INTO service_token (digest, scope, id, body) VALUES (:digest, :scope, :id, :body)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: find_service_token
-- A token by its digest.
SELECT scope, id, body, revoked_at, revoked_by FROM service_token WHERE digest = :digest;

-- name: read_service_tokens
-- All of a scope.
SELECT scope, id, body, revoked_at, revoked_by FROM service_token WHERE scope = :scope;

-- name: revoke_service_token
-- Revoke a token that is not revoked.
UPDATE service_token SET revoked_at = :now, revoked_by = :by
WHERE scope = :scope AND id = :id AND revoked_at IS NULL
RETURNING scope, id, body, revoked_at, revoked_by;

-- name: all_service_tokens
-- All of every scope.
SELECT digest, scope, id, body FROM service_token ORDER BY digest;

-- name: rekey_service_token
-- Write a token anew.
UPDATE service_token SET body = :body WHERE digest = :digest;
