-- name: orders
-- The events, and for refunds the orders that they are of.
SELECT e.id FROM events e
WHERE e.space_id = %(space_id)s AND e.id = ANY(%(event_ids)s::bigint[])
UNION
SELECT e.id
FROM events r
JOIN spaces s ON s.id = %(space_id)s
JOIN events e ON e.space_id = %(space_id)s AND {is_refund}
WHERE r.space_id = %(space_id)s AND r.id = ANY(%(event_ids)s::bigint[]) AND (e.amount >= 0 OR e.amount IS NULL);

-- name: lock
-- So that the concurrent end of a conversion or correction is either seen here or sees the change.
SELECT FROM deliveries d
WHERE d.space_id = %(space_id)s AND d.event_id = ANY(%(event_ids)s::bigint[]) AND d.kind <> 'credit'
ORDER BY d.id FOR NO KEY UPDATE;

-- name: worth
-- The amount of the order `o.event_id`, minus its refunds. No row once it is deleted.
SELECT greatest(coalesce(e.amount, 0) + coalesce((
           SELECT sum(r.amount) FROM events r WHERE r.space_id = %(space_id)s AND {is_refund}
       ), 0), 0) AS amount, coalesce(e.currency, s.currency) AS currency
FROM events e
JOIN spaces s ON s.id = %(space_id)s
WHERE e.space_id = %(space_id)s AND e.id = o.event_id

-- name: held
-- The last amount of `o`'s event that its platform `p` is known to have.
SELECT a.sent_amount AS amount, a.sent_currency AS currency, a.sent_to AS place
FROM deliveries a
WHERE a.space_id = %(space_id)s AND a.event_id = o.event_id AND a.destination_id = o.destination_id
  AND a.kind IN ('conversion', 'correction') AND a.status = p.accepted
ORDER BY a.finished_at DESC, a.number DESC
LIMIT 1

-- name: find
-- Conversions known to be accepted whose amount differs, of one destination or of all. One correction at a
-- time: the next follows its end.
SELECT o.id, earlier.number + 1 AS number
FROM deliveries o
JOIN destinations t ON t.space_id = %(space_id)s AND t.id = o.destination_id AND t.status <> 'removed'
JOIN json_to_recordset(%(platforms)s::json) AS p (name text, accepted text) ON p.name = t.platform
CROSS JOIN LATERAL ({held}) held
LEFT JOIN LATERAL ({worth}) worth ON true
CROSS JOIN LATERAL (
    SELECT coalesce(max(c.number), 0) AS number,
           coalesce(bool_or(c.status IN ('queued', 'retrying')
                            OR c.status = 'delivered' AND EXISTS (
                                SELECT FROM verdict_requests r
                                WHERE r.space_id = %(space_id)s AND r.destination_id = c.destination_id
                                  AND r.request_id = c.platform_request_id)), false) AS is_open
    FROM deliveries c
    WHERE c.space_id = %(space_id)s AND c.event_id = o.event_id AND c.destination_id = o.destination_id
      AND c.kind = 'correction'
) earlier
WHERE o.space_id = %(space_id)s AND o.event_id = ANY(%(event_ids)s::bigint[])
  AND o.destination_id = coalesce(%(destination_id)s::bigint, o.destination_id)
  AND o.kind = 'conversion' AND o.status = p.accepted AND NOT earlier.is_open
  AND (worth.amount IS DISTINCT FROM held.amount
       OR worth.amount <> 0 AND worth.currency IS DISTINCT FROM held.currency);

-- name: queue
INSERT INTO deliveries (space_id, destination_id, event_id, dedup_id, kind, number, touchpoint_id, first_attempt)
SELECT %(space_id)s, o.destination_id, o.event_id, o.dedup_id, 'correction', r.number, o.touchpoint_id,
       o.first_attempt
FROM json_to_recordset(%(corrections)s::json) AS r (id bigint, number int)
JOIN deliveries o ON o.space_id = %(space_id)s AND o.id = r.id;

-- name: find_events
-- The events of ended deliveries that said something else than what the order is worth now.
SELECT DISTINCT o.event_id
FROM json_to_recordset(%(ended)s::json) AS r (id bigint, sent_amount numeric, sent_currency text)
JOIN deliveries o ON o.space_id = %(space_id)s AND o.id = r.id
LEFT JOIN LATERAL ({worth}) worth ON true
WHERE worth.amount IS DISTINCT FROM r.sent_amount
   OR worth.amount <> 0 AND worth.currency IS DISTINCT FROM r.sent_currency;

-- name: load
-- What corrections are to say, by delivery.
SELECT o.correction_id, trim_scale(worth.amount), worth.currency, held.currency, held.place
FROM (
    SELECT d.id AS correction_id, d.event_id, d.destination_id FROM deliveries d
    WHERE d.space_id = %(space_id)s AND d.id = ANY(%(delivery_ids)s::bigint[]) AND d.kind = 'correction'
) o
JOIN destinations t ON t.space_id = %(space_id)s AND t.id = o.destination_id
JOIN json_to_recordset(%(platforms)s::json) AS p (name text, accepted text) ON p.name = t.platform
CROSS JOIN LATERAL ({held}) held
LEFT JOIN LATERAL ({worth}) worth ON true;
