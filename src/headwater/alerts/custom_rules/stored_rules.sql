-- name: list
SELECT r.id, r.measure, r.condition, r.threshold, r.currency, r.days, r.filter, r.filter_name,
       r.group_by, r.changed_at, r.muted_until, r.checked_at, r.figure, r.note
FROM custom_alert_rules r
WHERE r.space_id = %(space_id)s
ORDER BY r.id
LIMIT %(most)s;

-- name: due
-- Rules not checked since the hour began, the longest unchecked first.
SELECT r.id, r.measure, r.condition, r.threshold, r.currency, r.days, r.filter, r.filter_name,
       r.group_by, r.changed_at, r.muted_until, r.checked_at, r.figure, r.note
FROM custom_alert_rules r
WHERE r.space_id = %(space_id)s AND coalesce(r.checked_at < %(hour)s, true)
ORDER BY r.checked_at NULLS FIRST, r.id
LIMIT %(most)s;

-- name: count
SELECT count(*) FROM custom_alert_rules r WHERE r.space_id = %(space_id)s;

-- name: create
INSERT INTO custom_alert_rules (space_id, measure, condition, threshold, currency, days, filter,
                                filter_name, group_by)
VALUES (%(space_id)s, %(measure)s, %(condition)s, %(threshold)s, %(currency)s, %(days)s,
        %(filter)s, %(filter_name)s, %(group_by)s)
RETURNING id;

-- name: change
UPDATE custom_alert_rules r
SET measure = %(measure)s, condition = %(condition)s, threshold = %(threshold)s,
    currency = %(currency)s, days = %(days)s, filter = %(filter)s, filter_name = %(filter_name)s,
    group_by = %(group_by)s, changed_at = now(),
    checked_at = NULL, figure = NULL, note = ''
WHERE r.space_id = %(space_id)s AND r.id = %(id)s
RETURNING r.id;

-- name: mute
UPDATE custom_alert_rules r SET muted_until = %(muted_until)s
WHERE r.space_id = %(space_id)s AND r.id = %(id)s
RETURNING r.id;

-- name: delete
DELETE FROM custom_alert_rules r WHERE r.space_id = %(space_id)s AND r.id = %(id)s RETURNING r.id;

-- name: record
-- Unless the rule was changed meanwhile.
UPDATE custom_alert_rules r
SET checked_at = %(at)s, figure = %(figure)s, note = %(note)s
WHERE r.space_id = %(space_id)s AND r.id = %(id)s AND r.changed_at = %(changed_at)s
RETURNING r.id;

-- name: campaigns
-- The newest campaigns of touchpoints and of the ad catalogue, with one name each. Reports list a catalogued
-- campaign under its name if touchpoints have it only by name.
WITH touched AS (
    SELECT coalesce(s.campaign_id, s.campaign_name) AS key, s.campaign_name AS name, s.id
    FROM tag_sets s
    WHERE s.space_id = %(space_id)s AND num_nonnulls(s.campaign_id, s.campaign_name) > 0
)
SELECT c.key, min(c.name COLLATE "C") AS name
FROM (SELECT t.key, t.name, t.id FROM touched t
      UNION ALL
      SELECT a.id, a.name, 0 FROM ad_names a
      WHERE a.space_id = %(space_id)s AND a.kind = 'campaign'
        AND (a.id IN (SELECT t.key FROM touched t) OR a.name NOT IN (SELECT t.key FROM touched t))) c
GROUP BY c.key
ORDER BY max(c.id) DESC, c.key
LIMIT %(most)s;
