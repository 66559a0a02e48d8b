-- name: list
-- By name.
SELECT id, name, page, query
FROM saved_views
WHERE space_id = %(space_id)s AND user_id = %(user_id)s
ORDER BY lower(name), id
LIMIT %(most)s;

-- name: save
-- Replace the member's own of that name; return no row at the limit.
INSERT INTO saved_views (space_id, user_id, name, page, query)
SELECT %(space_id)s, %(user_id)s, %(name)s, %(page)s, %(query)s
WHERE (SELECT count(*) FROM saved_views
       WHERE space_id = %(space_id)s AND user_id = %(user_id)s AND name <> %(name)s) < %(most)s
ON CONFLICT (space_id, user_id, name)
    DO UPDATE SET page = excluded.page, query = excluded.query
RETURNING id;

-- name: remove
DELETE FROM saved_views
WHERE space_id = %(space_id)s AND user_id = %(user_id)s AND id = %(id)s;
