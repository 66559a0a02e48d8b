-- name: is_known
-- Whether a touchpoint's tags have a key.
SELECT EXISTS (SELECT FROM tag_sets s WHERE s.space_id = %(space_id)s AND {key} = %(key)s)

-- name: is_known_spent
-- Whether the ledger has it.
SELECT EXISTS (SELECT FROM spend s WHERE s.space_id = %(space_id)s AND {column} = %(key)s)

-- name: is_known_country
-- Whether a contact has a country.
SELECT EXISTS (SELECT FROM contacts c WHERE c.space_id = %(space_id)s AND c.country = %(key)s)

-- name: latest
-- The keys and names of the latest tags.
(SELECT {key} AS key, {name} AS name
 FROM tag_sets s
 WHERE s.space_id = %(space_id)s AND {key} IS NOT NULL
 ORDER BY s.id DESC LIMIT %(most)s)

-- name: latest_spent
-- What the ad catalogue calls the ids of one kind, which spend brings, too.
(SELECT a.id AS key, a.name
 FROM ad_names a
 WHERE a.space_id = %(space_id)s AND a.kind = %(kind)s
 ORDER BY a.id LIMIT %(most)s)

-- name: latest_country
-- The countries of the latest contacts.
SELECT DISTINCT l.country AS key, NULL::text AS name
FROM (SELECT c.country FROM contacts c
      WHERE c.space_id = %(space_id)s AND c.country IS NOT NULL
      ORDER BY c.id DESC LIMIT %(most)s) l;
