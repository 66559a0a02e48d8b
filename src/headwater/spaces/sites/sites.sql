-- name: columns
-- What is shown of a site.
id, name, site_key, origins, accepts_amounts, signed_only, bot_hits, created_at, revoked_at

-- name: create
INSERT INTO sites (space_id, name, site_key, origins, accepts_amounts, signed_only, signing_secret)
VALUES (%(space_id)s, %(name)s, %(site_key)s, %(origins)s, %(accepts_amounts)s, %(signed_only)s,
        %(signing_secret)s)
RETURNING {columns};

-- name: list
SELECT {columns} FROM sites WHERE space_id = %(space_id)s ORDER BY id;

-- name: fetch
SELECT {columns} FROM sites WHERE space_id = %(space_id)s AND id = %(site_id)s;

-- name: change
-- Change a site; NULL keeps a setting.
UPDATE sites SET name = coalesce(%(name)s, name),
       origins = coalesce(%(origins)s, origins),
       accepts_amounts = coalesce(%(accepts_amounts)s, accepts_amounts),
       signed_only = coalesce(%(signed_only)s, signed_only)
WHERE space_id = %(space_id)s AND id = %(site_id)s
RETURNING {columns};

-- name: revoke
UPDATE sites SET revoked_at = least(revoked_at, now())
WHERE space_id = %(space_id)s AND id = %(site_id)s
RETURNING {columns};

-- name: secret
SELECT site_key, signing_secret FROM sites
WHERE space_id = %(space_id)s AND id = %(site_id)s;

-- name: rotate
-- Replace the signing secret. The former stays valid for a while, unless it ends now.
UPDATE sites SET signing_secret = %(signing_secret)s,
       former_secret = CASE WHEN %(overlap)s > 0 THEN signing_secret END,
       former_until = now() + make_interval(secs => %(overlap)s)
WHERE space_id = %(space_id)s AND id = %(site_id)s;

-- name: find
-- The sites with these keys. The Space of a key is not known yet.
SELECT w.site_key, w.space_id, w.id, w.origins, s.subscription = 'active',
       coalesce((SELECT jsonb_object_agg(l.bucket, l.per_minute) FROM space_limits l
                 WHERE l.space_id = w.space_id), '{}'),
       w.accepts_amounts, w.signed_only, w.signing_secret, w.former_secret,
       extract(epoch FROM w.former_until)::float8
FROM sites w
JOIN spaces s ON s.id = w.space_id
WHERE w.site_key = ANY(%(wanted)s) AND w.revoked_at IS NULL;

-- name: count_bots
UPDATE sites s SET bot_hits = s.bot_hits + %(hits)s, last_bot_at = now()
WHERE s.space_id = %(space_id)s AND s.id = %(site_id)s;

-- name: count_bot_views
-- By quarter of an hour, which days of every time zone are made of.
INSERT INTO bot_views AS b (space_id, quarter, views)
SELECT %(space_id)s, 'epoch'::timestamptz + r.quarter * interval '15 minutes', r.views
FROM json_to_recordset(%(counts)s::json) AS r (quarter bigint, views bigint)
ON CONFLICT (space_id, quarter) DO UPDATE SET views = b.views + excluded.views;
