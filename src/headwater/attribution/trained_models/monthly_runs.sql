-- name: start
INSERT INTO monthly_training (space_id, event_name, next_at)
VALUES (%(space_id)s, %(event_name)s, %(next_at)s)
ON CONFLICT (space_id, event_name) DO NOTHING;

-- name: stop
DELETE FROM monthly_training m WHERE m.space_id = %(space_id)s AND m.event_name = %(event_name)s;

-- name: list
SELECT m.event_name, m.next_at, m.error FROM monthly_training m
WHERE m.space_id = %(space_id)s
ORDER BY m.event_name;

-- name: due
-- For the operator: Spaces with a due trained model.
SELECT DISTINCT d.space_id FROM (
    SELECT m.space_id FROM monthly_training m
    WHERE m.next_at <= %(now)s
    ORDER BY m.next_at LIMIT %(most)s) d;

-- name: claim
-- Take an event name with a due trained model. It is due again soon in case this process ends.
UPDATE monthly_training m SET next_at = %(again)s
WHERE m.space_id = %(space_id)s AND m.event_name = (
    SELECT d.event_name FROM monthly_training d
    WHERE d.space_id = %(space_id)s AND d.next_at <= %(now)s
    ORDER BY d.next_at, d.event_name LIMIT 1
    FOR UPDATE SKIP LOCKED)
RETURNING m.event_name;

-- name: finish
-- Store the next due time, and this run's error, if any.
UPDATE monthly_training m SET next_at = %(next_at)s, error = %(error)s
WHERE m.space_id = %(space_id)s AND m.event_name = %(event_name)s;
