-- name: count
SELECT count(*) FROM mcp_tokens
WHERE space_id = %(space_id)s AND revoked_at IS NULL
  AND (expires_at IS NULL OR expires_at > now());

-- name: count_of_user
SELECT count(*) FROM mcp_tokens
WHERE space_id = %(space_id)s AND user_id = %(user_id)s AND revoked_at IS NULL
  AND (expires_at IS NULL OR expires_at > now());

-- name: issue
INSERT INTO mcp_tokens (space_id, user_id, kind, name, client_id, token_hash, hint, read_only, expires_at)
VALUES (%(space_id)s, %(user_id)s, %(kind)s, %(name)s, %(client_id)s, %(token_hash)s, %(hint)s,
        %(read_only)s, now() + %(lifetime)s)
RETURNING id;

-- name: list
SELECT t.id, t.kind, t.name, t.client_id, t.read_only, t.hint, t.created_at, t.last_used_at, t.expires_at,
       t.revoked_at, t.user_id, u.email, u.name AS user_name
FROM mcp_tokens t JOIN users u ON u.id = t.user_id
WHERE t.space_id = %(space_id)s AND t.revoked_at IS NULL
  AND (t.expires_at IS NULL OR t.expires_at > now())
ORDER BY t.id DESC;

-- name: list_of_user
-- A user's working tokens, by Space. The Spaces are not known yet.
SELECT t.space_id, s.name AS space_name, t.name, t.hint, t.created_at, t.last_used_at
FROM mcp_tokens t JOIN spaces s ON s.id = t.space_id
WHERE t.user_id = %(user_id)s AND t.revoked_at IS NULL
  AND (t.expires_at IS NULL OR t.expires_at > now())
ORDER BY s.name, t.space_id, t.id DESC;

-- name: revoke
UPDATE mcp_tokens SET revoked_at = least(revoked_at, now())
WHERE space_id = %(space_id)s AND id = %(token_id)s;

-- name: find
-- The owner and Space of a token, with the role that it has there. The Space is not known yet. Its use is recorded at most once a minute.
WITH used AS (
    UPDATE mcp_tokens SET last_used_at = now()
    WHERE token_hash = %(token_hash)s AND revoked_at IS NULL
      AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
)
SELECT t.space_id, t.user_id, CASE WHEN t.read_only THEN 'viewer' ELSE m.role END AS role,
       s.subscription = 'active' AS active, t.id AS token_id,
       t.kind, t.client_id, t.name
FROM mcp_tokens t
JOIN memberships m ON m.space_id = t.space_id AND m.user_id = t.user_id
JOIN users u ON u.id = t.user_id AND u.disabled_at IS NULL
JOIN spaces s ON s.id = t.space_id
WHERE t.token_hash = %(token_hash)s AND t.revoked_at IS NULL
  AND (t.expires_at IS NULL OR t.expires_at > now());
