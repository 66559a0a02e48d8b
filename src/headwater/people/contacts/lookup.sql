-- name: resolve
SELECT coalesce(c.merged_into, c.id) FROM contacts c
WHERE c.space_id = %(space_id)s AND c.id = %(contact_id)s;

-- name: by_email
-- Including secondary addresses and those of merged contacts.
SELECT DISTINCT i.contact_id FROM contact_identifiers i
WHERE i.space_id = %(space_id)s AND i.kind = ANY(%(kinds)s::text[]) AND i.value = %(email)s
ORDER BY i.contact_id;

-- name: holders
SELECT DISTINCT i.value, i.contact_id
FROM contact_identifiers i
WHERE i.space_id = %(space_id)s AND i.kind = 'email' AND i.value = ANY(%(emails)s::text[]);

-- name: addresses
SELECT k.id, k.email FROM contacts k
WHERE k.space_id = %(space_id)s AND k.id = ANY(%(ids)s::bigint[]) AND k.email IS NOT NULL;
