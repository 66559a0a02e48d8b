-- name: due
-- For the operator: connections of some platforms that no process has leased.
SELECT c.space_id, c.id, c.platform FROM spend_connections c
WHERE c.status = 'active' AND c.next_pull_at <= to_timestamp(%(now)s)
  AND (c.leased_until IS NULL OR has_come(c.leased_until, %(lease)s))
  AND NOT c.platform = ANY(%(busy)s)
ORDER BY c.next_pull_at
LIMIT %(most)s;

-- name: due_spaces
-- For the operator.
SELECT DISTINCT c.space_id FROM spend_connections c
WHERE c.status = 'active' AND c.next_pull_at <= now()
  AND (c.leased_until IS NULL OR has_come(c.leased_until, %(lease)s));

-- name: take
-- Unless another process holds it or it waits.
UPDATE spend_connections c
SET lease = %(token)s, leased_until = now() + %(lease)s
WHERE c.space_id = %(space_id)s AND c.id = %(id)s
  AND c.status = 'active' AND c.next_pull_at <= to_timestamp(%(now)s)
  AND (c.leased_until IS NULL OR has_come(c.leased_until, %(lease)s))
RETURNING c.platform, c.settings, c.secrets, c.account_id, c.history_from, c.history_until,
          c.next_wide_pull_at, c.pulled_at, c.failures;

-- name: renew
UPDATE spend_connections c SET leased_until = now() + %(lease)s
WHERE c.space_id = %(space_id)s AND c.id = %(id)s AND c.lease = %(token)s;

-- name: lock
-- If the lease is still ours, and the connection is not paused.
SELECT c.secrets FROM spend_connections c
WHERE c.space_id = %(space_id)s AND c.id = %(id)s AND c.lease = %(token)s
  AND c.status = 'active'
FOR NO KEY UPDATE;

-- name: release
UPDATE spend_connections c SET lease = NULL, leased_until = NULL
WHERE c.space_id = %(space_id)s AND c.id = %(id)s AND c.lease = %(token)s;

-- name: put_account
-- The first pull also decides how far back to fetch.
UPDATE spend_connections c
SET account_id = %(account_id)s, account_name = %(account_name)s, currency = %(currency)s,
    timezone = %(timezone)s,
    history_from = CASE WHEN c.account_id IS DISTINCT FROM %(account_id)s
                        THEN %(history_from)s::date ELSE c.history_from END,
    history_until = CASE WHEN c.account_id IS DISTINCT FROM %(account_id)s
                         THEN %(history_until)s::date ELSE c.history_until END
WHERE c.space_id = %(space_id)s AND c.id = %(id)s
RETURNING c.history_from, c.history_until;

-- name: put_secrets
UPDATE spend_connections c SET secrets = %(secrets)s
WHERE c.space_id = %(space_id)s AND c.id = %(id)s;

-- name: note_history
-- All days from `until` are fetched.
UPDATE spend_connections c SET history_until = %(until)s::date
WHERE c.space_id = %(space_id)s AND c.id = %(id)s;

-- name: note_pull
-- A complete pull of the days that may still change.
UPDATE spend_connections c
SET pulled_at = to_timestamp(%(now)s), failures = 0, failing_since = NULL, fault = NULL, fault_message = NULL,
    next_wide_pull_at = coalesce(to_timestamp(%(next_wide)s), c.next_wide_pull_at)
WHERE c.space_id = %(space_id)s AND c.id = %(id)s;

-- name: schedule
UPDATE spend_connections c SET next_pull_at = to_timestamp(%(next_pull_at)s)
WHERE c.space_id = %(space_id)s AND c.id = %(id)s;

-- name: note_fault
UPDATE spend_connections c
SET status = CASE WHEN %(is_held)s THEN 'held' ELSE c.status END,
    failures = c.failures + 1, failing_since = coalesce(c.failing_since, to_timestamp(%(now)s)),
    fault = %(fault)s, fault_message = %(message)s, next_pull_at = to_timestamp(%(next_pull_at)s)
WHERE c.space_id = %(space_id)s AND c.id = %(id)s;
