-- name: due
-- Spaces, or 0 for the installation, with entries to send.
SELECT DISTINCT q.space_id FROM unsent_audit_entries q WHERE q.due_at <= %(now)s LIMIT %(most)s;

-- name: claim
-- The oldest entries to send, which are due again if their sender ends. A second sender skips those of the first.
UPDATE unsent_audit_entries u SET due_at = %(due_at)s
WHERE u.space_id = %(space_id)s
  AND u.id = ANY(ARRAY(
      SELECT q.id FROM unsent_audit_entries q
      WHERE q.space_id = %(space_id)s AND q.due_at <= %(now)s
      ORDER BY q.id LIMIT %(limit)s
      FOR UPDATE SKIP LOCKED))
RETURNING u.id;

-- name: sent
DELETE FROM unsent_audit_entries WHERE space_id = %(space_id)s AND id = ANY(%(ids)s);

-- name: put_off
UPDATE unsent_audit_entries SET due_at = %(due_at)s WHERE space_id = %(space_id)s AND due_at < %(due_at)s;

-- name: forget
-- Without collectors nothing waits for them.
DELETE FROM unsent_audit_entries;
