-- Rows of packed page views, whose form form.py knows. Whoever changes them holds the Space's
-- lock. {columns} are those of a ViewPack, times in µs since 1970.

-- name: columns
p.id, p.contact_id, p.origin_id, p.visit_id, p.last_id,
(extract(epoch FROM p.first_at) * 1000000)::bigint AS first_at,
(extract(epoch FROM p.last_at) * 1000000)::bigint AS last_at, p.body;

-- name: write
-- New rows.
INSERT INTO packed_hits
    (space_id, id, contact_id, origin_id, visit_id, last_id, first_at, last_at, body)
SELECT %(space_id)s, r.id, r.contact_id, r.origin_id, r.visit_id, r.last_id,
       'epoch'::timestamptz + r.first_at * interval '1 microsecond',
       'epoch'::timestamptz + r.last_at * interval '1 microsecond', decode(r.body, 'base64')
FROM json_to_recordset(%(packs)s::json)
     AS r (id bigint, contact_id bigint, origin_id bigint, visit_id bigint, last_id bigint,
           first_at bigint, last_at bigint, body text);

-- name: delete
-- Rows that were unpacked, or are too old.
DELETE FROM packed_hits p WHERE p.space_id = %(space_id)s AND p.id = ANY(%(ids)s::bigint[]);

-- name: first
-- The rows whose views arrived first, with the times of their first and last views.
SELECT p.id, (extract(epoch FROM p.first_at) * 1000000)::bigint,
       (extract(epoch FROM p.last_at) * 1000000)::bigint
FROM packed_hits p
WHERE p.space_id = %(space_id)s
ORDER BY p.id
LIMIT %(most)s;

-- name: edge_before
-- When the last of so many rows ends, counted back from those that end before a moment.
SELECT p.last_at FROM packed_hits p
WHERE p.space_id = %(space_id)s AND p.contact_id = %(contact_id)s AND p.last_at < %(moment)s
ORDER BY p.last_at DESC OFFSET %(most)s - 1 LIMIT 1;

-- name: edge_after
-- The same of rows that end after a moment, counted forward.
SELECT p.last_at FROM packed_hits p
WHERE p.space_id = %(space_id)s AND p.contact_id = %(contact_id)s AND p.last_at > %(moment)s
ORDER BY p.last_at OFFSET %(most)s - 1 LIMIT 1;

-- name: between
-- A contact's rows that end in a span.
SELECT {columns} FROM packed_hits p
WHERE p.space_id = %(space_id)s AND p.contact_id = %(contact_id)s
  AND p.last_at >= %(first)s AND p.last_at <= %(last)s;

-- name: around
-- Rows that may have the page view of a receipt.
SELECT {columns} FROM packed_hits p
WHERE p.space_id = %(space_id)s AND p.id <= %(id)s AND p.id > %(id)s::bigint - %(most_ids)s
  AND p.last_id >= %(id)s;

-- name: of_receipts
-- Rows that may have the page views of receipts: those of a contact, and of others that it was one
-- with for a time.
SELECT {columns}
FROM (
    SELECT %(contact_id)s::bigint AS id
    UNION
    SELECT CASE m.merged_id WHEN %(contact_id)s THEN m.survivor_id ELSE m.merged_id END
    FROM merges m
    WHERE m.space_id = %(space_id)s
      AND (m.merged_id = %(contact_id)s OR m.survivor_id = %(contact_id)s)
) kin
CROSS JOIN LATERAL (
    SELECT known.* FROM packed_hits known
    WHERE known.space_id = %(space_id)s AND known.contact_id = kin.id
    OFFSET 0
) p
WHERE (SELECT bool_or(wanted.id BETWEEN p.id AND p.last_id)
       FROM unnest(%(ids)s::bigint[]) AS wanted (id));

-- name: bodies_near
-- What contacts' rows hold that lie in spans.
SELECT known.body
FROM json_to_recordset(%(spans)s::json) AS s (contact_id bigint, first bigint, last bigint)
CROSS JOIN LATERAL (
    SELECT p.body FROM packed_hits p
    WHERE p.space_id = %(space_id)s AND p.contact_id = s.contact_id
      AND p.last_at >= 'epoch'::timestamptz + s.first * interval '1 microsecond'
      AND p.first_at <= 'epoch'::timestamptz + s.last * interval '1 microsecond'
    OFFSET 0
) known;

-- name: join
-- The page views of a visit that has become part of another.
UPDATE packed_hits p SET visit_id = %(into)s
WHERE p.space_id = %(space_id)s AND p.contact_id = %(contact_id)s AND p.visit_id = %(id)s
  AND p.last_at >= 'epoch'::timestamptz + %(first)s * interval '1 microsecond'
  AND p.last_at <= 'epoch'::timestamptz + %(last)s * interval '1 microsecond';

-- name: reassign
-- Page views follow their contact to its survivor.
UPDATE packed_hits p
SET contact_id = %(survivor_id)s, origin_id = coalesce(p.origin_id, p.contact_id)
WHERE p.space_id = %(space_id)s AND p.contact_id = %(contact_id)s
  AND p.contact_id <> %(survivor_id)s;

-- name: restore
-- Page views of a contact that is taken out of another go back to it; how many they are stands in
-- their rows.
UPDATE packed_hits p
SET contact_id = %(contact_id)s, origin_id = nullif(p.origin_id, %(contact_id)s)
WHERE p.space_id = %(space_id)s AND p.contact_id = %(survivor_id)s
  AND p.origin_id = ANY(%(members)s::bigint[])
RETURNING get_byte(p.body, 1);

-- name: stray
-- Rows of two contacts that were one, which are not where their visit is.
SELECT {columns} FROM packed_hits p
JOIN visits v ON v.space_id = %(space_id)s AND v.id = p.visit_id
WHERE p.space_id = %(space_id)s AND p.contact_id IN (%(contact_id)s, %(survivor_id)s)
  AND v.contact_id <> p.contact_id;
