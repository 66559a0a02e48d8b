-- name: company
SELECT c.id, c.name, c.domain, c.external_id, c.created_at
FROM companies c
WHERE c.space_id = %(space_id)s AND c.id = %(company_id)s;

-- name: contacts
-- By id.
SELECT k.id
FROM contacts k
WHERE k.space_id = %(space_id)s AND k.company_id = %(company_id)s AND k.merged_into IS NULL
  AND k.id > %(after_id)s
ORDER BY k.id
LIMIT %(limit)s;

-- name: totals
-- Sum the sales of the latest %(most)s events, and count these and one more, like contacts; no revenue if they
-- have several currencies.
SELECT (SELECT count(*) FROM (
            SELECT FROM contacts k
            WHERE k.space_id = %(space_id)s AND k.company_id = %(company_id)s
              AND k.merged_into IS NULL
            LIMIT %(most)s + 1) counted) AS contacts,
       count(*) AS events,
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
    WHERE e.space_id = %(space_id)s AND e.company_id = %(company_id)s
    ORDER BY e.event_time DESC, e.id DESC LIMIT %(most)s + 1
) e;
