-- Joins in the pipeline's files: without exact statistics a planner would often read a whole Space to find a
-- few rows, which is ruinous for a huge one. So reads look up rows one by one, forced by LATERAL with OFFSET
-- 0, and rare updates are one short statement each.

-- name: find_by_key
-- By idempotency key or order, also of events that retention has deleted. The conditions match two unique
-- indexes of each.
SELECT k.event_name, k.key, e.id, e.by_browser
FROM (SELECT r.event_name, r.key, sha256(convert_to(r.key, 'UTF8')) AS digest
      FROM json_to_recordset(%(keys)s::json) AS r (event_name text, key text)) k
CROSS JOIN LATERAL (
    SELECT known.id, false AS by_browser
    FROM events known
    WHERE known.space_id = %(space_id)s AND known.event_name = k.event_name
      AND {key} AND known.sender IS DISTINCT FROM 'browser'
    UNION ALL
    SELECT known.id, true
    FROM events known
    WHERE known.space_id = %(space_id)s AND known.event_name = k.event_name
      AND {key} AND known.sender = 'browser'
    UNION ALL
    SELECT f.event_id, f.by_browser
    FROM forgotten_keys f
    WHERE f.space_id = %(space_id)s AND f.event_name = k.event_name AND f.kind = {kind}
      AND f.digest = k.digest
    OFFSET 0
) e;

-- name: is_order
known.order_id = k.key AND NOT known.is_upsell AND known.event_name <> 'upsell_purchase'

-- name: record_duplicates
INSERT INTO duplicates (space_id, id, reason, event_id, received_at, sender)
SELECT %(space_id)s, r.id, r.reason, r.event_id,
       'epoch'::timestamptz + r.received_at * interval '1 microsecond', r.sender
FROM json_to_recordset(%(duplicates)s::json)
     AS r (id bigint, reason text, event_id bigint, received_at bigint, sender text);

-- name: replace
-- Effects of replaced browser events on contacts and paths stay, and so does an answer that the replacement
-- lacks.
WITH gone AS (
    DELETE FROM events e
    WHERE e.space_id = %(space_id)s AND e.id = ANY(ARRAY(
        SELECT r.id FROM json_to_recordset(%(replaced)s::json) AS r (id bigint)))
    RETURNING e.id, e.received_at, e.sender, e.heard_about_us, e.self_reported_source
), answered AS (
    UPDATE events e
    SET heard_about_us = gone.heard_about_us, self_reported_source = gone.self_reported_source
    FROM gone
    JOIN json_to_recordset(%(replaced)s::json) AS r (id bigint, event_id bigint) ON r.id = gone.id
    WHERE e.space_id = %(space_id)s AND e.id = r.event_id AND e.heard_about_us IS NULL
      AND gone.self_reported_source IS NOT NULL
)
INSERT INTO duplicates (space_id, id, reason, event_id, received_at, sender)
SELECT %(space_id)s, gone.id, r.reason, r.event_id, gone.received_at, gone.sender
FROM gone
JOIN json_to_recordset(%(replaced)s::json) AS r (id bigint, event_id bigint, reason text)
    ON r.id = gone.id;

-- name: release_keys
UPDATE events e SET order_id = NULL, idempotency_key = NULL
WHERE e.space_id = %(space_id)s AND e.id = ANY(%(event_ids)s::bigint[]);

-- name: record
INSERT INTO events
    (space_id, id, contact_id, origin_id, company_id, event_name, event_time, received_at,
     event_url, cookies, self_reported_source, source_mask, warnings, sender, {columns})
SELECT %(space_id)s, r.id, r.contact_id, r.origin_id, r.company_id, r.event_name,
       'epoch'::timestamptz + r.event_time * interval '1 microsecond',
       'epoch'::timestamptz + r.received_at * interval '1 microsecond',
       r.event_url, r.cookies, r.self_reported_source, r.source_mask, r.warnings,
       coalesce(r.sender, 'api_key'), {values}
FROM json_to_recordset(%(events)s::json)
     AS r (id bigint, contact_id bigint, origin_id bigint, company_id bigint, event_name text,
           event_time bigint, received_at bigint, event_url text, cookies jsonb,
           self_reported_source text, source_mask bigint, warnings text[], sender text, {types});

-- name: note_currencies
INSERT INTO currency_days (space_id, currency, day)
SELECT %(space_id)s, r.currency, 'epoch'::date + r.day
FROM json_to_recordset(%(days)s::json) AS r (currency text, day int)
ON CONFLICT DO NOTHING;

