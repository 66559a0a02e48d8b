-- name: create
-- Before the file exists, so that every file has an owner.
INSERT INTO import_jobs (space_id, kind, name, user_id, watched_file_id, file)
VALUES (%(space_id)s, %(kind)s, %(name)s, %(user_id)s, %(watched_file_id)s, gen_random_uuid() || '.upload')
RETURNING id, file;

-- name: uploaded
-- No row if the upload was withdrawn.
UPDATE import_jobs x
SET status = 'uploaded', bytes = %(bytes)s, digest = %(digest)s, encoding = %(encoding)s,
    delimiter = %(delimiter)s, lines_before = %(lines_before)s
WHERE x.space_id = %(space_id)s AND x.id = %(id)s AND x.status = 'uploading'
RETURNING x.id;

-- name: remove
DELETE FROM import_jobs x WHERE x.space_id = %(space_id)s AND x.id = %(id)s;

-- name: list
SELECT x.id, x.kind, x.name, x.status, x.created_at, x.bytes, x.digest, x.encoding, x.delimiter,
       x.lines_before, x.reading, x.again, x.bytes_done, x.rows_done, x.taken, x.refused, x.error, x.file,
       x.ended_at, x.sources
FROM import_jobs x
WHERE x.space_id = %(space_id)s AND {only} AND x.status <> 'uploading'
ORDER BY x.id DESC
LIMIT %(limit)s;

-- name: check
UPDATE import_jobs x
SET status = 'checking', reading = %(reading)s, bytes_done = 0, rows_done = 0, taken = 0,
    refused = 0, sources = '{}', attempts = 0, retry_at = now(), error = NULL, lease = NULL,
    leased_until = NULL
WHERE x.space_id = %(space_id)s AND x.id = %(id)s
  AND x.status IN ('uploaded', 'checking', 'checked')
RETURNING x.id;

-- name: enqueue
UPDATE import_jobs x
SET status = 'queued', reading = %(reading)s, retry_at = now()
WHERE x.space_id = %(space_id)s AND x.id = %(id)s AND x.status = 'uploaded'
RETURNING x.id;

-- name: start
UPDATE import_jobs x
SET status = 'queued', again = %(again)s, bytes_done = 0, rows_done = 0, taken = 0, refused = 0,
    sources = '{}', attempts = 0, retry_at = now(), error = NULL
WHERE x.space_id = %(space_id)s AND x.id = %(id)s AND x.status = 'checked'
RETURNING x.id;

-- name: cancel
-- Rows counted by a check were never stored.
UPDATE import_jobs x
SET status = 'cancelled', ended_at = now(), lease = NULL, leased_until = NULL, erased = '{}',
    taken = CASE WHEN x.status IN ('queued', 'running') THEN x.taken ELSE 0 END
WHERE x.space_id = %(space_id)s AND x.id = %(id)s
  AND x.status IN ('uploaded', 'checking', 'checked', 'queued', 'running')
RETURNING x.id;

-- name: progress
-- Of the same file and settings.
SELECT i.rows_done, i.taken, i.refused, i.finished_at FROM imports i
WHERE i.space_id = %(space_id)s AND i.kind = %(kind)s AND i.digest = %(digest)s
  AND i.mapping = %(mapping)s;

-- name: refused
SELECT r.row, r.line, r.reason, r.cells::json AS cells FROM refused_rows r
WHERE r.space_id = %(space_id)s AND r.import_id = %(id)s AND r.row > %(after)s
ORDER BY r.row
LIMIT %(limit)s;

-- name: reasons
SELECT r.reason, count(*) FROM refused_rows r
WHERE r.space_id = %(space_id)s AND r.import_id = %(id)s
GROUP BY r.reason
ORDER BY count(*) DESC, r.reason
LIMIT 10;

-- name: waiting
-- For the operator: imports without a process, oldest first.
SELECT x.space_id, x.id FROM import_jobs x
WHERE x.status IN ('checking', 'queued', 'running') AND has_come(x.retry_at, %(longest_pause)s)
  AND (x.leased_until IS NULL OR has_come(x.leased_until, %(lease)s))
ORDER BY x.status = 'checking' DESC, x.created_at
LIMIT 20;

-- name: claim
-- Fail the import when no attempts are left.
UPDATE import_jobs x
SET status = CASE WHEN x.attempts >= %(tries)s THEN 'failed'
                  WHEN x.status = 'queued' THEN 'running' ELSE x.status END,
    error = CASE WHEN x.attempts >= %(tries)s THEN coalesce(x.error, %(exhausted)s) END,
    ended_at = CASE WHEN x.attempts >= %(tries)s THEN %(now)s::timestamptz END,
    lease = %(token)s, leased_until = now() + %(lease)s, attempts = x.attempts + 1
WHERE x.space_id = %(space_id)s AND x.id = %(id)s
  AND x.status IN ('checking', 'queued', 'running') AND has_come(x.retry_at, %(longest_pause)s)
  AND (x.leased_until IS NULL OR has_come(x.leased_until, %(lease)s))
RETURNING x.space_id, x.id, x.lease, x.kind, x.file, x.bytes, x.digest, x.encoding, x.delimiter,
          x.lines_before, x.reading, x.status, x.attempts, x.created_at;

