-- name: list
-- Working links, newest first.
SELECT l.id, l.name, l.page, l.query, l.made_by, l.created_at, l.expires_at, l.last_opened_at,
       l.with_notes
FROM share_links l
WHERE l.space_id = %(space_id)s AND l.revoked_at IS NULL AND l.expires_at > now()
ORDER BY l.id DESC
LIMIT %(most)s;

-- name: create
-- Return no row at the limit.
INSERT INTO share_links (space_id, name, page, query, token_hash, made_by, with_notes,
                         expires_at)
SELECT %(space_id)s, %(name)s, %(page)s, %(query)s, %(token_hash)s, %(user_id)s,
       %(with_notes)s, now() + %(lifetime)s
WHERE (SELECT count(*) FROM share_links l
       WHERE l.space_id = %(space_id)s AND l.revoked_at IS NULL AND l.expires_at > now()) < %(most)s
RETURNING id;

-- name: revoke
UPDATE share_links l SET revoked_at = now()
WHERE l.space_id = %(space_id)s AND l.id = %(id)s AND l.revoked_at IS NULL;

-- name: find
-- Not bound to a Space because the link determines it.
SELECT l.space_id, l.id, l.name, l.page, l.query, l.with_notes
FROM share_links l
WHERE l.token_hash = %(token_hash)s AND l.revoked_at IS NULL AND l.expires_at > now();

-- name: note_opening
-- At most once a minute.
UPDATE share_links l SET last_opened_at = now()
WHERE l.space_id = %(space_id)s AND l.id = %(id)s
  AND (l.last_opened_at IS NULL OR l.last_opened_at < now() - interval '1 minute');
