
-- name: set_columns
UPDATE contacts c SET {columns}
FROM json_populate_record(NULL::contacts, %(columns)s::json) d
WHERE c.space_id = %(space_id)s AND c.id = %(contact_id)s;

-- name: drop_values
-- Includes merged contacts' values. Removed addresses stay known, because an erasure may name any of them.
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
-- The first value gets the latest number, the most recent. A merged contact's value becomes the contact's
-- own, with its age.
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
UPDATE contacts c SET company_id = %(company_id)s
WHERE c.space_id = %(space_id)s AND c.id = %(contact_id)s
  AND c.company_id IS DISTINCT FROM %(company_id)s;
