-- name: page
-- Both ends of the range are pairs: beside a plain bound on the time, PostgreSQL may begin its index scan at
-- that one instead.
SELECT (SELECT row_to_json(line)::text FROM (SELECT c.id, c.domain, c.external_id) line),
       c.created_at, c.id
FROM (
    SELECT c.id, c.domain, c.external_id, c.created_at
    FROM companies c
    WHERE c.space_id = %(space_id)s
      AND (c.created_at, c.id) > (%(after_time)s, %(after_id)s)
      AND (c.created_at, c.id) < (%(before_time)s, %(before_id)s)
    ORDER BY c.created_at {order}, c.id {order}
    LIMIT %(limit)s
) c
ORDER BY c.created_at DESC, c.id DESC;

-- name: fetch
SELECT row_to_json(line)::text
FROM (
    SELECT c.id, c.domain, c.name, c.external_id
    FROM companies c
    WHERE c.space_id = %(space_id)s AND c.id = %(company_id)s
) line;

-- name: exists
SELECT FROM companies c WHERE c.space_id = %(space_id)s AND c.id = %(company_id)s;

-- name: claimed
-- Another company with the domain or the external id, the domain first.
SELECT claims.field, claims.company_id
FROM (
    SELECT 'domain' AS field, c.id AS company_id FROM companies c
    WHERE c.space_id = %(space_id)s AND c.domain = %(domain)s AND c.id <> %(company_id)s
    UNION ALL
    SELECT 'external_id', c.id FROM companies c
    WHERE c.space_id = %(space_id)s AND c.external_id = %(external_id)s AND c.id <> %(company_id)s
) claims
ORDER BY claims.field
LIMIT 1;

-- name: change
UPDATE companies c SET {columns}
FROM jsonb_populate_record(NULL::companies, %(change)s::jsonb) d
WHERE c.space_id = %(space_id)s AND c.id = %(company_id)s;

-- name: changed
SELECT row_to_json(line)::text
FROM (SELECT c.id, c.domain, c.external_id, c.name FROM companies c
      WHERE c.space_id = %(space_id)s AND c.id = %(company_id)s) line;
