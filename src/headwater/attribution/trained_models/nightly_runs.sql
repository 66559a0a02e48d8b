-- name: start
INSERT INTO automatic_training (space_id, event_name, next_at)
VALUES (%(space_id)s, %(event_name)s, %(next_at)s)
ON CONFLICT (space_id, event_name) DO UPDATE
    SET is_on = true, next_at = greatest(automatic_training.next_at, excluded.next_at);

-- name: stop
UPDATE automatic_training a SET is_on = false
WHERE a.space_id = %(space_id)s AND a.event_name = %(event_name)s;

-- name: list
SELECT a.event_name, a.is_on, a.next_at, m.id AS trained_model_id, m.made_at AS trained_at, m.conversions
FROM automatic_training a
LEFT JOIN trained_models m ON m.space_id = %(space_id)s AND m.id = a.trained_model_id
WHERE a.space_id = %(space_id)s
ORDER BY a.event_name;

-- name: due
-- For the operator: Spaces with due training.
SELECT DISTINCT d.space_id FROM (
    SELECT a.space_id FROM automatic_training a
    WHERE a.is_on AND a.next_at <= %(now)s
    ORDER BY a.next_at LIMIT %(most)s) d;

-- name: claim
-- Take an event name with due training. It is due again next night unless training succeeds.
UPDATE automatic_training a SET next_at = %(next_at)s
WHERE a.space_id = %(space_id)s AND a.event_name = (
    SELECT d.event_name FROM automatic_training d
    WHERE d.space_id = %(space_id)s AND d.is_on AND d.next_at <= %(now)s
    ORDER BY d.next_at, d.event_name LIMIT 1
    FOR UPDATE SKIP LOCKED)
RETURNING a.event_name;

-- name: count
-- Conversions with a touchpoint in the window, up to `most`: the latest one before the conversion, which an index
-- finds behind policies, too.
SELECT count(*) FROM (
    SELECT FROM events e
    CROSS JOIN LATERAL (
        SELECT t.occurred_at FROM touchpoints t
        WHERE t.space_id = %(space_id)s AND t.contact_id = e.contact_id AND t.occurred_at <= e.event_time
        ORDER BY t.occurred_at DESC
        LIMIT 1
    ) latest
    WHERE e.space_id = %(space_id)s AND e.event_name = %(event_name)s
      AND e.event_time >= %(start)s AND e.event_time < %(end)s
      AND {is_conversion}
      AND latest.occurred_at >= e.event_time - make_interval(secs => %(lookback)s)
    LIMIT %(most)s) c;

-- name: replace_current
-- Make a model current in place of the previous automatic one. A model chosen by hand stays.
UPDATE current_models c SET trained_model_id = %(trained_model_id)s, chosen_at = now()
WHERE c.space_id = %(space_id)s AND c.event_name = %(event_name)s
  AND c.trained_model_id = (
    SELECT a.trained_model_id FROM automatic_training a
    WHERE a.space_id = %(space_id)s AND a.event_name = %(event_name)s);

-- name: finish
UPDATE automatic_training a SET next_at = %(next_at)s, trained_model_id = %(trained_model_id)s
WHERE a.space_id = %(space_id)s AND a.event_name = %(event_name)s;
