-- name: end_earlier
UPDATE invitations SET revoked_at = now()
WHERE space_id = %(space_id)s AND email = %(email)s
  AND accepted_at IS NULL AND revoked_at IS NULL;

-- name: invite
INSERT INTO invitations (space_id, email, role, token_hash, invited_by, expires_at)
VALUES (%(space_id)s, %(email)s, %(role)s, %(token_hash)s, %(invited_by)s, now() + %(lifetime)s);

-- name: list
SELECT id, email, role, created_at, expires_at FROM invitations
WHERE space_id = %(space_id)s AND accepted_at IS NULL AND revoked_at IS NULL
  AND expires_at > now()
ORDER BY id;

-- name: revoke
UPDATE invitations SET revoked_at = now()
WHERE space_id = %(space_id)s AND id = %(invitation_id)s
  AND accepted_at IS NULL AND revoked_at IS NULL;

-- name: find
-- A link's offer. Its Space is not known yet.
SELECT i.id, i.space_id, s.name AS space_name, i.email, i.role
FROM invitations i JOIN spaces s ON s.id = i.space_id
WHERE i.token_hash = %(token_hash)s AND i.accepted_at IS NULL AND i.revoked_at IS NULL
  AND i.expires_at > now();

-- name: accept
-- Use a link. Its Space is not known yet.
UPDATE invitations i SET accepted_at = now()
FROM spaces s
WHERE s.id = i.space_id AND i.token_hash = %(token_hash)s
  AND i.accepted_at IS NULL AND i.revoked_at IS NULL AND i.expires_at > now()
RETURNING i.id, i.space_id, s.name AS space_name, i.email, i.role;
