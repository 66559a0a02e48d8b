-- name: days
-- Up to a limit so that the busiest Space's page stays fast.
SELECT d.day,
       (SELECT count(*) FROM (
            SELECT 1 FROM events e
            WHERE e.space_id = %(space_id)s AND e.event_time >= d.start_at AND e.event_time < d.end_at
            LIMIT %(most)s) counted) AS events
FROM unnest(%(days)s::date[], %(starts)s::timestamptz[], %(ends)s::timestamptz[]) AS d (day, start_at, end_at)
ORDER BY d.day;

-- name: latest
SELECT id, event_name, event_time, amount, currency FROM events
WHERE space_id = %(space_id)s ORDER BY event_time DESC, id DESC LIMIT 8;

-- name: state
-- Waiting and rejected rows, each up to %(most)s, and recent contact merges.
SELECT waiting.rows AS waiting,
       coalesce(extract(epoch FROM now() - waiting.oldest), 0)::float8 AS lag_seconds,
       (SELECT count(*) FROM (
            SELECT 1 FROM rejected r WHERE r.space_id = %(space_id)s LIMIT %(most)s) r) AS rejected,
       (SELECT count(*) FROM merges m
        WHERE m.space_id = %(space_id)s AND m.merged_at > now() - interval '1 hour') AS merges
FROM (SELECT count(*) AS rows, min(i.received_at) AS oldest
      FROM (SELECT w.received_at FROM inbox w
            WHERE w.space_id = %(space_id)s ORDER BY w.id LIMIT %(most)s) i) waiting;
