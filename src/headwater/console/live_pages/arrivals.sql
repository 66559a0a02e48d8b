-- name: mark
-- Return the latest row of every table the feed reads. While unchanged, nothing has arrived and no pending
-- item has been processed.
SELECT (SELECT max(i.id) FROM inbox i WHERE i.space_id = %(space_id)s),
       (SELECT max(h.id) FROM hits h WHERE h.space_id = %(space_id)s),
       (SELECT max(e.id) FROM events e WHERE e.space_id = %(space_id)s),
       (SELECT max(d.id) FROM duplicates d WHERE d.space_id = %(space_id)s),
       (SELECT max(r.id) FROM rejected r WHERE r.space_id = %(space_id)s),
       (SELECT max(t.id) FROM touchpoints t WHERE t.space_id = %(space_id)s),
       (SELECT sum(s.bot_hits) FROM sites s WHERE s.space_id = %(space_id)s)::bigint;

-- name: visits
-- With their touchpoint's source and contact.
SELECT h.id, h.occurred_at AS at, h.contact_id, k.name AS person, k.email, h.url, h.referrer_host,
       t.source_id, concat_ws(', ', h.browser, h.os, h.country) AS device
FROM (SELECT l.* FROM hits l WHERE l.space_id = %(space_id)s ORDER BY l.id DESC LIMIT %(most)s) h
JOIN contacts k ON k.space_id = %(space_id)s AND k.id = h.contact_id
LEFT JOIN touchpoints t ON t.space_id = %(space_id)s AND t.id = h.id AND t.by_hit
WHERE h.occurred_at > %(since)s
ORDER BY h.id DESC;

-- name: events
-- Latest by arrival, with the source of the touchpoint before.
SELECT e.id, e.received_at AS at, e.contact_id, k.name AS person, k.email, e.event_name, e.amount,
       e.currency, e.sender,
       (SELECT t.source_id FROM touchpoints t
        WHERE t.space_id = %(space_id)s AND t.contact_id = e.contact_id
          AND t.occurred_at <= e.event_time
        ORDER BY t.occurred_at DESC, t.id DESC LIMIT 1) AS source_id
FROM (SELECT l.* FROM events l WHERE l.space_id = %(space_id)s ORDER BY l.id DESC LIMIT %(most)s) e
JOIN contacts k ON k.space_id = %(space_id)s AND k.id = e.contact_id
WHERE e.received_at > %(since)s
ORDER BY e.id DESC;

-- name: duplicates
-- Latest, with the event that each repeats.
SELECT d.id, d.received_at AS at, d.reason, d.sender, e.id AS event_id, e.contact_id,
       e.event_name, e.amount, e.currency, k.name AS person, k.email
FROM (SELECT l.* FROM duplicates l
      WHERE l.space_id = %(space_id)s ORDER BY l.id DESC LIMIT %(most)s) d
LEFT JOIN events e ON e.space_id = %(space_id)s AND e.id = d.event_id
LEFT JOIN contacts k ON k.space_id = %(space_id)s AND k.id = e.contact_id
WHERE d.received_at > %(since)s
ORDER BY d.id DESC;

-- name: rejected
-- Latest, without their content.
SELECT r.id, r.received_at AS at, r.kind, r.reason, r.detail, r.sender
FROM (SELECT l.* FROM rejected l
      WHERE l.space_id = %(space_id)s ORDER BY l.id DESC LIMIT %(most)s) r
WHERE r.received_at > %(since)s
ORDER BY r.id DESC;

-- name: waiting
-- Latest items accepted but not yet processed.
SELECT i.id, i.received_at AS at, i.kind, i.sender
FROM inbox i
WHERE i.space_id = %(space_id)s AND i.kind <> 'bots'
ORDER BY i.id DESC
LIMIT %(most)s;

-- name: touchpoints
-- Sent without an event or page view.
SELECT t.id, t.occurred_at AS at, t.contact_id, k.name AS person, k.email, t.url, t.referrer_host,
       t.source_id, t.sender
FROM (SELECT l.* FROM touchpoints l
      WHERE l.space_id = %(space_id)s ORDER BY l.id DESC LIMIT %(most_touchpoints)s) t
JOIN contacts k ON k.space_id = %(space_id)s AND k.id = t.contact_id
WHERE t.sent AND t.occurred_at > %(since)s
ORDER BY t.id DESC
LIMIT %(most)s;

-- name: bots
-- By site.
SELECT s.id, s.last_bot_at AS at, s.name AS site, s.bot_hits
FROM sites s
WHERE s.space_id = %(space_id)s AND s.last_bot_at > %(since)s
ORDER BY s.last_bot_at DESC
LIMIT %(most)s;

-- name: minutes
-- By minutes before %(until)s.
SELECT c.ago, count(*) FILTER (WHERE c.is_view), count(*) FILTER (WHERE NOT c.is_view)
FROM (
    SELECT floor(extract(epoch FROM %(until)s - v.at) / 60)::integer AS ago, v.is_view
    FROM (
        (SELECT h.occurred_at AS at, true AS is_view FROM hits h
         WHERE h.space_id = %(space_id)s ORDER BY h.id DESC LIMIT %(most_counted)s)
        UNION ALL
        (SELECT e.received_at, false FROM events e
         WHERE e.space_id = %(space_id)s ORDER BY e.id DESC LIMIT %(most_counted)s)
    ) v
    WHERE v.at > %(since)s AND v.at <= %(until)s
) c
GROUP BY c.ago;

-- name: on_site
-- Visitors of the latest %(most_counted)s page views since a time; NULL without any page view at all.
SELECT CASE WHEN count(*) > 0
            THEN count(DISTINCT h.contact_id) FILTER (WHERE h.occurred_at > %(since)s) END
FROM (SELECT l.contact_id, l.occurred_at FROM hits l
      WHERE l.space_id = %(space_id)s ORDER BY l.id DESC LIMIT %(most_counted)s) h;
