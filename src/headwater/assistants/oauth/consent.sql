-- name: choices
-- By name, with the number of valid tokens of all members and of the user. Not bound to a Space because it lists the user's Spaces.
SELECT m.space_id, s.name, m.role, s.subscription = 'active' AS active,
       s.require_second_factor, n.tokens, n.own_tokens
FROM memberships m JOIN spaces s ON s.id = m.space_id
CROSS JOIN LATERAL (
    SELECT count(*) AS tokens, count(*) FILTER (WHERE t.user_id = m.user_id) AS own_tokens
    FROM mcp_tokens t
    WHERE t.space_id = m.space_id AND t.revoked_at IS NULL
      AND (t.expires_at IS NULL OR t.expires_at > now())
) n
WHERE m.user_id = %(user_id)s
ORDER BY lower(s.name), s.id;
