-- Contacts made, and added to where they lack something. Whoever runs these holds the Space's lock.

-- name: create
-- New contacts, not older than any other of the Space, so that ids and ages have one order.
INSERT INTO contacts (space_id, created_at)
SELECT %(space_id)s, newest.created_at
FROM (
    SELECT greatest(clock_timestamp(), max(c.created_at)) AS created_at
    FROM contacts c
    WHERE c.space_id = %(space_id)s
) newest
CROSS JOIN generate_series(1, %(count)s)
RETURNING id;

-- name: fill
-- What was empty takes what the rows say.
UPDATE contacts c SET {columns}
FROM json_populate_recordset(NULL::contacts, %(contacts)s::json) d
WHERE c.space_id = %(space_id)s AND c.id = d.id;

-- name: add_values
-- Values that the contacts do not have yet, the most recent last.
INSERT INTO contact_identifiers
    (space_id, kind, value, contact_id, origin_id, first_seen_at, last_seen_at, since, recency)
SELECT %(space_id)s, v.kind, v.value, v.contact_id, v.contact_id, statement_timestamp(),
       statement_timestamp(), v.receipt, v.receipt
FROM (
    SELECT given.contact_id, given.kind, given.value, nextval('receipt_ids') AS receipt
    FROM ROWS FROM (json_to_recordset(%(values)s::json)
                    AS (contact_id bigint, kind text, value text))
         WITH ORDINALITY AS given (contact_id, kind, value, position)
    WHERE NOT EXISTS (
        SELECT FROM contact_identifiers held
        WHERE held.space_id = %(space_id)s AND held.contact_id = given.contact_id
          AND held.kind = given.kind AND held.value = given.value
    )
    ORDER BY given.position
) v;
