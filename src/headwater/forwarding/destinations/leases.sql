-- name: take
-- Lease a destination, unless another process holds it or it waits.
UPDATE destinations d
SET lease = %(token)s, leased_until = now() + %(lease)s
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s
  AND d.status = 'active' AND d.wait_until <= to_timestamp(%(now)s)
  AND (d.leased_until IS NULL OR has_come(d.leased_until, %(lease)s))
RETURNING d.id;

-- name: keep
-- Still at work: the destination as it is now, unless it is no longer to be sent to.
UPDATE destinations d
SET leased_until = now() + %(lease)s
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s AND d.lease = %(token)s
  AND d.status = 'active' AND d.wait_until <= to_timestamp(%(now)s)
RETURNING d.platform, d.settings, d.secrets, d.event_names, d.all_events, d.failures;

-- name: renew
-- Extend the lease in the middle of a call, whether or not the destination has changed.
UPDATE destinations d SET leased_until = now() + %(lease)s
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s AND d.lease = %(token)s;

-- name: release
-- Let any process continue.
UPDATE destinations d SET lease = NULL, leased_until = NULL
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s AND d.lease = %(token)s;

-- name: lock
-- The destination, locked until what came of a call is written down, if it is still ours.
SELECT d.failures FROM destinations d
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s AND d.lease = %(token)s
FOR NO KEY UPDATE;

-- name: mark_well
-- The destination answered as it should: what troubled it is over.
UPDATE destinations d SET failures = 0, held_since = NULL
FROM destinations before
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s
  AND before.space_id = %(space_id)s AND before.id = d.id
  AND (d.failures <> 0 OR d.held_since IS NOT NULL)
RETURNING before.held_since IS NOT NULL;

-- name: postpone
-- The destination is left alone until a moment.
UPDATE destinations d SET wait_until = to_timestamp(%(until)s), failures = %(failures)s
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s;

-- name: suspend
-- The platform rejected the destination's credentials: its deliveries stay queued until a user resumes
-- it.
UPDATE destinations d
SET status = 'held', status_reason = %(reason)s, held_since = least(d.held_since, now())
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s AND d.status = 'active';
