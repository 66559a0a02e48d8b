-- The erasure of a contact and all contacts merged into it (the group). {cleared} and {held} are the personal
-- columns in columns.txt.

-- name: group
WITH survivor AS (
    SELECT coalesce(c.merged_into, c.id) AS id FROM contacts c
    WHERE c.space_id = %(space_id)s AND c.id = %(contact_id)s
)
SELECT survivor.id FROM survivor
UNION ALL
SELECT merged.id FROM survivor
JOIN contacts merged ON merged.space_id = %(space_id)s AND merged.merged_into = survivor.id;

-- name: identifiers
-- A former address still counts, unless another contact has it now. Short phones would be found in any text.
SELECT DISTINCT CASE i.kind WHEN 'former_email' THEN 'email' ELSE i.kind END, i.value
FROM contact_identifiers i
WHERE i.space_id = %(space_id)s AND i.contact_id = ANY(%(group)s::bigint[])
  AND (i.kind IN ('email', 'tracking_id', 'trk_token', 'fingerprint')
       OR i.kind = 'phone' AND length(regexp_replace(i.value, '\D', '', 'g')) >= 7
       OR i.kind = 'former_email' AND NOT EXISTS (
        SELECT FROM contact_identifiers now
        WHERE now.space_id = %(space_id)s AND now.kind = 'email' AND now.value = i.value));

-- name: withdraw_uploads
-- Uploads whose import has not begun may contain the person.
UPDATE import_jobs x
SET status = 'failed', error = %(withdrawn_upload)s, ended_at = now(), taken = 0, lease = NULL,
    leased_until = NULL
WHERE x.space_id = %(space_id)s AND x.status IN ('uploading', 'uploaded', 'checking', 'checked');

-- name: imports_under_way
-- Running imports continue without the person, whose rows are recognized by hashes, deleted with the import.
-- Locking the jobs waits for rows being stored.
SELECT x.id, x.file FROM import_jobs x
WHERE x.space_id = %(space_id)s AND x.status IN ('queued', 'running')
ORDER BY x.id
FOR NO KEY UPDATE;

-- name: bar_from_import
UPDATE import_jobs x SET erased = x.erased || %(hashes)s::bytea[]
WHERE x.space_id = %(space_id)s AND x.id = %(import_id)s;

-- name: refused_rows
SELECT r.import_id, r.row, r.reason, r.cells FROM refused_rows r
WHERE r.space_id = %(space_id)s;

-- name: delete_refused_row
DELETE FROM refused_rows r
WHERE r.space_id = %(space_id)s AND r.import_id = %(import_id)s AND r.row = %(row)s;

-- name: payloads
SELECT q.id, q.kind, q.payload FROM {queue} q WHERE q.space_id = %(space_id)s;

-- name: redact
UPDATE {queue} q SET payload = %(payload)s WHERE q.space_id = %(space_id)s AND q.id = %(id)s;

-- name: deliveries
-- Deliveries that became or repeated an event of the group, or report on the money of their orders, and their
-- whole text.
WITH theirs AS MATERIALIZED (
    SELECT e.id, e.order_id FROM events e
    WHERE e.space_id = %(space_id)s AND e.contact_id = ANY(%(group)s::bigint[])
), refunded AS MATERIALIZED (
    SELECT coalesce(o.main_id, o.order_id) AS order_id
    FROM theirs
    JOIN order_refunds o ON o.space_id = %(space_id)s AND o.order_id = theirs.order_id
), reported AS MATERIALIZED (
    SELECT (r.report -> 'receipt')::bigint AS receipt_id
    FROM refunded
    JOIN order_refunds m ON m.space_id = %(space_id)s AND m.order_id = refunded.order_id
    CROSS JOIN LATERAL jsonb_array_elements(m.reports) AS r (report)
)
SELECT d.id,
       coalesce(coalesce(u.event_id, d.receipt_id) IN (SELECT theirs.id FROM theirs)
                OR d.receipt_id IN (SELECT reported.receipt_id FROM reported), false),
       ARRAY[coalesce(d.body, ''), d.headers::text, d.detail, coalesce(d.dedup_key, '')]
FROM webhook_deliveries d
LEFT JOIN duplicates u ON u.space_id = %(space_id)s AND u.id = d.receipt_id
WHERE d.space_id = %(space_id)s;

-- name: delete_deliveries
DELETE FROM webhook_deliveries d
WHERE d.space_id = %(space_id)s AND d.id = ANY(%(ids)s::bigint[]);

-- name: delete_rows
-- Such as identifiers (former addresses too), page views and visits.
DELETE FROM {table} r WHERE r.space_id = %(space_id)s AND r.contact_id = ANY(%(group)s::bigint[]);

-- name: clear_contacts
-- The rows, their ages, company and merges stay.
UPDATE contacts c SET {cleared}
WHERE c.space_id = %(space_id)s AND c.id = ANY(%(group)s::bigint[]);

-- name: clear_rows
-- Events, and the browser data of touchpoints.
UPDATE {table} r SET {cleared}
WHERE r.space_id = %(space_id)s AND r.contact_id = ANY(%(group)s::bigint[])
  AND num_nonnulls({held}) > 0;

