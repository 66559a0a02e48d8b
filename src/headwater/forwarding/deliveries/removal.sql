-- name: skip_queued
UPDATE deliveries d SET status = 'skipped', reason = %(reason)s, finished_at = now()
WHERE d.space_id = %(space_id)s AND d.destination_id = %(destination_id)s
  AND d.status IN ('queued', 'retrying');
