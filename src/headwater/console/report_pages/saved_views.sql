-- name: list
-- The views that a member has saved in a Space, by name.
SELECT id, name, page, query
FROM saved_views
WHERE space_id = %(space_id)s AND user_id = %(user_id)s
ORDER BY lower(name), id
LIMIT %(most)s;

-- name: save
-- Keep a view, in place of the member's own of that name; none when there are as many as may be.
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
