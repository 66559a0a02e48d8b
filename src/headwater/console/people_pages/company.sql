-- name: company
SELECT c.id, c.name, c.domain, c.external_id, c.created_at
FROM companies c
WHERE c.space_id = %(space_id)s AND c.id = %(company_id)s;

-- name: contacts
-- By id.
SELECT k.id
FROM contacts k
WHERE k.space_id = %(space_id)s AND k.company_id = %(company_id)s AND k.merged_into IS NULL
  AND k.id > %(after_id)s
ORDER BY k.id
LIMIT %(limit)s;

-- name: count
-- At most %(most)s contacts and one more.
SELECT count(*)
FROM (SELECT FROM contacts k
      WHERE k.space_id = %(space_id)s AND k.company_id = %(company_id)s AND k.merged_into IS NULL
      LIMIT %(most)s + 1) counted;
