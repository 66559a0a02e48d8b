-- name: queue
-- Those with a reason are finished. A replacement event may already have deliveries.
INSERT INTO deliveries (space_id, destination_id, event_id, dedup_id, status, reason, finished_at)
SELECT %(space_id)s, r.destination_id, r.event_id, r.dedup_id,
       CASE WHEN r.reason IS NULL THEN 'queued' ELSE 'skipped' END, r.reason,
       CASE WHEN r.reason IS NOT NULL THEN now() END
FROM json_to_recordset(%(deliveries)s::json)
     AS r (destination_id bigint, event_id bigint, dedup_id text, reason text)
ON CONFLICT (space_id, event_id, destination_id, kind, number) DO NOTHING;

-- name: hand_over
-- Under the same dedup id, unless the replacement already has a delivery. With a conversion goes what follows it.
UPDATE deliveries d SET event_id = %(successor_id)s
WHERE d.space_id = %(space_id)s AND d.event_id = %(event_id)s
  AND d.status IN ('queued', 'retrying', 'delivered', 'counted')
  AND EXISTS (SELECT FROM deliveries sent
              WHERE sent.space_id = %(space_id)s AND sent.event_id = %(event_id)s
                AND sent.destination_id = d.destination_id AND sent.status = ANY(%(statuses)s))
  AND NOT EXISTS (SELECT FROM deliveries known
                  WHERE known.space_id = %(space_id)s AND known.event_id = %(successor_id)s
                    AND known.destination_id = d.destination_id);

-- name: withdraw
-- Before the event is deleted. Also clear their content, which a later erasure couldn't find. What a correction
-- needs is kept if the platform has the conversion, or may have it after the call that is being made.
UPDATE deliveries d
SET former_event = CASE WHEN d.kind = 'conversion'
                             AND (d.status IN ('delivered', 'counted') OR t.lease IS NOT NULL) THEN (
        SELECT jsonb_build_object(
                   'contact_id', e.contact_id, 'event_name', e.event_name, 'event_time', e.event_time,
                   'ad_user_data', e.ad_user_data, 'ad_personalization', e.ad_personalization)
        FROM events e WHERE e.space_id = %(space_id)s AND e.id = d.event_id) END,
    first_attempt = CASE WHEN d.kind = 'conversion'
                              AND (d.status IN ('delivered', 'counted') OR t.lease IS NOT NULL)
                         THEN d.first_attempt END,
    status = CASE WHEN d.status IN ('queued', 'retrying') THEN 'skipped' ELSE d.status END,
    reason = CASE WHEN d.status IN ('queued', 'retrying') THEN %(reason)s ELSE d.reason END,
    finished_at = least(d.finished_at, now()), request = NULL, answer = NULL, error = NULL
FROM destinations t
WHERE d.space_id = %(space_id)s AND d.event_id = %(event_id)s
  AND t.space_id = %(space_id)s AND t.id = d.destination_id;

-- name: forget_attempts
-- The same for attempts.
UPDATE delivery_attempts a SET error = NULL
WHERE a.space_id = %(space_id)s AND a.delivery_id IN (
    SELECT d.id FROM deliveries d
    WHERE d.space_id = %(space_id)s AND d.event_id = %(event_id)s
);
