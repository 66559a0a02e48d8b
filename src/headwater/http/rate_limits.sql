-- name: take
-- Count costs against each Space's current minute, cut to what the minute still holds.
INSERT INTO rate_limits AS held (space_id, bucket, window_start, allowed, granted, used)
SELECT demand.space_id, %(bucket)s, date_trunc('minute', now()), demand.allowed,
       least(demand.cost, demand.allowed), least(demand.cost, demand.allowed)
FROM unnest(%(spaces)s::bigint[], %(costs)s::bigint[], %(limits)s::bigint[])
     AS demand (space_id, cost, allowed)
ON CONFLICT (space_id, bucket) DO UPDATE SET
    window_start = excluded.window_start,
    allowed = excluded.allowed,
    granted = CASE WHEN held.window_start = excluded.window_start
                   THEN greatest(0, least(excluded.granted, excluded.allowed - held.used))
                   ELSE excluded.granted END,
    used = CASE WHEN held.window_start = excluded.window_start
                THEN held.used + greatest(0, least(excluded.granted, excluded.allowed - held.used))
                ELSE excluded.used END
RETURNING space_id, allowed, granted, used,
          extract(epoch FROM window_start)::bigint + 60,
          ceil(extract(epoch FROM window_start + interval '1 minute' - clock_timestamp()))::bigint;

-- name: give_back
-- Return units granted but not used; a minute that has ended needs none back.
UPDATE rate_limits SET used = greatest(0, used - %(cost)s)
WHERE space_id = %(space_id)s AND bucket = %(bucket)s
  AND window_start = date_trunc('minute', now());
