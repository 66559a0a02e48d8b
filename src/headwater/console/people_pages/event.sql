-- name: event
-- With its request and contact.
SELECT e.id, e.contact_id, e.company_id, e.event_name, e.event_time, e.received_at,
       trim_scale(e.amount) AS amount, coalesce(e.currency, s.currency) AS currency,
       e.currency IS NOT NULL AS has_own_currency, e.is_upsell, e.order_id, e.order_name,
       e.checkout_token, e.upsell_common_id, e.idempotency_key, e.company_external_id,
       e.event_url, e.user_agent, e.ip, e.do_not_capi, e.ad_user_data, e.ad_personalization,
       e.heard_about_us, e.self_reported_source,
       coalesce((SELECT array_agg(cookie ORDER BY cookie)
                 FROM jsonb_object_keys(e.cookies) cookie), '{}') AS cookies,
       coalesce(e.warnings, '{}') AS warnings, e.sender,
       k.name AS contact_name, k.email AS contact_email, c.name AS company_name
FROM events e
JOIN spaces s ON s.id = %(space_id)s
JOIN contacts k ON k.space_id = %(space_id)s AND k.id = e.contact_id
LEFT JOIN companies c ON c.space_id = %(space_id)s AND c.id = e.company_id
WHERE e.space_id = %(space_id)s AND e.id = %(event_id)s;

-- name: surroundings
-- For an event with an empty path: the touchpoints just before and after it, of its contact and company,
-- and whether a browser of the contact is known.
SELECT before.occurred_at AS before_at, before.source_id AS before_source,
       after.occurred_at AS after_at, after.source_id AS after_source,
       EXISTS (SELECT FROM touchpoints t
               WHERE t.space_id = %(space_id)s AND t.company_id = e.company_id
                 AND t.occurred_at <= e.event_time) AS company_touched,
       EXISTS (SELECT FROM contact_identifiers i
               WHERE i.space_id = %(space_id)s AND i.contact_id = e.contact_id
                 AND i.kind = 'trk_token') AS has_browser,
       EXISTS (SELECT FROM hits h
               WHERE h.space_id = %(space_id)s AND h.contact_id = e.contact_id
                 AND h.occurred_at <= e.event_time) AS has_page_views
FROM events e
LEFT JOIN LATERAL (
    SELECT t.occurred_at, t.source_id FROM touchpoints t
    WHERE t.space_id = %(space_id)s AND {owner} AND t.occurred_at <= e.event_time
    ORDER BY t.occurred_at DESC, t.id DESC LIMIT 1
) before ON true
LEFT JOIN LATERAL (
    SELECT t.occurred_at, t.source_id FROM touchpoints t
    WHERE t.space_id = %(space_id)s AND {owner} AND t.occurred_at > e.event_time
    ORDER BY t.occurred_at, t.id LIMIT 1
) after ON true
WHERE e.space_id = %(space_id)s AND e.id = %(event_id)s;

-- name: destinations
-- Including removed ones, and why they are on hold.
SELECT t.id, t.name, t.status, t.status_reason FROM destinations t
WHERE t.space_id = %(space_id)s AND t.id = ANY(%(ids)s::bigint[]);
