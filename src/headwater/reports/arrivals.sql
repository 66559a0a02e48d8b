-- name: first
-- When the first event came in that is of no file: what happened before was not seen as it came.
SELECT e.received_at FROM events e
WHERE e.space_id = %(space_id)s AND e.sender <> 'import'
ORDER BY e.id
LIMIT 1;

-- name: late
-- The events of a time that came in on a later day than theirs, by that day, numbers of eight octets.
-- Files bring the past in at once: their events count as in on their own day.
SELECT late.day, string_agg(int8send(late.id), '' ORDER BY late.id)
FROM (SELECT e.id, (e.received_at AT TIME ZONE %(zone)s)::date AS day
      FROM events e
      WHERE e.space_id = %(space_id)s
        AND e.event_time >= to_timestamp(%(start)s) AND e.event_time < to_timestamp(%(end)s)
        AND e.received_at >= e.event_time AND e.sender <> 'import'
        AND (e.received_at AT TIME ZONE %(zone)s)::date
            > (e.event_time AT TIME ZONE %(zone)s)::date) late
GROUP BY late.day
ORDER BY late.day;
