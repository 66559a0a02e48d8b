-- name: company
-- One company.
SELECT c.id, c.name, c.domain, c.external_id, c.created_at
FROM companies c
WHERE c.space_id = %(space_id)s AND c.id = %(company_id)s;

-- name: contacts
-- A page of a company's contacts, by their ids from one on.
SELECT k.id
FROM contacts k
WHERE k.space_id = %(space_id)s AND k.company_id = %(company_id)s AND k.merged_into IS NULL
  AND k.id > %(after_id)s
ORDER BY k.id
LIMIT %(limit)s;

-- name: totals
-- The number of a company's contacts and of its events, and the revenue of its sales, counted as far
-- as %(most)s, the latest events first.
SELECT (SELECT count(*) FROM (
            SELECT FROM contacts k
            WHERE k.space_id = %(space_id)s AND k.company_id = %(company_id)s
              AND k.merged_into IS NULL
            LIMIT %(most)s) counted) AS contacts,
       count(*) AS events,
       trim_scale(sum(e.amount) FILTER (WHERE e.event_name = ANY(%(sales)s::text[]))) AS revenue
FROM (
    SELECT e.event_name, e.amount FROM events e
    WHERE e.space_id = %(space_id)s AND e.company_id = %(company_id)s
    ORDER BY e.event_time DESC, e.id DESC LIMIT %(most)s
) e;
