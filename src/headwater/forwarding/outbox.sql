-- name: queue
-- New deliveries; those with a reason are done before they begin.
INSERT INTO deliveries (space_id, destination_id, event_id, dedup_id, status, reason, finished_at)
SELECT %(space_id)s, r.destination_id, r.event_id, r.dedup_id,
       CASE WHEN r.reason IS NULL THEN 'queued' ELSE 'skipped' END, r.reason,
       CASE WHEN r.reason IS NOT NULL THEN now() END
FROM json_to_recordset(%(deliveries)s::json)
     AS r (destination_id bigint, event_id bigint, dedup_id text, reason text);
