-- name: pending
-- Deliveries with their event and the person's current data. Of a deleted event, only a correction has what is
-- kept of it; all NULL if nothing is. An erasure counts from its request, also under a contact merged since.
-- OFFSET 0 makes the planner look rows up one by one: without statistics it would read all of the Space for each.
SELECT d.id, d.kind, d.attempts, extract(epoch FROM d.queued_at)::float8 AS queued_at, d.dedup_id,
       CASE WHEN v.event_name IS NOT NULL THEN d.event_id END AS event_id, v.event_name,
       l.label AS configured_name, floor(extract(epoch FROM v.event_time) * 1000)::bigint AS event_time,
       e.amount, coalesce(e.currency, s.currency) AS currency, e.order_id, e.event_url AS url,
       e.ip, e.user_agent, e.cookies, coalesce(e.do_not_capi, false) AS do_not_capi,
       coalesce(v.ad_user_data, consent.given) AS ad_user_data,
       coalesce(v.ad_personalization, consent.given) AS ad_personalization,
       c.email, c.phone, c.name, parts.first_name, parts.last_name, c.city, c.state, c.country,
       s.phone_region,
       (SELECT i.value FROM contact_identifiers i
        WHERE i.space_id = %(space_id)s AND i.contact_id = v.contact_id AND i.kind = 'tracking_id'
        ORDER BY i.recency DESC LIMIT 1) AS external_id,
       d.touchpoint_id, d.first_attempt,
       EXISTS (SELECT FROM erasures r
               WHERE r.space_id = %(space_id)s AND r.receipt_mark >= d.event_id
                 AND r.contact_id = ANY(ARRAY(
                     SELECT v.contact_id UNION ALL
                     SELECT m.id FROM contacts m
                     WHERE m.space_id = %(space_id)s AND m.merged_into = v.contact_id))) AS erased
FROM ({deliveries}) d
JOIN spaces s ON s.id = %(space_id)s
CROSS JOIN LATERAL (
    SELECT CASE s.ad_consent WHEN 'granted' THEN true WHEN 'denied' THEN false END AS given
) consent
LEFT JOIN LATERAL (
    SELECT * FROM events e
    WHERE e.space_id = %(space_id)s AND e.id = d.event_id OFFSET 0
) e ON true
LEFT JOIN LATERAL (
    SELECT o.former_event FROM deliveries o
    WHERE d.kind = 'correction' AND e.id IS NULL AND o.space_id = %(space_id)s AND o.event_id = d.event_id
      AND o.destination_id = d.destination_id AND o.kind = 'conversion' OFFSET 0
) o ON true
LEFT JOIN LATERAL jsonb_to_record(o.former_event)
     AS f (contact_id bigint, event_name text, event_time timestamptz,
           ad_user_data boolean, ad_personalization boolean) ON true
LEFT JOIN LATERAL (
    SELECT c.id, c.merged_into FROM contacts c
    WHERE c.space_id = %(space_id)s AND c.id = f.contact_id OFFSET 0
) owner ON true
CROSS JOIN LATERAL (
    SELECT coalesce(e.contact_id, owner.merged_into, owner.id) AS contact_id,
           coalesce(e.event_name, f.event_name) AS event_name, coalesce(e.event_time, f.event_time) AS event_time,
           CASE WHEN e.id IS NULL THEN f.ad_user_data ELSE e.ad_user_data END AS ad_user_data,
           CASE WHEN e.id IS NULL THEN f.ad_personalization ELSE e.ad_personalization END AS ad_personalization
) v
LEFT JOIN LATERAL (
    SELECT * FROM contacts c WHERE c.space_id = %(space_id)s AND c.id = v.contact_id OFFSET 0
) c ON true
LEFT JOIN LATERAL (
    SELECT i.first_name, i.last_name FROM contact_identifiers i
    WHERE i.space_id = %(space_id)s AND i.contact_id = c.id AND i.kind = 'name'
      AND i.value = c.name AND num_nonnulls(i.first_name, i.last_name) > 0
    ORDER BY i.recency DESC LIMIT 1
) parts ON true
LEFT JOIN event_labels l ON l.space_id = %(space_id)s AND l.event_name = v.event_name
ORDER BY d.id;

-- name: waiting
SELECT d.id, d.event_id, d.destination_id, d.kind, d.attempts, d.queued_at, d.dedup_id,
       d.touchpoint_id, d.first_attempt::text
FROM deliveries d
WHERE d.space_id = %(space_id)s AND d.destination_id = %(destination_id)s
  AND d.id = ANY(%(ids)s::bigint[]) AND d.status IN ('queued', 'retrying');

-- name: imagined
-- Events as if they were queued now, with the id that the platform may already know them by.
SELECT e.id, e.id AS event_id, %(destination_id)s::bigint AS destination_id, 'conversion' AS kind, 0 AS attempts, now() AS queued_at,
       coalesce(d.dedup_id, e.idempotency_key) AS dedup_id, d.touchpoint_id, d.first_attempt::text
FROM events e
LEFT JOIN deliveries d ON d.space_id = %(space_id)s AND d.event_id = e.id
    AND d.destination_id = %(destination_id)s AND d.kind = 'conversion'
WHERE e.space_id = %(space_id)s AND e.id = ANY(%(ids)s::bigint[]);

-- name: clicks
-- The credited touchpoint of each conversion.
SELECT c.event_id, t.id, floor(extract(epoch FROM t.occurred_at) * 1000)::bigint, t.source_id,
       t.url, t.cookies
FROM ({credited}) c
JOIN touchpoints t ON t.space_id = %(space_id)s AND t.id = c.touchpoint_id;

-- name: sent_clicks
-- The touchpoints that corrections and later attempts repeat, or that credit is for.
SELECT t.id, t.id, floor(extract(epoch FROM t.occurred_at) * 1000)::bigint, t.source_id, t.url, t.cookies
FROM touchpoints t
WHERE t.space_id = %(space_id)s AND t.id = ANY(%(touchpoint_ids)s::bigint[]);
