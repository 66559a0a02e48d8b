-- name: shared_links
-- Every contact with one of these addresses: an address may be listed for several. A contact that
-- others were merged into has a row for each that brought the value; they count as one.
SELECT wanted.kind, wanted.value, i.contact_id,
       (extract(epoch FROM i.last_seen_at) * 1000000)::bigint AS last_seen, i.recency
FROM (SELECT 'email' AS kind, unnest(%(values)s::text[]) AS value) wanted
CROSS JOIN LATERAL (
    SELECT known.contact_id, max(known.last_seen_at) AS last_seen_at, max(known.recency) AS recency
    FROM contact_identifiers known
    WHERE known.space_id = %(space_id)s AND known.kind = 'email' AND known.value = wanted.value
    GROUP BY known.contact_id
    OFFSET 0
) i;

-- name: recent_links
-- The latest contacts of each other identifier. One belongs to the latest alone, and a weak one
-- listed for more than the limit finds nobody, so the rest need not be read.
SELECT wanted.kind, wanted.value, i.contact_id,
       (extract(epoch FROM i.last_seen_at) * 1000000)::bigint AS last_seen, i.recency
FROM json_to_recordset(%(keys)s::json) AS wanted (kind text, value text)
CROSS JOIN LATERAL (
    SELECT known.contact_id, max(known.last_seen_at) AS last_seen_at, max(known.recency) AS recency
    FROM contact_identifiers known
    WHERE known.space_id = %(space_id)s AND known.kind = wanted.kind AND known.value = wanted.value
    GROUP BY known.contact_id
    ORDER BY max(known.recency) DESC
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

-- name: write_links
-- Identifiers as the batch saw them, each under the contact it was seen on, be that merged by now.
-- Widening makes this safe to repeat and free of order.
INSERT INTO contact_identifiers AS i
    (space_id, kind, value, contact_id, origin_id, first_seen_at, last_seen_at, since, recency)
SELECT %(space_id)s, l.kind, l.value, coalesce(l.contact_id, l.origin_id), l.origin_id,
       'epoch'::timestamptz + l.first_seen * interval '1 microsecond',
       'epoch'::timestamptz + l.last_seen * interval '1 microsecond',
       coalesce(l.since, %(number)s), l.recency
FROM json_to_recordset(%(links)s::json)
     AS l (kind text, value text, contact_id bigint, origin_id bigint, first_seen bigint,
           last_seen bigint, since bigint, recency bigint)
ON CONFLICT (space_id, kind, value, origin_id) DO UPDATE
SET first_seen_at = least(i.first_seen_at, excluded.first_seen_at),
    last_seen_at = greatest(i.last_seen_at, excluded.last_seen_at),
    recency = greatest(i.recency, excluded.recency);

-- name: draw_contact_ids
-- Numbers for new contacts, in order.
SELECT nextval('contact_ids') FROM generate_series(1, %(count)s::int);

-- name: draw_merge_ids
-- Numbers for merges, in order, from the line that tells what came before them.
SELECT nextval('receipt_ids') FROM generate_series(1, %(count)s::int);
