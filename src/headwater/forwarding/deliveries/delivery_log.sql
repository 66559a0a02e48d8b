-- name: columns
-- What is shown of a delivery. A deleted event has no name.
d.id, d.destination_id, t.platform, d.event_id, d.kind, e.event_name, d.dedup_id, d.status, d.reason, d.attempts,
iso_utc(CASE WHEN d.finished_at IS NULL THEN d.due_at END) AS due_at, d.touchpoint_id, d.http_status, d.error,
d.platform_request_id, trim_scale(d.sent_amount) AS sent_amount, d.sent_currency, d.credit,
iso_utc(d.created_at) AS created_at, iso_utc(d.finished_at) AS finished_at

-- name: page
-- {only} is a filter that can use its index.
SELECT row_to_json(line)::text, line.id
FROM (
    SELECT {columns}
    FROM deliveries d
    JOIN destinations t ON t.space_id = %(space_id)s AND t.id = d.destination_id
    LEFT JOIN events e ON e.space_id = %(space_id)s AND e.id = d.event_id
    WHERE d.space_id = %(space_id)s AND {only}
      AND d.id > %(after)s AND d.id < %(before)s
    ORDER BY d.id {order}
    LIMIT %(limit)s
) line
ORDER BY line.id DESC;

-- name: count
-- At most the latest %(most)s.
SELECT d.status, count(*)
FROM (
    SELECT d.status FROM deliveries d
    WHERE d.space_id = %(space_id)s AND {only}
    ORDER BY d.id DESC LIMIT %(most)s
) d
GROUP BY d.status ORDER BY count(*) DESC, d.status;

-- name: count_by_status
-- One delivery per event: an accepted one if there is any, else the latest.
SELECT d.status, count(*)
FROM (
    SELECT DISTINCT ON (d.event_id) d.status
    FROM deliveries d
    JOIN destinations t ON t.space_id = %(space_id)s AND t.id = d.destination_id
    WHERE d.space_id = %(space_id)s AND d.event_id = ANY(%(event_ids)s)
      AND t.platform = %(platform)s AND t.status <> 'removed' AND d.kind = 'conversion'
    ORDER BY d.event_id, d.status NOT IN ('delivered', 'counted'), d.id DESC
) d
GROUP BY d.status ORDER BY d.status;

-- name: knows_event
-- Whether an event exists or existed.
SELECT EXISTS (SELECT FROM events e WHERE e.space_id = %(space_id)s AND e.id = %(event_id)s)
    OR EXISTS (SELECT FROM deliveries d
               WHERE d.space_id = %(space_id)s AND d.event_id = %(event_id)s);

-- name: fetch
SELECT row_to_json(line)::text
FROM (
    SELECT {columns}, d.request, d.answer,
           coalesce((SELECT json_agg(json_build_object(
                                'attempted_at', iso_utc(a.attempted_at), 'outcome', a.outcome,
                                'http_status', a.http_status, 'error', a.error) ORDER BY a.id)
                     FROM delivery_attempts a
                     WHERE a.space_id = %(space_id)s AND a.delivery_id = d.id), '[]') AS history
    FROM deliveries d
    JOIN destinations t ON t.space_id = %(space_id)s AND t.id = d.destination_id
    LEFT JOIN events e ON e.space_id = %(space_id)s AND e.id = d.event_id
    WHERE d.space_id = %(space_id)s AND d.id = %(delivery_id)s
) line;

-- name: replay
-- Oldest first, because they soonest become too old. {only} is the filter.
WITH chosen AS (
    SELECT d.id
    FROM deliveries d
    JOIN events e ON e.space_id = %(space_id)s AND e.id = d.event_id
    WHERE d.space_id = %(space_id)s AND d.destination_id = %(destination_id)s AND {only}
      AND e.event_time > now() - %(age)s * interval '1 second'
    ORDER BY d.id
    LIMIT %(limit)s
    FOR NO KEY UPDATE OF d
)
UPDATE deliveries d
SET status = 'queued', reason = NULL, attempts = 0, queued_at = now(), due_at = now(),
    finished_at = NULL, platform_request_id = NULL
FROM chosen
WHERE d.space_id = %(space_id)s AND d.id = chosen.id;

-- name: too_old
-- Counted up to %(limit)s.
SELECT count(*) FROM (
    SELECT
    FROM deliveries d
    JOIN events e ON e.space_id = %(space_id)s AND e.id = d.event_id
    WHERE d.space_id = %(space_id)s AND d.destination_id = %(destination_id)s AND {only}
      AND e.event_time <= now() - %(age)s * interval '1 second'
    LIMIT %(limit)s
) old;

-- name: any_due
SELECT EXISTS (
    SELECT FROM destinations t
    JOIN deliveries d ON d.space_id = %(space_id)s AND d.destination_id = t.id
    WHERE t.space_id = %(space_id)s AND t.status = 'active'
      AND d.status IN ('queued', 'retrying') AND d.due_at <= now()
);
