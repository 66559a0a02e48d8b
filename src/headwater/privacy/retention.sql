-- What a Space keeps for a limited time: see retention.py. The caller holds the Space's lock.

-- name: spaces_with_settings
-- For the operator.
SELECT s.id FROM spaces s
WHERE s.inactive_contact_days IS NOT NULL OR s.delivery_days IS NOT NULL OR s.log_days IS NOT NULL;

-- name: ended_passes
-- For the operator.
SELECT p.space_id, p.kind FROM retention_passes p WHERE p.ended_at > %(since)s AND p.ended_at <= %(now)s;

-- name: bound_statements
SELECT set_config('statement_timeout', %(patience)s, true);

-- name: settings
-- The days of each kind, and the oldest unprocessed receipt.
SELECT s.inactive_contact_days, s.delivery_days, s.log_days,
       (SELECT i.received_at FROM inbox i
        WHERE i.space_id = %(space_id)s ORDER BY i.id LIMIT 1)
FROM spaces s
WHERE s.id = %(space_id)s;

-- name: passes
SELECT p.kind, p.after_id, p.ended_at FROM retention_passes p WHERE p.space_id = %(space_id)s;

-- name: note
INSERT INTO retention_passes AS p (space_id, kind, after_id, deleted_before, ended_at)
VALUES (%(space_id)s, %(kind)s, %(after_id)s, %(deleted_before)s, %(ended_at)s)
ON CONFLICT (space_id, kind) DO UPDATE
SET after_id = excluded.after_id,
    deleted_before = greatest(p.deleted_before, excluded.deleted_before),
    ended_at = coalesce(excluded.ended_at, p.ended_at);

-- name: walk_contacts
-- The next contacts, and which of them are surviving contacts without activity since then. A person with a
-- conversion, an amount, or a company that has either, stays.
SELECT w.id,
       w.merged_into IS NULL AND w.created_at < %(before)s
       AND NOT EXISTS (
           SELECT FROM events e
           WHERE e.space_id = %(space_id)s AND e.contact_id = w.id
             AND (e.event_time >= %(before)s OR e.event_name <> ALL(%(steps)s::text[]) OR e.amount <> 0))
       AND NOT EXISTS (
           SELECT FROM events e
           WHERE e.space_id = %(space_id)s AND e.company_id = w.company_id
             AND (e.event_name <> ALL(%(steps)s::text[]) OR e.amount <> 0))
       AND NOT EXISTS (
           SELECT FROM touchpoints t
           WHERE t.space_id = %(space_id)s AND t.contact_id = w.id AND t.occurred_at >= %(before)s)
       AND NOT EXISTS (
           SELECT FROM hits h
           WHERE h.space_id = %(space_id)s AND h.contact_id = w.id AND h.occurred_at >= %(before)s)
       AND NOT EXISTS (
           SELECT FROM contact_identifiers i
           WHERE i.space_id = %(space_id)s AND i.contact_id = w.id AND i.last_seen_at >= %(before)s)
       AND NOT EXISTS (
           SELECT FROM events e
           JOIN deliveries d ON d.space_id = %(space_id)s AND d.event_id = e.id
           WHERE e.space_id = %(space_id)s AND e.contact_id = w.id AND d.status IN ('queued', 'retrying'))
FROM (SELECT c.id, c.merged_into, c.created_at, c.company_id
      FROM contacts c
      WHERE c.space_id = %(space_id)s AND c.id > %(after_id)s
      ORDER BY c.id LIMIT %(most)s) w
ORDER BY w.id;

-- name: erased
-- Which of the contacts have an erasure, alone or of one merged into them: whether one waits, and whether anything
-- is left to delete.
SELECT g.id, bool_or(x.erased_at IS NULL),
       EXISTS (SELECT FROM events e WHERE e.space_id = %(space_id)s AND e.contact_id = g.id)
       OR EXISTS (SELECT FROM touchpoints t WHERE t.space_id = %(space_id)s AND t.contact_id = g.id)
FROM unnest(%(ids)s::bigint[]) AS g (id)
JOIN contacts n ON n.space_id = %(space_id)s AND (n.id = g.id OR n.merged_into = g.id)
JOIN erasures x ON x.space_id = %(space_id)s AND x.contact_id = n.id
GROUP BY g.id;

