-- name: count
SELECT count(*) FROM destinations d
WHERE d.space_id = %(space_id)s AND d.status <> 'removed';

-- name: create
-- Secrets need the id.
INSERT INTO destinations (space_id, platform, name, all_events, settings, event_names)
VALUES (%(space_id)s, %(platform)s, %(name)s, %(all_events)s, %(settings)s, %(event_names)s)
RETURNING id;

-- name: put_secrets
-- The last test used the old tokens.
UPDATE destinations d
SET secrets = %(secrets)s, secret_names = %(names)s, secrets_version = d.secrets_version + 1,
    tested_at = NULL, test_ok = NULL, test_message = NULL, test_remedy = NULL
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s;

-- name: list
-- Up to %(most)s, to bound the cost.
SELECT d.id, d.platform, d.name, d.status, d.status_reason, d.all_events, d.settings,
       d.secret_names, d.event_names, iso_utc(d.created_at) AS created_at,
       iso_utc(CASE WHEN d.wait_until > now() THEN d.wait_until END) AS wait_until,
       iso_utc(d.tested_at) AS tested_at, d.test_ok, d.test_message,
       d.test_remedy,
       coalesce((SELECT jsonb_object_agg(l.event_name, l.label) FROM event_labels l
                 WHERE l.space_id = %(space_id)s), '{}') AS event_labels,
       (SELECT json_object_agg(s.status, counted.number)
        FROM unnest(%(statuses)s::text[]) AS s (status)
        CROSS JOIN LATERAL (
            SELECT count(*) AS number
            FROM (SELECT FROM deliveries x
                  WHERE x.space_id = %(space_id)s AND x.destination_id = d.id
                    AND x.status = s.status
                  LIMIT %(most)s) x
        ) counted) AS counts
FROM destinations d
WHERE d.space_id = %(space_id)s AND d.status <> 'removed'
  AND (%(destination_id)s::bigint IS NULL OR d.id = %(destination_id)s)
ORDER BY d.id;

-- name: lock
SELECT d.platform, d.settings, d.secrets, d.event_names, d.all_events
FROM destinations d
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s AND d.status <> 'removed'
FOR NO KEY UPDATE;

-- name: renew_secrets
-- The last test stays valid: the tokens are of the same user.
UPDATE destinations d SET secrets = %(secrets)s
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s;

-- name: change
-- NULL keeps a value.
UPDATE destinations d
SET name = coalesce(%(name)s, d.name), all_events = coalesce(%(all_events)s, d.all_events),
    settings = coalesce(%(settings)s, d.settings),
    event_names = coalesce(%(event_names)s, d.event_names)
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s;

-- name: forget_test
-- It used the old setup.
UPDATE destinations d
SET tested_at = NULL, test_ok = NULL, test_message = NULL, test_remedy = NULL
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s;

-- name: note_test
UPDATE destinations d
SET tested_at = now(), test_ok = %(ok)s, test_message = %(message)s, test_remedy = %(remedy)s
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s AND d.status <> 'removed';

-- name: pause
-- New events are skipped.
UPDATE destinations d SET status = 'paused', status_reason = NULL
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s AND d.status <> 'removed';

-- name: resume
-- Send immediately.
UPDATE destinations d
SET status = 'active', status_reason = NULL, wait_until = '-infinity', failures = 0
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s AND d.status <> 'removed';

-- name: remove
-- Remove the tokens; deliveries stay visible.
UPDATE destinations d
SET status = 'removed', status_reason = NULL, secrets = NULL, secret_names = '{}'
WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s AND d.status <> 'removed';
