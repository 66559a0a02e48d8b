-- name: load
-- Contacts with a batch's identifiers, and the kinds of their identifiers.
SELECT c.id, (extract(epoch FROM c.created_at) * 1000000)::bigint AS created_at,
       known.has_email, known.has_tracking_id, known.has_token, known.has_name_parts,
       c.company_id, c.source_mask, c.email, c.name, c.phone,
       {columns}
FROM unnest(%(ids)s::bigint[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT known.* FROM contacts known
    WHERE known.space_id = %(space_id)s AND known.id = wanted.id
    OFFSET 0
) c
CROSS JOIN LATERAL (
    SELECT coalesce(bool_or(i.kind = 'email'), false) AS has_email,
           coalesce(bool_or(i.kind = 'tracking_id'), false) AS has_tracking_id,
           coalesce(bool_or(i.kind = 'trk_token'), false) AS has_token,
           coalesce(bool_or(i.first_name IS NOT NULL OR i.last_name IS NOT NULL), false)
               AS has_name_parts
    FROM contact_identifiers i
    WHERE i.space_id = %(space_id)s AND i.contact_id = c.id
) known;

-- name: add_sources
-- Merged contacts get the sources too, because a part of the path would go with them.
UPDATE contacts c SET source_mask = c.source_mask | %(source_mask)s
WHERE c.space_id = %(space_id)s
  AND (c.id = %(contact_id)s OR c.merged_into = %(contact_id)s)
  AND c.source_mask & %(source_mask)s::bigint <> %(source_mask)s::bigint;

-- name: write
-- Whole rows are safe because every change of a contact holds the Space's lock.
INSERT INTO contacts AS c
    (space_id, id, created_at, merged_into, company_id, source_mask, email, name, phone,
     {columns})
SELECT %(space_id)s, r.id, 'epoch'::timestamptz + r.created_at * interval '1 microsecond',
       r.merged_into, r.company_id, r.source_mask, r.email, r.name, r.phone,
       {values}
FROM json_to_recordset(%(contacts)s::json)
     AS r (id bigint, created_at bigint, merged_into bigint, company_id bigint,
           source_mask bigint, email text, name text, phone text, details json)
CROSS JOIN LATERAL json_populate_record(NULL::contacts, r.details) d
ON CONFLICT (space_id, id) DO UPDATE
SET (merged_into, company_id, source_mask, email, name, phone, {columns}) =
    (excluded.merged_into, excluded.company_id, excluded.source_mask, excluded.email,
     excluded.name, excluded.phone, {excluded});

-- name: name_parts
-- Null parts if the name splits at the first blank. Looked up by contact: the blank texts keep the planner
-- from the index by kind and value, because thousands of contacts may share one name.
UPDATE contact_identifiers i SET first_name = %(first_name)s, last_name = %(last_name)s
WHERE i.space_id = %(space_id)s AND i.contact_id = %(contact_id)s
  AND i.kind || '' = 'name' AND i.value || '' = %(name)s
  AND (i.first_name, i.last_name) IS DISTINCT FROM (%(first_name)s::text, %(last_name)s::text);
