-- name: snapshot
-- Segments, changes and tables are read as of one moment. Who deletes changes that another has
-- deleted meanwhile fails, so two workers never write a day from different moments.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;

-- name: spaces
-- For the operator's side: Spaces with days on which %(many)s events have changed, or one has waited
-- for longer than %(patience)s.
SELECT DISTINCT p.space_id
FROM (SELECT p.space_id, p.day, count(*) AS changes, min(p.changed_at) AS since
      FROM pending_paths p GROUP BY p.space_id, p.day) p
WHERE p.changes >= %(many)s OR p.since < now() - %(patience)s;

-- name: next_day
-- The day with the oldest change, of those that are due.
SELECT p.day
FROM pending_paths p
WHERE p.space_id = %(space_id)s
GROUP BY p.day
HAVING count(*) >= %(many)s OR min(p.changed_at) < now() - %(patience)s
ORDER BY min(p.changed_at), p.day
LIMIT 1;

-- name: changes
-- What has changed on a day, the oldest first.
SELECT p.id, p.event_id
FROM pending_paths p
WHERE p.space_id = %(space_id)s AND p.day = %(day)s
ORDER BY p.id
LIMIT %(limit)s;

-- name: has_unnoted
-- Whether there are events on a day that are not among its changes: those of a day that has no
-- segments must all be.
SELECT EXISTS (
    SELECT FROM events e
    WHERE e.space_id = %(space_id)s AND {of_day}
      AND NOT EXISTS (
        SELECT FROM pending_paths p
        WHERE p.space_id = %(space_id)s AND p.day = %(day)s AND p.event_id = e.id));

-- name: delete_changes
-- Changes that segments have now.
DELETE FROM pending_paths p
WHERE p.space_id = %(space_id)s AND p.day = %(day)s AND p.id = ANY(%(ids)s::bigint[]);

-- name: delete_day
-- Segments of a day that cannot be read.
DELETE FROM path_segments s WHERE s.space_id = %(space_id)s AND s.day = %(day)s;
