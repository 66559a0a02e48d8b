-- name: find_by_idempotency_key
-- Stored events that later ones with the same name and key repeat.
SELECT k.event_name, k.key, e.id
FROM json_to_recordset(%(keys)s::json) AS k (event_name text, key text)
JOIN events e ON e.space_id = %(space_id)s AND e.event_name = k.event_name
             AND e.idempotency_key = k.key;

-- name: find_by_order
-- Stored orders, upsells left out exactly as the unique index leaves them out.
SELECT k.event_name, k.key, e.id
FROM json_to_recordset(%(keys)s::json) AS k (event_name text, key text)
JOIN events e ON e.space_id = %(space_id)s AND e.event_name = k.event_name AND e.order_id = k.key
             AND NOT e.is_upsell AND e.event_name <> 'upsell_purchase';

-- name: record_duplicates
-- Requests that were dropped, with the event each repeats.
INSERT INTO duplicates (space_id, id, reason, event_id, received_at)
SELECT %(space_id)s, r.id, r.reason, r.event_id,
       'epoch'::timestamptz + r.received_at * interval '1 microsecond'
FROM json_to_recordset(%(duplicates)s::json)
     AS r (id bigint, reason text, event_id bigint, received_at bigint);

-- name: record
-- New events.
INSERT INTO events
    (space_id, id, contact_id, company_id, event_name, event_time, amount, is_upsell, order_id,
     order_name, checkout_token, upsell_common_id, idempotency_key, company_external_id, event_url,
     user_agent, ip, do_not_capi, source_mask, warnings, received_at)
SELECT %(space_id)s, r.id, r.contact_id, r.company_id, r.event_name,
       'epoch'::timestamptz + r.event_time * interval '1 microsecond', r.amount,
       coalesce(r.is_upsell, false), r.order_id, r.order_name, r.checkout_token,
       r.upsell_common_id, r.idempotency_key, r.company_external_id, r.event_url, r.user_agent,
       r.ip, coalesce(r.do_not_capi, false), r.source_mask, r.warnings,
       'epoch'::timestamptz + r.received_at * interval '1 microsecond'
FROM json_to_recordset(%(events)s::json)
     AS r (id bigint, contact_id bigint, company_id bigint, event_name text, event_time bigint,
           amount numeric, is_upsell boolean, order_id text, order_name text, checkout_token text,
           upsell_common_id text, idempotency_key text, company_external_id text, event_url text,
           user_agent text, ip text, do_not_capi boolean, source_mask bigint, warnings text[],
           received_at bigint);

-- name: restamp
-- Events of contacts that were merged or changed company: their contact, its company and what its
-- path has become, in one statement.
UPDATE events e
SET contact_id = r.survivor_id, company_id = r.company_id,
    source_mask = e.source_mask | r.source_mask
FROM json_to_recordset(%(moves)s::json)
     AS r (contact_id bigint, survivor_id bigint, company_id bigint, source_mask bigint)
WHERE e.space_id = %(space_id)s AND e.contact_id = r.contact_id
  AND (e.contact_id <> r.survivor_id OR e.company_id IS DISTINCT FROM r.company_id
       OR e.source_mask & r.source_mask <> r.source_mask);

-- name: add_sources
-- Stored events that a new touchpoint precedes: its source is now on their path.
UPDATE events e
SET source_mask = e.source_mask | found.source_mask
FROM (
    SELECT later.id, bit_or(t.source_mask) AS source_mask
    FROM json_to_recordset(%(touches)s::json)
         AS t (contact_id bigint, occurred_at bigint, source_mask bigint)
    JOIN events later
      ON later.space_id = %(space_id)s AND later.contact_id = t.contact_id
     AND later.event_time >= 'epoch'::timestamptz + t.occurred_at * interval '1 microsecond'
     AND later.source_mask & t.source_mask = 0
    GROUP BY later.id
) found
WHERE e.space_id = %(space_id)s AND e.id = found.id;
