-- name: add
INSERT INTO messages (space_id, channel_id, message_id, content, due_at)
VALUES (%(space_id)s, %(channel_id)s, %(message_id)s, %(content)s::jsonb, %(now)s);

-- name: due
SELECT DISTINCT m.space_id FROM (
    SELECT d.space_id FROM messages d
    WHERE d.status = 'waiting' AND d.due_at <= %(now)s
      AND (d.leased_until IS NULL OR has_come(d.leased_until, interval '2 minutes'))
    ORDER BY d.due_at LIMIT %(most)s) m;

-- name: claim
UPDATE messages m
SET lease = %(lease)s, leased_until = now() + interval '2 minutes', attempts = m.attempts + 1
WHERE m.space_id = %(space_id)s AND m.id = ANY(ARRAY(
    SELECT d.id FROM messages d
    WHERE d.space_id = %(space_id)s AND d.status = 'waiting' AND d.due_at <= %(now)s
      AND (d.leased_until IS NULL OR has_come(d.leased_until, interval '2 minutes'))
    ORDER BY d.due_at, d.id LIMIT %(most)s
    FOR UPDATE SKIP LOCKED))
RETURNING m.id, m.channel_id, m.message_id, m.content, m.created_at, m.attempts;

-- name: finish
-- Record the outcome of a message. Only its lease holder may.
UPDATE messages m
SET status = %(status)s, error = %(error)s, due_at = %(due_at)s, lease = NULL, leased_until = NULL,
    finished_at = CASE WHEN %(status)s <> 'waiting' THEN %(now)s END
WHERE m.space_id = %(space_id)s AND m.id = %(id)s AND m.lease = %(lease)s
RETURNING m.id;

-- name: forget
DELETE FROM messages m WHERE m.space_id = %(space_id)s AND m.finished_at < %(before)s;

-- name: list
SELECT m.id, m.channel_id, m.content ->> 'subject' AS subject, m.created_at, m.status, m.error,
       m.attempts
FROM messages m
WHERE m.space_id = %(space_id)s
ORDER BY m.id DESC
LIMIT %(most)s;
