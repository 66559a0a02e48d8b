-- name: create
INSERT INTO api_keys (space_id, name, key_hash, hint, scopes, made_by)
VALUES (%(space_id)s, %(name)s, %(key_hash)s, %(hint)s, %(scopes)s, %(made_by)s)
RETURNING id, name, hint, scopes, created_at, last_used_at, revoked_at, made_by;

-- name: list
SELECT id, name, hint, scopes, created_at, last_used_at, revoked_at, made_by
FROM api_keys WHERE space_id = %(space_id)s ORDER BY id;

-- name: use
SELECT count(*), max(last_used_at) FROM api_keys
WHERE space_id = %(space_id)s AND revoked_at IS NULL;

-- name: revoke
UPDATE api_keys SET revoked_at = least(revoked_at, now())
WHERE space_id = %(space_id)s AND id = %(key_id)s
RETURNING id, name, hint, scopes, created_at, last_used_at, revoked_at, made_by;

-- name: revoke_made_by
UPDATE api_keys SET revoked_at = now()
WHERE space_id = %(space_id)s AND made_by = %(user_id)s AND revoked_at IS NULL;
