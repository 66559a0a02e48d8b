-- name: own_hosts
SELECT DISTINCT split_part(split_part(replace(o.origin, '://*.', '://'), '://', 2), ':', 1)
FROM sites s CROSS JOIN LATERAL unnest(s.origins) AS o (origin)
WHERE s.space_id = %(space_id)s
ORDER BY 1;
