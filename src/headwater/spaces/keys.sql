-- name: create
-- Keep a new key's hash.
INSERT INTO api_keys (space_id, name, key_hash, hint, scopes)
VALUES (%(space_id)s, %(name)s, %(key_hash)s, %(hint)s, %(scopes)s)
RETURNING id, name, hint, scopes, created_at, revoked_at;

-- name: list
-- A Space's keys, revoked ones included, the oldest first.
SELECT id, name, hint, scopes, created_at, revoked_at
FROM api_keys WHERE space_id = %(space_id)s ORDER BY id;

-- name: revoke
-- Revoke a key; one that is revoked keeps the time of it.
UPDATE api_keys SET revoked_at = coalesce(revoked_at, now())
WHERE space_id = %(space_id)s AND id = %(key_id)s
RETURNING id, name, hint, scopes, created_at, revoked_at;
