
-- name: move_links
UPDATE contact_identifiers i SET contact_id = %(survivor_id)s
WHERE i.space_id = %(space_id)s AND i.contact_id = %(merged_id)s;

-- name: flatten_merges
-- Point earlier members of a merged contact at the survivor.
UPDATE contacts c SET merged_into = %(survivor_id)s
WHERE c.space_id = %(space_id)s AND c.merged_into = %(merged_id)s;

-- name: add_links
-- Each is stored under the contact it was seen on, even if merged by now. New contacts have no stored
-- identifiers.
INSERT INTO contact_identifiers
    (space_id, kind, value, contact_id, origin_id, first_seen_at, last_seen_at, since, recency)
SELECT %(space_id)s, l.kind, l.value, coalesce(l.contact_id, l.origin_id), l.origin_id,
       'epoch'::timestamptz + l.first_seen * interval '1 microsecond',
       'epoch'::timestamptz + l.last_seen * interval '1 microsecond',
       coalesce(l.since, %(number)s), l.recency
FROM json_to_recordset(%(links)s::json)
     AS l (kind text, value text, contact_id bigint, origin_id bigint, first_seen bigint,
           last_seen bigint, since bigint, recency bigint);

-- name: widen_links
-- Widening makes this repeatable and independent of order.
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
