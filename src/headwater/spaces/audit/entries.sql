-- name: add
WITH entry AS (
    INSERT INTO audit_entries (space_id, way, action, user_id, key_id, token_id, operator, address,
                               kind, subject_id, changes)
    VALUES (%(space_id)s, %(way)s, %(action)s, %(user_id)s, %(key_id)s, %(token_id)s, %(operator)s,
            %(address)s, %(kind)s, %(subject_id)s, %(changes)s)
    RETURNING id)
INSERT INTO unsent_audit_entries (space_id, id)
SELECT %(space_id)s, entry.id FROM entry;

-- name: list
SELECT e.space_id, e.id, e.occurred_at, e.way, e.action, e.user_id,
       coalesce(nullif(u.name, ''), u.email) AS user, e.key_id, k.name AS key, e.token_id, e.operator,
       host(e.address) AS address, e.changes
FROM audit_entries e
LEFT JOIN users u ON u.id = e.user_id
LEFT JOIN api_keys k ON k.space_id = %(space_id)s AND k.id = e.key_id
WHERE e.space_id = %(space_id)s
  AND (%(before_id)s::bigint IS NULL OR e.id < %(before_id)s)
  AND (%(since)s::timestamptz IS NULL OR e.occurred_at >= %(since)s)
  AND (%(until)s::timestamptz IS NULL OR e.occurred_at < %(until)s)
  AND (%(way)s::text IS NULL OR e.way = %(way)s)
  AND (%(user_id)s::bigint IS NULL OR e.user_id = %(user_id)s)
  AND (%(kind)s::text IS NULL OR e.kind = %(kind)s)
  AND (%(subject_id)s::text IS NULL OR e.subject_id = %(subject_id)s)
  AND (%(action)s::text IS NULL OR e.action = %(action)s)
  AND (%(ids)s::bigint[] IS NULL OR e.id = ANY(%(ids)s))
ORDER BY e.id DESC
LIMIT %(limit)s;

-- name: delete_expired
DELETE FROM audit_entries e
WHERE e.occurred_at < %(before)s
  AND e.id IN (SELECT old.id FROM audit_entries old
               WHERE old.occurred_at < %(before)s
               ORDER BY old.occurred_at LIMIT %(limit)s);
