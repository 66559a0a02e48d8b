
-- name: fold_identifiers
-- Turn values seen after the merge, stored on the survivors, into sightings of the contact. `line` has every
-- survivor, with the id of the merge.
WITH through AS (
    DELETE FROM contact_identifiers i
    USING json_to_recordset(%(line)s::json) AS line (contact_id bigint, merge_id bigint)
    WHERE i.space_id = %(space_id)s AND i.contact_id = %(survivor_id)s
      AND i.origin_id = line.contact_id AND i.since >= line.merge_id
      AND EXISTS (
        SELECT FROM contact_identifiers own
        WHERE own.space_id = %(space_id)s AND own.kind = i.kind AND own.value = i.value
          AND own.origin_id = ANY(%(members)s::bigint[]))
    RETURNING i.kind, i.value, i.first_seen_at, i.last_seen_at, i.recency
), seen AS (
    SELECT t.kind, t.value, min(t.first_seen_at) AS first_seen_at,
           max(t.last_seen_at) AS last_seen_at, max(t.recency) AS recency
    FROM through t
    GROUP BY t.kind, t.value
)
UPDATE contact_identifiers i
SET first_seen_at = least(i.first_seen_at, seen.first_seen_at),
    last_seen_at = greatest(i.last_seen_at, seen.last_seen_at),
    recency = greatest(i.recency, seen.recency)
FROM seen
CROSS JOIN LATERAL (
    SELECT latest.origin_id FROM contact_identifiers latest
    WHERE latest.space_id = %(space_id)s AND latest.kind = seen.kind AND latest.value = seen.value
      AND latest.origin_id = ANY(%(members)s::bigint[])
    ORDER BY latest.recency DESC
    LIMIT 1
) own
WHERE i.space_id = %(space_id)s AND i.kind = seen.kind AND i.value = seen.value
  AND i.origin_id = own.origin_id;

-- name: restore_identifiers
UPDATE contact_identifiers i SET contact_id = %(contact_id)s
WHERE i.space_id = %(space_id)s AND i.contact_id = %(survivor_id)s
  AND i.origin_id = ANY(%(members)s::bigint[]);

-- name: restore_members
-- Point its members at it again, and itself at nothing.
UPDATE contacts c SET merged_into = nullif(%(contact_id)s, c.id)
WHERE c.space_id = %(space_id)s AND c.id = ANY(%(members)s::bigint[]);

-- name: primaries
-- Replace primary values without an identifier. `origins` are the members, `holder_id` has their identifiers.
UPDATE contacts c SET email = {email}, name = {name}, phone = {phone}, location = {location}
WHERE c.space_id = %(space_id)s AND c.id = %(contact_id)s;

-- name: primary
-- The current value if it has an identifier, else the one seen first.
(SELECT i.value FROM contact_identifiers i
 WHERE i.space_id = %(space_id)s AND i.contact_id = %(holder_id)s AND i.kind = {kind}
   AND i.origin_id = ANY(%(origins)s::bigint[])
 ORDER BY i.value = c.{column} DESC, i.first_seen_at, i.recency DESC
 LIMIT 1)
