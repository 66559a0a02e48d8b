-- name: arrivals
-- Events that arrived on a later day, by UTC day and number of the arrival day among %(starts)s, the starts
-- of the days and the end of the last. Packed ids, 8 bytes each. Number 0, without ids, is for events in
-- time. Imports bring in past events at once, so they are left out.
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
