-- name: queue
-- New deliveries; those with a reason are done before they begin. An event that took another's
-- place may have that one's already.
INSERT INTO deliveries (space_id, destination_id, event_id, dedup_id, status, reason, finished_at)
SELECT %(space_id)s, r.destination_id, r.event_id, r.dedup_id,
       CASE WHEN r.reason IS NULL THEN 'queued' ELSE 'skipped' END, r.reason,
       CASE WHEN r.reason IS NOT NULL THEN now() END
FROM json_to_recordset(%(deliveries)s::json)
     AS r (destination_id bigint, event_id bigint, dedup_id text, reason text)
ON CONFLICT (space_id, event_id, destination_id) DO NOTHING;

-- name: hand_over
-- An event is replaced by another. Its deliveries move to the new event under the same id for
-- deduplication, unless the new event already has such a delivery.
UPDATE deliveries d SET event_id = %(successor_id)s
WHERE d.space_id = %(space_id)s AND d.event_id = %(event_id)s
  AND d.status = ANY(%(statuses)s)
  AND NOT EXISTS (SELECT FROM deliveries known
                  WHERE known.space_id = %(space_id)s AND known.event_id = %(successor_id)s
                    AND known.destination_id = d.destination_id);

-- name: withdraw
-- End the remaining deliveries of an event that was deleted or replaced, and clear what was sent: an
-- erasure of its person would no longer find it.
UPDATE deliveries d
SET status = CASE WHEN d.status IN ('queued', 'retrying') THEN 'skipped' ELSE d.status END,
    reason = CASE WHEN d.status IN ('queued', 'retrying') THEN %(reason)s ELSE d.reason END,
    finished_at = least(d.finished_at, now()), request = NULL, answer = NULL, error = NULL
WHERE d.space_id = %(space_id)s AND d.event_id = %(event_id)s;

-- name: forget_attempts
-- The same of every single attempt.
UPDATE delivery_attempts a SET error = NULL
WHERE a.space_id = %(space_id)s AND a.delivery_id IN (
    SELECT d.id FROM deliveries d
    WHERE d.space_id = %(space_id)s AND d.event_id = %(event_id)s
);
