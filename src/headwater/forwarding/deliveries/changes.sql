-- name: skip_queued
UPDATE deliveries d SET status = 'skipped', reason = %(reason)s, finished_at = now()
WHERE d.space_id = %(space_id)s AND d.destination_id = %(destination_id)s
  AND d.status IN ('queued', 'retrying');

-- name: forget_requests
-- Without tokens, the platform cannot be asked.
DELETE FROM verdict_requests r
WHERE r.space_id = %(space_id)s AND r.destination_id = %(destination_id)s;
