-- name: days
-- By day in a time zone.
SELECT c.destination_id, local_time(c.quarter, %(changes)s, %(offsets)s)::date, c.status, sum(c.deliveries)::bigint
FROM delivery_counts c
WHERE c.space_id = %(space_id)s AND c.destination_id = ANY(%(destination_ids)s::bigint[])
  AND c.quarter >= %(start)s
GROUP BY 1, 2, 3
HAVING sum(c.deliveries) > 0;

-- name: span
SELECT min(c.first_id), max(c.last_id)
FROM delivery_counts c
WHERE c.space_id = %(space_id)s AND c.destination_id = %(destination_id)s
  AND c.quarter >= %(start)s AND c.quarter < %(end)s;

-- name: waiting
-- Counted up to %(most)s.
SELECT d.id, waiting.number,
       greatest(extract(epoch FROM now() - waiting.oldest), 0)::float8 AS lag_seconds
FROM unnest(%(destination_ids)s::bigint[]) AS d (id)
CROSS JOIN LATERAL (
    SELECT count(*) AS number, min(w.due_at) AS oldest
    FROM (SELECT x.due_at FROM deliveries x
          WHERE x.space_id = %(space_id)s AND x.destination_id = d.id
            AND x.status IN ('queued', 'retrying')
          ORDER BY x.due_at, x.id LIMIT %(most)s) w
) waiting;

-- name: forget
DELETE FROM delivery_counts c
WHERE c.space_id = %(space_id)s AND c.destination_id = %(destination_id)s
  AND c.quarter < now() - make_interval(days => %(days)s);

-- name: causes
-- Counted up to %(most)s, with the latest error.
SELECT cause.status, cause.reason, counted.number, counted.latest,
       (SELECT d.error FROM deliveries d
        WHERE d.space_id = %(space_id)s AND d.id = counted.latest) AS error
FROM json_to_recordset(%(causes)s::json) AS cause (status text, reason text)
CROSS JOIN LATERAL (
    SELECT count(*) AS number, max(each.id) AS latest
    FROM (SELECT d.id FROM deliveries d
          WHERE d.space_id = %(space_id)s AND d.destination_id = %(destination_id)s
            AND cause.reason IS NULL AND d.status = cause.status
          ORDER BY d.id DESC LIMIT %(most)s) each
) counted
WHERE cause.reason IS NULL AND counted.number > 0
UNION ALL
SELECT cause.status, cause.reason, counted.number, counted.latest,
       (SELECT d.error FROM deliveries d
        WHERE d.space_id = %(space_id)s AND d.id = counted.latest AND cause.status = 'refused') AS error
FROM json_to_recordset(%(causes)s::json) AS cause (status text, reason text)
CROSS JOIN LATERAL (
    SELECT count(*) AS number, max(each.id) AS latest
    FROM (SELECT d.id FROM deliveries d
          WHERE d.space_id = %(space_id)s AND d.destination_id = %(destination_id)s
            AND d.reason = cause.reason
          ORDER BY d.id DESC LIMIT %(most)s) each
) counted
WHERE cause.reason IS NOT NULL AND counted.number > 0;
