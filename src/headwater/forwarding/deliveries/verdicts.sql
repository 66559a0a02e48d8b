-- name: due
SELECT r.request_id, r.delivery_ids, r.asked FROM verdict_requests r
WHERE r.space_id = %(space_id)s AND r.destination_id = %(destination_id)s
  AND r.due_at <= to_timestamp(%(now)s)
ORDER BY r.due_at LIMIT 1;

-- name: awaiting
-- The request's deliveries, except those replayed since.
SELECT d.id, d.request, d.attempts, extract(epoch FROM e.event_time)::float8
FROM deliveries d
LEFT JOIN events e ON e.space_id = %(space_id)s AND e.id = d.event_id
WHERE d.space_id = %(space_id)s AND d.destination_id = %(destination_id)s
  AND d.id = ANY(%(ids)s::bigint[]) AND d.status = 'delivered' AND d.platform_request_id = %(request_id)s;

-- name: lock
-- In the order of corrections, which lock the same deliveries.
SELECT d.id, d.sent_amount, d.sent_currency FROM deliveries d
WHERE d.space_id = %(space_id)s AND d.destination_id = %(destination_id)s AND d.id = ANY(%(ids)s::bigint[])
ORDER BY d.id FOR NO KEY UPDATE;

-- name: write
-- An erasure or deletion leaves no request, and after it no words of the platform are stored. A retried delivery
-- has the full time for retries again.
UPDATE deliveries d
SET status = r.status, reason = r.reason, error = CASE WHEN d.request IS NOT NULL THEN r.error END,
    due_at = coalesce(to_timestamp(r.due_at), d.due_at),
    queued_at = CASE WHEN r.status = 'retrying' THEN to_timestamp(%(now)s) ELSE d.queued_at END,
    finished_at = CASE WHEN r.status IN ('refused', 'expired') THEN to_timestamp(%(now)s)
                       WHEN r.status <> 'retrying' THEN d.finished_at END
FROM json_to_recordset(%(rows)s::json) AS r (id bigint, status text, reason text, due_at float8, error text)
WHERE d.space_id = %(space_id)s AND d.destination_id = %(destination_id)s AND d.id = r.id
  AND d.status = 'delivered' AND d.platform_request_id = %(request_id)s
RETURNING d.id, d.status;

-- name: log
INSERT INTO delivery_attempts (space_id, delivery_id, attempted_at, outcome, error)
SELECT %(space_id)s, d.id, to_timestamp(%(now)s), d.status, concat_ws(': ', d.reason, d.error)
FROM json_to_recordset(%(rows)s::json) AS r (id bigint)
JOIN deliveries d ON d.space_id = %(space_id)s AND d.id = r.id;

-- name: postpone
UPDATE verdict_requests r SET asked = r.asked + 1, due_at = to_timestamp(%(until)s)
WHERE r.space_id = %(space_id)s AND r.destination_id = %(destination_id)s AND r.request_id = %(request_id)s;

-- name: postpone_due
-- The platform could not be asked: other requests would fail, too.
UPDATE verdict_requests r SET due_at = to_timestamp(%(until)s)
WHERE r.space_id = %(space_id)s AND r.destination_id = %(destination_id)s
  AND r.due_at <= to_timestamp(%(now)s);

-- name: finish
-- The answered request, and those that have waited for too long.
DELETE FROM verdict_requests r
WHERE r.space_id = %(space_id)s AND r.destination_id = %(destination_id)s
  AND (r.request_id = %(request_id)s AND %(is_final)s
       OR r.due_at - r.sent_at > %(longest)s * interval '1 second')
RETURNING r.delivery_ids;
