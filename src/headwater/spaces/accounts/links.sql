-- name: end_set_up
UPDATE one_time_links SET used_at = now() WHERE user_id IS NULL AND used_at IS NULL;

-- name: make_set_up
-- Create a link for the first account, while there is no account.
INSERT INTO one_time_links (token_hash, expires_at)
SELECT %(token_hash)s, now() + %(lifetime)s WHERE NOT EXISTS (SELECT FROM users);

-- name: end_reset
UPDATE one_time_links SET used_at = now() WHERE user_id = %(user_id)s AND used_at IS NULL;

-- name: make_reset
INSERT INTO one_time_links (token_hash, user_id, expires_at)
VALUES (%(token_hash)s, %(user_id)s, now() + %(lifetime)s);

-- name: alone
-- One first account at a time.
SELECT pg_advisory_xact_lock(hashtext('headwater first account'));

-- name: set_up_works
SELECT token_hash FROM one_time_links
WHERE token_hash = %(token_hash)s AND user_id IS NULL AND used_at IS NULL AND expires_at > now()
  AND NOT EXISTS (SELECT FROM users);

-- name: use_set_up
UPDATE one_time_links SET used_at = now()
WHERE token_hash = %(token_hash)s AND user_id IS NULL AND used_at IS NULL AND expires_at > now()
  AND NOT EXISTS (SELECT FROM users)
RETURNING token_hash;

-- name: find_reset
SELECT user_id FROM one_time_links
WHERE token_hash = %(token_hash)s AND user_id IS NOT NULL AND used_at IS NULL
  AND expires_at > now();

-- name: use_reset
UPDATE one_time_links SET used_at = now()
WHERE token_hash = %(token_hash)s AND user_id IS NOT NULL AND used_at IS NULL
  AND expires_at > now()
RETURNING user_id;
