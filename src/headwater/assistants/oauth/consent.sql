-- name: choices
-- By name, with their number of valid tokens. Not bound to a Space because it lists the user's Spaces.
SELECT m.space_id, s.name, m.role, s.subscription = 'active' AS active,
       s.require_second_factor, (
    SELECT count(*) FROM mcp_tokens t
    WHERE t.space_id = m.space_id AND t.revoked_at IS NULL
      AND (t.expires_at IS NULL OR t.expires_at > now())
) AS tokens
FROM memberships m JOIN spaces s ON s.id = m.space_id
WHERE m.user_id = %(user_id)s
ORDER BY lower(s.name), s.id;
