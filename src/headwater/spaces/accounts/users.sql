-- name: columns
-- What is read of a user.
id, email, name, created_at, disabled_at, password_hash

-- name: create
INSERT INTO users (email, name, password_hash)
VALUES (%(email)s, %(name)s, %(password_hash)s)
ON CONFLICT (email) DO NOTHING
RETURNING {columns};

-- name: find
SELECT {columns} FROM users WHERE email = %(email)s;

-- name: fetch
SELECT {columns} FROM users WHERE id = %(user_id)s;

-- name: any
SELECT EXISTS (SELECT FROM users);

-- name: ids
SELECT id FROM users ORDER BY id;

-- name: disable
UPDATE users SET disabled_at = now() WHERE id = %(user_id)s AND disabled_at IS NULL;

-- name: enable
UPDATE users SET disabled_at = NULL WHERE id = %(user_id)s;

-- name: end_invitations
-- Open invitations that the user sent, and those to their address: such a link makes a new account for anyone.
UPDATE invitations SET revoked_at = now()
WHERE (invited_by = %(user_id)s OR email = %(email)s) AND accepted_at IS NULL AND revoked_at IS NULL;

-- name: change_name
UPDATE users SET name = %(name)s WHERE id = %(user_id)s;

-- name: change_password
UPDATE users SET password_hash = %(password_hash)s WHERE id = %(user_id)s;

-- name: renew_hash
-- Replace a hash, unless the password was changed meanwhile.
UPDATE users SET password_hash = %(password_hash)s
WHERE id = %(user_id)s AND password_hash = %(before)s;

-- name: close_sessions
-- Log out all browsers.
DELETE FROM sessions WHERE user_id = %(user_id)s;

-- name: end_links
UPDATE one_time_links SET used_at = now() WHERE user_id = %(user_id)s AND used_at IS NULL;

-- name: revoke_tokens
UPDATE mcp_tokens SET revoked_at = now()
WHERE user_id = %(user_id)s AND revoked_at IS NULL;

-- name: end_codes
UPDATE oauth_codes SET used_at = now()
WHERE user_id = %(user_id)s AND used_at IS NULL;

-- name: lock_unchanged
-- By a change, because rows of a table that every node of a cluster has can't be locked otherwise.
UPDATE users SET password_hash = password_hash
WHERE id = %(user_id)s AND password_hash IS NOT DISTINCT FROM %(password_hash)s AND disabled_at IS NULL
RETURNING id;
