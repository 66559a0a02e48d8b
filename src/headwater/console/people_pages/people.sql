-- name: rows
-- In the order of the ids, with their last event and sales revenue; no revenue if there are more than %(most)s
-- events, or several currencies, which are listed.
SELECT k.id, k.name, k.email, k.phone, k.created_at, k.company_id, c.name AS company_name,
       last.event_id, last.event_name, last.event_time,
       CASE WHEN sums.events <= %(most)s AND sums.currencies NOT LIKE '%%,%%'
            THEN sums.revenue END AS revenue,
       sums.currencies,
       sums.events > %(most)s AS has_more_events
FROM unnest(%(ids)s::bigint[]) WITH ORDINALITY AS wanted (id, nth)
CROSS JOIN LATERAL (
    SELECT known.* FROM contacts known
    WHERE known.space_id = %(space_id)s AND known.id = wanted.id
    OFFSET 0
) k
LEFT JOIN companies c ON c.space_id = %(space_id)s AND c.id = k.company_id
LEFT JOIN LATERAL (
    SELECT e.id AS event_id, e.event_name, e.event_time FROM events e
    WHERE e.space_id = %(space_id)s AND e.contact_id = k.id
    ORDER BY e.event_time DESC LIMIT 1
) last ON true
CROSS JOIN LATERAL (
    SELECT count(*) AS events,
           trim_scale(sum(e.amount)
                      FILTER (WHERE e.event_name = ANY(%(sales)s::text[]))) AS revenue,
           coalesce(string_agg(DISTINCT e.currency, ', ') FILTER (
               WHERE e.event_name = ANY(%(sales)s::text[]) AND e.amount <> 0), '') AS currencies
    FROM (SELECT known.event_name, known.amount, coalesce(known.currency, s.currency) AS currency
          FROM events known
          JOIN spaces s ON s.id = %(space_id)s
          WHERE known.space_id = %(space_id)s AND known.contact_id = k.id
          ORDER BY known.event_time DESC LIMIT %(most)s + 1) e
) sums
ORDER BY wanted.nth;

-- name: exact
-- An identifier of any kind equals one of the values.
SELECT DISTINCT i.contact_id
FROM unnest(%(kinds)s::text[], %(values)s::text[]) AS wanted (kind, value)
CROSS JOIN LATERAL (
    SELECT known.contact_id FROM contact_identifiers known
    WHERE known.space_id = %(space_id)s AND known.kind = wanted.kind
      AND known.value = wanted.value
    LIMIT %(limit)s
) i
ORDER BY i.contact_id
LIMIT %(limit)s;

-- name: beginning
-- An identifier begins with one of the texts. Reads `limit` values per text from the index, so it may miss
-- some where the database doesn't sort by code point.
SELECT DISTINCT i.contact_id
FROM unnest(%(values)s::text[]) AS wanted (value)
CROSS JOIN LATERAL (
    SELECT known.contact_id FROM contact_identifiers known
    WHERE known.space_id = %(space_id)s AND known.kind = %(kind)s
      AND known.value >= wanted.value AND known.value < wanted.value || %(last_character)s
      AND starts_with(known.value, wanted.value)
    ORDER BY known.value
    LIMIT %(limit)s
) i
ORDER BY i.contact_id
LIMIT %(limit)s;

-- name: parts
-- A name contains one of the texts, among the latest %(most)s.
SELECT latest.id
FROM (
    SELECT known.id, known.name, known.created_at FROM contacts known
    WHERE known.space_id = %(space_id)s AND known.merged_into IS NULL
    ORDER BY known.created_at DESC, known.id DESC LIMIT %(most)s
) latest
WHERE EXISTS (SELECT FROM unnest(%(values)s::text[]) AS wanted (value)
              WHERE strpos(latest.name, wanted.value) > 0)
ORDER BY latest.created_at DESC, latest.id DESC
LIMIT %(limit)s;

-- name: by_id
-- Return the surviving contact of an id.
SELECT coalesce(c.merged_into, c.id) FROM contacts c
WHERE c.space_id = %(space_id)s AND c.id = ANY(%(ids)s::bigint[]);

-- name: companies
-- By domain prefix, by external id, or by part of the name among the latest %(most)s.
SELECT c.id, c.name, c.domain, c.external_id
FROM (
    (SELECT known.id FROM companies known
     WHERE known.space_id = %(space_id)s AND known.domain >= %(text)s
       AND known.domain < %(text)s || %(last_character)s AND starts_with(known.domain, %(text)s)
     ORDER BY known.domain LIMIT %(limit)s)
    UNION
    (SELECT known.id FROM companies known
     WHERE known.space_id = %(space_id)s AND known.external_id = %(written)s)
    UNION
    (SELECT latest.id FROM (
         SELECT known.id, known.name FROM companies known
         WHERE known.space_id = %(space_id)s
         ORDER BY known.created_at DESC, known.id DESC LIMIT %(most)s) latest
     WHERE strpos(lower(latest.name), %(text)s) > 0 LIMIT %(limit)s)
) matching
JOIN companies c ON c.space_id = %(space_id)s AND c.id = matching.id
ORDER BY c.name, c.id
LIMIT %(limit)s;

-- name: events
-- The events of an order, each with its number and currency.
SELECT e.id, e.event_name, e.event_time, coalesce(e.order_name, e.order_id) AS number, e.amount,
       coalesce(e.currency, s.currency) AS currency
FROM events e
JOIN spaces s ON s.id = %(space_id)s
WHERE e.space_id = %(space_id)s AND e.id = ANY(%(ids)s::bigint[])
ORDER BY e.id;
