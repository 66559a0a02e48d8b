-- name: load
SELECT o.order_id, m.order_id, m.order_ids, m.reports::text, m.counted::text,
       (extract(epoch FROM m.waiting_since) * 1000000)::bigint
FROM unnest(%(order_ids)s::text[]) AS wanted (order_id)
CROSS JOIN LATERAL (
    SELECT known.order_id, coalesce(known.main_id, known.order_id) AS main_id
    FROM order_refunds known
    WHERE known.space_id = %(space_id)s AND known.order_id = wanted.order_id
    OFFSET 0
) o
CROSS JOIN LATERAL (
    SELECT main.* FROM order_refunds main
    WHERE main.space_id = %(space_id)s AND main.order_id = o.main_id
    OFFSET 0
) m;

-- name: orders
-- The best last: purchases, and server events before browser events. The conditions match two indexes.
SELECT e.order_id, e.id, e.contact_id, e.event_name, e.amount, e.currency, e.order_name,
       e.do_not_capi, e.by_browser
FROM unnest(%(order_ids)s::text[]) AS wanted (order_id)
CROSS JOIN LATERAL (
    SELECT known.*, false AS by_browser FROM events known
    WHERE known.space_id = %(space_id)s AND known.order_id = wanted.order_id
      AND known.event_name = ANY(%(event_names)s) AND known.event_name <> 'upsell_purchase'
      AND NOT known.is_upsell AND known.sender IS DISTINCT FROM 'browser'
    UNION ALL
    SELECT known.*, true FROM events known
    WHERE known.space_id = %(space_id)s AND known.order_id = wanted.order_id
      AND known.event_name = ANY(%(event_names)s) AND known.event_name <> 'upsell_purchase'
      AND NOT known.is_upsell AND known.sender = 'browser'
    OFFSET 0
) e
WHERE e.amount IS NULL OR e.amount >= 0
ORDER BY e.by_browser DESC, e.event_name = 'purchase', e.id DESC;

-- name: save
INSERT INTO order_refunds (space_id, order_id, order_ids, reports, counted, waiting_since)
SELECT %(space_id)s, r.order_id, r.order_ids, r.reports, r.counted,
       'epoch'::timestamptz + r.waiting_since * interval '1 microsecond'
FROM json_to_recordset(%(orders)s::json)
     AS r (order_id text, order_ids text[], reports jsonb, counted jsonb, waiting_since bigint)
ON CONFLICT (space_id, order_id) DO UPDATE
SET order_ids = excluded.order_ids, reports = excluded.reports, counted = excluded.counted,
    waiting_since = excluded.waiting_since;

-- name: link
-- Another id of an order. If it had reports of its own, the order has them now.
INSERT INTO order_refunds AS o (space_id, order_id, main_id, order_ids, reports, counted)
SELECT %(space_id)s, r.order_id, r.main_id, ARRAY[r.order_id], '[]', '[]'
FROM json_to_recordset(%(links)s::json) AS r (order_id text, main_id text)
ON CONFLICT (space_id, order_id) DO UPDATE
SET main_id = excluded.main_id, order_ids = excluded.order_ids, reports = excluded.reports,
    counted = excluded.counted, waiting_since = NULL
WHERE o.main_id IS DISTINCT FROM excluded.main_id;

-- name: voided_orders
-- Orders whose sum of refunds is reported as everything.
SELECT o.order_id
FROM order_refunds o
WHERE o.space_id = %(space_id)s AND o.order_id = ANY(%(order_ids)s::text[])
  AND EXISTS (SELECT FROM jsonb_array_elements(o.reports) AS r (report)
              WHERE r.report -> 'statement' -> 'amount' IS NULL);
