-- What becomes of page views with age: see old_views.py. Whoever changes anything here holds the Space's
-- lock.

-- name: spaces_with_sites
-- For the operator's side: the Spaces that may have page views.
SELECT DISTINCT s.space_id FROM sites s;

-- name: spaces_that_forget
-- For the operator's side: the Spaces that keep page views for a time only.
SELECT s.id FROM spaces s WHERE s.page_view_days IS NOT NULL;

-- name: looked_after
-- For the operator's side: the Spaces where nothing was left to do lately.
SELECT k.space_id FROM page_view_upkeep k WHERE k.looked_at > %(since)s;

-- name: bound_statements
-- How long a statement of this transaction may take.
SELECT set_config('statement_timeout', %(patience)s, true);

-- name: standing
-- For how many days the Space keeps page views, how far they are packed, and since when something of
-- it waits to be processed.
SELECT s.page_view_days, coalesce(k.packed_id, 0),
       (SELECT i.received_at FROM inbox i
        WHERE i.space_id = %(space_id)s ORDER BY i.id LIMIT 1)
FROM spaces s
LEFT JOIN page_view_upkeep k ON k.space_id = %(space_id)s
WHERE s.id = %(space_id)s;

-- name: views
-- Page views by their arrival: those that could make a touchpoint, and what the others are.
SELECT h.touch IS NOT NULL OR h.campaign IS NOT NULL AS stays, {columns}
FROM hits h
WHERE h.space_id = %(space_id)s AND h.id > %(after_id)s
ORDER BY h.id
LIMIT %(most)s;

-- name: columns
h.id, h.key, h.contact_id, h.origin_id, h.visit_id,
(extract(epoch FROM h.occurred_at) * 1000000)::bigint, h.event_name, h.url, h.referrer_host,
h.source_id, h.country, h.device_type, h.browser, h.os, h.language;

-- name: views_of_visits
-- The page views of some visits that arrived later, without those that could make a touchpoint.
SELECT later.*
FROM json_to_recordset(%(visits)s::json)
     AS w (id bigint, contact_id bigint, first bigint, last bigint)
CROSS JOIN LATERAL (
    SELECT {columns} FROM hits h
    WHERE h.space_id = %(space_id)s AND h.contact_id = w.contact_id AND h.visit_id = w.id
      AND h.occurred_at >= 'epoch'::timestamptz + w.first * interval '1 microsecond'
      AND h.occurred_at <= 'epoch'::timestamptz + w.last * interval '1 microsecond'
      AND h.id > %(after_id)s AND h.touch IS NULL AND h.campaign IS NULL
    ORDER BY h.occurred_at, h.id
    LIMIT %(most)s
) later;

-- name: delete_views
-- Page views that are packed, or too old.
DELETE FROM hits h WHERE h.space_id = %(space_id)s AND h.id = ANY(%(ids)s::bigint[]);

-- name: first_views
-- The page views that arrived first.
SELECT h.id, moment.at, moment.at
FROM (SELECT l.id, l.occurred_at FROM hits l
      WHERE l.space_id = %(space_id)s ORDER BY l.id LIMIT %(most)s) h
CROSS JOIN LATERAL (
    SELECT (extract(epoch FROM h.occurred_at) * 1000000)::bigint AS at
) moment
ORDER BY h.id;

-- name: first_visits
-- The visits that were reported first.
SELECT v.id, (extract(epoch FROM v.started_at) * 1000000)::bigint,
       (extract(epoch FROM v.last_hit_at) * 1000000)::bigint
FROM visits v
WHERE v.space_id = %(space_id)s
ORDER BY v.id
LIMIT %(most)s;

-- name: delete_clicks
-- Clicks of visits that are about to be deleted: an erasure finds clicks by visits.
DELETE FROM clicks c
USING visits v
WHERE c.space_id = %(space_id)s AND v.space_id = %(space_id)s AND v.id = ANY(%(ids)s::bigint[])
  AND c.device = v.device AND c.first_seen_at < %(before)s;

-- name: delete_visits
-- Visits that are too old.
DELETE FROM visits v WHERE v.space_id = %(space_id)s AND v.id = ANY(%(ids)s::bigint[]);

-- name: note
-- How far the Space's page views have been seen to.
INSERT INTO page_view_upkeep AS k (space_id, packed_id, forgotten_before, looked_at)
VALUES (%(space_id)s, %(packed_id)s, %(forgotten_before)s, %(looked_at)s)
ON CONFLICT (space_id) DO UPDATE
SET packed_id = excluded.packed_id, looked_at = excluded.looked_at,
    forgotten_before = coalesce(excluded.forgotten_before, k.forgotten_before);
