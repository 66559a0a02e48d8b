-- name: start
-- Start a test in place of the previous one. Everything accepted so far has a lower receipt number.
INSERT INTO site_tests AS t (space_id, site_id, url, click_id, receipt_mark, started_at)
VALUES (%(space_id)s, %(site_id)s, %(url)s, %(click_id)s, nextval('receipt_ids'), now())
ON CONFLICT (space_id, site_id) DO UPDATE
SET url = excluded.url, click_id = excluded.click_id, started_at = excluded.started_at,
    receipt_mark = excluded.receipt_mark, probe = NULL;

-- name: write_probe
UPDATE site_tests SET probe = %(probe)s
WHERE space_id = %(space_id)s AND site_id = %(site_id)s AND click_id = %(click_id)s;

-- name: fetch
SELECT url, click_id, started_at, receipt_mark, probe FROM site_tests
WHERE space_id = %(space_id)s AND site_id = %(site_id)s;

-- name: visitor
-- The site's page views since the test began, among the first %(most)s: with and without the test's click id,
-- and contacts.
SELECT count(*) FILTER (WHERE of_site.is_clicked) AS clicked,
       count(*) FILTER (WHERE NOT of_site.is_clicked) AS others,
       coalesce(array_agg(DISTINCT of_site.contact_id) FILTER (WHERE of_site.is_clicked), '{}')
           AS clicked_contacts,
       coalesce(array_agg(DISTINCT of_site.contact_id) FILTER (WHERE NOT of_site.is_clicked), '{}')
           AS other_contacts
FROM (SELECT h.contact_id, position(%(click_id)s IN h.url) > 0 AS is_clicked
      FROM (SELECT l.contact_id, l.url FROM hits l
            WHERE l.space_id = %(space_id)s AND l.id > %(receipt_mark)s
            ORDER BY l.id LIMIT %(most)s) h
      WHERE h.url LIKE ANY(%(patterns)s::text[])) of_site;

-- name: known
-- Whether these contacts identified themselves since the test began, and whether their browsers keep the
-- token.
SELECT coalesce(bool_or(i.kind IN ('email', 'tracking_id', 'phone')), false) AS is_identified,
       coalesce(bool_or(i.kind = 'trk_token'), false) AS has_token
FROM contact_identifiers i
WHERE i.space_id = %(space_id)s AND i.contact_id = ANY(%(contacts)s::bigint[])
  AND i.recency > %(receipt_mark)s;

-- name: orders
-- Orders since the test began, among the first %(most)s events, without imports.
SELECT e.id AS event_id, e.order_id, e.sender,
       EXISTS (SELECT FROM hits h
               WHERE h.space_id = %(space_id)s AND h.contact_id = e.contact_id) AS has_visit,
       e.contact_id = ANY(%(contacts)s::bigint[]) AS is_of_test, e.event_time, e.received_at
FROM (SELECT l.id, l.order_id, l.sender, l.contact_id, l.event_time, l.received_at, l.event_name,
             l.is_upsell, l.amount
      FROM events l
      WHERE l.space_id = %(space_id)s AND l.id > %(receipt_mark)s
      ORDER BY l.id LIMIT %(most)s) e
WHERE is_order(e.event_name, e.is_upsell, e.amount) AND e.sender IS DISTINCT FROM 'import'
ORDER BY e.id
LIMIT %(most_orders)s;

-- name: repeated
-- Orders whose number came before the test. One report by the page and one by the server are expected.
SELECT e.order_id, e.id AS event_id
FROM (SELECT l.id, l.event_id, l.sender FROM duplicates l
      WHERE l.space_id = %(space_id)s AND l.id > %(receipt_mark)s AND l.reason = 'order_id'
      ORDER BY l.id LIMIT %(most_orders)s) d
JOIN events e ON e.space_id = %(space_id)s AND e.id = d.event_id
WHERE (d.sender IS NOT DISTINCT FROM 'browser') = (e.sender IS NOT DISTINCT FROM 'browser')
ORDER BY d.id;

-- name: waiting
-- The age of the oldest unprocessed request, in seconds.
SELECT coalesce(extract(epoch FROM now() - i.received_at), 0)::float8
FROM (SELECT min(w.received_at) AS received_at
      FROM (SELECT l.received_at FROM inbox l
            WHERE l.space_id = %(space_id)s ORDER BY l.id LIMIT 1) w) i;
