-- name: pending
-- With their event (NULL once deleted) and the person's current data. An erasure counts from its request,
-- also under a contact merged since.
SELECT d.id, d.attempts, extract(epoch FROM d.queued_at)::float8 AS queued_at, d.dedup_id,
       e.id AS event_id, e.event_name, l.label AS configured_name,
       floor(extract(epoch FROM e.event_time) * 1000)::bigint AS event_time,
       e.amount, coalesce(e.currency, s.currency) AS currency, e.order_id, e.event_url AS url,
       e.ip, e.user_agent, e.cookies, coalesce(e.do_not_capi, false) AS do_not_capi,
       coalesce(e.ad_user_data, consent.given) AS ad_user_data,
       coalesce(e.ad_personalization, consent.given) AS ad_personalization,
       c.email, c.phone, c.name, parts.first_name, parts.last_name, c.city, c.state, c.country,
       s.phone_region,
       (SELECT i.value FROM contact_identifiers i
        WHERE i.space_id = %(space_id)s AND i.contact_id = e.contact_id AND i.kind = 'tracking_id'
        ORDER BY i.recency DESC LIMIT 1) AS external_id,
       EXISTS (SELECT FROM erasures r
               WHERE r.space_id = %(space_id)s AND r.receipt_mark >= e.id
                 AND r.contact_id = ANY(ARRAY(
                     SELECT e.contact_id UNION ALL
                     SELECT m.id FROM contacts m
                     WHERE m.space_id = %(space_id)s AND m.merged_into = e.contact_id))) AS erased
FROM ({deliveries}) d
JOIN spaces s ON s.id = %(space_id)s
CROSS JOIN LATERAL (
    SELECT CASE s.ad_consent WHEN 'granted' THEN true WHEN 'denied' THEN false END AS given
) consent
LEFT JOIN events e ON e.space_id = %(space_id)s AND e.id = d.event_id
LEFT JOIN contacts c ON c.space_id = %(space_id)s AND c.id = e.contact_id
LEFT JOIN LATERAL (
    SELECT i.first_name, i.last_name FROM contact_identifiers i
    WHERE i.space_id = %(space_id)s AND i.contact_id = c.id AND i.kind = 'name'
      AND i.value = c.name AND num_nonnulls(i.first_name, i.last_name) > 0
    ORDER BY i.recency DESC LIMIT 1
) parts ON true
LEFT JOIN event_labels l ON l.space_id = %(space_id)s AND l.event_name = e.event_name
ORDER BY d.id;

-- name: waiting
SELECT d.id, d.event_id, d.attempts, d.queued_at, d.dedup_id
FROM deliveries d
WHERE d.space_id = %(space_id)s AND d.destination_id = %(destination_id)s
  AND d.id = ANY(%(ids)s::bigint[]) AND d.status IN ('queued', 'retrying');

-- name: imagined
-- Events as if they were queued now, with the id that the platform may already know them by.
SELECT e.id, e.id AS event_id, 0 AS attempts, now() AS queued_at,
       coalesce(d.dedup_id, e.idempotency_key) AS dedup_id
FROM events e
LEFT JOIN deliveries d ON d.space_id = %(space_id)s AND d.event_id = e.id
    AND d.destination_id = %(destination_id)s
WHERE e.space_id = %(space_id)s AND e.id = ANY(%(ids)s::bigint[]);

-- name: clicks
SELECT c.event_id, t.id, floor(extract(epoch FROM t.occurred_at) * 1000)::bigint, t.source_id,
       t.url, t.cookies
FROM ({credited}) c
JOIN touchpoints t ON t.space_id = %(space_id)s AND t.id = c.touchpoint_id;
