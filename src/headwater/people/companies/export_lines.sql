-- name: lines
SELECT (SELECT row_to_json(line)::text
        FROM (SELECT c.id, c.domain, c.external_id, c.name,
                     iso_utc(date_trunc('milliseconds', c.created_at)) AS created_at) line)
FROM companies c
WHERE c.space_id = %(space_id)s AND c.created_at >= %(start)s AND c.created_at < %(end)s
ORDER BY c.created_at DESC, c.id DESC;

-- name: count
SELECT count(*) FROM companies c
WHERE c.space_id = %(space_id)s AND c.created_at >= %(start)s AND c.created_at < %(end)s;
