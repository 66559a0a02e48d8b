-- name: state
-- Objects and received data, searched in a limited number of the latest or first rows.
SELECT (SELECT count(*) FROM api_keys k
        WHERE k.space_id = %(space_id)s AND k.revoked_at IS NULL
          AND (k.expires_at IS NULL OR k.expires_at > now())) AS keys,
       (SELECT max(k.last_used_at) FROM api_keys k
        WHERE k.space_id = %(space_id)s AND k.revoked_at IS NULL
          AND (k.expires_at IS NULL OR k.expires_at > now())) AS key_used_at,
       (SELECT s.site_key FROM sites s
        WHERE s.space_id = %(space_id)s AND s.revoked_at IS NULL
        ORDER BY s.id LIMIT 1) AS site_key,
       (SELECT s.id FROM sites s
        WHERE s.space_id = %(space_id)s AND s.revoked_at IS NULL
        ORDER BY s.id LIMIT 1) AS site_id,
       (SELECT e.event_time FROM (
            SELECT l.event_time, l.event_name, l.amount, l.is_upsell FROM events l
            WHERE l.space_id = %(space_id)s
            ORDER BY l.event_time, l.id LIMIT %(most_first)s) e
        WHERE is_order(e.event_name, e.is_upsell, e.amount)
        ORDER BY e.event_time LIMIT 1) AS first_order_at,
       (SELECT count(*) FROM mcp_tokens t
        WHERE t.space_id = %(space_id)s AND t.revoked_at IS NULL
          AND (t.expires_at IS NULL OR t.expires_at > now())) AS assistants;

-- name: keys
-- Working keys, last used first.
SELECT k.name, k.hint, k.last_used_at FROM api_keys k
WHERE k.space_id = %(space_id)s AND k.revoked_at IS NULL
  AND (k.expires_at IS NULL OR k.expires_at > now())
ORDER BY k.last_used_at DESC NULLS LAST, k.id
LIMIT %(most_keys)s;

-- name: hosts
SELECT lower(substring(h.url FROM '^[A-Za-z]+://(?:[^/?#@]*@)?([^/?#:]+)')) AS host,
       max(h.occurred_at) AS seen_at
FROM (SELECT l.url, l.occurred_at FROM hits l
      WHERE l.space_id = %(space_id)s ORDER BY l.id DESC LIMIT %(most)s) h
GROUP BY 1
ORDER BY 2 DESC
LIMIT %(most_hosts)s;

-- name: destinations
SELECT d.id, d.platform, d.name, d.status, d.tested_at, d.test_ok, d.test_message,
       (SELECT q.finished_at FROM deliveries q
        WHERE q.space_id = %(space_id)s AND q.destination_id = d.id
          AND q.status IN ('delivered', 'counted')
        ORDER BY q.id DESC LIMIT 1) AS delivered_at
FROM destinations d
WHERE d.space_id = %(space_id)s AND d.status <> 'removed'
ORDER BY d.id;
