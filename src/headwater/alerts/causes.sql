-- name: refusals
-- The latest reason for refusing the Space's browser events.
SELECT r.reason, r.detail FROM site_refusals r
WHERE r.space_id = %(space_id)s AND r.noted_at >= %(since)s
ORDER BY r.noted_at DESC LIMIT 1;

-- name: senders
SELECT l.sender, count(*), max(l.event_time)
FROM (SELECT e.sender, e.event_time FROM events e
      WHERE e.space_id = %(space_id)s AND e.event_time < %(until)s
        AND e.event_time >= %(since)s AND is_order(e.event_name, e.is_upsell, e.amount)
      ORDER BY e.event_time DESC LIMIT %(most)s) l
GROUP BY l.sender
ORDER BY count(*) DESC;

-- name: unattributed_sender
-- The sender of most orders without a touchpoint in the 30 days before: the latest one before the order, which an index
-- finds behind policies, too.
SELECT l.sender
FROM (SELECT e.sender FROM events e
      LEFT JOIN LATERAL (
          SELECT t.occurred_at FROM touchpoints t
          WHERE t.space_id = %(space_id)s AND t.contact_id = e.contact_id AND t.occurred_at <= e.event_time
          ORDER BY t.occurred_at DESC
          LIMIT 1
      ) latest ON true
      WHERE e.space_id = %(space_id)s AND e.event_time < %(until)s
        AND e.event_time >= %(since)s AND is_order(e.event_name, e.is_upsell, e.amount)
        AND e.sender IS NOT NULL
        AND (latest.occurred_at IS NULL OR latest.occurred_at < e.event_time - interval '30 days')
      ORDER BY e.event_time DESC LIMIT %(most)s) l
GROUP BY l.sender
ORDER BY count(*) DESC LIMIT 1;

-- name: refused
SELECT count(*)
FROM (SELECT FROM webhook_deliveries d
      WHERE d.space_id = %(space_id)s AND d.status = 'refused' AND d.received_at >= %(since)s
      LIMIT %(most)s) l;

-- name: keys
-- The key that was revoked or expired last.
SELECT k.name, k.revoked_at IS NULL OR k.expires_at < k.revoked_at
FROM api_keys k
WHERE k.space_id = %(space_id)s AND least(k.revoked_at, k.expires_at) BETWEEN %(since)s AND now()
ORDER BY least(k.revoked_at, k.expires_at) DESC LIMIT 1;

-- name: failures
-- The failed or refused, and the expired among a destination's latest deliveries.
SELECT count(*) FILTER (WHERE l.status IN ('failed', 'refused')),
       count(*) FILTER (WHERE l.status = 'expired')
FROM (SELECT d.status FROM deliveries d
      WHERE d.space_id = %(space_id)s AND d.destination_id = %(destination_id)s
      ORDER BY d.id DESC LIMIT %(most)s) l;

-- name: rejections
SELECT r.reason, r.detail FROM (
    SELECT l.reason, l.detail FROM rejected l
    WHERE l.space_id = %(space_id)s AND l.rejected_at >= %(since)s ORDER BY l.id DESC
    LIMIT %(most)s) r
GROUP BY r.reason, r.detail ORDER BY count(*) DESC LIMIT 1;

-- name: destination
SELECT d.name FROM destinations d WHERE d.space_id = %(space_id)s AND d.id = %(destination_id)s;
