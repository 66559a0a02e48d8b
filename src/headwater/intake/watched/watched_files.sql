-- name: count
SELECT count(*) FROM watched_files w WHERE w.space_id = %(space_id)s;

-- name: create
-- Secrets need the id.
INSERT INTO watched_files (space_id, kind, name, address, settings)
VALUES (%(space_id)s, %(kind)s, %(name)s, %(address)s, %(settings)s)
RETURNING id;

-- name: put_secrets
UPDATE watched_files w SET secrets = %(secrets)s, secret_names = %(names)s
WHERE w.space_id = %(space_id)s AND w.id = %(id)s;

-- name: list
SELECT w.id, w.kind, w.name, w.address, w.settings, w.secret_names, w.status,
       iso_utc(w.created_at) AS created_at, iso_utc(w.next_fetch_at) AS next_fetch_at,
       iso_utc(w.fetched_at) AS fetched_at, w.failures, iso_utc(w.failing_since) AS failing_since, w.fault,
       w.fault_message, coalesce(w.leased_until > now(), false) AS is_fetching
FROM watched_files w
WHERE w.space_id = %(space_id)s AND (%(id)s::bigint IS NULL OR w.id = %(id)s)
ORDER BY w.id;

-- name: lock
SELECT w.kind, w.name, w.address, w.settings, w.secrets
FROM watched_files w
WHERE w.space_id = %(space_id)s AND w.id = %(id)s
FOR NO KEY UPDATE;

-- name: change
UPDATE watched_files w SET name = %(name)s, address = %(address)s, settings = %(settings)s
WHERE w.space_id = %(space_id)s AND w.id = %(id)s;

-- name: retry
-- A new address, settings or secrets end a hold, and are tried now. What is being fetched with the old ones is
-- not imported.
UPDATE watched_files w
SET status = CASE WHEN w.status = 'paused' THEN 'paused' ELSE 'active' END, failures = 0,
    settings_at = now(), next_fetch_at = now(), lease = NULL, leased_until = NULL
WHERE w.space_id = %(space_id)s AND w.id = %(id)s;

-- name: pause
UPDATE watched_files w SET status = 'paused'
WHERE w.space_id = %(space_id)s AND w.id = %(id)s;

-- name: resume
UPDATE watched_files w SET status = 'active', failures = 0, next_fetch_at = now()
WHERE w.space_id = %(space_id)s AND w.id = %(id)s;

-- name: fetch_now
UPDATE watched_files w SET next_fetch_at = least(w.next_fetch_at, now())
WHERE w.space_id = %(space_id)s AND w.id = %(id)s AND w.status = 'active';

-- name: delete
DELETE FROM watched_files w WHERE w.space_id = %(space_id)s AND w.id = %(id)s;
