-- name: take
-- Count costs against each Space's current minute, cut to what the minute still holds. One list of
-- values, which a cluster sends node by node; the minute is the same everywhere.
INSERT INTO rate_limits AS held (bucket, window_start, space_id, allowed, granted, used)
VALUES {rows}
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

-- name: give_back
-- Return units granted but not used; a minute that has ended needs none back.
UPDATE rate_limits SET used = greatest(0, used - %(cost)s)
WHERE space_id = %(space_id)s AND bucket = %(bucket)s
  AND window_start = date_trunc('minute', now());
