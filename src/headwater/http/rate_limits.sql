-- name: take
-- Count costs against each Space's current minute, cut to the remaining units.
INSERT INTO rate_limits AS held (bucket, window_start, space_id, allowed, granted, used)
{rows}
ON CONFLICT (space_id, bucket) DO UPDATE SET
    window_start = excluded.window_start,
    allowed = excluded.allowed,
    granted = CASE WHEN held.window_start = excluded.window_start
                   THEN greatest(0, least(excluded.granted, excluded.allowed - held.used))
                   ELSE excluded.granted END,
    used = CASE WHEN held.window_start = excluded.window_start
                THEN held.used + greatest(0, least(excluded.granted, excluded.allowed - held.used))
                ELSE excluded.used END
RETURNING space_id, allowed, granted, used, window_start;

-- name: one
VALUES ($1, date_trunc('minute', now()), $2::bigint, $3::bigint, $4::bigint, $4::bigint)

-- name: many
SELECT $1, date_trunc('minute', now()), demand.space_id, demand.allowed,
       demand.granted, demand.granted
FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) AS demand (space_id, allowed, granted)

-- name: give_back
-- Return granted but unused units; an expired minute needs none back.
UPDATE rate_limits SET used = greatest(0, used - %(cost)s)
WHERE space_id = %(space_id)s AND bucket = %(bucket)s
  AND window_start = date_trunc('minute', now());
