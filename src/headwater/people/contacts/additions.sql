
-- name: draw_ids
SELECT nextval('contact_ids'), clock_timestamp() FROM generate_series(1, %(count)s::int);

-- name: create
-- Dated no earlier than any other contact of the Space, so that ids and ages have one order.
INSERT INTO contacts (space_id, id, created_at)
SELECT %(space_id)s, drawn.id, greatest(%(now)s, (
           SELECT max(c.created_at) FROM contacts c WHERE c.space_id = %(space_id)s))
FROM unnest(%(ids)s::bigint[]) AS drawn (id);

-- name: draw_receipts
-- Numbers that order values, from the sequence of receipts.
SELECT nextval('receipt_ids') FROM generate_series(1, %(count)s::int);

-- name: fill
UPDATE contacts c SET {columns}
FROM json_populate_recordset(NULL::contacts, %(contacts)s::json) d
WHERE c.space_id = %(space_id)s AND c.id = d.id;

-- name: add_values
INSERT INTO contact_identifiers
    (space_id, kind, value, contact_id, origin_id, first_seen_at, last_seen_at, since, recency)
SELECT %(space_id)s, v.kind, v.value, v.contact_id, v.contact_id, statement_timestamp(),
       statement_timestamp(), v.receipt, v.receipt
FROM json_to_recordset(%(values)s::json)
     AS v (contact_id bigint, kind text, value text, receipt bigint)
WHERE NOT EXISTS (
    SELECT 1 FROM contact_identifiers held
    WHERE held.space_id = %(space_id)s AND held.contact_id = v.contact_id
      AND held.kind = v.kind AND held.value = v.value
);