-- name: renew
UPDATE import_jobs x SET leased_until = now() + %(lease)s
WHERE x.space_id = %(space_id)s AND x.id = %(id)s AND x.lease = %(token)s;

-- name: hold
-- So that no person in the rows is erased meanwhile.
SELECT x.erased, x.file FROM import_jobs x
WHERE x.space_id = %(space_id)s AND x.id = %(id)s AND x.lease = %(token)s
FOR NO KEY UPDATE;

-- name: advance
-- Cancelling waits for the chunk under way, whose rows are stored and count. A check stores none.
UPDATE import_jobs x
SET bytes_done = %(bytes_done)s, rows_done = %(rows_done)s, taken = %(taken)s,
    refused = %(refused)s, sources = %(sources)s, leased_until = now() + %(lease)s
WHERE x.space_id = %(space_id)s AND x.id = %(id)s
  AND (x.lease = %(token)s
       OR x.status = 'cancelled' AND NOT %(is_check)s AND x.rows_done < %(rows_done)s);

-- name: complete
UPDATE import_jobs x
SET status = CASE WHEN x.status = 'checking' THEN 'checked' ELSE 'finished' END,
    bytes_done = x.bytes, rows_done = %(rows_done)s, taken = %(taken)s, refused = %(refused)s,
    sources = %(sources)s, error = %(note)s, erased = '{}', lease = NULL, leased_until = NULL,
    ended_at = CASE WHEN x.status = 'checking' THEN NULL ELSE %(now)s::timestamptz END
WHERE x.space_id = %(space_id)s AND x.id = %(id)s AND x.lease = %(token)s;

-- name: put_back
-- Retry later, or give up.
UPDATE import_jobs x
SET status = CASE WHEN x.attempts < %(tries)s AND NOT %(final)s THEN x.status ELSE 'failed' END,
    ended_at = CASE WHEN x.attempts < %(tries)s AND NOT %(final)s
                    THEN NULL ELSE %(now)s::timestamptz END,
    error = %(error)s, retry_at = now() + %(pause)s, lease = NULL, leased_until = NULL
WHERE x.space_id = %(space_id)s AND x.id = %(id)s AND x.lease = %(token)s;

-- name: postpone
-- The attempt doesn't count.
UPDATE import_jobs x
SET attempts = x.attempts - 1, error = %(error)s, retry_at = now() + %(pause)s, lease = NULL, leased_until = NULL
WHERE x.space_id = %(space_id)s AND x.id = %(id)s AND x.lease = %(token)s;

-- name: release
-- On shutdown; the attempt doesn't count.
UPDATE import_jobs x SET attempts = x.attempts - 1, lease = NULL, leased_until = NULL
WHERE x.space_id = %(space_id)s AND x.id = %(id)s AND x.lease = %(token)s;

-- name: count_refused
SELECT count(*) FROM refused_rows r
WHERE r.space_id = %(space_id)s AND r.import_id = %(id)s;

-- name: drop_refused
-- After the last committed chunk.
DELETE FROM refused_rows r
WHERE r.space_id = %(space_id)s AND r.import_id = %(id)s AND r.row > %(rows_done)s;

-- name: keep_refused
-- In the chunk's transaction.
INSERT INTO refused_rows (space_id, import_id, row, line, reason, cells)
SELECT %(space_id)s, %(id)s, kept.row, kept.line, kept.reason, kept.cells
FROM unnest(%(rows)s::bigint[], %(lines)s::bigint[], %(reasons)s::text[], %(cells)s::text[])
    AS kept (row, line, reason, cells)
ON CONFLICT DO NOTHING;

-- name: spaces_to_tidy
-- For the operator.
SELECT DISTINCT x.space_id FROM import_jobs x
WHERE x.file IS NOT NULL
  AND (x.status IN ('finished', 'failed', 'cancelled')
       OR x.status IN ('uploading', 'uploaded', 'checked') AND x.created_at < now() - %(unused)s)
UNION
SELECT DISTINCT x.space_id FROM import_jobs x
WHERE x.refused > 0 AND x.ended_at < now() - %(kept)s
  AND EXISTS (SELECT 1 FROM refused_rows r WHERE r.space_id = x.space_id AND r.import_id = x.id);

-- name: end_unused
UPDATE import_jobs x SET status = 'failed', error = %(error)s, ended_at = now(), taken = 0
WHERE x.space_id = %(space_id)s AND x.status IN ('uploading', 'uploaded', 'checked')
  AND x.created_at < now() - %(unused)s;

-- name: files_to_remove
SELECT x.id, x.file FROM import_jobs x
WHERE x.space_id = %(space_id)s AND x.file IS NOT NULL
  AND x.status IN ('finished', 'failed', 'cancelled')
LIMIT 100;

-- name: forget_file
UPDATE import_jobs x SET file = NULL WHERE x.space_id = %(space_id)s AND x.id = %(id)s;

-- name: forget_refused
DELETE FROM refused_rows r
USING import_jobs x
WHERE r.space_id = %(space_id)s AND x.space_id = %(space_id)s AND x.id = r.import_id
  AND x.ended_at < now() - %(kept)s;