-- name: clear_attempts
-- The ad platforms' responses.
UPDATE delivery_attempts a SET {cleared}
FROM deliveries d, events e
WHERE a.space_id = %(space_id)s AND d.space_id = %(space_id)s AND e.space_id = %(space_id)s
  AND a.delivery_id = d.id AND d.event_id = e.id AND e.contact_id = ANY(%(group)s::bigint[])
  AND num_nonnulls({held}) > 0;

-- name: clear_deliveries
-- Data sent to platforms, and their last response.
UPDATE deliveries d SET {cleared}
FROM events e
WHERE d.space_id = %(space_id)s AND e.space_id = %(space_id)s AND d.event_id = e.id
  AND e.contact_id = ANY(%(group)s::bigint[]) AND num_nonnulls({held}) > 0;

-- name: delete_clicks
DELETE FROM clicks c
USING visits v
WHERE c.space_id = %(space_id)s AND v.space_id = %(space_id)s AND c.device = v.device
  AND v.contact_id = ANY(%(group)s::bigint[]);

-- name: withdrawn_tag_sets
-- Tag sets of pages that they opened without a remaining touchpoint: withdrawn ones may have left theirs.
-- The condition on page_view_upkeep is evaluated once, so touchpoints are read only where it holds.
-- If old page views were deleted, any tag set without a touchpoint may be one.
SELECT g.id
FROM tag_sets g
WHERE g.space_id = %(space_id)s AND g.landing_page IN (
    SELECT left(split_part(split_part(h.url, '?', 1), '#', 1), 2048)
    FROM hits h
    LEFT JOIN touchpoints made ON made.space_id = %(space_id)s AND made.id = h.id
    WHERE h.space_id = %(space_id)s AND h.contact_id = ANY(%(group)s::bigint[])
      AND h.touch IS NOT NULL AND made.id IS NULL)
UNION
SELECT g.id
FROM tag_sets g
WHERE g.space_id = %(space_id)s
  AND EXISTS (SELECT FROM page_view_upkeep k
              WHERE k.space_id = %(space_id)s AND k.forgotten_before IS NOT NULL)
  AND NOT EXISTS (SELECT FROM touchpoints t
                  WHERE t.space_id = %(space_id)s AND t.tag_set_id = g.id);

-- name: delete_tag_sets
-- Only those without a touchpoint or a page view. This reads all of the Space, in indexes.
DELETE FROM tag_sets g
WHERE g.space_id = %(space_id)s AND g.id = ANY(%(ids)s::int[])
  AND NOT EXISTS (SELECT FROM touchpoints t
                  WHERE t.space_id = %(space_id)s AND t.tag_set_id = g.id)
  AND NOT EXISTS (SELECT FROM hits h
                  WHERE h.space_id = %(space_id)s AND h.touch IS NOT NULL AND h.tag_set_id = g.id)
RETURNING g.id;

-- name: withdraw_exports
-- Withdraw exports that contain the person, even in the line of a former contact: of contacts, and of events
-- with answers about how they heard of the business. The file of a finished one is removed. A running one is
-- restarted by revoking its lease, but only once; a waiting one is only locked until the commit. The files of
-- a schedule are written again, also those that a failed run has left as they were.
WITH RECURSIVE shown AS (
    SELECT unnest(%(group)s::bigint[]) AS id
    UNION
    SELECT m.survivor_id FROM shown
    JOIN merges m ON m.space_id = %(space_id)s AND m.merged_id = shown.id
)
UPDATE exports x
SET status = CASE WHEN x.status = 'completed' AND x.schedule_id IS NULL THEN 'failed'
                  ELSE 'queued' END,
    error = CASE WHEN x.status = 'completed' AND x.schedule_id IS NULL THEN %(withdrawn)s
                 ELSE x.error END,
    attempts = CASE WHEN x.status IN ('completed', 'failed') THEN 0
                    WHEN x.status = 'processing' THEN x.attempts - 1
                    ELSE x.attempts END,
    was_withdrawn = x.was_withdrawn OR x.status = 'processing',
    lease = NULL, leased_until = now(), retry_at = now()
WHERE x.space_id = %(space_id)s
  AND (x.status <> 'failed' OR x.schedule_id IS NOT NULL AND x.part_rows IS NOT NULL)
  AND CASE
    WHEN x.kind = 'contacts' THEN EXISTS (
        SELECT FROM contacts c
        WHERE c.space_id = %(space_id)s AND c.id IN (SELECT shown.id FROM shown)
          AND c.created_at >= x.range_start AND c.created_at < x.range_end)
    WHEN x.kind = 'events' AND strpos(x.request::text, 'heard_about_us') > 0 THEN EXISTS (
        SELECT FROM events e
        WHERE e.space_id = %(space_id)s AND e.contact_id IN (SELECT shown.id FROM shown)
          AND e.event_time >= x.range_start AND e.event_time < x.range_end)
    ELSE false
  END;
