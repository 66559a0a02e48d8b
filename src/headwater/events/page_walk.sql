-- name: every_event
-- The next events of a selection, in the order of a page. That of time is an index's, which is read
-- as far as the page goes; for that of amounts the covering index by time is read from one end of
-- the selection's time to the other, keeping the largest.
SELECT {key}
FROM events e
WHERE e.space_id = %(space_id)s AND {only}
ORDER BY {order}
LIMIT %(limit)s;
