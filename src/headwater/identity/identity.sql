-- name: shared_links
-- Every contact with one of these addresses: an address may be listed for several.
SELECT i.kind, i.value, i.contact_id, i.recency,
       (extract(epoch FROM i.first_seen_at) * 1000000)::bigint AS first_seen,
       (extract(epoch FROM i.last_seen_at) * 1000000)::bigint AS last_seen
FROM unnest(%(values)s::text[]) AS wanted (value)
CROSS JOIN LATERAL (
    SELECT known.*
    FROM contact_identifiers known
    WHERE known.space_id = %(space_id)s AND known.kind = 'email' AND known.value = wanted.value
    OFFSET 0
) i;

-- name: recent_links
-- The latest contacts of each other identifier. One belongs to the latest alone, and a weak one
-- listed for more than the limit finds nobody, so the rest need not be read.
SELECT i.kind, i.value, i.contact_id, i.recency,
       (extract(epoch FROM i.first_seen_at) * 1000000)::bigint AS first_seen,
       (extract(epoch FROM i.last_seen_at) * 1000000)::bigint AS last_seen
FROM json_to_recordset(%(keys)s::json) AS wanted (kind text, value text)
CROSS JOIN LATERAL (
    SELECT known.*
    FROM contact_identifiers known
    WHERE known.space_id = %(space_id)s AND known.kind = wanted.kind AND known.value = wanted.value
    ORDER BY known.recency DESC
    LIMIT %(limit)s
) i;

-- name: move_links
-- Merging: the identifiers of a merged contact now count for the survivor.
UPDATE contact_identifiers i SET contact_id = %(survivor_id)s
WHERE i.space_id = %(space_id)s AND i.contact_id = %(merged_id)s;

-- name: flatten_merges
-- Merging: what had been merged into a merged contact now points straight at the survivor.
UPDATE contacts c SET merged_into = %(survivor_id)s
WHERE c.space_id = %(space_id)s AND c.merged_into = %(merged_id)s;

-- name: log_merges
-- Merging: one row per merge, in the order they happened.
INSERT INTO merges (space_id, merged_id, survivor_id, cause, receipt_id)
SELECT %(space_id)s, m.merged_id, m.survivor_id, m.cause, m.receipt_id
FROM ROWS FROM (
    json_to_recordset(%(merges)s::json)
        AS (merged_id bigint, survivor_id bigint, cause text, receipt_id bigint)
) WITH ORDINALITY AS m (merged_id, survivor_id, cause, receipt_id, position)
ORDER BY m.position;

-- name: write_links
-- Identifiers as the batch saw them. Widening makes this safe to repeat and free of order.
INSERT INTO contact_identifiers AS i
    (space_id, kind, value, contact_id, origin_id, first_seen_at, last_seen_at, since, recency)
SELECT %(space_id)s, l.kind, l.value, l.contact_id, l.contact_id,
       'epoch'::timestamptz + l.first_seen * interval '1 microsecond',
       'epoch'::timestamptz + l.last_seen * interval '1 microsecond',
       l.recency, l.recency
FROM json_to_recordset(%(links)s::json)
     AS l (kind text, value text, contact_id bigint, first_seen bigint, last_seen bigint,
           recency bigint)
ON CONFLICT (space_id, kind, value, origin_id) DO UPDATE
SET first_seen_at = least(i.first_seen_at, excluded.first_seen_at),
    last_seen_at = greatest(i.last_seen_at, excluded.last_seen_at),
    recency = greatest(i.recency, excluded.recency);

-- name: draw_contact_ids
-- Numbers for new contacts, in order.
SELECT nextval('contact_ids') FROM generate_series(1, %(count)s::int);
