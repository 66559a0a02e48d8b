-- name: create
INSERT INTO users (email, name, password_hash)
VALUES (%(email)s, %(name)s, %(password_hash)s)
ON CONFLICT (email) DO NOTHING
RETURNING id, email, name, created_at, disabled_at, password_hash;

-- name: find
SELECT id, email, name, created_at, disabled_at, password_hash
FROM users WHERE email = %(email)s;

-- name: fetch
SELECT id, email, name, created_at, disabled_at, password_hash
FROM users WHERE id = %(user_id)s;

-- name: any
SELECT EXISTS (SELECT FROM users);

-- name: change_name
UPDATE users SET name = %(name)s WHERE id = %(user_id)s;

-- name: change_password
UPDATE users SET password_hash = %(password_hash)s WHERE id = %(user_id)s;

-- name: renew_hash
-- Replace a hash, unless the password was changed meanwhile.
UPDATE users SET password_hash = %(password_hash)s
WHERE id = %(user_id)s AND password_hash = %(before)s;

-- name: close_sessions
-- Log out all browsers that used the old password.
DELETE FROM sessions WHERE user_id = %(user_id)s;

-- name: end_links
UPDATE one_time_links SET used_at = now() WHERE user_id = %(user_id)s AND used_at IS NULL;

-- name: revoke_tokens
UPDATE mcp_tokens SET revoked_at = now()
WHERE user_id = %(user_id)s AND revoked_at IS NULL;

-- name: end_codes
UPDATE oauth_codes SET used_at = now()
WHERE user_id = %(user_id)s AND used_at IS NULL;
