-- name: problems
-- Destinations refused by their platform, late deliveries and accepted requests, rejected rows, browsers that
-- claimed too many contacts, and used keys that end soon without a successor, with the names of the first to end.
-- Counting stops at %(most)s, so a long backlog stays cheap.
SELECT 'destination_held' AS kind, d.id AS destination_id, d.platform, d.name,
       d.status_reason AS detail, waiting.rows AS count, d.held_since AS since
FROM destinations d
CROSS JOIN LATERAL (
    SELECT count(*) AS rows FROM (
        SELECT FROM deliveries q
        WHERE q.space_id = %(space_id)s AND q.destination_id = d.id
          AND q.status IN ('queued', 'retrying') LIMIT %(most)s) q) waiting
WHERE d.space_id = %(space_id)s AND d.status = 'held'
UNION ALL
SELECT 'deliveries_late', d.id, d.platform, d.name, NULL, late.rows, late.since
FROM destinations d
CROSS JOIN LATERAL (
    SELECT count(*) AS rows, min(q.due_at) AS since FROM (
        SELECT q.due_at FROM deliveries q
        WHERE q.space_id = %(space_id)s AND q.destination_id = d.id
          AND q.status IN ('queued', 'retrying') AND q.due_at < now() - %(late)s
        ORDER BY q.due_at LIMIT %(most)s) q) late
WHERE d.space_id = %(space_id)s AND d.status = 'active' AND late.rows > 0
UNION ALL
SELECT 'events_rejected', NULL, NULL, NULL, NULL, r.rows, r.since
FROM (SELECT count(*) AS rows, min(r.rejected_at) AS since FROM (
          SELECT r.rejected_at FROM rejected r
          WHERE r.space_id = %(space_id)s ORDER BY r.id LIMIT %(most)s) r) r
WHERE r.rows > 0
UNION ALL
SELECT 'exports_failed', NULL, NULL, NULL, x.error, x.rows, x.since
FROM (SELECT count(*) AS rows, min(x.retry_at) AS since, max(x.error) AS error FROM (
          SELECT x.retry_at, x.error FROM exports x
          JOIN export_schedules s ON s.space_id = %(space_id)s AND s.id = x.schedule_id
          WHERE x.space_id = %(space_id)s AND x.schedule_id IS NOT NULL AND x.status = 'failed'
          LIMIT %(most)s) x) x
WHERE x.rows > 0
UNION ALL
SELECT 'job_failed', NULL, NULL, NULL, j.jobs, j.rows, j.since
FROM (SELECT count(*) AS rows, min(f.since) AS since,
             string_agg(f.job || ' (' || f.error || ')', ', ' ORDER BY f.job) AS jobs
      FROM failed_jobs f
      WHERE f.space_id = %(space_id)s AND f.failed_at > now() - %(forgotten)s) j
WHERE j.rows > 0
UNION ALL
SELECT 'joins_refused', NULL, NULL, NULL, NULL, j.joins, j.since
FROM (SELECT least(sum(r.joins), %(most)s)::bigint AS joins, min(r.hour) AS since
      FROM refused_joins r
      WHERE r.space_id = %(space_id)s AND r.hour > now() - interval '1 day') j
WHERE j.since IS NOT NULL
UNION ALL
SELECT 'key_expiring', NULL, NULL, NULL, k.names, k.keys, k.first_end - %(notice)s
FROM (SELECT count(*) AS keys, min(a.expires_at) AS first_end,
             array_to_string((array_agg(a.name || ' (…' || a.hint || ')' ORDER BY a.expires_at, a.id))
                             [:%(most_named)s], ', ')
             || CASE WHEN count(*) > %(most_named)s
                THEN to_char(count(*) - %(most_named)s, '" and "FM999,999,999" more"') ELSE '' END AS names
      FROM api_keys a
      WHERE a.space_id = %(space_id)s AND a.revoked_at IS NULL AND a.replaced_by IS NULL
        AND a.expires_at > now() AND a.expires_at <= now() + %(notice)s
        AND a.last_used_at > now() - %(notice)s) k
WHERE k.keys > 0
UNION ALL
SELECT 'processing_late', NULL, NULL, NULL, NULL, i.rows, i.since
FROM (SELECT count(*) AS rows, min(i.received_at) AS since FROM (
          SELECT i.received_at FROM inbox i
          WHERE i.space_id = %(space_id)s ORDER BY i.id LIMIT %(most)s) i) i
WHERE i.since < now() - %(late)s
UNION ALL
SELECT 'subscription_inactive', NULL, NULL, NULL, NULL, 1, NULL
FROM spaces s WHERE s.id = %(space_id)s AND s.subscription = 'inactive';

-- name: open
SELECT a.rule AS kind,
       CASE WHEN a.rule IN ('deliveries_failed', 'identifiers_missing') THEN a.subject::bigint END AS destination_id,
       NULL AS platform, NULL AS name, a.cause AS detail, 1 AS count, a.opened_at AS since,
       a.title AS text
FROM alerts a
WHERE a.space_id = %(space_id)s AND a.ended_at IS NULL AND a.rule = ANY(%(rules)s)
ORDER BY a.id DESC
LIMIT %(most)s;

-- name: late_destinations
-- For the operator's side: destinations with late deliveries.
SELECT d.space_id, d.id, late.since
FROM destinations d
CROSS JOIN LATERAL (
    SELECT min(q.due_at) AS since FROM deliveries q
    WHERE q.space_id = d.space_id AND q.destination_id = d.id
      AND q.status IN ('queued', 'retrying') AND q.due_at < now() - %(late)s) late
WHERE d.status = 'active' AND late.since IS NOT NULL;
