-- name: due
-- A new Space has a minute without the process that checks it: there is nothing to compare it with. A pass more
-- than an hour ahead was planned before the clock was set back.
SELECT s.id
FROM spaces s
LEFT JOIN alert_watches w ON w.space_id = s.id
WHERE (w.space_id IS NULL AND s.created_at < %(now)s - interval '1 minute')
   OR ((w.next_at <= %(now)s OR w.next_at > %(now)s + interval '1 hour')
       AND (w.leased_until IS NULL OR has_come(w.leased_until, interval '10 minutes')))
ORDER BY w.next_at NULLS FIRST, s.id
LIMIT %(most)s;

-- name: newest_id
SELECT last_value AS newest_id FROM receipt_ids;

-- name: begin
-- Everything accepted from now on is settled at the next pass.
INSERT INTO alert_watches (space_id, timezone, counted_id, settled_id, settled_at, counted_at,
                           judged_until, next_at)
VALUES (%(space_id)s, %(zone)s, 0, %(newest_id)s, %(now)s, 'epoch', %(judged_until)s, %(next_at)s)
ON CONFLICT (space_id) DO NOTHING;

-- name: hasten
UPDATE alert_watches w SET next_at = now() WHERE w.space_id = %(space_id)s;

-- name: claim
-- For longer than a pass takes whose custom rules are all slow.
UPDATE alert_watches w
SET lease = %(lease)s, leased_until = now() + interval '10 minutes'
WHERE w.space_id = %(space_id)s AND (w.next_at <= %(now)s OR w.next_at > %(now)s + interval '1 hour')
  AND (w.leased_until IS NULL OR has_come(w.leased_until, interval '10 minutes'))
RETURNING w.timezone, w.counted_id, w.settled_id, w.settled_at, w.counted_at, w.judged_until;

-- name: settle
-- Only its lease holder may.
UPDATE alert_watches w
SET timezone = %(timezone)s, counted_id = %(counted_id)s, counted_at = %(counted_at)s,
    settled_id = %(settled_id)s, settled_at = %(settled_at)s, judged_until = %(judged_until)s,
    next_at = %(next_at)s, lease = NULL, leased_until = NULL
WHERE w.space_id = %(space_id)s AND w.lease = %(lease)s
RETURNING w.space_id;

-- name: rules
SELECT r.rule, r.is_on, r.sensitivity, r.muted_until
FROM alert_rules r WHERE r.space_id = %(space_id)s;

-- name: set_rule
INSERT INTO alert_rules (space_id, rule, is_on, sensitivity, muted_until)
VALUES (%(space_id)s, %(rule)s, %(is_on)s, %(sensitivity)s, %(muted_until)s)
ON CONFLICT (space_id, rule) DO UPDATE
SET is_on = excluded.is_on, sensitivity = excluded.sensitivity,
    muted_until = excluded.muted_until;
