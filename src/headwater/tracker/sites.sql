-- name: create
-- A new site.
INSERT INTO sites (space_id, name, site_key, origins)
VALUES (%(space_id)s, %(name)s, %(site_key)s, %(origins)s)
RETURNING id, name, site_key, origins, bot_hits, created_at, revoked_at;

-- name: list
-- A Space's sites, revoked ones included, the oldest first.
SELECT id, name, site_key, origins, bot_hits, created_at, revoked_at
FROM sites WHERE space_id = %(space_id)s ORDER BY id;

-- name: change
-- Where a site's pages come from, from now on.
UPDATE sites SET origins = %(origins)s
WHERE space_id = %(space_id)s AND id = %(site_id)s
RETURNING id, name, site_key, origins, bot_hits, created_at, revoked_at;

-- name: revoke
-- End a site; one that is revoked keeps the time of it.
UPDATE sites SET revoked_at = coalesce(revoked_at, now())
WHERE space_id = %(space_id)s AND id = %(site_id)s
RETURNING id, name, site_key, origins, bot_hits, created_at, revoked_at;

-- name: find
-- The sites behind these keys; which Space a key writes to is what is being asked.
SELECT w.site_key, w.space_id, w.id, w.origins, s.subscription = 'active',
       coalesce((SELECT jsonb_object_agg(l.bucket, l.per_minute) FROM space_limits l
                 WHERE l.space_id = w.space_id), '{}')
FROM sites w
JOIN spaces s ON s.id = w.space_id
WHERE w.site_key = ANY(%(wanted)s) AND w.revoked_at IS NULL;
