-- name: arrivals
-- The events of some days that came in on a later day than theirs, by their day in UTC and the place of
-- that later day among %(starts)s, the days' starts and the last one's end: numbers of eight octets.
-- Place 0 is for those that came in in time, without numbers. And when the first of each came in. Files
-- bring the past in at once: their events are left out.
SELECT e.day,
       CASE WHEN e.received_at >= e.day_end
            THEN width_bucket(e.received_at, %(starts)s::timestamptz[]) ELSE 0 END AS place,
       string_agg(int8send(e.id), '') FILTER (WHERE e.received_at >= e.day_end),
       min(e.received_at)
FROM (SELECT e.id, e.received_at, (e.event_time AT TIME ZONE 'UTC')::date AS day,
             (%(starts)s::timestamptz[])[
                 1 + width_bucket(e.event_time, %(starts)s::timestamptz[])] AS day_end
      FROM events e
      WHERE e.space_id = %(space_id)s AND e.event_time >= %(start)s AND e.event_time < %(end)s
        AND e.sender <> 'import') e
GROUP BY e.day, place;
