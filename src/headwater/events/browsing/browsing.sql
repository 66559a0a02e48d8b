-- The caller holds the Space's lock. Touchpoints are looked up by id, because for EXISTS a planner may gather
-- all touchpoints of the Space first.

-- name: find_keys
SELECT known.key::text
FROM unnest(%(keys)s::uuid[]) AS wanted (key)
CROSS JOIN LATERAL (
    SELECT h.key FROM hits h WHERE h.space_id = %(space_id)s AND h.key = wanted.key
    OFFSET 0
) known;

-- name: find_clicks
SELECT wanted.click, (extract(epoch FROM known.first_seen_at) * 1000000)::bigint,
       replace(known.device::text, '-', '')
FROM unnest(%(clicks)s::text[]) AS wanted (click)
CROSS JOIN LATERAL (
    SELECT c.first_seen_at, c.device FROM clicks c
    WHERE c.space_id = %(space_id)s AND c.click = wanted.click::uuid
    OFFSET 0
) known;

-- name: find_visits
-- Visits near page views of these contacts, in these browsers and spans, which extend half an hour on both
-- sides. Each comes with its candidate page views in the span, and the nearest one with a campaign on
-- either side: others do not matter.
SELECT s.contact_id, s.device, v.id,
       (extract(epoch FROM v.started_at) * 1000000)::bigint,
       (extract(epoch FROM v.last_hit_at) * 1000000)::bigint,
       h.beside, h.id, (extract(epoch FROM h.occurred_at) * 1000000)::bigint, h.campaign, h.url,
       h.referrer_host, h.touch::text, h.origin_id,
       (SELECT t.id FROM touchpoints t WHERE t.space_id = %(space_id)s AND t.id = h.id) IS NOT NULL
FROM json_to_recordset(%(spans)s::json)
     AS s (contact_id bigint, device text, since bigint, until bigint)
CROSS JOIN LATERAL (
    SELECT 'epoch'::timestamptz + s.since * interval '1 microsecond' AS since,
           'epoch'::timestamptz + s.until * interval '1 microsecond' AS until
) span
CROSS JOIN LATERAL (
    (SELECT later.id, later.started_at, later.last_hit_at
     FROM visits later
     WHERE later.space_id = %(space_id)s AND later.contact_id = s.contact_id
       AND later.device = s.device::uuid
       AND later.started_at > span.since AND later.started_at < span.until)
    UNION ALL
    (SELECT before.id, before.started_at, before.last_hit_at
     FROM visits before
     WHERE before.space_id = %(space_id)s AND before.contact_id = s.contact_id
       AND before.device = s.device::uuid AND before.started_at <= span.since
     ORDER BY before.started_at DESC
     LIMIT 1)
) v
LEFT JOIN LATERAL (
    (SELECT near.*, 'in' AS beside
     FROM hits near
     WHERE near.space_id = %(space_id)s AND near.visit_id = v.id AND near.touch IS NOT NULL
       AND near.occurred_at >= span.since AND near.occurred_at <= span.until)
    UNION ALL
    (SELECT before.*, 'before'
     FROM hits before
     WHERE before.space_id = %(space_id)s AND before.visit_id = v.id
       AND before.touch IS NOT NULL AND before.campaign IS NOT NULL
       AND before.occurred_at < span.since
     ORDER BY before.occurred_at DESC, before.id DESC
     LIMIT 1)
    UNION ALL
    (SELECT later.*, 'after'
     FROM hits later
     WHERE later.space_id = %(space_id)s AND later.visit_id = v.id
       AND later.touch IS NOT NULL AND later.campaign IS NOT NULL
       AND later.occurred_at > span.until
     ORDER BY later.occurred_at, later.id
     LIMIT 1)
) h ON true
WHERE v.last_hit_at > span.since;

-- name: find_beginnings
-- Page views that begin a contact's visits in these spans, in any browser: all with the same time.
SELECT s.contact_id, h.visit_id, h.id, (extract(epoch FROM h.occurred_at) * 1000000)::bigint,
       h.campaign, h.url, h.referrer_host, h.touch::text, h.origin_id,
       (SELECT t.id FROM touchpoints t WHERE t.space_id = %(space_id)s AND t.id = h.id) IS NOT NULL
FROM json_to_recordset(%(spans)s::json) AS s (contact_id bigint, first bigint, last bigint)
CROSS JOIN LATERAL (
    SELECT near.*
    FROM hits near
    WHERE near.space_id = %(space_id)s AND near.contact_id = s.contact_id
      AND near.touch IS NOT NULL
      AND near.occurred_at >= 'epoch'::timestamptz + s.first * interval '1 microsecond'
      AND near.occurred_at <= 'epoch'::timestamptz + s.last * interval '1 microsecond'
    OFFSET 0
) h
CROSS JOIN LATERAL (
    SELECT whole.started_at FROM visits whole
    WHERE whole.space_id = %(space_id)s AND whole.id = h.visit_id
    OFFSET 0
) v
WHERE v.started_at = h.occurred_at;

