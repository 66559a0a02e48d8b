-- name: connections
-- Connections to ad accounts that aren't paused. A running or planned pull is not overdue.
SELECT c.id, c.platform, c.name, c.status, c.settings, c.fault, c.fault_message, c.failing_since,
       coalesce(c.pulled_at, c.created_at) AS pulled_at,
       c.status = 'active' AND coalesce(c.pulled_at, c.created_at) < now() - %(missing)s
       AND (c.failures > 0 OR c.next_pull_at < now() - %(late)s) AS is_missing
FROM spend_connections c
WHERE c.space_id = %(space_id)s AND c.status <> 'paused'
ORDER BY c.id;
