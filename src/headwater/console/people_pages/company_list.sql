-- name: rows
-- In the order of the ids. Count at most %(most)s + 1 contacts of a company, and read as many of its latest events;
-- no revenue if these have several currencies, which are listed.
SELECT c.id, c.name, c.domain, c.external_id, people.contacts, sums.orders, sums.events, sums.last_event_at,
       CASE WHEN sums.currencies NOT LIKE '%%,%%' THEN sums.revenue END AS revenue, sums.currencies
FROM unnest(%(ids)s::bigint[]) WITH ORDINALITY AS listed (id, nth)
JOIN companies c ON c.space_id = %(space_id)s AND c.id = listed.id
CROSS JOIN LATERAL (
    SELECT count(*) AS contacts
    FROM (SELECT FROM contacts k
          WHERE k.space_id = %(space_id)s AND k.company_id = c.id AND k.merged_into IS NULL
          LIMIT %(most)s + 1) counted
) people
CROSS JOIN LATERAL (
    SELECT count(*) AS events, max(e.event_time) AS last_event_at,
           count(*) FILTER (WHERE is_order(e.event_name, e.is_upsell, e.amount)) AS orders,
           trim_scale(sum(e.amount) FILTER (WHERE e.event_name = ANY(%(sales)s::text[]))) AS revenue,
           coalesce(string_agg(DISTINCT e.currency, ', ') FILTER (
               WHERE e.event_name = ANY(%(sales)s::text[]) AND e.amount <> 0), '') AS currencies
    FROM (SELECT recent.event_name, recent.event_time, recent.amount, recent.is_upsell,
                 coalesce(recent.currency, s.currency) AS currency
          FROM events recent
          JOIN spaces s ON s.id = %(space_id)s
          WHERE recent.space_id = %(space_id)s AND recent.company_id = c.id
          ORDER BY recent.event_time DESC, recent.id DESC LIMIT %(most)s + 1) e
) sums
ORDER BY listed.nth;
