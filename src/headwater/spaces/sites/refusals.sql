-- name: note
INSERT INTO site_refusals AS r (space_id, site_id, reason, detail, noted_at)
VALUES (%(space_id)s, %(site_id)s, %(reason)s, %(detail)s, %(noted_at)s)
ON CONFLICT (space_id, site_id, reason) DO UPDATE
SET detail = excluded.detail, noted_at = excluded.noted_at
WHERE r.noted_at < %(before)s;

-- name: sites_of_origins
-- The sites that a page of these origins with an unknown key may belong to. Their Space is not known yet.
SELECT s.space_id, s.id
FROM sites s
WHERE s.origins && %(origins)s::text[] AND s.revoked_at IS NULL
ORDER BY s.space_id, s.id
LIMIT 20;

-- name: list
SELECT r.reason, r.detail, r.noted_at FROM site_refusals r
WHERE r.space_id = %(space_id)s AND r.site_id = %(site_id)s AND r.noted_at > %(since)s
ORDER BY r.noted_at DESC;
