-- name: lock_space
-- The Space, locked against every other change of its identities, or no row when it is locked.
SELECT s.id, s.timezone, s.company_identity_mode, s.ignored_identifiers,
       s.own_domains || ARRAY(
           SELECT DISTINCT replace(unnest(site.origins), '://*.', '://') FROM sites site
           WHERE site.space_id = %(space_id)s
           ORDER BY 1),
       s.excluded_referrers, s.heeded_referrers
FROM spaces s
WHERE s.id = %(space_id)s
FOR NO KEY UPDATE SKIP LOCKED;

-- name: standing
-- Once the Space is locked, and in a statement of its own, which sees what was committed before
-- the lock was had: a number for what the batch changes before its first merge, when the newest
-- contact was created, and where events are forwarded to.
SELECT nextval('receipt_ids'),
       coalesce((SELECT (extract(epoch FROM c.created_at) * 1000000)::bigint
                 FROM contacts c
                 WHERE c.space_id = %(space_id)s
                 ORDER BY c.created_at DESC
                 LIMIT 1), 0),
       (SELECT json_agg(json_build_object('id', d.id, 'platform', d.platform,
                                          'status', d.status, 'event_names', d.event_names))
        FROM destinations d
        WHERE d.space_id = %(space_id)s AND d.status <> 'removed');

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

-- name: reject
-- Rows that cannot be processed, set aside whole.
INSERT INTO rejected (space_id, id, kind, sender, received_at, payload, reason, detail)
SELECT i.space_id, i.id, i.kind, i.sender, i.received_at, i.payload, r.reason, r.detail
FROM json_to_recordset(%(rejections)s::json) AS r (id bigint, reason text, detail text)
CROSS JOIN LATERAL (
    SELECT waiting.* FROM inbox waiting
    WHERE waiting.space_id = %(space_id)s AND waiting.id = r.id
    OFFSET 0
) i
ON CONFLICT (space_id, id) DO NOTHING;

-- name: delete
-- Rows that are done.
DELETE FROM inbox i WHERE i.space_id = %(space_id)s AND i.id = ANY(%(ids)s::bigint[]);

-- name: list_rejected
-- One Space's rejected rows, oldest first.
SELECT r.space_id, r.id, r.kind, r.reason, r.detail, r.received_at, r.rejected_at
FROM rejected r
WHERE r.space_id = %(space_id)s
ORDER BY r.id
LIMIT %(limit)s;

-- name: put_back
-- Rejected rows of one Space to the inbox again, under their old ids.
INSERT INTO inbox (space_id, id, kind, sender, received_at, payload)
SELECT r.space_id, r.id, r.kind, r.sender, r.received_at, r.payload
FROM rejected r
WHERE r.space_id = %(space_id)s
  AND (%(ids)s::bigint[] IS NULL OR r.id = ANY(%(ids)s::bigint[]));

-- name: forget_rejected
-- Rejected rows of one Space that were put back.
DELETE FROM rejected r
WHERE r.space_id = %(space_id)s
  AND (%(ids)s::bigint[] IS NULL OR r.id = ANY(%(ids)s::bigint[]));

-- name: hop
-- For the operator's side, the beginning of what follows: every Space that has rows in a queue, by
-- hopping from one Space's first row to the next Space's, so that a long queue costs no more than
-- a short one. It ends with a NULL.
WITH RECURSIVE hop (space_id) AS (
    (SELECT q.space_id FROM {queue} q ORDER BY q.space_id LIMIT 1)
    UNION ALL
    SELECT (SELECT q.space_id FROM {queue} q WHERE q.space_id > hop.space_id
            ORDER BY q.space_id LIMIT 1)
    FROM hop
    WHERE hop.space_id IS NOT NULL
);

-- name: spaces
-- For the operator's side: those Spaces.
{hop}
SELECT hop.space_id FROM hop WHERE hop.space_id IS NOT NULL;

-- name: newest
-- For the operator's side: the id of the latest row that waits anywhere, Space by Space along the
-- key.
{hop}
SELECT max((SELECT max(i.id) FROM inbox i WHERE i.space_id = hop.space_id)) FROM hop;

-- name: any_up_to
-- For the operator's side: whether a row as old as this still waits anywhere.
{hop}
SELECT EXISTS (
    SELECT FROM hop
    WHERE (SELECT min(i.id) FROM inbox i WHERE i.space_id = hop.space_id) <= %(id)s
);
