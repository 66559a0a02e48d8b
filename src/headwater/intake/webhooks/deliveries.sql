-- name: begin
-- Store a delivery as unfinished.
INSERT INTO webhook_deliveries (space_id, webhook_id, received_at, headers, body, status, detail,
                                dedup_key, believed, is_test)
VALUES (%(space_id)s, %(webhook_id)s, %(received_at)s, %(headers)s, %(body)s, %(status)s,
        %(detail)s, %(dedup_key)s, %(believed)s, %(is_test)s)
RETURNING id;

-- name: trim
-- Keep the latest verified, and the latest unverified deliveries.
DELETE FROM webhook_deliveries d
WHERE d.space_id = %(space_id)s AND d.webhook_id = %(webhook_id)s
  AND d.believed = %(believed)s
  AND d.id <= (SELECT older.id FROM webhook_deliveries older
               WHERE older.space_id = %(space_id)s AND older.webhook_id = %(webhook_id)s
                 AND older.believed = %(believed)s
               ORDER BY older.id DESC OFFSET %(kept)s LIMIT 1);

-- name: finish
-- Unless erased meanwhile. The key of an event stays, also if a replay ignores the delivery.
UPDATE webhook_deliveries d
SET status = %(status)s, detail = %(detail)s, receipt_id = %(receipt_id)s,
    dedup_key = coalesce(%(dedup_key)s, d.dedup_key), is_test = %(is_test)s
WHERE d.space_id = %(space_id)s AND d.id = %(id)s;

-- name: forget
DELETE FROM webhook_deliveries d WHERE d.space_id = %(space_id)s AND d.id = %(id)s;

-- name: list
SELECT d.id, d.webhook_id, d.received_at, d.status, d.detail, d.receipt_id, d.dedup_key,
       d.headers, d.body
FROM webhook_deliveries d
WHERE d.space_id = %(space_id)s
  AND (%(webhook_id)s::bigint IS NULL OR d.webhook_id = %(webhook_id)s)
ORDER BY d.id DESC
LIMIT %(limit)s;

-- name: hold
-- Locked, so that an erasure comes before or after the replay.
SELECT d.id, d.webhook_id, d.received_at, d.status, d.detail, d.receipt_id, d.dedup_key,
       d.headers, d.body
FROM webhook_deliveries d
WHERE d.space_id = %(space_id)s AND d.id = %(id)s
FOR UPDATE;

-- name: fetch
SELECT d.id, d.webhook_id, d.received_at, d.status, d.detail, d.receipt_id, d.dedup_key,
       d.headers, d.body
FROM webhook_deliveries d
WHERE d.space_id = %(space_id)s AND d.webhook_id = %(webhook_id)s AND d.id = %(id)s;

-- name: failed
-- Oldest first.
SELECT d.id FROM webhook_deliveries d
WHERE d.space_id = %(space_id)s AND d.webhook_id = %(webhook_id)s
  AND d.status IN ('refused', 'paused') AND d.body IS NOT NULL
ORDER BY d.id;

-- name: summarize
SELECT d.webhook_id,
       count(*) FILTER (WHERE d.status = 'accepted') AS accepted,
       count(*) FILTER (WHERE d.status = 'ignored') AS ignored,
       count(*) FILTER (WHERE d.status = 'paused') AS paused,
       count(*) FILTER (WHERE d.status = 'refused') AS refused,
       count(*) FILTER (WHERE d.status IN ('refused', 'paused') AND d.body IS NOT NULL)
           AS replayable,
       count(*) FILTER (WHERE d.is_test) AS tests,
       max(d.received_at) AS received_at,
       (array_agg(d.status ORDER BY d.id DESC))[1] AS status,
       (array_agg(d.detail ORDER BY d.id DESC))[1] AS detail
FROM webhook_deliveries d
WHERE d.space_id = %(space_id)s AND d.webhook_id = ANY(%(webhook_ids)s)
GROUP BY d.webhook_id;
