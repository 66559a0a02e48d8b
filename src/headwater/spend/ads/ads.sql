-- name: put
-- A missing platform keeps the stored one. Sorted, so that concurrent requests cannot deadlock.
INSERT INTO ad_names AS a (space_id, kind, id, name, platform, updated_at)
SELECT %(space_id)s, r.kind, r.id, r.name, r.platform, now()
FROM json_to_recordset(%(names)s::json) AS r (kind text, id text, name text, platform text)
ORDER BY r.kind, r.id
ON CONFLICT (space_id, kind, id) DO UPDATE
SET name = excluded.name, platform = coalesce(excluded.platform, a.platform),
    updated_at = excluded.updated_at
WHERE a.name <> excluded.name OR a.platform IS DISTINCT FROM coalesce(excluded.platform, a.platform);

-- name: page
SELECT (SELECT row_to_json(line)::text FROM (
            SELECT a.kind, a.id, a.name, a.platform, iso_utc(a.updated_at) AS updated_at
       ) line), a.number
FROM (
    SELECT a.kind, a.id, a.name, a.platform, a.updated_at, a.number
    FROM ad_names a
    WHERE a.space_id = %(space_id)s
      AND a.number > %(after)s AND a.number < %(before)s
    ORDER BY a.number {order}
    LIMIT %(limit)s
) a
ORDER BY a.number DESC;

-- name: names
SELECT a.id, a.name FROM ad_names a
WHERE a.space_id = %(space_id)s AND a.kind = %(kind)s AND a.id = ANY(%(ids)s::text[]);
