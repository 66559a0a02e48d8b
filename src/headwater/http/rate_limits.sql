-- name: take
-- Count costs against each Space's current minute, cut to what the minute still holds. The rows are a
-- list of values for one Space, and in a cluster, which sends each node its own; else a query.
INSERT INTO rate_limits AS held (bucket, minute, space_id, allowed, granted, used)
{rows}
ON CONFLICT (space_id, bucket) DO UPDATE SET
    minute = excluded.minute,
    allowed = excluded.allowed,
    granted = CASE WHEN held.minute = excluded.minute
                   THEN greatest(0, least(excluded.granted, excluded.allowed - held.used))
                   ELSE excluded.granted END,
    used = CASE WHEN held.minute = excluded.minute
                THEN held.used + greatest(0, least(excluded.granted, excluded.allowed - held.used))
                ELSE excluded.used END
RETURNING space_id, allowed, granted, used, minute;

-- name: listed
-- One Space's row of a list.
($1, floor(extract(epoch FROM now()) / 60)::bigint, {}, {}, {}, {})

-- name: unlisted
-- The rows of many Spaces.
SELECT $1, floor(extract(epoch FROM now()) / 60)::bigint, demand.space_id, demand.allowed,
       demand.granted, demand.granted
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS demand (space_id, allowed, granted)

-- name: give_back
-- Return units granted but not used; a minute that has ended needs none back.
UPDATE rate_limits SET used = greatest(0, used - %(cost)s)
WHERE space_id = %(space_id)s AND bucket = %(bucket)s
  AND minute = floor(extract(epoch FROM now()) / 60)::bigint;
