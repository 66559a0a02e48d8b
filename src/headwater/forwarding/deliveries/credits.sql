-- name: touches
-- Every credited touch of conversions that a destination was sent no credit for: its share of one, and its ad. The
-- model divides an amount of 10,000, in steps of 0.01, so shares have six digits and add up to one.
SELECT c.event_id, c.touchpoint_id, trim_scale({credit} / 10000), c.source_id, t.url, t.cookies
FROM ({credited}) c
JOIN touchpoints t ON t.space_id = %(space_id)s AND t.id = c.touchpoint_id
ORDER BY c.event_id, c.occurred_at, c.touchpoint_id;

-- name: events
-- Conversions accepted in time, without credit yet. A removed destination sends none.
(SELECT e.space_id, e.id, e.event_time, e.contact_id, e.company_id, e.event_name, 10000::numeric AS amount
 FROM deliveries d
 JOIN events e ON e.space_id = %(space_id)s AND e.id = d.event_id
 JOIN destinations t ON t.space_id = %(space_id)s AND t.id = d.destination_id AND t.status <> 'removed'
 WHERE d.space_id = %(space_id)s AND d.id = ANY(%(delivery_ids)s::bigint[]) AND d.kind = 'conversion'
   AND e.event_time > %(oldest)s
   AND NOT EXISTS (SELECT FROM deliveries c
                   WHERE c.space_id = %(space_id)s AND c.event_id = d.event_id
                     AND c.destination_id = d.destination_id AND c.kind = 'credit'))

-- name: queue
INSERT INTO deliveries (space_id, destination_id, event_id, dedup_id, kind, number, touchpoint_id, credit)
SELECT %(space_id)s, d.destination_id, d.event_id, d.dedup_id, 'credit', r.number, r.touchpoint_id, r.credit
FROM json_to_recordset(%(credits)s::json) AS r (event_id bigint, number int, touchpoint_id bigint, credit jsonb)
JOIN deliveries d ON d.space_id = %(space_id)s AND d.event_id = r.event_id
                 AND d.destination_id = %(destination_id)s AND d.kind = 'conversion'
ON CONFLICT (space_id, event_id, destination_id, kind, number) DO NOTHING;

-- name: load
-- The frozen credit of deliveries, with the ad of the touch.
SELECT d.id, d.credit::text, d.number, floor(extract(epoch FROM d.created_at) * 1000)::bigint,
       s.campaign_id, s.adset_id, s.ad_id
FROM deliveries d
LEFT JOIN touchpoints t ON t.space_id = %(space_id)s AND t.id = d.touchpoint_id
LEFT JOIN tag_sets s ON s.space_id = %(space_id)s AND s.id = t.tag_set_id
WHERE d.space_id = %(space_id)s AND d.id = ANY(%(delivery_ids)s::bigint[]) AND d.kind = 'credit';