-- name: groups
-- Contacts and those merged into them.
SELECT c.id FROM contacts c
WHERE c.space_id = %(space_id)s AND c.id = ANY(%(ids)s::bigint[])
UNION ALL
SELECT c.id FROM contacts c
WHERE c.space_id = %(space_id)s AND c.merged_into = ANY(%(ids)s::bigint[]);

-- name: events
SELECT e.id FROM events e
WHERE e.space_id = %(space_id)s AND e.contact_id = ANY(%(group)s::bigint[]);

-- name: touchpoints
SELECT t.id FROM touchpoints t
WHERE t.space_id = %(space_id)s AND t.contact_id = ANY(%(group)s::bigint[]);

-- name: colleagues_events
-- Events of the contacts' companies, whose paths lose touchpoints.
SELECT e.id FROM contacts c
JOIN events e ON e.space_id = %(space_id)s AND e.company_id = c.company_id
WHERE c.space_id = %(space_id)s AND c.id = ANY(%(group)s::bigint[]);

-- name: remember_keys
INSERT INTO forgotten_keys (space_id, event_name, kind, digest, by_browser, event_id)
SELECT %(space_id)s, e.event_name, k.kind, sha256(convert_to(k.key, 'UTF8')),
       coalesce(e.sender = 'browser', false), e.id
FROM events e
CROSS JOIN LATERAL (VALUES
    ('idempotency_key', e.idempotency_key),
    ('order_id', CASE WHEN NOT e.is_upsell AND e.event_name <> 'upsell_purchase' THEN e.order_id END)
) AS k (kind, key)
WHERE e.space_id = %(space_id)s AND e.id = ANY(%(event_ids)s::bigint[]) AND k.key IS NOT NULL
ON CONFLICT DO NOTHING;

-- name: delete_attempts_of_events
DELETE FROM delivery_attempts a
USING deliveries d
WHERE a.space_id = %(space_id)s AND d.space_id = %(space_id)s AND a.delivery_id = d.id
  AND d.event_id = ANY(%(event_ids)s::bigint[]);

-- name: delete_deliveries_of_events
DELETE FROM deliveries d
WHERE d.space_id = %(space_id)s AND d.event_id = ANY(%(event_ids)s::bigint[]);

-- name: delete_contacts
-- Not those of an erased person: the journal of erasures lists them from their rows, which are empty.
DELETE FROM contacts c
WHERE c.space_id = %(space_id)s AND c.id = ANY(%(group)s::bigint[])
  AND c.id <> ALL(%(erased)s::bigint[])
  AND (c.merged_into IS NULL OR c.merged_into <> ALL(%(erased)s::bigint[]));

-- name: unused_tag_sets
-- Tag sets that deleted contacts may have left. This reads all of the Space, in indexes.
SELECT g.id FROM tag_sets g
WHERE g.space_id = %(space_id)s
  AND NOT EXISTS (SELECT FROM touchpoints t
                  WHERE t.space_id = %(space_id)s AND t.tag_set_id = g.id)
  AND NOT EXISTS (SELECT FROM visits v
                  WHERE v.space_id = %(space_id)s AND v.tag_set_id = g.id);

-- name: walk_deliveries
SELECT d.id, d.finished_at < %(before)s
FROM deliveries d
WHERE d.space_id = %(space_id)s AND d.id > %(after_id)s
ORDER BY d.id
LIMIT %(most)s;

-- name: clear_deliveries
-- {cleared} and {held} are the personal columns in columns.txt.
UPDATE {table} d SET {cleared}
WHERE d.space_id = %(space_id)s AND d.id = ANY(%(ids)s::bigint[]) AND num_nonnulls({held}) > 0;

-- name: delete_attempts
DELETE FROM delivery_attempts a
WHERE a.space_id = %(space_id)s AND a.delivery_id = ANY(%(ids)s::bigint[]);

-- name: delete_batch
-- An alert goes with its steps.
DELETE FROM {table} r
WHERE r.space_id = %(space_id)s AND r.id = ANY(ARRAY(
    SELECT o.id FROM {table} o
    WHERE o.space_id = %(space_id)s AND o.{time} < %(before)s
    ORDER BY o.id LIMIT %(most)s));

-- name: delete_ignored_names
DELETE FROM ignored_names n
WHERE n.space_id = %(space_id)s AND n.last_day < (%(before)s::timestamptz AT TIME ZONE 'UTC')::date;

-- name: delete_site_refusals
DELETE FROM site_refusals r WHERE r.space_id = %(space_id)s AND r.noted_at < %(before)s;
