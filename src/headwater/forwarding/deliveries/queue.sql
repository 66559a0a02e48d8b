-- name: clock
-- The clock for leases and senders.
SELECT extract(epoch FROM clock_timestamp())::float8;

-- name: destinations_due
-- For the operator: unleased; one or two index probes each.
SELECT d.space_id, d.id FROM destinations d
WHERE d.status = 'active' AND d.wait_until <= to_timestamp(%(now)s)
  AND (d.leased_until IS NULL OR has_come(d.leased_until, %(lease)s))
  AND (EXISTS (SELECT 1 FROM deliveries q
               WHERE q.space_id = d.space_id AND q.destination_id = d.id
                 AND q.status IN ('queued', 'retrying') AND q.due_at <= to_timestamp(%(now)s))
       OR EXISTS (SELECT 1 FROM verdict_requests r
                  WHERE r.space_id = d.space_id AND r.destination_id = d.id AND r.due_at <= to_timestamp(%(now)s)));

-- name: spaces_due
-- For the operator.
SELECT DISTINCT d.space_id FROM destinations d
WHERE d.status = 'active' AND d.wait_until <= now()
  AND (d.leased_until IS NULL OR has_come(d.leased_until, %(lease)s))
  AND (EXISTS (SELECT 1 FROM deliveries q
               WHERE q.space_id = d.space_id AND q.destination_id = d.id
                 AND q.status IN ('queued', 'retrying') AND q.due_at <= now())
       OR EXISTS (SELECT 1 FROM verdict_requests r
                  WHERE r.space_id = d.space_id AND r.destination_id = d.id AND r.due_at <= now()));

-- name: figures
-- For the operator, by platform.
SELECT t.platform, sum(w.due)::bigint, sum(w.later)::bigint, max(w.age)::float8,
       count(*) FILTER (WHERE t.status = 'held'),
       count(*) FILTER (WHERE t.status = 'active' AND t.wait_until > now()), sum(v.requests)::bigint
FROM destinations t
CROSS JOIN LATERAL (
    SELECT count(*) AS requests FROM verdict_requests r
    WHERE r.space_id = t.space_id AND r.destination_id = t.id
) v
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE q.due_at <= now()) AS due,
           count(*) FILTER (WHERE q.due_at > now()) AS later,
           greatest(coalesce(extract(epoch FROM now() - min(q.due_at)), 0), 0) AS age
    FROM deliveries q
    WHERE q.space_id = t.space_id AND q.destination_id = t.id AND q.status IN ('queued', 'retrying')
) w
WHERE t.status <> 'removed'
GROUP BY t.platform;

-- name: due
SELECT d.id FROM deliveries d
WHERE d.space_id = %(space_id)s AND d.destination_id = %(destination_id)s
  AND d.status IN ('queued', 'retrying') AND d.due_at <= to_timestamp(%(now)s)
ORDER BY d.due_at, d.id
LIMIT %(limit)s;

-- name: probes
-- An event that makes the platform fail is no probe.
SELECT d.id FROM deliveries d
WHERE d.space_id = %(space_id)s AND d.destination_id = %(destination_id)s
  AND d.status IN ('queued', 'retrying') AND d.due_at <= to_timestamp(%(now)s)
ORDER BY d.attempts, d.due_at, d.id
LIMIT %(limit)s;

-- name: record
-- Deliveries that another process ended keep their status, with one exception: the platform accepted the event while
-- the event was deleted, which a correction can report, or while the destination was removed. NULL keeps the status.
-- The platform does not have a refused conversion, so the next attempt may use another click, name or time.
UPDATE deliveries d
SET status = coalesce(r.status, d.status), reason = r.reason, attempts = d.attempts + r.tried,
    due_at = coalesce(to_timestamp(r.due_at), d.due_at), error = r.error,
    http_status = %(http_status)s, request = r.request, answer = %(answer)s,
    touchpoint_id = coalesce(r.touchpoint_id, d.touchpoint_id),
    first_attempt = CASE WHEN r.outcome = 'failed' THEN NULL WHEN r.outcome = 'held' THEN r.first_attempt
                    ELSE d.first_attempt END,
    platform_request_id = CASE WHEN r.status = 'delivered' THEN %(request_id)s::text END,
    sent_amount = CASE WHEN r.status = 'delivered' THEN r.sent_amount ELSE d.sent_amount END,
    sent_currency = CASE WHEN r.status = 'delivered' THEN r.sent_currency ELSE d.sent_currency END,
    sent_to = CASE WHEN r.status = 'delivered' THEN r.sent_to ELSE d.sent_to END,
    finished_at = CASE WHEN r.status <> 'retrying' THEN to_timestamp(%(now)s) END
FROM json_to_recordset(%(rows)s::json)
     AS r (id bigint, status text, reason text, outcome text, tried int, due_at float8, error text,
           request jsonb, touchpoint_id bigint, first_attempt jsonb, sent_amount numeric, sent_currency text, sent_to text)
WHERE d.space_id = %(space_id)s AND d.destination_id = %(destination_id)s AND d.id = r.id
  AND (d.status IN ('queued', 'retrying')
       OR d.status = 'skipped' AND d.reason IN ('deleted', 'removed') AND r.status = 'delivered');

-- name: await_verdicts
-- A removed destination has no tokens to ask with.
INSERT INTO verdict_requests (space_id, destination_id, request_id, delivery_ids, sent_at, due_at)
SELECT %(space_id)s, d.id, %(request_id)s, %(delivery_ids)s::bigint[], to_timestamp(%(now)s), to_timestamp(%(due_at)s)
FROM destinations d
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s AND d.status <> 'removed'
ON CONFLICT (space_id, destination_id, request_id) DO NOTHING;

-- name: forget_erased
-- Of people whose erasure was requested meanwhile. `record` has locked the deliveries, so an erasure is
-- either seen here or clears them later. Of a deleted event, an erasure would not find them.
UPDATE deliveries d SET request = NULL, answer = NULL, error = NULL
WHERE d.space_id = %(space_id)s AND d.id = ANY(%(ids)s::bigint[]) AND NOT EXISTS (
    SELECT FROM events e
    WHERE e.space_id = %(space_id)s AND e.id = d.event_id AND NOT EXISTS (
        SELECT FROM (SELECT e.contact_id AS id UNION ALL
                     SELECT m.id FROM contacts m
                     WHERE m.space_id = %(space_id)s AND m.merged_into = e.contact_id) known
        JOIN erasures r ON r.space_id = %(space_id)s AND r.contact_id = known.id
        WHERE r.receipt_mark >= e.id));

-- name: log_attempts
INSERT INTO delivery_attempts (space_id, delivery_id, attempted_at, outcome, http_status, error)
SELECT %(space_id)s, d.id, to_timestamp(%(now)s), r.outcome, d.http_status, d.error
FROM json_to_recordset(%(rows)s::json) AS r (id bigint, outcome text)
JOIN deliveries d ON d.space_id = %(space_id)s AND d.id = r.id
WHERE r.outcome IS NOT NULL;

-- name: wake
-- The destination recovered. Events with a reason are retried because of the platform's verdict.
UPDATE deliveries d SET due_at = to_timestamp(%(now)s)
WHERE d.space_id = %(space_id)s AND d.destination_id = %(destination_id)s
  AND d.status = 'retrying' AND d.due_at > to_timestamp(%(now)s) AND d.reason IS NULL;
