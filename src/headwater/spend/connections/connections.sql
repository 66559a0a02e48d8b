-- name: count
SELECT count(*) FROM spend_connections c WHERE c.space_id = %(space_id)s;

-- name: create
-- Secrets need the id.
INSERT INTO spend_connections (space_id, platform, name, settings, lender_id)
VALUES (%(space_id)s, %(platform)s, %(name)s, %(settings)s, %(lender_id)s)
RETURNING id;

-- name: put_secrets
UPDATE spend_connections c SET secrets = %(secrets)s, secret_names = %(names)s
WHERE c.space_id = %(space_id)s AND c.id = %(id)s;

-- name: list
SELECT c.id, c.platform, c.name, c.status, c.settings, c.secret_names, iso_utc(c.created_at) AS created_at,
       c.account_id, c.account_name, c.currency, c.timezone, c.history_from, c.history_until,
       iso_utc(c.next_pull_at) AS next_pull_at, iso_utc(c.pulled_at) AS pulled_at, c.failures,
       iso_utc(c.failing_since) AS failing_since, c.fault, c.fault_message, d.name AS lender,
       coalesce(c.leased_until > now(), false) AS is_pulling
FROM spend_connections c
LEFT JOIN destinations d ON d.space_id = %(space_id)s AND d.id = c.lender_id AND d.status <> 'removed'
WHERE c.space_id = %(space_id)s AND (%(id)s::bigint IS NULL OR c.id = %(id)s)
ORDER BY c.id;

-- name: lock
SELECT c.platform, c.settings, c.secrets
FROM spend_connections c
WHERE c.space_id = %(space_id)s AND c.id = %(id)s
FOR NO KEY UPDATE;

-- name: change
-- NULL keeps a value.
UPDATE spend_connections c
SET name = coalesce(%(name)s, c.name), settings = coalesce(%(settings)s, c.settings),
    lender_id = CASE WHEN %(has_secrets)s THEN NULL ELSE c.lender_id END
WHERE c.space_id = %(space_id)s AND c.id = %(id)s;

-- name: retry
-- New settings or tokens end a hold, and are tried now.
UPDATE spend_connections c SET status = 'active', failures = 0, next_pull_at = now()
WHERE c.space_id = %(space_id)s AND c.id = %(id)s AND c.status <> 'paused';

-- name: pause
UPDATE spend_connections c SET status = 'paused'
WHERE c.space_id = %(space_id)s AND c.id = %(id)s;

-- name: resume
UPDATE spend_connections c SET status = 'active', failures = 0, next_pull_at = now()
WHERE c.space_id = %(space_id)s AND c.id = %(id)s;

-- name: pull_now
UPDATE spend_connections c SET next_pull_at = least(c.next_pull_at, now())
WHERE c.space_id = %(space_id)s AND c.id = %(id)s AND c.status = 'active';

-- name: delete
DELETE FROM spend_connections c
WHERE c.space_id = %(space_id)s AND c.id = %(id)s;
