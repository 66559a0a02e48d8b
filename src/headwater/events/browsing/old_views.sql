-- Page view retention: see old_views.py. The caller holds the Space's lock.

-- name: spaces_that_forget
SELECT s.id FROM spaces s WHERE s.page_view_days IS NOT NULL;

-- name: looked_after
SELECT k.space_id FROM page_view_upkeep k WHERE k.looked_at > %(since)s AND k.looked_at <= %(now)s;

-- name: bound_statements
SELECT set_config('statement_timeout', %(patience)s, true);

-- name: standing
-- The retention period in days, and the oldest unprocessed receipt.
SELECT s.page_view_days,
       (SELECT i.received_at FROM inbox i
        WHERE i.space_id = %(space_id)s ORDER BY i.id LIMIT 1)
FROM spaces s
WHERE s.id = %(space_id)s;

-- name: delete_views
DELETE FROM hits h WHERE h.space_id = %(space_id)s AND h.id = ANY(%(ids)s::bigint[]);

-- name: first_views
SELECT h.id, moment.at, moment.at
FROM (SELECT l.id, l.occurred_at FROM hits l
      WHERE l.space_id = %(space_id)s ORDER BY l.id LIMIT %(most)s) h
CROSS JOIN LATERAL (
    SELECT (extract(epoch FROM h.occurred_at) * 1000000)::bigint AS at
) moment
ORDER BY h.id;

-- name: first_visits
SELECT v.id, (extract(epoch FROM v.started_at) * 1000000)::bigint,
       (extract(epoch FROM v.last_hit_at) * 1000000)::bigint
FROM visits v
WHERE v.space_id = %(space_id)s
ORDER BY v.id
LIMIT %(most)s;

-- name: delete_clicks
-- With their visits, because an erasure finds clicks by visits.
DELETE FROM clicks c
USING visits v
WHERE c.space_id = %(space_id)s AND v.space_id = %(space_id)s AND v.id = ANY(%(ids)s::bigint[])
  AND c.device = v.device AND c.first_seen_at < %(before)s;

-- name: delete_visits
DELETE FROM visits v WHERE v.space_id = %(space_id)s AND v.id = ANY(%(ids)s::bigint[]);

-- name: delete_empty_counts
DELETE FROM visit_counts c
WHERE c.space_id = %(space_id)s AND c.quarter < %(before)s AND c.visits = 0;

-- name: note
-- The time of the check, and the oldest time of kept page views.
INSERT INTO page_view_upkeep AS k (space_id, forgotten_before, looked_at)
VALUES (%(space_id)s, %(forgotten_before)s, %(looked_at)s)
ON CONFLICT (space_id) DO UPDATE
SET looked_at = excluded.looked_at,
    forgotten_before = coalesce(excluded.forgotten_before, k.forgotten_before);
