-- name: columns
-- What a pass reads of an alert.
a.id, a.rule, a.subject, a.title, a.cause, a.began, a.opened_at, a.ended_at, a.is_severe, a.well, a.acknowledged_at

-- name: open
SELECT {columns}
FROM alerts a
WHERE a.space_id = %(space_id)s AND (a.ended_at IS NULL OR a.ended_at > %(lately)s)
ORDER BY a.id
LIMIT %(most)s;

-- name: insert
INSERT INTO alerts AS a (space_id, rule, subject, title, cause, began, opened_at, is_severe)
VALUES (%(space_id)s, %(rule)s, %(subject)s, %(title)s, %(cause)s, %(began)s, %(at)s,
        %(is_severe)s)
RETURNING {columns};

-- name: update
-- A returning alert loses its mark as seen.
UPDATE alerts a
SET title = %(title)s, cause = %(cause)s, began = %(began)s, ended_at = %(ended_at)s,
    is_severe = %(is_severe)s, well = %(well)s,
    acknowledged_at = CASE WHEN a.ended_at IS NULL THEN a.acknowledged_at END,
    acknowledged_by = CASE WHEN a.ended_at IS NULL THEN a.acknowledged_by END
WHERE a.space_id = %(space_id)s AND a.id = %(id)s;

-- name: unannounced
-- Alerts that opened or ended since the last message about them. Of one that was seen before, there is none.
SELECT {columns}, latest.step, latest.at
FROM alerts a
CROSS JOIN LATERAL (
    SELECT s.step, s.at
    FROM alert_steps s
    WHERE s.space_id = %(space_id)s AND s.alert_id = a.id AND s.step IN ('opened', 'returned', 'ended')
    ORDER BY s.id DESC
    LIMIT 1
) latest
WHERE a.space_id = %(space_id)s AND a.is_announced <> (a.ended_at IS NULL)
  AND (a.is_announced OR a.acknowledged_at IS NULL)
ORDER BY a.id
LIMIT %(most)s;

-- name: set_announced
UPDATE alerts a SET is_announced = (a.ended_at IS NULL)
WHERE a.space_id = %(space_id)s AND a.id = ANY(%(ids)s::bigint[]);

-- name: add_step
INSERT INTO alert_steps (space_id, alert_id, step, at, observed, usual_low, usual_middle,
                         usual_high, span)
VALUES (%(space_id)s, %(alert_id)s, %(step)s, %(at)s, %(observed)s, %(low)s, %(middle)s, %(high)s,
        %(span)s);

-- name: acknowledge
UPDATE alerts a SET acknowledged_at = %(at)s, acknowledged_by = %(user_id)s
WHERE a.space_id = %(space_id)s AND a.id = %(id)s AND a.ended_at IS NULL
  AND a.acknowledged_at IS NULL
RETURNING a.id;

-- name: end
UPDATE alerts a SET ended_at = %(at)s, is_announced = false
WHERE a.space_id = %(space_id)s AND a.rule = %(rule)s AND a.subject = %(subject)s
  AND a.ended_at IS NULL
RETURNING a.id;

-- name: list
SELECT a.id, a.rule, a.subject, a.title, a.cause, a.opened_at, a.ended_at, a.is_severe,
       a.acknowledged_at, a.acknowledged_by
FROM alerts a
WHERE a.space_id = %(space_id)s AND (a.ended_at IS NULL) = %(is_open)s
ORDER BY a.opened_at DESC, a.id DESC
LIMIT %(most)s;

-- name: steps
SELECT s.alert_id, s.step, s.at, s.observed, s.usual_low, s.usual_middle, s.usual_high, s.span
FROM alert_steps s
WHERE s.space_id = %(space_id)s AND s.alert_id = ANY(%(ids)s::bigint[])
ORDER BY s.id
LIMIT %(most)s;

-- name: forget
DELETE FROM alerts a WHERE a.space_id = %(space_id)s AND a.ended_at < %(before)s;
