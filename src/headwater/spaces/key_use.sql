-- name: write
-- Store a key's last use, unless another process stored a later one.
UPDATE api_keys SET last_used_at = greatest(last_used_at, %(used_at)s)
WHERE space_id = %(space_id)s AND id = %(key_id)s;
