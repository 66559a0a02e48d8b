-- name: read
SELECT i.id, i.kind, i.sender,
       (extract(epoch FROM i.received_at) * 1000000)::bigint AS received_at, i.payload,
       i.xmin::text AS version
FROM inbox i
WHERE i.space_id = %(space_id)s AND i.id > %(after_id)s
ORDER BY i.id
LIMIT %(limit)s;

-- name: versions
SELECT i.id, i.xmin::text AS version
FROM inbox i
WHERE i.space_id = %(space_id)s
ORDER BY i.id
LIMIT %(limit)s;

-- name: read_these
SELECT i.id, i.kind, i.sender,
       (extract(epoch FROM i.received_at) * 1000000)::bigint AS received_at, i.payload,
       i.xmin::text AS version
FROM inbox i
WHERE i.space_id = %(space_id)s AND i.id = ANY(%(ids)s::bigint[])
ORDER BY i.id;

-- name: delete
DELETE FROM inbox i WHERE i.space_id = %(space_id)s AND i.id = ANY(%(ids)s::bigint[]);

-- name: hop
-- For the operator, a prefix of other queries: jump from a Space's first row to the next Space, so that
-- cost doesn't grow with the queue. Ends with a NULL.
WITH RECURSIVE waiting (space_id) AS (
    (SELECT q.space_id FROM {queue} q WHERE q.space_id > %(after)s ORDER BY q.space_id LIMIT 1)
    UNION ALL
    SELECT (SELECT q.space_id FROM {queue} q WHERE q.space_id > waiting.space_id
            ORDER BY q.space_id LIMIT 1)
    FROM waiting
    WHERE waiting.space_id IS NOT NULL
);

-- name: spaces
{waiting}
SELECT waiting.space_id FROM waiting WHERE waiting.space_id IS NOT NULL;

-- name: next_spaces
{waiting}
SELECT waiting.space_id FROM waiting WHERE waiting.space_id IS NOT NULL LIMIT %(most)s;

-- name: last_space
SELECT i.space_id FROM inbox i ORDER BY i.space_id DESC LIMIT 1;

-- name: newest
-- For the operator: the newest id, Space by Space along the key.
{waiting}
SELECT max(newest.id)
FROM waiting
CROSS JOIN LATERAL (SELECT max(i.id) AS id FROM inbox i WHERE i.space_id = waiting.space_id) newest;

-- name: any_up_to
{waiting}
SELECT waiting.space_id FROM waiting
CROSS JOIN LATERAL (SELECT min(i.id) AS id FROM inbox i WHERE i.space_id = waiting.space_id) oldest
WHERE oldest.id <= %(id)s
LIMIT 1;

-- name: late
-- For the operator: Spaces whose oldest row has waited longer than %(late)s.
{waiting}
SELECT oldest.space_id, oldest.received_at
FROM (SELECT waiting.space_id,
             (SELECT i.received_at FROM inbox i
              WHERE i.space_id = waiting.space_id ORDER BY i.id LIMIT 1) AS received_at
      FROM waiting) oldest
WHERE oldest.received_at < now() - %(late)s;
