-- name: state
-- What has been set up, and what has come: each looked for among the latest rows, or the first, as far
-- as a bound. Keys do not note their use, so the latest event or touchpoint by any of them stands for
-- it.
SELECT (SELECT count(*) FROM api_keys k
        WHERE k.space_id = %(space_id)s AND k.revoked_at IS NULL) AS keys,
       (SELECT max(used.at) FROM (
            (SELECT e.received_at AS at FROM (
                SELECT l.id, l.received_at, l.sender FROM events l
                WHERE l.space_id = %(space_id)s ORDER BY l.id DESC LIMIT %(most)s) e
             WHERE e.sender = 'api_key' ORDER BY e.id DESC LIMIT 1)
            UNION ALL
            (SELECT i.received_at FROM inbox i
             WHERE i.space_id = %(space_id)s AND i.sender = 'api_key'
             ORDER BY i.id DESC LIMIT 1)) used) AS key_used_at,
       (SELECT s.site_key FROM sites s
        WHERE s.space_id = %(space_id)s AND s.revoked_at IS NULL
        ORDER BY s.id LIMIT 1) AS site_key,
       (SELECT e.event_time FROM (
            SELECT l.event_time, l.event_name, l.amount FROM events l
            WHERE l.space_id = %(space_id)s
            ORDER BY l.event_time, l.id LIMIT %(most_first)s) e
        WHERE e.event_name = ANY(%(sales)s) AND e.amount > 0
        ORDER BY e.event_time LIMIT 1) AS first_order_at,
       (SELECT count(*) FROM mcp_tokens t
        WHERE t.space_id = %(space_id)s AND t.revoked_at IS NULL
          AND (t.expires_at IS NULL OR t.expires_at > now())) AS assistants;

-- name: hosts
-- The hosts whose pages were viewed last, among the latest page views.
SELECT lower(substring(h.url FROM '^[A-Za-z]+://(?:[^/?#@]*@)?([^/?#:]+)')) AS host,
       max(h.occurred_at) AS seen_at
FROM (SELECT l.url, l.occurred_at FROM hits l
      WHERE l.space_id = %(space_id)s ORDER BY l.id DESC LIMIT %(most)s) h
GROUP BY 1
ORDER BY 2 DESC
LIMIT %(most_hosts)s;

-- name: destinations
-- Where conversions are forwarded to, and when each platform last took one.
SELECT d.id, d.platform, d.name, d.status,
       (SELECT q.finished_at FROM deliveries q
        WHERE q.space_id = %(space_id)s AND q.destination_id = d.id AND q.status = 'delivered'
        ORDER BY q.id DESC LIMIT 1) AS delivered_at
FROM destinations d
WHERE d.space_id = %(space_id)s AND d.status <> 'removed'
ORDER BY d.id;
