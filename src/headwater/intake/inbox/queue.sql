-- name: read
-- The rows that have waited longest, of those after a row.
SELECT i.id, i.kind, i.sender,
       (extract(epoch FROM i.received_at) * 1000000)::bigint AS received_at, i.payload,
       i.xmin::text AS version
FROM inbox i
WHERE i.space_id = %(space_id)s AND i.id > %(after_id)s
ORDER BY i.id
LIMIT %(limit)s;

-- name: versions
-- The rows that have waited longest, with what tells whether one has changed since it was read.
SELECT i.id, i.xmin::text AS version
FROM inbox i
WHERE i.space_id = %(space_id)s
ORDER BY i.id
LIMIT %(limit)s;

-- name: read_these
-- Those of these rows that still wait.
SELECT i.id, i.kind, i.sender,
       (extract(epoch FROM i.received_at) * 1000000)::bigint AS received_at, i.payload,
       i.xmin::text AS version
FROM inbox i
WHERE i.space_id = %(space_id)s AND i.id = ANY(%(ids)s::bigint[])
ORDER BY i.id;

-- name: waiting_ids
-- The ids of the rows that have waited longest.
SELECT i.id FROM inbox i WHERE i.space_id = %(space_id)s ORDER BY i.id LIMIT %(limit)s;

-- name: delete
-- Rows that are done.
DELETE FROM inbox i WHERE i.space_id = %(space_id)s AND i.id = ANY(%(ids)s::bigint[]);

-- name: hop
-- For the operator's side, the beginning of what follows: every Space after one that has rows in a queue,
-- by hopping from one Space's first row to the next Space's, so that a long queue costs no more than
-- a short one. It ends with a NULL.
WITH RECURSIVE waiting (space_id) AS (
    (SELECT q.space_id FROM {queue} q WHERE q.space_id > %(after)s ORDER BY q.space_id LIMIT 1)
    UNION ALL
    SELECT (SELECT q.space_id FROM {queue} q WHERE q.space_id > waiting.space_id
            ORDER BY q.space_id LIMIT 1)
    FROM waiting
    WHERE waiting.space_id IS NOT NULL
);

-- name: spaces
-- For the operator's side: those Spaces.
{waiting}
SELECT waiting.space_id FROM waiting WHERE waiting.space_id IS NOT NULL;

-- name: next_spaces
-- For the operator's side: some of them.
{waiting}
SELECT waiting.space_id FROM waiting WHERE waiting.space_id IS NOT NULL LIMIT %(most)s;

-- name: last_space
-- For the operator's side: the last of all Spaces with rows in the order of ids.
SELECT i.space_id FROM inbox i ORDER BY i.space_id DESC LIMIT 1;

-- name: newest
-- For the operator's side: the id of the latest row that waits anywhere, Space by Space along the
-- key.
{waiting}
SELECT max(newest.id)
FROM waiting
CROSS JOIN LATERAL (SELECT max(i.id) AS id FROM inbox i WHERE i.space_id = waiting.space_id) newest;

-- name: any_up_to
-- For the operator's side: a Space in which a row as old as this still waits, if there is one.
{waiting}
SELECT waiting.space_id FROM waiting
CROSS JOIN LATERAL (SELECT min(i.id) AS id FROM inbox i WHERE i.space_id = waiting.space_id) oldest
WHERE oldest.id <= %(id)s
LIMIT 1;

-- name: late
-- For the operator's side: the Spaces whose oldest row has waited for longer than %(late)s, with the
-- time since when. Of a long queue no more is read than of a short one.
{waiting}
SELECT oldest.space_id, oldest.received_at
FROM (SELECT waiting.space_id,
             (SELECT i.received_at FROM inbox i
              WHERE i.space_id = waiting.space_id ORDER BY i.id LIMIT 1) AS received_at
      FROM waiting) oldest
WHERE oldest.received_at < now() - %(late)s;
