-- name: due
-- For the operator: watched files that no process has leased.
SELECT w.space_id, w.id FROM watched_files w
WHERE w.status = 'active' AND w.next_fetch_at <= to_timestamp(%(now)s)
  AND (w.leased_until IS NULL OR has_come(w.leased_until, %(lease)s))
ORDER BY w.next_fetch_at
LIMIT %(most)s;

-- name: due_spaces
-- For the operator.
SELECT DISTINCT w.space_id FROM watched_files w
WHERE w.status = 'active' AND w.next_fetch_at <= now()
  AND (w.leased_until IS NULL OR has_come(w.leased_until, %(lease)s));

-- name: take
-- Unless another process holds it or it waits.
UPDATE watched_files w
SET lease = %(token)s, leased_until = now() + %(lease)s
WHERE w.space_id = %(space_id)s AND w.id = %(id)s
  AND w.status = 'active' AND w.next_fetch_at <= to_timestamp(%(now)s)
  AND (w.leased_until IS NULL OR has_come(w.leased_until, %(lease)s))
RETURNING w.kind, w.name, w.address, w.settings, w.secrets, w.failures;

-- name: renew
UPDATE watched_files w SET leased_until = now() + %(lease)s
WHERE w.space_id = %(space_id)s AND w.id = %(id)s AND w.lease = %(token)s;

-- name: release
UPDATE watched_files w SET lease = NULL, leased_until = NULL
WHERE w.space_id = %(space_id)s AND w.id = %(id)s AND w.lease = %(token)s;

-- name: has_import
-- Whether the latest import had this content and the present settings, and did not fail.
SELECT coalesce((
    SELECT x.digest = %(digest)s AND x.status <> 'failed' AND x.created_at >= w.settings_at
    FROM import_jobs x
    WHERE x.space_id = %(space_id)s AND x.watched_file_id = %(id)s AND x.digest IS NOT NULL
    ORDER BY x.id DESC
    LIMIT 1), false)
FROM watched_files w
WHERE w.space_id = %(space_id)s AND w.id = %(id)s;

-- name: note_fetch
-- No row if the lease is lost, or the file is paused.
UPDATE watched_files w
SET fetched_at = to_timestamp(%(now)s), failures = 0, failing_since = NULL, fault = NULL,
    fault_message = NULL, next_fetch_at = to_timestamp(%(next_fetch_at)s)
WHERE w.space_id = %(space_id)s AND w.id = %(id)s AND w.lease = %(token)s
  AND w.status = 'active'
RETURNING w.id;

-- name: note_fault
UPDATE watched_files w
SET status = CASE WHEN %(is_held)s THEN 'held' ELSE w.status END,
    failures = w.failures + 1, failing_since = coalesce(w.failing_since, to_timestamp(%(now)s)),
    fault = %(fault)s, fault_message = %(message)s, next_fetch_at = to_timestamp(%(next_fetch_at)s)
WHERE w.space_id = %(space_id)s AND w.id = %(id)s AND w.lease = %(token)s
  AND w.status = 'active';
