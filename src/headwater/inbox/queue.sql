-- name: read
-- The rows that have waited longest.
SELECT i.id, i.kind, i.sender,
       (extract(epoch FROM i.received_at) * 1000000)::bigint AS received_at, i.payload
FROM inbox i
WHERE i.space_id = %(space_id)s
ORDER BY i.id
LIMIT %(limit)s;

-- name: read_these
-- Those of these rows that still wait.
SELECT i.id, i.kind, i.sender,
       (extract(epoch FROM i.received_at) * 1000000)::bigint AS received_at, i.payload
FROM inbox i
WHERE i.space_id = %(space_id)s AND i.id = ANY(%(ids)s::bigint[])
ORDER BY i.id;

-- name: waiting_ids
-- The ids of the rows that have waited longest.
SELECT i.id FROM inbox i WHERE i.space_id = %(space_id)s ORDER BY i.id LIMIT %(limit)s;

-- name: delete
-- Rows that are done.
DELETE FROM inbox i WHERE i.space_id = %(space_id)s AND i.id = ANY(%(ids)s::bigint[]);

-- name: spaces
-- For the operator's side: every Space that has rows in the queue, each looked for by the beginning of
-- its own, so that a long queue costs no more than a short one, and every node looks for its Spaces.
SELECT l.space_id FROM space_locks l
WHERE EXISTS (SELECT 1 FROM {queue} q WHERE q.space_id = l.space_id);

-- name: newest
-- For the operator's side: the id of the latest row that waits anywhere, Space by Space along the
-- key.
SELECT max(newest.id)
FROM space_locks l
CROSS JOIN LATERAL (SELECT max(i.id) AS id FROM inbox i WHERE i.space_id = l.space_id) newest;

-- name: any_up_to
-- For the operator's side: a Space in which a row as old as this still waits, if there is one.
SELECT l.space_id FROM space_locks l
WHERE EXISTS (SELECT 1 FROM inbox i WHERE i.space_id = l.space_id AND i.id <= %(id)s)
LIMIT 1;
