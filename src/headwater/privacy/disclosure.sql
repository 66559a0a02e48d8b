-- What is stored about a contact and all contacts merged into it (the group): a JSON object for each row, without
-- empty and `internal` columns; at most `most`, NULL for all.

-- name: contacts
SELECT jsonb_strip_nulls(to_jsonb(c) - %(internal)s::text[])::text FROM contacts c
WHERE c.space_id = %(space_id)s AND c.id = ANY(%(group)s::bigint[])
ORDER BY c.id
LIMIT %(most)s::int;

-- name: merges
-- Not those that were undone: the other contact is another person.
SELECT jsonb_strip_nulls(to_jsonb(m) - %(internal)s::text[])::text FROM merges m
WHERE m.space_id = %(space_id)s AND m.undone_at IS NULL
  AND m.merged_id = ANY(%(group)s::bigint[]) AND m.survivor_id = ANY(%(group)s::bigint[])
ORDER BY m.id
LIMIT %(most)s::int;

-- name: rows
SELECT jsonb_strip_nulls(to_jsonb(r) - %(internal)s::text[])::text FROM {table} r
WHERE r.space_id = %(space_id)s AND r.contact_id = ANY(%(group)s::bigint[])
ORDER BY {order}
LIMIT %(most)s::int;

-- name: rows_with_source
-- Also with the campaign, keyword and landing page of their tag set.
SELECT jsonb_strip_nulls(
    coalesce(to_jsonb(g) - %(internal)s::text[] - 'id', '{{}}') || (to_jsonb(r) - %(internal)s::text[])
    || jsonb_build_object('source', %(sources)s::jsonb ->> r.source_id::text)
)::text
FROM {table} r
LEFT JOIN tag_sets g ON g.space_id = %(space_id)s AND g.id = r.tag_set_id
WHERE r.space_id = %(space_id)s AND r.contact_id = ANY(%(group)s::bigint[])
ORDER BY {order}
LIMIT %(most)s::int;

-- name: clicks
SELECT jsonb_strip_nulls(to_jsonb(c) - %(internal)s::text[])::text FROM clicks c
WHERE c.space_id = %(space_id)s AND c.device IN (
    SELECT v.device FROM visits v
    WHERE v.space_id = %(space_id)s AND v.contact_id = ANY(%(group)s::bigint[]))
ORDER BY c.first_seen_at, c.click
LIMIT %(most)s::int;

-- name: deliveries
SELECT jsonb_strip_nulls(
    (to_jsonb(d) - %(internal)s::text[])
    || jsonb_build_object('platform', p.platform, 'destination', p.name)
)::text
FROM deliveries d
JOIN events e ON e.space_id = %(space_id)s AND e.id = d.event_id
JOIN destinations p ON p.space_id = %(space_id)s AND p.id = d.destination_id
WHERE d.space_id = %(space_id)s AND e.contact_id = ANY(%(group)s::bigint[])
ORDER BY d.id
LIMIT %(most)s::int;

-- name: attempts
SELECT jsonb_strip_nulls(to_jsonb(a) - %(internal)s::text[])::text FROM delivery_attempts a
JOIN deliveries d ON d.space_id = %(space_id)s AND d.id = a.delivery_id
JOIN events e ON e.space_id = %(space_id)s AND e.id = d.event_id
WHERE a.space_id = %(space_id)s AND e.contact_id = ANY(%(group)s::bigint[])
ORDER BY a.id
LIMIT %(most)s::int;

-- name: webhook_deliveries
SELECT jsonb_strip_nulls(to_jsonb(d) - %(internal)s::text[])::text FROM webhook_deliveries d
WHERE d.space_id = %(space_id)s AND d.id = ANY(%(ids)s::bigint[])
ORDER BY d.id
LIMIT %(most)s::int;
