-- name: create
-- Due immediately; no row if the Space has the maximum number.
INSERT INTO export_schedules (space_id, name, kind, cadence, request, extension, rows_per_file,
                              first_day, next_day, rewritten_days, next_at)
SELECT %(space_id)s, %(name)s, %(kind)s, %(cadence)s, %(request)s, %(extension)s, %(rows_per_file)s,
       %(first_day)s, %(first_day)s, %(rewritten_days)s, now()
WHERE (SELECT count(*) FROM export_schedules s WHERE s.space_id = %(space_id)s) < %(most)s
RETURNING id;

-- name: list
SELECT s.id, s.name, s.kind, s.cadence, s.request, s.extension, s.rows_per_file, s.first_day,
       s.next_day, s.rewritten_days, s.next_at, r.completed_at, r.waiting, r.failed, r.error
FROM export_schedules s
CROSS JOIN LATERAL (
    SELECT max(x.completed_at) AS completed_at,
           count(*) FILTER (WHERE x.status IN ('queued', 'processing')) AS waiting,
           count(*) FILTER (WHERE x.status = 'failed') AS failed,
           max(x.error) FILTER (WHERE x.status = 'failed') AS error
    FROM exports x
    WHERE x.space_id = %(space_id)s AND x.schedule_id = s.id) r
WHERE s.space_id = %(space_id)s AND coalesce(s.id = %(schedule_id)s, true)
ORDER BY s.name
LIMIT %(most)s;

-- name: has_name
SELECT FROM export_schedules s WHERE s.space_id = %(space_id)s AND s.name = %(name)s;

-- name: remove
DELETE FROM export_schedules s
WHERE s.space_id = %(space_id)s AND s.id = %(schedule_id)s
RETURNING s.id;

-- name: end_runs
-- Of a removed schedule. Its files stay.
UPDATE exports x
SET status = 'failed', error = %(error)s, lease = NULL, leased_until = NULL
WHERE x.space_id = %(space_id)s AND x.schedule_id = %(schedule_id)s
  AND x.status IN ('queued', 'processing');

-- name: runs
SELECT x.error AS message, x.folder, x.status, x.rows_done AS rows,
       coalesce(cardinality(x.part_rows), 0) AS files, x.completed_at
FROM exports x
WHERE x.space_id = %(space_id)s AND x.schedule_id = %(schedule_id)s
ORDER BY x.range_start DESC, x.id DESC
LIMIT %(most)s;

-- name: due_spaces
SELECT DISTINCT s.space_id FROM export_schedules s WHERE s.next_at <= now();

-- name: due
SELECT s.id, s.name, s.kind, s.cadence, s.request, s.extension, s.rows_per_file, s.first_day,
       s.next_day, s.rewritten_days, s.next_at, z.timezone
FROM export_schedules s JOIN spaces z ON z.id = %(space_id)s
WHERE s.space_id = %(space_id)s AND s.next_at <= %(now)s
FOR UPDATE OF s SKIP LOCKED;

-- name: written_days
SELECT right(x.folder, 10)::date, x.range_start, x.range_end FROM exports x
WHERE x.space_id = %(space_id)s AND x.schedule_id = %(schedule_id)s;

-- name: queue
-- Replace the folders' last runs. A running one starts again.
INSERT INTO exports (space_id, kind, request, range_start, range_end, extension, rows_per_file,
                     schedule_id, folder, retry_at)
SELECT %(space_id)s, %(kind)s, %(request)s, r.start_at, r.end_at, %(extension)s, %(rows_per_file)s,
       %(schedule_id)s, r.folder, now()
FROM unnest(%(folders)s::text[], %(starts)s::timestamptz[], %(ends)s::timestamptz[])
     AS r (folder, start_at, end_at)
ON CONFLICT (space_id, schedule_id, folder) WHERE schedule_id IS NOT NULL DO UPDATE
SET range_start = excluded.range_start, range_end = excluded.range_end, status = 'queued',
    attempts = 0, error = NULL, lease = NULL, leased_until = NULL,
    retry_at = excluded.retry_at;

-- name: try_failed_again
-- Retry failed runs with the next one.
UPDATE exports x
SET status = 'queued', attempts = 0, retry_at = now()
WHERE x.space_id = %(space_id)s AND x.schedule_id = %(schedule_id)s AND x.status = 'failed';

-- name: advance
-- Set when a schedule runs next, and the first day without a complete file by then.
UPDATE export_schedules s
SET next_at = %(next_at)s, next_day = %(next_day)s
WHERE s.space_id = %(space_id)s AND s.id = %(schedule_id)s;
