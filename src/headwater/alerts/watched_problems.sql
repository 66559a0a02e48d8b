-- name: failing
-- Watched files that are held, or weren't fetched for %(overdue)s. A running or planned fetch is not overdue.
SELECT w.id, w.name, w.status, w.fault, w.fault_message,
       coalesce(w.failing_since, w.fetched_at, w.created_at) AS since
FROM watched_files w
WHERE w.space_id = %(space_id)s
  AND (w.status = 'held'
       OR w.status = 'active' AND coalesce(w.fetched_at, w.created_at) < now() - %(overdue)s
          AND (w.failures > 0 OR w.next_fetch_at < now() - %(late)s))
ORDER BY w.id;
