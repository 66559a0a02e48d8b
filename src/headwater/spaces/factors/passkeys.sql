-- name: add
INSERT INTO passkeys (user_id, name, credential_id, public_key, sign_count)
VALUES (%(user_id)s, %(name)s, %(credential_id)s, %(public_key)s, %(sign_count)s)
ON CONFLICT (credential_id) DO NOTHING;

-- name: list
SELECT id, user_id, name, credential_id, public_key, sign_count, created_at, last_used_at
FROM passkeys WHERE user_id = %(user_id)s ORDER BY id;

-- name: find
SELECT id, user_id, name, credential_id, public_key, sign_count, created_at, last_used_at
FROM passkeys WHERE credential_id = %(credential_id)s;

-- name: any
SELECT EXISTS (SELECT FROM passkeys);

-- name: use
-- The count must grow, also among concurrent uses, unless the authenticator doesn't count.
UPDATE passkeys SET sign_count = %(sign_count)s, last_used_at = now()
WHERE id = %(id)s AND (sign_count < %(sign_count)s OR (sign_count = 0 AND %(sign_count)s = 0));

-- name: remove
DELETE FROM passkeys WHERE id = %(id)s AND user_id = %(user_id)s;
