-- name: take
-- Unless another process holds it or it waits.
UPDATE destinations d
SET lease = %(token)s, leased_until = now() + %(lease)s
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s
  AND d.status = 'active' AND d.wait_until <= to_timestamp(%(now)s)
  AND (d.leased_until IS NULL OR has_come(d.leased_until, %(lease)s))
RETURNING d.id;

-- name: keep
-- Unless sending must stop.
UPDATE destinations d
SET leased_until = now() + %(lease)s
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s AND d.lease = %(token)s
  AND d.status = 'active' AND d.wait_until <= to_timestamp(%(now)s)
RETURNING d.platform, d.settings, d.secrets, d.event_names, d.all_events, d.failures, d.secrets_version;

-- name: renew
-- During a call, regardless of changes.
UPDATE destinations d SET leased_until = now() + %(lease)s
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s AND d.lease = %(token)s;

-- name: release
UPDATE destinations d SET lease = NULL, leased_until = NULL
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s AND d.lease = %(token)s;

-- name: lock
-- If the lease is still ours.
SELECT d.failures FROM destinations d
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s AND d.lease = %(token)s
FOR NO KEY UPDATE;

-- name: mark_well
-- It responded correctly: clear failures.
UPDATE destinations d SET failures = 0, held_since = NULL
FROM destinations before
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s
  AND before.space_id = %(space_id)s AND before.id = d.id
  AND (d.failures <> 0 OR d.held_since IS NOT NULL)
RETURNING before.held_since IS NOT NULL;

-- name: postpone
UPDATE destinations d SET wait_until = to_timestamp(%(until)s), failures = %(failures)s
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s;

-- name: suspend
-- Deliveries stay queued until a user resumes. Secrets entered during a call were not refused by it.
UPDATE destinations d
SET status = 'held', status_reason = %(reason)s, held_since = least(d.held_since, now())
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s AND d.status = 'active'
  AND d.secrets_version = %(secrets_version)s;
