-- name: shared_links
-- Several contacts may have an address. Members of a contact have a row each; they count as one.
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
-- An identifier belongs to the latest contact alone, and a weak one of too many contacts identifies none, so
-- the rest is not read.
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

-- name: draw_ids
SELECT nextval({sequence}) FROM generate_series(1, %(count)s::int);

-- name: joins
SELECT j.browser, j.contact_id, (extract(epoch FROM j.joined_at) * 1000000)::bigint
FROM unsigned_joins j
WHERE j.space_id = %(space_id)s
  AND j.browser = ANY(%(keys)s)
  AND j.joined_at > to_timestamp(%(since)s / 1000000.0);

-- name: add_join
-- Record that a browser joined a contact; a repetition renews the time.
INSERT INTO unsigned_joins (space_id, browser, contact_id, joined_at)
VALUES (%(space_id)s, %(browser)s, %(contact_id)s,
        to_timestamp(%(joined_at)s / 1000000.0))
ON CONFLICT (space_id, browser, contact_id)
DO UPDATE SET joined_at = greatest(unsigned_joins.joined_at, excluded.joined_at);

-- name: forget_joins
DELETE FROM unsigned_joins j
WHERE j.space_id = %(space_id)s AND j.joined_at < to_timestamp(%(before)s / 1000000.0);

-- name: count_refused_join
INSERT INTO refused_joins (space_id, hour, joins)
VALUES (%(space_id)s, date_trunc('hour', to_timestamp(%(at)s / 1000000.0), 'UTC'), 1)
ON CONFLICT (space_id, hour) DO UPDATE SET joins = refused_joins.joins + 1;

-- name: forget_refused_joins
DELETE FROM refused_joins r
WHERE r.space_id = %(space_id)s AND r.hour < now() - interval '7 days';

-- name: phone_links
-- The oldest contacts with telephone numbers ending in these digits: the same number is written in many ways.
SELECT 'phone', i.value, i.contact_id,
       (extract(epoch FROM i.last_seen_at) * 1000000)::bigint AS last_seen, i.recency
FROM unnest(%(digits)s::text[]) AS wanted (digits)
CROSS JOIN LATERAL (
    SELECT known.value, known.contact_id, max(known.last_seen_at) AS last_seen_at,
           max(known.recency) AS recency
    FROM contact_identifiers known
    WHERE known.space_id = %(space_id)s AND known.kind = 'phone'
      AND known.phone_digits = wanted.digits
    GROUP BY known.value, known.contact_id
    ORDER BY known.contact_id
    LIMIT %(limit)s
) i;
