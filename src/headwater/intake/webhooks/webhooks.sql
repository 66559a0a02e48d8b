-- name: create
-- A new webhook.
INSERT INTO webhooks (space_id, type, name, token_hash, hint, secret, signature_header, topic,
                      event_names, mapping, takes_tests)
VALUES (%(space_id)s, %(type)s, %(name)s, %(token_hash)s, %(hint)s, %(secret)s,
        %(signature_header)s, %(topic)s, %(event_names)s, %(mapping)s, %(takes_tests)s)
RETURNING id;

-- name: list
-- A Space's webhooks, revoked ones included, the oldest first.
SELECT w.id, w.type, w.name, w.hint, w.secret IS NOT NULL AS signed, w.signature_header, w.topic,
       w.event_names, w.mapping, w.takes_tests, w.created_at, w.paused_at, w.revoked_at
FROM webhooks w
WHERE w.space_id = %(space_id)s
  AND (%(webhook_ids)s::bigint[] IS NULL OR w.id = ANY(%(webhook_ids)s))
ORDER BY w.id;

-- name: names
-- What a Space's webhooks are called, revoked ones included, the oldest first.
SELECT w.id, w.type, w.name, w.hint, w.revoked_at
FROM webhooks w
WHERE w.space_id = %(space_id)s
ORDER BY w.id;

-- name: change
-- How a webhook's deliveries are read.
UPDATE webhooks w
SET signature_header = %(signature_header)s, topic = %(topic)s, event_names = %(event_names)s,
    mapping = %(mapping)s, takes_tests = %(takes_tests)s
WHERE w.space_id = %(space_id)s AND w.id = %(webhook_id)s;

-- name: revoke
-- End a webhook; one that is revoked keeps the time of it.
UPDATE webhooks w SET revoked_at = least(w.revoked_at, now())
WHERE w.space_id = %(space_id)s AND w.id = %(webhook_id)s
RETURNING w.id;

-- name: pause
-- Deliveries are kept and make no events, from now on or no longer.
UPDATE webhooks w
SET paused_at = CASE WHEN %(paused)s THEN coalesce(w.paused_at, %(now)s) END
WHERE w.space_id = %(space_id)s AND w.id = %(webhook_id)s AND w.revoked_at IS NULL;

-- name: credentials
-- What a webhook's signing secret is sealed for, and the sealed secret: held until one of them is
-- another.
SELECT w.token_hash, w.secret FROM webhooks w
WHERE w.space_id = %(space_id)s AND w.id = %(webhook_id)s AND w.revoked_at IS NULL
FOR UPDATE;

-- name: change_secret
-- Another signing secret.
UPDATE webhooks w SET secret = %(secret)s
WHERE w.space_id = %(space_id)s AND w.id = %(webhook_id)s;

-- name: change_address
-- Another URL; the signing secret is sealed for it anew.
UPDATE webhooks w
SET token_hash = %(token_hash)s, hint = %(hint)s, secret = %(secret)s
WHERE w.space_id = %(space_id)s AND w.id = %(webhook_id)s;

-- name: find
-- The webhook of a token; which Space it opens is what is being asked.
SELECT w.space_id, w.id, w.type, w.secret, w.signature_header, w.topic, w.event_names, w.mapping,
       w.takes_tests, w.paused_at IS NOT NULL AS paused,
       s.subscription = 'active' AS active,
       coalesce((SELECT jsonb_object_agg(l.bucket, l.per_minute) FROM space_limits l
                 WHERE l.space_id = w.space_id), '{}') AS limits
FROM webhooks w
JOIN spaces s ON s.id = w.space_id
WHERE w.token_hash = %(token_hash)s AND w.revoked_at IS NULL;

-- name: buyer
-- What identifies the contact of an order that is stored: an address, else a token. What a page says
-- of an order counts only where nobody else knows it. The conditions are those of the indexes
-- events_order and events_browser_order. No samples are kept of order ids, so the planner must not
-- hope to come across one soon by walking the events in order.
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