-- name: write_visits
-- A visit has the origin of the page view that begins it.
WITH written AS (
    SELECT r.*, span.started, beginning.source_id, beginning.tag_set_id
    FROM json_to_recordset(%(visits)s::json)
         AS r (id bigint, contact_id bigint, origin_id bigint, company_id bigint, device uuid,
               started_at bigint, last_hit_at bigint)
    CROSS JOIN LATERAL (
        SELECT 'epoch'::timestamptz + r.started_at * interval '1 microsecond' AS started
    ) span
    LEFT JOIN LATERAL (
        SELECT h.source_id, h.tag_set_id FROM hits h
        WHERE h.space_id = %(space_id)s AND h.contact_id = r.contact_id
          AND h.occurred_at = span.started AND h.visit_id = r.id
        ORDER BY h.id
        LIMIT 1
    ) beginning ON true
)
INSERT INTO visits AS v
    (space_id, id, contact_id, origin_id, company_id, device, started_at, last_hit_at,
     source_id, tag_set_id)
SELECT %(space_id)s, w.id, w.contact_id, w.origin_id, w.company_id, w.device, w.started,
       'epoch'::timestamptz + w.last_hit_at * interval '1 microsecond',
       w.source_id, coalesce(w.tag_set_id, 0)
FROM written w
ON CONFLICT (space_id, id) DO UPDATE
SET started_at = excluded.started_at, last_hit_at = excluded.last_hit_at,
    source_id = excluded.source_id, tag_set_id = excluded.tag_set_id;

-- name: copy_origins
-- To the visits that these page views begin.
UPDATE visits v SET source_id = h.source_id, tag_set_id = h.tag_set_id
FROM hits h
WHERE v.space_id = %(space_id)s AND h.space_id = %(space_id)s AND h.id = ANY(%(ids)s::bigint[])
  AND v.id = h.visit_id AND v.started_at = h.occurred_at
  AND NOT EXISTS (SELECT FROM hits earlier
                  WHERE earlier.space_id = %(space_id)s AND earlier.contact_id = h.contact_id
                    AND earlier.occurred_at = h.occurred_at AND earlier.visit_id = v.id
                    AND earlier.id < h.id);

-- name: join_hits
UPDATE hits h SET visit_id = %(into)s
WHERE h.space_id = %(space_id)s AND h.contact_id = %(contact_id)s AND h.visit_id = %(id)s
  AND h.occurred_at >= 'epoch'::timestamptz + %(first)s * interval '1 microsecond'
  AND h.occurred_at <= 'epoch'::timestamptz + %(last)s * interval '1 microsecond';

-- name: delete_visits
DELETE FROM visits v WHERE v.space_id = %(space_id)s AND v.id = ANY(%(ids)s::bigint[]);

-- name: write_hits
INSERT INTO hits
    (space_id, id, key, contact_id, origin_id, visit_id, occurred_at, event_name, url,
     referrer_host, source_id, country, device_type, browser, os, language, campaign, touch,
     tag_set_id)
SELECT %(space_id)s, r.id, r.key, r.contact_id, r.origin_id, r.visit_id,
       'epoch'::timestamptz + r.occurred_at * interval '1 microsecond', r.event_name, r.url,
       r.referrer_host, r.source_id, r.country, r.device_type, r.browser, r.os, r.language,
       r.campaign, r.touch,
       {tag_set}
FROM json_to_recordset(%(hits)s::json)
     AS r (id bigint, key uuid, contact_id bigint, origin_id bigint, visit_id bigint,
           occurred_at bigint, event_name text, url text, referrer_host text, source_id smallint,
           country text, device_type text, browser text, os text, language text, campaign text,
           touch jsonb, tag_set integer);

-- name: write_origins
UPDATE hits h
SET source_id = r.source_id, touch = r.touch,
    tag_set_id = {tag_set}
FROM json_to_recordset(%(hits)s::json)
     AS r (id bigint, source_id smallint, touch jsonb, tag_set integer)
WHERE h.space_id = %(space_id)s AND h.id = r.id;

-- name: write_clicks
INSERT INTO clicks AS c (space_id, click, device, first_seen_at)
SELECT %(space_id)s, r.click, r.device,
       'epoch'::timestamptz + r.first_seen * interval '1 microsecond'
FROM json_to_recordset(%(clicks)s::json) AS r (click uuid, device uuid, first_seen bigint)
ON CONFLICT (space_id, click) DO UPDATE
SET device = excluded.device, first_seen_at = excluded.first_seen_at;

-- name: reassign_visits
UPDATE visits v
SET contact_id = %(survivor_id)s, company_id = %(company_id)s,
    origin_id = CASE WHEN v.contact_id = %(survivor_id)s THEN v.origin_id
                     ELSE coalesce(v.origin_id, v.contact_id) END
