-- Contacts made and changed by request. Whoever runs these holds the Space's lock.

-- name: set_columns
-- The primary values and custom fields that `columns` names; the others stay.
UPDATE contacts c
SET (email, phone, name, location,
     profile_field_1, profile_field_2, profile_field_3, profile_field_4, profile_field_5,
     profile_field_6, profile_field_7, profile_field_8, profile_field_9, profile_field_10,
     profile_field_11, profile_field_12, profile_field_13, profile_field_14, profile_field_15,
     profile_field_16, profile_field_17, profile_field_18, profile_field_19, profile_field_20,
     profile_field_21, profile_field_22, profile_field_23, profile_field_24, profile_field_25,
     profile_field_26, profile_field_27, profile_field_28, profile_field_29, profile_field_30) = (
    SELECT d.email, d.phone, d.name, d.location,
           d.profile_field_1, d.profile_field_2, d.profile_field_3, d.profile_field_4,
           d.profile_field_5, d.profile_field_6, d.profile_field_7, d.profile_field_8,
           d.profile_field_9, d.profile_field_10, d.profile_field_11, d.profile_field_12,
           d.profile_field_13, d.profile_field_14, d.profile_field_15, d.profile_field_16,
           d.profile_field_17, d.profile_field_18, d.profile_field_19, d.profile_field_20,
           d.profile_field_21, d.profile_field_22, d.profile_field_23, d.profile_field_24,
           d.profile_field_25, d.profile_field_26, d.profile_field_27, d.profile_field_28,
           d.profile_field_29, d.profile_field_30
    FROM json_populate_record(c, %(columns)s::json) d)
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
FROM (
    SELECT given.kind, given.value, nextval('receipt_ids') AS receipt
    FROM ROWS FROM (json_to_recordset(%(values)s::json) AS (kind text, value text))
         WITH ORDINALITY AS given (kind, value, position)
    ORDER BY given.position DESC
) v
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
