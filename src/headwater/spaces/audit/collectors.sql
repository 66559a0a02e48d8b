-- name: due
-- Spaces, or 0 for the installation, with entries to send.
SELECT DISTINCT q.space_id FROM unsent_audit_entries q WHERE q.due_at <= %(now)s LIMIT %(most)s;

-- name: claim
-- The oldest entries to send. A second sender skips those of the first.
SELECT q.id FROM unsent_audit_entries q
WHERE q.space_id = %(space_id)s AND q.due_at <= %(now)s
ORDER BY q.id LIMIT %(limit)s
FOR UPDATE SKIP LOCKED;

-- name: entries
SELECT e.space_id, e.id, e.occurred_at, e.way, e.action, e.user_id,
       coalesce(nullif(u.name, ''), u.email) AS user, e.key_id, k.name AS key, e.token_id, e.operator,
       host(e.address) AS address, e.changes
FROM audit_entries e
LEFT JOIN users u ON u.id = e.user_id
LEFT JOIN api_keys k ON k.space_id = %(space_id)s AND k.id = e.key_id
WHERE e.space_id = %(space_id)s AND e.id = ANY(%(ids)s)
ORDER BY e.id;

-- name: sent
DELETE FROM unsent_audit_entries WHERE space_id = %(space_id)s AND id = ANY(%(ids)s);

-- name: put_off
UPDATE unsent_audit_entries SET due_at = %(due_at)s WHERE space_id = %(space_id)s AND due_at < %(due_at)s;

-- name: forget
-- Without collectors nothing waits for them.
DELETE FROM unsent_audit_entries;