WHERE v.space_id = %(space_id)s AND v.contact_id = %(contact_id)s
  AND (v.contact_id <> %(survivor_id)s OR v.company_id IS DISTINCT FROM %(company_id)s);

-- name: reassign_hits
-- Page views have no company.
UPDATE hits h
SET contact_id = %(survivor_id)s, origin_id = coalesce(h.origin_id, h.contact_id)
WHERE h.space_id = %(space_id)s AND h.contact_id = %(contact_id)s
  AND h.contact_id <> %(survivor_id)s;

-- name: restore_visits
UPDATE visits v
SET contact_id = %(contact_id)s, company_id = %(company_id)s,
    origin_id = nullif(v.origin_id, %(contact_id)s)
WHERE v.space_id = %(space_id)s AND v.contact_id = %(survivor_id)s
  AND v.origin_id = ANY(%(members)s::bigint[]);

-- name: restore_hits
UPDATE hits h
SET contact_id = %(contact_id)s, origin_id = nullif(h.origin_id, %(contact_id)s)
WHERE h.space_id = %(space_id)s AND h.contact_id = %(survivor_id)s
  AND h.origin_id = ANY(%(members)s::bigint[]);

-- name: divide_visits
-- The moved page views form new visits with the id of their first page view.
WITH stray AS (
    SELECT h.id, h.contact_id, h.origin_id, h.visit_id, h.occurred_at, v.device,
           h.occurred_at - lag(h.occurred_at) OVER run < interval '30 minutes' AS goes_on
    FROM hits h
    JOIN visits v ON v.space_id = %(space_id)s AND v.id = h.visit_id
    WHERE h.space_id = %(space_id)s AND h.contact_id IN (%(contact_id)s, %(survivor_id)s)
      AND v.contact_id <> h.contact_id
    WINDOW run AS (PARTITION BY h.contact_id, v.device ORDER BY h.occurred_at, h.id)
), numbered AS (
    SELECT s.*, count(*) FILTER (WHERE s.goes_on IS NOT true)
                OVER (PARTITION BY s.contact_id, s.device ORDER BY s.occurred_at, s.id) AS run
    FROM stray s
), divided AS (
    SELECT n.id, n.contact_id, n.device, n.occurred_at,
           first_value(n.id) OVER whole AS visit_id,
           first_value(n.origin_id) OVER whole AS origin_id
    FROM numbered n
    WINDOW whole AS (PARTITION BY n.contact_id, n.device, n.run ORDER BY n.occurred_at, n.id)
), made AS (
    INSERT INTO visits
        (space_id, id, contact_id, origin_id, company_id, device, started_at, last_hit_at)
    SELECT %(space_id)s, d.visit_id, d.contact_id, d.origin_id, c.company_id, d.device,
           min(d.occurred_at), max(d.occurred_at)
    FROM divided d
    JOIN contacts c ON c.space_id = %(space_id)s AND c.id = d.contact_id
    GROUP BY d.visit_id, d.contact_id, d.origin_id, c.company_id, d.device
)
UPDATE hits h SET visit_id = d.visit_id
FROM divided d
WHERE h.space_id = %(space_id)s AND h.id = d.id
RETURNING h.id;

-- name: bound_visits
-- End the reduced visits at their remaining page views.
UPDATE visits v SET started_at = left_over.first, last_hit_at = left_over.last
FROM (
    SELECT h.visit_id, min(h.occurred_at) AS first, max(h.occurred_at) AS last
    FROM hits h
    WHERE h.space_id = %(space_id)s AND h.contact_id IN (%(contact_id)s, %(survivor_id)s)
    GROUP BY h.visit_id
) left_over
WHERE v.space_id = %(space_id)s AND v.id = left_over.visit_id
  AND (v.started_at <> left_over.first OR v.last_hit_at <> left_over.last);

-- name: copy_origins_of_divided
-- To the visits of both contacts.
UPDATE visits v SET source_id = origin.source_id, tag_set_id = coalesce(origin.tag_set_id, 0)
FROM (
    SELECT w.id, beginning.source_id, beginning.tag_set_id
    FROM visits w
    LEFT JOIN LATERAL (
        SELECT h.source_id, h.tag_set_id FROM hits h
        WHERE h.space_id = %(space_id)s AND h.contact_id = w.contact_id
          AND h.occurred_at = w.started_at AND h.visit_id = w.id
        ORDER BY h.id
        LIMIT 1
    ) beginning ON true
    WHERE w.space_id = %(space_id)s AND w.contact_id IN (%(contact_id)s, %(survivor_id)s)
) origin
WHERE v.space_id = %(space_id)s AND v.id = origin.id
  AND (v.source_id, v.tag_set_id)
      IS DISTINCT FROM (origin.source_id, coalesce(origin.tag_set_id, 0));
