-- name: create
INSERT INTO webhooks (space_id, type, name, token_hash, hint, secret, signature_header, topic,
                      event_names, mapping, takes_tests)
VALUES (%(space_id)s, %(type)s, %(name)s, %(token_hash)s, %(hint)s, %(secret)s,
        %(signature_header)s, %(topic)s, %(event_names)s, %(mapping)s, %(takes_tests)s)
RETURNING id;

-- name: list
-- Oldest first, including revoked webhooks.
SELECT w.id, w.type, w.name, w.hint, w.secret IS NOT NULL AS signed, w.signature_header, w.topic,
       w.event_names, w.mapping, w.takes_tests, w.created_at, w.paused_at, w.revoked_at
FROM webhooks w
WHERE w.space_id = %(space_id)s
  AND (%(webhook_ids)s::bigint[] IS NULL OR w.id = ANY(%(webhook_ids)s))
ORDER BY w.id;

-- name: names
SELECT w.id, w.type, w.name, w.hint, w.revoked_at
FROM webhooks w
WHERE w.space_id = %(space_id)s
ORDER BY w.id;

-- name: change
UPDATE webhooks w
SET signature_header = %(signature_header)s, topic = %(topic)s, event_names = %(event_names)s,
    mapping = %(mapping)s, takes_tests = %(takes_tests)s
WHERE w.space_id = %(space_id)s AND w.id = %(webhook_id)s;

-- name: revoke
UPDATE webhooks w SET revoked_at = least(w.revoked_at, now())
WHERE w.space_id = %(space_id)s AND w.id = %(webhook_id)s
RETURNING w.id;

-- name: pause
UPDATE webhooks w
SET paused_at = CASE WHEN %(paused)s THEN coalesce(w.paused_at, %(now)s) END
WHERE w.space_id = %(space_id)s AND w.id = %(webhook_id)s AND w.revoked_at IS NULL;

-- name: credentials
-- Locked until replaced.
SELECT w.token_hash, w.secret FROM webhooks w
WHERE w.space_id = %(space_id)s AND w.id = %(webhook_id)s AND w.revoked_at IS NULL
FOR UPDATE;

-- name: change_secret
UPDATE webhooks w SET secret = %(secret)s
WHERE w.space_id = %(space_id)s AND w.id = %(webhook_id)s;

-- name: change_address
-- The secret is sealed for the URL.
UPDATE webhooks w
SET token_hash = %(token_hash)s, hint = %(hint)s, secret = %(secret)s
WHERE w.space_id = %(space_id)s AND w.id = %(webhook_id)s;

-- name: find
SELECT w.space_id, w.id, w.type, w.secret, w.signature_header, w.topic, w.event_names, w.mapping,
       w.takes_tests, w.paused_at IS NOT NULL AS paused,
       s.subscription = 'active' AS active,
       coalesce((SELECT jsonb_object_agg(l.bucket, l.per_minute) FROM space_limits l
                 WHERE l.space_id = w.space_id), '{}') AS limits
FROM webhooks w
JOIN spaces s ON s.id = w.space_id
WHERE w.token_hash = %(token_hash)s AND w.revoked_at IS NULL;

-- name: buyer
-- The email or token of an order's contact. Browser events count only if no other sender reported the order.
-- The conditions match the indexes events_order and events_browser_order. Materialized, because order ids
-- have no statistics: the planner must not walk events in order.
WITH placed AS MATERIALIZED (
    SELECT e.id, e.contact_id, false AS by_browser FROM events e
    WHERE e.space_id = %(space_id)s AND e.order_id = %(order_id)s
      AND e.event_name = ANY(%(event_names)s) AND e.event_name <> 'upsell_purchase'
      AND NOT e.is_upsell AND e.sender IS DISTINCT FROM 'browser'
    UNION ALL
    SELECT e.id, e.contact_id, true FROM events e
    WHERE e.space_id = %(space_id)s AND e.order_id = %(order_id)s
      AND e.event_name = ANY(%(event_names)s) AND e.event_name <> 'upsell_purchase'
      AND NOT e.is_upsell AND e.sender = 'browser'
)
SELECT c.email, (SELECT i.value FROM contact_identifiers i
                 WHERE i.space_id = %(space_id)s AND i.contact_id = c.id
                   AND i.kind = 'trk_token'
                 ORDER BY i.recency DESC LIMIT 1) AS trk_token
FROM (SELECT placed.contact_id FROM placed
      ORDER BY placed.by_browser, placed.id LIMIT 1) earliest
JOIN contacts c ON c.space_id = %(space_id)s AND c.id = earliest.contact_id;
