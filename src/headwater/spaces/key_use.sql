-- name: write
-- Write down a key's last use; one that another process wrote may be later.
UPDATE api_keys SET last_used_at = greatest(last_used_at, %(used_at)s)
WHERE space_id = %(space_id)s AND id = %(key_id)s;
