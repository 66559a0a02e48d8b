-- name: create
INSERT INTO exports (space_id, kind, request, range_start, range_end, extension, rows_per_file)
VALUES (%(space_id)s, %(kind)s, %(request)s, %(start)s, %(end)s, %(extension)s, %(rows_per_file)s)
RETURNING id;

-- name: fetch
SELECT x.id, x.kind, x.status, iso_utc(date_trunc('milliseconds', x.created_at)) AS created_at,
       iso_utc(date_trunc('milliseconds', x.completed_at)) AS completed_at,
       x.request, x.rows_done, x.rows_total, x.error, x.file, x.part_rows, x.rows_per_file
FROM exports x
WHERE x.space_id = %(space_id)s AND x.id = %(export_id)s AND x.kind = %(kind)s
  AND x.schedule_id IS NULL;

-- name: waiting
-- For the operator: oldest first, with the files of their last attempts.
SELECT x.space_id, x.id, x.file, x.parts FROM exports x
WHERE x.status IN ('queued', 'processing') AND has_come(x.retry_at, %(longest_pause)s)
  AND (x.leased_until IS NULL OR has_come(x.leased_until, %(lease)s))
  -- A job that will block erasures lets those proceed that an export has blocked before, so that none waits
  -- for two exports.
  AND NOT (x.was_withdrawn AND EXISTS (
    SELECT e.id FROM erasures e
    JOIN exports held ON held.space_id = e.space_id AND held.was_withdrawn
        AND e.requested_at <= held.leased_until
    WHERE e.space_id = x.space_id AND e.erased_at IS NULL AND e.retry_at <= now()))
-- Requested jobs come before scheduled ones: a person is waiting.
ORDER BY x.schedule_id IS NOT NULL, x.created_at
LIMIT 20;

-- name: claim
-- A job without attempts left has failed: its processes were killed, unless an earlier one recorded an error.
UPDATE exports x
SET status = CASE WHEN x.attempts < %(tries)s THEN 'processing' ELSE 'failed' END,
    error = CASE WHEN x.attempts < %(tries)s THEN x.error ELSE coalesce(x.error, %(exhausted)s) END,
    lease = %(token)s, leased_until = now() + %(lease)s,
    attempts = x.attempts + 1, rows_done = 0, rows_total = NULL,
    -- Named before it is created, so that no file can be orphaned.
    file = %(name)s || x.extension, parts = 1
WHERE x.space_id = %(space_id)s AND x.id = %(export_id)s
  AND x.status IN ('queued', 'processing') AND has_come(x.retry_at, %(longest_pause)s)
  AND (x.leased_until IS NULL OR has_come(x.leased_until, %(lease)s))
  AND NOT (x.was_withdrawn AND EXISTS (
    SELECT e.id FROM erasures e
    JOIN exports held ON held.space_id = %(space_id)s AND held.was_withdrawn
        AND e.requested_at <= held.leased_until
    WHERE e.space_id = %(space_id)s AND e.erased_at IS NULL AND e.retry_at <= now()))
RETURNING x.status, x.lease, x.file, x.attempts, x.kind, x.request, x.range_start, x.range_end,
          x.rows_per_file, x.folder, coalesce(cardinality(x.part_rows), 0);

-- name: renew
-- With the progress.
UPDATE exports x
SET leased_until = now() + %(lease)s, rows_done = %(done)s, rows_total = %(total)s
WHERE x.space_id = %(space_id)s AND x.id = %(export_id)s AND x.lease = %(token)s;

-- name: add_part
UPDATE exports x
SET parts = %(parts)s
WHERE x.space_id = %(space_id)s AND x.id = %(export_id)s AND x.lease = %(token)s;

-- name: announce_parts
-- Before files are moved into the folder of a schedule. If the move is interrupted, the next run removes the
-- files that it does not write.
UPDATE exports x
SET leased_until = now() + %(lease)s,
    part_rows = CASE WHEN cardinality(x.part_rows) > cardinality(%(part_rows)s::bigint[]) THEN x.part_rows
                     ELSE %(part_rows)s END
WHERE x.space_id = %(space_id)s AND x.id = %(export_id)s AND x.lease = %(token)s;

-- name: complete
UPDATE exports x
SET status = 'completed', completed_at = now(), rows_done = %(done)s, part_rows = %(part_rows)s,
    -- Files of a schedule no longer belong to this job.
    file = CASE WHEN x.folder IS NULL THEN x.file END,
    error = NULL, lease = NULL, leased_until = now()
WHERE x.space_id = %(space_id)s AND x.id = %(export_id)s AND x.lease = %(token)s;

-- name: put_back
UPDATE exports x
SET status = CASE WHEN x.attempts < %(tries)s THEN 'queued' ELSE 'failed' END,
    error = %(error)s, retry_at = now() + %(pause)s, lease = NULL, leased_until = now()
WHERE x.space_id = %(space_id)s AND x.id = %(export_id)s AND x.lease = %(token)s;

-- name: release
-- Stopped on purpose: the attempt does not count.
UPDATE exports x
SET status = 'queued', attempts = x.attempts - 1, lease = NULL, leased_until = now()
WHERE x.space_id = %(space_id)s AND x.id = %(export_id)s AND x.lease = %(token)s;

-- name: end_holds
-- For the operator: exports stop blocking erasures.
UPDATE exports x SET leased_until = now() WHERE x.was_withdrawn AND x.leased_until > now();

-- name: spaces_to_tidy
-- A scheduled run that is written again was completed before.
SELECT DISTINCT x.space_id FROM exports x
WHERE x.file IS NOT NULL
  AND (x.status = 'failed' OR x.status = 'completed' AND x.completed_at < now() - %(kept)s);

-- name: to_forget
-- Expired, or of failed or withdrawn exports.
SELECT x.id, x.file, x.parts FROM exports x
WHERE x.space_id = %(space_id)s AND x.file IS NOT NULL
  AND (x.status = 'failed' OR x.status = 'completed' AND x.completed_at < now() - %(kept)s)
LIMIT 100;

-- name: forget
-- Unless it was queued again meanwhile.
UPDATE exports x
SET status = 'failed', error = coalesce(x.error, %(error)s), file = NULL
WHERE x.space_id = %(space_id)s AND x.id = %(export_id)s AND x.file = %(file)s
  AND x.status IN ('failed', 'completed');

-- name: snapshot
-- All statements of an export see the same rows. Paths are read in index order: sorting would delay the first
-- line. A large export, or a slow file, takes longer than an operator's time limits for Headwater's user.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL statement_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = 0;