-- name: find_later
-- Stored events after new touchpoints, without their sources. Each contact's events are read once, not once for
-- each source, because a contact may have thousands.
WITH touches AS MATERIALIZED (
    SELECT t.contact_id, t.source_mask, min(t.occurred_at) AS occurred_at
    FROM json_to_recordset(%(touches)s::json)
        AS t (contact_id bigint, occurred_at bigint, source_mask bigint)
    GROUP BY t.contact_id, t.source_mask
), owners AS MATERIALIZED (
    SELECT t.contact_id, min(t.occurred_at) AS first, bit_or(t.source_mask) AS source_mask
    FROM touches t
    GROUP BY t.contact_id
), later AS MATERIALIZED (
    SELECT o.contact_id, e.id, e.event_time, e.source_mask
    FROM owners o
    CROSS JOIN LATERAL (
        SELECT known.id, known.event_time, known.source_mask
        FROM events known
        WHERE known.space_id = %(space_id)s AND known.contact_id = o.contact_id
          AND known.event_time >= 'epoch'::timestamptz + o.first * interval '1 microsecond'
          AND known.source_mask & o.source_mask <> o.source_mask
        OFFSET 0
    ) e
)
SELECT later.id, bit_or(t.source_mask) AS source_mask
FROM later
JOIN touches t ON t.contact_id = later.contact_id
              AND 'epoch'::timestamptz + t.occurred_at * interval '1 microsecond' <= later.event_time
              AND later.source_mask & t.source_mask = 0
GROUP BY later.id;

-- name: add_sources
UPDATE events e SET source_mask = e.source_mask | r.source_mask
FROM json_to_recordset(%(sources)s::json) AS r (id bigint, source_mask bigint)
WHERE e.space_id = %(space_id)s AND e.id = r.id;

-- name: add_seen
UPDATE events e SET source_mask = e.source_mask | missing.source_mask
FROM ({rows}) missing
WHERE e.space_id = %(space_id)s AND e.id = missing.id;

-- name: reassign
-- To their contact's survivor or another company, with the updated path. Correct rows are skipped.
UPDATE events e
SET contact_id = %(survivor_id)s, company_id = %(company_id)s,
    source_mask = e.source_mask | %(source_mask)s,
    origin_id = CASE WHEN e.contact_id = %(survivor_id)s THEN e.origin_id
                     ELSE coalesce(e.origin_id, e.contact_id) END
WHERE e.space_id = %(space_id)s AND e.contact_id = %(contact_id)s
  AND (e.contact_id <> %(survivor_id)s OR e.company_id IS DISTINCT FROM %(company_id)s
       OR e.source_mask & %(source_mask)s::bigint <> %(source_mask)s::bigint);

-- name: restore
-- Return events to a split contact. Their source_mask stays: a superset of the exact one.
UPDATE events e
SET contact_id = %(contact_id)s, company_id = %(company_id)s,
    origin_id = nullif(e.origin_id, %(contact_id)s)
WHERE e.space_id = %(space_id)s AND e.contact_id = %(survivor_id)s
  AND e.origin_id = ANY(%(members)s::bigint[]);

-- name: answers
SELECT e.id, e.heard_about_us, e.self_reported_source
FROM events e
WHERE e.space_id = %(space_id)s AND e.id > %(after_id)s AND e.id <= %(until_id)s
  AND e.heard_about_us IS NOT NULL
ORDER BY e.id
LIMIT %(most)s;

-- name: write_answer_sources
UPDATE events e SET self_reported_source = r.source
FROM json_to_recordset(%(sources)s::json) AS r (id bigint, source text)
WHERE e.space_id = %(space_id)s AND e.id = r.id;

-- name: change_amount
UPDATE events e SET amount = %(amount)s, currency = %(currency)s
WHERE e.space_id = %(space_id)s AND e.id = %(id)s;

-- name: follow_order
-- A refund gets the contact and the names of its order, which may have replaced an order of another contact. It
-- keeps its time, money and sender. A contact has all sources of its events, so they can be added.
UPDATE events r
SET contact_id = o.contact_id, origin_id = o.origin_id, company_id = o.company_id, event_name = o.event_name,
    order_name = coalesce(o.order_name, o.order_id), do_not_capi = o.do_not_capi,
    source_mask = r.source_mask | c.source_mask
FROM events o
JOIN contacts c ON c.space_id = %(space_id)s AND c.id = o.contact_id
WHERE r.space_id = %(space_id)s AND r.id = %(id)s AND o.space_id = %(space_id)s AND o.id = %(order)s;

-- name: delete_several
DELETE FROM events e WHERE e.space_id = %(space_id)s AND e.id = ANY(%(event_ids)s::bigint[]);
