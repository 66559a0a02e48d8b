-- name: list
SELECT r.id, r.name, r.page, r.query, r.cadence, r.weekdays, r.send_at, r.with_csv,
       r.channel_ids, r.made_by, r.next_at, r.last_at, r.error
FROM scheduled_reports r
WHERE r.space_id = %(space_id)s
ORDER BY lower(r.name), r.id
LIMIT %(most)s;

-- name: create
-- Return no row at the limit.
INSERT INTO scheduled_reports (space_id, name, page, query, cadence, weekdays, send_at, with_csv,
                               channel_ids, made_by, next_at)
SELECT %(space_id)s, %(name)s, %(page)s, %(query)s, %(cadence)s, %(weekdays)s, %(send_at)s,
       %(with_csv)s, %(channel_ids)s, %(user_id)s, %(next_at)s
WHERE (SELECT count(*) FROM scheduled_reports r WHERE r.space_id = %(space_id)s) < %(most)s
RETURNING id;

-- name: change
UPDATE scheduled_reports r
SET name = %(name)s, cadence = %(cadence)s, weekdays = %(weekdays)s, send_at = %(send_at)s,
    with_csv = %(with_csv)s, channel_ids = %(channel_ids)s, next_at = %(next_at)s, error = NULL
WHERE r.space_id = %(space_id)s AND r.id = %(id)s
RETURNING r.id;

-- name: set_next
UPDATE scheduled_reports r SET next_at = %(next_at)s
WHERE r.space_id = %(space_id)s AND r.id = %(id)s;

-- name: remove
DELETE FROM scheduled_reports r WHERE r.space_id = %(space_id)s AND r.id = %(id)s RETURNING r.id;

-- name: due
-- Across all Spaces.
SELECT DISTINCT r.space_id FROM (
    SELECT d.space_id FROM scheduled_reports d
    WHERE d.next_at <= %(now)s AND (d.leased_until IS NULL OR has_come(d.leased_until, interval '2 minutes'))
    ORDER BY d.next_at LIMIT %(most)s) r;

-- name: claim
-- So no other process builds it.
UPDATE scheduled_reports r
SET lease = %(lease)s, leased_until = now() + interval '2 minutes', attempts = r.attempts + 1
WHERE r.space_id = %(space_id)s AND r.id = (
    SELECT d.id FROM scheduled_reports d
    WHERE d.space_id = %(space_id)s AND d.next_at <= %(now)s
      AND (d.leased_until IS NULL OR has_come(d.leased_until, interval '2 minutes'))
    ORDER BY d.next_at, d.id LIMIT 1
    FOR UPDATE SKIP LOCKED)
RETURNING r.id, r.name, r.page, r.query, r.cadence, r.weekdays, r.send_at, r.with_csv,
          r.channel_ids, r.made_by, r.next_at, r.last_at, r.error, r.attempts;

-- name: finish
-- Only the claiming process may. A report paused or scheduled otherwise meanwhile stays so.
UPDATE scheduled_reports r
SET next_at = CASE WHEN r.next_at = %(due_at)s THEN %(next_at)s ELSE r.next_at END,
    last_at = %(now)s, error = %(error)s, attempts = %(attempts)s,
    lease = NULL, leased_until = NULL
WHERE r.space_id = %(space_id)s AND r.id = %(id)s AND r.lease = %(lease)s
RETURNING r.id;
