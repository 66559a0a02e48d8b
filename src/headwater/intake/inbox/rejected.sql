-- name: reject
WITH faulty AS MATERIALIZED (
    SELECT i.*, r.reason, r.detail
    FROM json_to_recordset(%(rejections)s::json) AS r (id bigint, reason text, detail text)
    CROSS JOIN LATERAL (
        SELECT waiting.* FROM inbox waiting
        WHERE waiting.space_id = %(space_id)s AND waiting.id = r.id
        OFFSET 0
    ) i
)
INSERT INTO rejected (space_id, id, kind, sender, received_at, payload, reason, detail)
SELECT %(space_id)s, f.id, f.kind, f.sender, f.received_at, f.payload, f.reason, f.detail
FROM faulty f
ON CONFLICT (space_id, id) DO NOTHING;

-- name: list
SELECT r.space_id, r.id, r.kind, r.reason, r.detail, r.received_at, r.rejected_at
FROM rejected r
WHERE r.space_id = %(space_id)s
ORDER BY r.id
LIMIT %(limit)s;

-- name: page
SELECT (SELECT row_to_json(line)::text FROM (
            SELECT r.id::text AS receipt_id, r.kind, r.reason, r.detail,
                   iso_utc(r.received_at) AS received_at, iso_utc(r.rejected_at) AS rejected_at
       ) line), r.id
FROM rejected r
WHERE r.space_id = %(space_id)s AND r.id < %(before)s
ORDER BY r.id DESC
LIMIT %(limit)s;

-- name: put_back
-- The oldest rows, under their old ids. One statement, because a row rejected meanwhile must not be deleted.
WITH replayed AS (
    DELETE FROM rejected r
    WHERE r.space_id = %(space_id)s AND r.id = ANY(ARRAY(
        SELECT o.id FROM rejected o
        WHERE o.space_id = %(space_id)s
          AND (%(ids)s::bigint[] IS NULL OR o.id = ANY(%(ids)s::bigint[]))
        ORDER BY o.id LIMIT %(limit)s))
    RETURNING r.id, r.kind, r.sender, r.received_at, r.payload
)
INSERT INTO inbox (space_id, id, kind, sender, received_at, payload)
SELECT %(space_id)s, r.id, r.kind, r.sender, r.received_at, r.payload FROM replayed r;
