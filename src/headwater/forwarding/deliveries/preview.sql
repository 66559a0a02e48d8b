-- name: candidates
-- Among the latest %(most_read)s events, purchases first.
SELECT e.id
FROM (
    SELECT n.id, n.event_name, n.event_time FROM events n
    WHERE n.space_id = %(space_id)s
    ORDER BY n.event_time DESC, n.id DESC LIMIT %(most_read)s
) e
WHERE e.event_name = ANY(%(event_names)s)
ORDER BY (e.event_name = 'purchase') DESC, e.event_time DESC, e.id DESC
LIMIT %(most)s;
