-- name: load
SELECT c.id, c.domain, c.external_id, c.name
FROM unnest(%(domains)s::text[]) AS wanted (domain)
CROSS JOIN LATERAL (
    SELECT known.* FROM companies known
    WHERE known.space_id = %(space_id)s AND known.domain = wanted.domain
    OFFSET 0
) c
UNION ALL
SELECT c.id, c.domain, c.external_id, c.name
FROM unnest(%(external_ids)s::text[]) AS wanted (external_id)
CROSS JOIN LATERAL (
    SELECT known.* FROM companies known
    WHERE known.space_id = %(space_id)s AND known.external_id = wanted.external_id
    OFFSET 0
) c;

-- name: create
INSERT INTO companies (space_id, id, domain, external_id, name, created_at)
SELECT %(space_id)s, r.id, r.domain, r.external_id, r.name,
       'epoch'::timestamptz + r.created_at * interval '1 microsecond'
FROM json_to_recordset(%(companies)s::json)
     AS r (id bigint, domain text, external_id text, name text, created_at bigint);

-- name: rename
UPDATE companies c SET name = %(name)s WHERE c.space_id = %(space_id)s AND c.id = %(id)s;
