-- name: list
-- Of a period, latest day first.
SELECT n.id, n.day, n.text, n.made_by, n.made_at, n.changed_by, n.changed_at
FROM chart_notes n
WHERE n.space_id = %(space_id)s AND n.day BETWEEN %(first)s AND %(last)s
ORDER BY n.day DESC, n.id DESC
LIMIT %(most)s OFFSET %(left_out)s;

-- name: fetch
SELECT n.id, n.day, n.text, n.made_by, n.made_at, n.changed_by, n.changed_at
FROM chart_notes n
WHERE n.space_id = %(space_id)s AND n.id = %(id)s;

-- name: add
-- Return no row at the limit.
INSERT INTO chart_notes (space_id, day, text, made_by)
SELECT %(space_id)s, %(day)s, %(text)s, %(user_id)s
WHERE (SELECT count(*) FROM chart_notes n WHERE n.space_id = %(space_id)s) < %(most)s
RETURNING id;

-- name: change
UPDATE chart_notes n SET day = %(day)s, text = %(text)s, changed_by = %(user_id)s, changed_at = now()
WHERE n.space_id = %(space_id)s AND n.id = %(id)s;

-- name: remove
DELETE FROM chart_notes n WHERE n.space_id = %(space_id)s AND n.id = %(id)s;
