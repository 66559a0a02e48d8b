-- name: list
SELECT m.user_id, u.email, u.name, m.role, m.created_at, u.disabled_at IS NOT NULL AS is_disabled
FROM memberships m JOIN users u ON u.id = m.user_id
WHERE m.space_id = %(space_id)s
ORDER BY m.created_at, m.user_id;

-- name: joined
-- The Spaces of a user, by name. They are not known yet.
SELECT m.space_id, s.name, m.role, s.subscription = 'active' AS active, s.require_second_factor
FROM memberships m JOIN spaces s ON s.id = m.space_id
WHERE m.user_id = %(user_id)s
ORDER BY lower(s.name), s.id;

-- name: fetch
SELECT m.user_id, u.email, u.name, m.role, m.created_at, u.disabled_at IS NOT NULL AS is_disabled
FROM memberships m JOIN users u ON u.id = m.user_id
WHERE m.space_id = %(space_id)s AND m.user_id = %(user_id)s;

-- name: lock
-- Lock all memberships of a Space, in a fixed order to prevent deadlocks.
SELECT user_id, role FROM memberships
WHERE space_id = %(space_id)s ORDER BY user_id FOR UPDATE;

-- name: add
INSERT INTO memberships (space_id, user_id, role)
VALUES (%(space_id)s, %(user_id)s, %(role)s)
ON CONFLICT (space_id, user_id) DO NOTHING;

-- name: adopt
INSERT INTO memberships (space_id, user_id, role)
SELECT s.id, %(user_id)s, 'owner' FROM spaces s
ON CONFLICT (space_id, user_id) DO NOTHING
RETURNING space_id;

-- name: change_role
UPDATE memberships SET role = %(role)s
WHERE space_id = %(space_id)s AND user_id = %(user_id)s;

-- name: remove
DELETE FROM memberships WHERE space_id = %(space_id)s AND user_id = %(user_id)s;

-- name: revoke_tokens
UPDATE mcp_tokens SET revoked_at = now()
WHERE space_id = %(space_id)s AND user_id = %(user_id)s AND revoked_at IS NULL;

-- name: end_codes
UPDATE oauth_codes SET used_at = now()
WHERE space_id = %(space_id)s AND user_id = %(user_id)s AND used_at IS NULL;

-- name: end_invitations
UPDATE invitations SET revoked_at = now()
WHERE space_id = %(space_id)s AND invited_by = %(user_id)s
  AND accepted_at IS NULL AND revoked_at IS NULL;
