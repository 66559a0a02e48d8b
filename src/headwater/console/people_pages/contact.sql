-- name: contact
-- Columns that the API doesn't show: creation, company, device and the first touchpoint's source.
SELECT k.id, k.created_at, k.name, k.email, k.company_id, c.name AS company_name, k.city, k.state,
       k.country, k.device_type, k.os, k.browser, k.language, first.source_id AS first_source,
       first.occurred_at AS first_touch_at
FROM contacts k
LEFT JOIN companies c ON c.space_id = %(space_id)s AND c.id = k.company_id
LEFT JOIN LATERAL (
    SELECT t.source_id, t.occurred_at FROM touchpoints t
    WHERE t.space_id = %(space_id)s AND t.contact_id = k.id
    ORDER BY t.occurred_at, t.id LIMIT 1
) first ON true
WHERE k.space_id = %(space_id)s AND k.id = %(contact_id)s;

-- name: totals
-- Sum the sales of a contact's or a company's latest %(most)s events, and count these and one more; no revenue if
-- they have several currencies.
SELECT count(*) AS events,
       CASE WHEN count(DISTINCT e.currency) FILTER (WHERE e.is_sale AND e.amount <> 0) < 2
            THEN trim_scale(sum(e.amount) FILTER (WHERE e.is_sale))
       END AS revenue,
       coalesce(string_agg(DISTINCT e.currency, ', ') FILTER (WHERE e.is_sale AND e.amount <> 0), '') AS currencies
FROM (
    SELECT e.amount, coalesce(e.currency, s.currency) AS currency,
           e.event_name = ANY(%(sales)s::text[])
               AND row_number() OVER (ORDER BY e.event_time DESC, e.id DESC) <= %(most)s AS is_sale
    FROM events e
    JOIN spaces s ON s.id = %(space_id)s
    WHERE e.space_id = %(space_id)s AND e.{owner} = %(owner_id)s
    ORDER BY e.event_time DESC, e.id DESC LIMIT %(most)s + 1
) e;

-- name: identifiers
-- Most recent first within a kind, with the event, touchpoint or page view whose receipt brought them last.
SELECT i.kind, i.value, i.first_seen_at, i.last_seen_at, i.recency, e.id AS event_id, e.event_name,
       coalesce(e.sender, t.sender, CASE WHEN h.id IS NOT NULL THEN 'browser' END) AS sender
FROM (
    SELECT i.kind, i.value, min(i.first_seen_at) AS first_seen_at,
           max(i.last_seen_at) AS last_seen_at, max(i.recency) AS recency
    FROM (SELECT * FROM contact_identifiers known
          WHERE known.space_id = %(space_id)s AND known.contact_id = %(contact_id)s
            AND known.kind <> 'former_email'
          LIMIT %(most)s) i
    GROUP BY i.kind, i.value
) i
LEFT JOIN events e ON e.space_id = %(space_id)s AND e.id = i.recency
LEFT JOIN touchpoints t ON t.space_id = %(space_id)s AND t.id = i.recency
LEFT JOIN hits h ON h.space_id = %(space_id)s AND h.id = i.recency
ORDER BY array_position(ARRAY['email', 'name', 'phone', 'tracking_id', 'location', 'trk_token',
                              'fingerprint'], i.kind), i.recency DESC;

-- name: erasures
-- Also for contacts merged into it, latest first.
SELECT e.id, e.requested_at, e.attempts, e.last_error, e.erased_at
FROM erasures e
WHERE e.space_id = %(space_id)s
  AND e.contact_id = ANY(ARRAY(
      SELECT c.id FROM contacts c
      WHERE c.space_id = %(space_id)s AND (c.id = %(contact_id)s OR c.merged_into = %(contact_id)s)
      LIMIT %(most)s))
ORDER BY e.id DESC
LIMIT 1;
