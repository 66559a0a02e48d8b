-- name: labels
-- The labels of custom events and profile fields. Of equal ones, the first slot counts.
SELECT l.event_name AS slot, l.label FROM event_labels l WHERE l.space_id = %(space_id)s
UNION ALL
SELECT f.field, f.label FROM field_labels f WHERE f.space_id = %(space_id)s
ORDER BY slot DESC;

-- name: note
-- Add to counts; new names only while there is room.
INSERT INTO ignored_names AS n (space_id, name, reason, times, last_day)
SELECT %(space_id)s, r.name, r.reason, r.times, r.last_day
FROM ROWS FROM (json_to_recordset(%(names)s::json) AS (name text, reason text, times bigint, last_day date))
     WITH ORDINALITY AS r (name, reason, times, last_day, position)
WHERE r.position + (SELECT count(*) FROM ignored_names c WHERE c.space_id = %(space_id)s) <= %(most)s
   OR EXISTS (SELECT FROM ignored_names e
              WHERE e.space_id = %(space_id)s AND e.name = r.name AND e.reason = r.reason)
ON CONFLICT (space_id, name, reason) DO UPDATE
SET times = n.times + excluded.times, last_day = greatest(n.last_day, excluded.last_day);

-- name: list
SELECT n.name, n.reason, n.times, n.last_day FROM ignored_names n
WHERE n.space_id = %(space_id)s
ORDER BY n.last_day DESC, n.times DESC, n.name, n.reason;
