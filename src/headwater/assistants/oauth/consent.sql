-- name: choices
-- The Spaces that a user may let an assistant into, by name, and how many tokens each has that work:
-- which Spaces they are is the question.
SELECT m.space_id, s.name, m.role, s.subscription = 'active' AS active, (
    SELECT count(*) FROM mcp_tokens t
    WHERE t.space_id = m.space_id AND t.revoked_at IS NULL
      AND (t.expires_at IS NULL OR t.expires_at > now())
) AS tokens
FROM memberships m JOIN spaces s ON s.id = m.space_id
WHERE m.user_id = %(user_id)s
ORDER BY lower(s.name), s.id;
