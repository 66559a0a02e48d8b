-- name: is_known
-- Whether any tag set has a key.
SELECT EXISTS (SELECT FROM tag_sets s WHERE s.space_id = %(space_id)s AND {key} = %(key)s)

-- name: is_known_spent
-- Whether the ledger has a key.
SELECT EXISTS (SELECT FROM spend s WHERE s.space_id = %(space_id)s AND {column} = %(key)s)

-- name: is_known_country
-- Whether any contact has a country.
SELECT EXISTS (SELECT FROM contacts c WHERE c.space_id = %(space_id)s AND c.country = %(key)s)

-- name: latest
-- The latest keys, with names.
(SELECT {key} AS key, {name} AS name
 FROM tag_sets s
 WHERE s.space_id = %(space_id)s AND {key} IS NOT NULL
 ORDER BY s.id DESC LIMIT %(most)s)

-- name: latest_spent
-- Names in the ad catalogue, including ids that only spend has.
(SELECT a.id AS key, a.name
 FROM ad_names a
 WHERE a.space_id = %(space_id)s AND a.kind = %(kind)s
 ORDER BY a.id LIMIT %(most)s)

-- name: latest_country
-- The latest contacts' countries.
SELECT DISTINCT l.country AS key, NULL::text AS name
FROM (SELECT c.country FROM contacts c
      WHERE c.space_id = %(space_id)s AND c.country IS NOT NULL
      ORDER BY c.id DESC LIMIT %(most)s) l;
