-- name: note
INSERT INTO failed_jobs AS f (space_id, job, error, since, failed_at)
VALUES (%(space_id)s, %(job)s, %(error)s, %(now)s, %(now)s)
ON CONFLICT (space_id, job) DO UPDATE
SET error = excluded.error, failed_at = excluded.failed_at,
    since = CASE WHEN f.failed_at < %(forgotten_before)s
                 THEN excluded.since ELSE f.since END;

-- name: clear
DELETE FROM failed_jobs f WHERE f.space_id = %(space_id)s AND f.job = %(job)s;
