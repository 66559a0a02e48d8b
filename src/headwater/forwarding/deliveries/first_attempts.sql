-- name: keep
UPDATE deliveries d SET first_attempt = r.first_attempt, touchpoint_id = coalesce(r.touchpoint_id, d.touchpoint_id)
FROM json_to_recordset(%(rows)s::json) AS r (id bigint, first_attempt jsonb, touchpoint_id bigint)
WHERE d.space_id = %(space_id)s AND d.destination_id = %(destination_id)s AND d.id = r.id
  AND d.status IN ('queued', 'retrying');
