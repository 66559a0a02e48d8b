-- name: unsettled
SELECT EXISTS (SELECT FROM inbox i
               WHERE i.space_id = %(space_id)s AND i.id <= %(settled_id)s);

-- name: add
-- Add a limited number of a measure's rows after a receipt; select their number and the last receipt.
WITH added_rows AS MATERIALIZED (
    {rows}
), added AS (
    INSERT INTO hour_counts AS c (space_id, measure, subject, hour, number)
    SELECT %(space_id)s, %(measure)s, s.subject, date_trunc('hour', local_time(s.at, %(changes)s, %(offsets)s)),
           count(*)
    FROM added_rows s
    WHERE s.at >= %(since)s AND s.counts
    GROUP BY 3, 4
    ON CONFLICT (space_id, measure, subject, hour)
        DO UPDATE SET number = c.number + excluded.number
)
SELECT count(*), max(s.id) FROM added_rows s;

-- name: visits
SELECT v.id, v.started_at AS at, '' AS subject, true AS counts
FROM visits v
WHERE v.space_id = %(space_id)s AND v.id > %(after)s AND v.id <= %(settled_id)s
ORDER BY v.id LIMIT %(most)s;

-- name: touches
SELECT t.id, t.occurred_at AS at, t.source_id::text AS subject, true AS counts
FROM touchpoints t
WHERE t.space_id = %(space_id)s AND t.id > %(after)s AND t.id <= %(settled_id)s
ORDER BY t.id LIMIT %(most)s;

-- name: rejected
SELECT r.id, r.rejected_at AS at, '' AS subject, true AS counts
FROM rejected r
WHERE r.space_id = %(space_id)s AND r.id > %(after)s AND r.id <= %(settled_id)s
ORDER BY r.id LIMIT %(most)s;

-- name: repeated
-- The orders after a receipt. An order counts as repeated if it equals one of the same contact in the ten
-- minutes before; refunds and upsells do not. The contacts' orders are read once and compared with their
-- neighbours: without statistics for a Space the planner expects a single row, and a lookup per row would
-- read them all.
WITH batch AS MATERIALIZED (
    SELECT e.id, e.event_time, e.contact_id
    FROM events e
    WHERE e.space_id = %(space_id)s AND e.id > %(after)s AND e.id <= %(settled_id)s
    ORDER BY e.id LIMIT %(most)s
), orders AS (
    SELECT o.id, o.is_upsell,
           o.event_time - lag(o.event_time) OVER (PARTITION BY o.contact_id, o.amount
                                                  ORDER BY o.event_time, o.id) AS pause
    FROM events o
    WHERE o.space_id = %(space_id)s AND o.event_time >= %(since)s - interval '10 minutes'
      AND o.contact_id = ANY(ARRAY(SELECT DISTINCT b.contact_id FROM batch b))
      AND o.event_name = 'purchase' AND o.amount > 0
)
SELECT b.id, b.event_time AS at, '' AS subject,
       b.id IN (SELECT o.id FROM orders o
                WHERE o.pause <= interval '10 minutes' AND NOT o.is_upsell) AS counts
FROM batch b;

-- name: refused
INSERT INTO hour_counts AS c (space_id, measure, subject, hour, number)
SELECT %(space_id)s, 'rejected', '', date_trunc('hour', local_time(j.ended_at, %(changes)s, %(offsets)s)),
       sum(j.refused)
FROM import_jobs j
WHERE j.space_id = %(space_id)s AND j.ended_at > %(counted_at)s AND j.ended_at <= %(settled_at)s
  AND j.refused > 0
GROUP BY 4
ON CONFLICT (space_id, measure, subject, hour)
    DO UPDATE SET number = c.number + excluded.number;

-- name: deliveries
-- Each destination's finished and failed deliveries, by the hour when they were written. A platform that publishes
-- verdicts has not finished a delivery by accepting it.
INSERT INTO hour_counts (space_id, measure, subject, hour, number)
SELECT %(space_id)s, side.measure, q.destination_id::text, q.hour, side.number
FROM (
    SELECT c.destination_id, date_trunc('hour', local_time(c.quarter, %(changes)s, %(offsets)s)) AS hour,
           sum(c.deliveries) AS finished,
           sum(c.deliveries) FILTER (WHERE c.status NOT IN ('delivered', 'counted')) AS failed
    FROM delivery_counts c
    JOIN destinations d ON d.space_id = %(space_id)s AND d.id = c.destination_id
    WHERE c.space_id = %(space_id)s AND c.quarter >= %(start_at)s
      AND (c.status IN ('counted', 'refused', 'failed', 'expired')
           OR c.status = 'delivered' AND d.platform <> ALL(%(verdict_platforms)s))
    GROUP BY 1, 2
) q
CROSS JOIN LATERAL (VALUES ('finished', q.finished), ('failed', q.failed)) side (measure, number)
WHERE side.number > 0;

-- name: identifiers
-- Each destination's conversions, and those that were skipped because the platform could not match them.
INSERT INTO hour_counts (space_id, measure, subject, hour, number)
SELECT %(space_id)s, side.measure, q.destination_id::text, q.hour, side.number
FROM (
    SELECT p.destination_id, p.hour, sum(p.conversions) AS conversions, sum(p.unmatched) AS unmatched
    FROM (
        SELECT c.destination_id, date_trunc('hour', local_time(c.quarter, %(changes)s, %(offsets)s)) AS hour,
               c.deliveries AS conversions, 0 AS unmatched
        FROM delivery_counts c
        WHERE c.space_id = %(space_id)s AND c.status <> 'skipped'
          AND c.quarter >= %(start_at)s
        UNION ALL
        SELECT t.id, date_trunc('hour', local_time(s.created_at, %(changes)s, %(offsets)s)), 1, 1
        FROM destinations t
        JOIN deliveries s ON s.space_id = %(space_id)s AND s.destination_id = t.id
        WHERE t.space_id = %(space_id)s AND s.reason = 'no_identifier' AND s.kind = 'conversion'
          AND s.created_at >= %(start_at)s
          AND s.id >= (SELECT min(f.first_id) FROM delivery_counts f
                       WHERE f.space_id = %(space_id)s AND f.status = 'skipped'
                         AND f.quarter >= %(start_at)s)
    ) p
    GROUP BY 1, 2
) q
CROSS JOIN LATERAL (VALUES ('conversions', q.conversions), ('unmatched', q.unmatched)) side (measure, number)
WHERE side.number > 0;

-- name: clear
DELETE FROM hour_counts c
WHERE c.space_id = %(space_id)s AND c.measure = ANY(%(measures)s) AND c.hour >= %(start)s;

-- name: put_reported
INSERT INTO hour_counts (space_id, measure, subject, hour, number)
SELECT %(space_id)s, r.measure, r.subject, r.hour, r.number
FROM json_to_recordset(%(rows)s::json)
     AS r (measure text, subject text, hour timestamp, number bigint)
WHERE r.number <> 0;

-- name: read
SELECT c.measure, c.subject, c.hour, c.number
FROM hour_counts c
WHERE c.space_id = %(space_id)s AND c.hour >= %(start)s;

-- name: first
SELECT min(c.hour) FROM hour_counts c WHERE c.space_id = %(space_id)s;

-- name: forget
-- Delete counts that are too old to use.
DELETE FROM hour_counts c WHERE c.space_id = %(space_id)s AND c.hour < %(start)s;

-- name: forget_all
DELETE FROM hour_counts c WHERE c.space_id = %(space_id)s;
