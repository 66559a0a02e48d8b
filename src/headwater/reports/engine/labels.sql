-- name: tag_sets
-- Tag sets by one property, with the least name of each value.
SELECT {key} AS key, min({name} COLLATE "C"), array_agg(s.id ORDER BY s.id)
FROM tag_sets s
WHERE s.space_id = %(space_id)s AND {key} IS NOT NULL
GROUP BY {key};

-- name: campaigns
-- Campaigns by id and name, with their tag sets.
SELECT s.campaign_id, coalesce(s.campaign_name, a.name), array_agg(s.id)
FROM tag_sets s
LEFT JOIN ad_names a
    ON a.space_id = %(space_id)s AND a.kind = 'campaign' AND a.id = s.campaign_id
    AND s.campaign_name IS NULL
WHERE s.space_id = %(space_id)s AND num_nonnulls(s.campaign_id, s.campaign_name) > 0
GROUP BY 1, 2;

-- name: countries
-- Contacts by country, 8 bytes each.
SELECT k.country, string_agg(int8send(k.id), '' ORDER BY k.id)
FROM contacts k
WHERE k.space_id = %(space_id)s AND k.country IS NOT NULL
GROUP BY k.country;

-- name: self_reported
-- Contacts by their last self-reported source, 8 bytes each.
SELECT a.source, string_agg(int8send(a.contact_id), '' ORDER BY a.contact_id)
FROM (SELECT DISTINCT ON (e.contact_id) e.contact_id, e.self_reported_source AS source
      FROM events e
      WHERE e.space_id = %(space_id)s AND e.self_reported_source IS NOT NULL
      ORDER BY e.contact_id DESC, e.event_time DESC, e.id DESC) a
GROUP BY a.source;

-- name: contacts
-- Contacts that meet conditions on custom fields, 8 bytes each.
SELECT string_agg(int8send(k.id), '' ORDER BY k.id)
FROM contacts k
WHERE k.space_id = %(space_id)s AND {conditions};

-- name: event_labels
-- The Space's labels of event names.
SELECT l.event_name, l.label FROM event_labels l
WHERE l.space_id = %(space_id)s AND l.event_name = ANY(%(keys)s::text[]);

-- name: company_labels
-- Company names.
SELECT c.id::text, c.name FROM companies c
WHERE c.space_id = %(space_id)s AND c.id = ANY(%(keys)s::bigint[]);

-- name: contact_labels
-- Contact names, without email addresses, which a reporting key may not read.
SELECT k.id::text, k.name FROM contacts k
WHERE k.space_id = %(space_id)s AND k.id = ANY(%(keys)s::bigint[]);
