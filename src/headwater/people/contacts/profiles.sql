-- name: load
-- Contacts with a batch's identifiers, and the kinds of their identifiers.
SELECT c.id, (extract(epoch FROM c.created_at) * 1000000)::bigint AS created_at,
       known.has_email, known.has_tracking_id, known.has_token, known.has_name_parts,
       c.company_id, c.source_mask, c.email, c.name, c.phone,
       c.location, c.city, c.state, c.country, c.device_type, c.os, c.browser, c.language,
       c.profile_field_1, c.profile_field_2, c.profile_field_3, c.profile_field_4,
       c.profile_field_5, c.profile_field_6, c.profile_field_7, c.profile_field_8,
       c.profile_field_9, c.profile_field_10, c.profile_field_11, c.profile_field_12,
       c.profile_field_13, c.profile_field_14, c.profile_field_15, c.profile_field_16::text,
       c.profile_field_17::text, c.profile_field_18::text, c.profile_field_19::text,
       c.profile_field_20::text, c.profile_field_21::text, c.profile_field_22::text,
       c.profile_field_23::text, c.profile_field_24::text, c.profile_field_25::text,
       c.profile_field_26::text, c.profile_field_27::text, c.profile_field_28::text,
       c.profile_field_29::text, c.profile_field_30::text
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
     location, city, state, country, device_type, os, browser, language, profile_field_1,
     profile_field_2, profile_field_3, profile_field_4, profile_field_5, profile_field_6,
     profile_field_7, profile_field_8, profile_field_9, profile_field_10, profile_field_11,
     profile_field_12, profile_field_13, profile_field_14, profile_field_15, profile_field_16,
     profile_field_17, profile_field_18, profile_field_19, profile_field_20, profile_field_21,
     profile_field_22, profile_field_23, profile_field_24, profile_field_25, profile_field_26,
     profile_field_27, profile_field_28, profile_field_29, profile_field_30)
SELECT %(space_id)s, r.id, 'epoch'::timestamptz + r.created_at * interval '1 microsecond',
       r.merged_into, r.company_id, r.source_mask, r.email, r.name, r.phone,
       d.location, d.city, d.state, d.country, d.device_type, d.os, d.browser, d.language,
       d.profile_field_1, d.profile_field_2, d.profile_field_3, d.profile_field_4,
       d.profile_field_5, d.profile_field_6, d.profile_field_7, d.profile_field_8,
       d.profile_field_9, d.profile_field_10, d.profile_field_11, d.profile_field_12,
       d.profile_field_13, d.profile_field_14, d.profile_field_15, d.profile_field_16,
       d.profile_field_17, d.profile_field_18, d.profile_field_19, d.profile_field_20,
       d.profile_field_21, d.profile_field_22, d.profile_field_23, d.profile_field_24,
       d.profile_field_25, d.profile_field_26, d.profile_field_27, d.profile_field_28,
       d.profile_field_29, d.profile_field_30
FROM json_to_recordset(%(contacts)s::json)
     AS r (id bigint, created_at bigint, merged_into bigint, company_id bigint,
           source_mask bigint, email text, name text, phone text, details json)
CROSS JOIN LATERAL json_populate_record(NULL::contacts, r.details) d
ON CONFLICT (space_id, id) DO UPDATE
SET merged_into = excluded.merged_into, company_id = excluded.company_id,
    source_mask = excluded.source_mask, email = excluded.email, name = excluded.name,
    phone = excluded.phone,
    location = excluded.location, city = excluded.city, state = excluded.state,
    country = excluded.country, device_type = excluded.device_type, os = excluded.os,
    browser = excluded.browser, language = excluded.language,
    profile_field_1 = excluded.profile_field_1, profile_field_2 = excluded.profile_field_2,
    profile_field_3 = excluded.profile_field_3, profile_field_4 = excluded.profile_field_4,
    profile_field_5 = excluded.profile_field_5, profile_field_6 = excluded.profile_field_6,
    profile_field_7 = excluded.profile_field_7, profile_field_8 = excluded.profile_field_8,
    profile_field_9 = excluded.profile_field_9, profile_field_10 = excluded.profile_field_10,
    profile_field_11 = excluded.profile_field_11, profile_field_12 = excluded.profile_field_12,
    profile_field_13 = excluded.profile_field_13, profile_field_14 = excluded.profile_field_14,
    profile_field_15 = excluded.profile_field_15, profile_field_16 = excluded.profile_field_16,
    profile_field_17 = excluded.profile_field_17, profile_field_18 = excluded.profile_field_18,
    profile_field_19 = excluded.profile_field_19, profile_field_20 = excluded.profile_field_20,
    profile_field_21 = excluded.profile_field_21, profile_field_22 = excluded.profile_field_22,
    profile_field_23 = excluded.profile_field_23, profile_field_24 = excluded.profile_field_24,
    profile_field_25 = excluded.profile_field_25, profile_field_26 = excluded.profile_field_26,
    profile_field_27 = excluded.profile_field_27, profile_field_28 = excluded.profile_field_28,
    profile_field_29 = excluded.profile_field_29, profile_field_30 = excluded.profile_field_30;

-- name: name_parts
-- Null parts if the name splits at the first blank. Looked up by contact: the blank texts keep the planner
-- from the index by kind and value, because thousands of contacts may share one name.
UPDATE contact_identifiers i SET first_name = %(first_name)s, last_name = %(last_name)s
WHERE i.space_id = %(space_id)s AND i.contact_id = %(contact_id)s
  AND i.kind || '' = 'name' AND i.value || '' = %(name)s
  AND (i.first_name, i.last_name) IS DISTINCT FROM (%(first_name)s::text, %(last_name)s::text);
