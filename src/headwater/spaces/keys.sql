-- name: columns
-- What is shown of a key.
id, name, hint, scopes, created_at, last_used_at, revoked_at, made_by, expires_at, addresses::text[] AS addresses,
replaced_by

-- name: create
INSERT INTO api_keys (space_id, name, key_hash, hint, scopes, made_by, expires_at, addresses)
VALUES (%(space_id)s, %(name)s, %(key_hash)s, %(hint)s, %(scopes)s, %(made_by)s,
        now() + %(lifetime)s, %(addresses)s::text[]::cidr[])
RETURNING {columns};

-- name: list
SELECT {columns} FROM api_keys WHERE space_id = %(space_id)s ORDER BY id;

-- name: rotated
-- A key to rotate, and whether it has ended. It is locked first: in a cluster, two transactions that had both
-- added a row would wait for each other.
SELECT id, name, scopes, addresses::text[], expires_at - created_at, replaced_by,
       revoked_at IS NOT NULL OR coalesce(expires_at <= now(), false)
FROM api_keys
WHERE space_id = %(space_id)s AND id = %(key_id)s
FOR NO KEY UPDATE;

-- name: replace
UPDATE api_keys
SET replaced_by = %(replaced_by)s, expires_at = least(expires_at, now() + %(overlap)s)
WHERE space_id = %(space_id)s AND id = %(key_id)s
RETURNING expires_at;

-- name: restrict
UPDATE api_keys SET addresses = %(addresses)s::text[]::cidr[]
WHERE space_id = %(space_id)s AND id = %(key_id)s
RETURNING {columns};

-- name: use
SELECT count(*), max(last_used_at) FROM api_keys
WHERE space_id = %(space_id)s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now());

-- name: revoke
UPDATE api_keys SET revoked_at = least(revoked_at, now())
WHERE space_id = %(space_id)s AND id = %(key_id)s
RETURNING {columns};

-- name: revoke_made_by
UPDATE api_keys SET revoked_at = now()
WHERE space_id = %(space_id)s AND made_by = %(user_id)s AND revoked_at IS NULL;
