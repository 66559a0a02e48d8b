-- Contacts made and changed by request. Whoever runs these holds the Space's lock.

-- name: set_columns
-- The primary values and custom fields that change; the others stay.
UPDATE contacts c SET {columns}
FROM json_populate_record(NULL::contacts, %(columns)s::json) d
WHERE c.space_id = %(space_id)s AND c.id = %(contact_id)s;

-- name: drop_values
-- Values of these kinds that the contact shall no longer have, merged contacts' ones included. Of
-- its addresses it stays known that it had them: who asks for a person to be erased may name any.
WITH dropped AS (
    DELETE FROM contact_identifiers i
    WHERE i.space_id = %(space_id)s AND i.contact_id = %(contact_id)s
      AND i.kind = ANY(%(kinds)s::text[])
      AND NOT EXISTS (
        SELECT FROM json_to_recordset(%(values)s::json) AS v (kind text, value text)
        WHERE v.kind = i.kind AND v.value = i.value)
    RETURNING i.*
)
INSERT INTO contact_identifiers AS i
    (space_id, kind, value, contact_id, origin_id, first_seen_at, last_seen_at, since, recency)
SELECT %(space_id)s, 'former_email', d.value, d.contact_id, d.origin_id, d.first_seen_at,
       d.last_seen_at, d.since, d.recency
FROM dropped d
WHERE d.kind = 'email'
ON CONFLICT (space_id, kind, value, origin_id) DO UPDATE
SET last_seen_at = excluded.last_seen_at, recency = excluded.recency;

-- name: put_values
-- Values in the order in which they were given: the first gets the latest number, being the most
-- recent. One that came with a merged contact becomes the contact's own as well, as old as it was.
INSERT INTO contact_identifiers AS i
    (space_id, kind, value, contact_id, origin_id, first_seen_at, last_seen_at, since, recency)
SELECT %(space_id)s, v.kind, v.value, %(contact_id)s, %(contact_id)s,
       coalesce(known.first_seen_at, statement_timestamp()), statement_timestamp(),
       v.receipt, v.receipt
FROM json_to_recordset(%(values)s::json) AS v (kind text, value text, receipt bigint)
CROSS JOIN LATERAL (
    SELECT min(held.first_seen_at) AS first_seen_at
    FROM contact_identifiers held
    WHERE held.space_id = %(space_id)s AND held.kind = v.kind AND held.value = v.value
      AND held.contact_id = %(contact_id)s
) known
ON CONFLICT (space_id, kind, value, origin_id) DO UPDATE
SET last_seen_at = greatest(i.last_seen_at, excluded.last_seen_at), recency = excluded.recency;

-- name: set_company
-- The contact's company, or none.
UPDATE contacts c SET company_id = %(company_id)s
WHERE c.space_id = %(space_id)s AND c.id = %(contact_id)s
  AND c.company_id IS DISTINCT FROM %(company_id)s;
