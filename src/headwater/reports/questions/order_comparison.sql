-- name: snapshot
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- name: sales_of_period
-- Purchases, upsells and refunds of a period, oldest first.
SELECT e.id, e.order_id, e.order_name, e.amount < 0, e.is_upsell OR e.event_name = 'upsell_purchase'
FROM events e
WHERE e.space_id = %(space_id)s
  AND e.event_name IN ('purchase', 'upsell_purchase')
  AND e.event_time >= %(start)s AND e.event_time < %(end)s
ORDER BY e.event_time, e.id
LIMIT %(limit)s;

-- name: orders_of_other_days
-- Names and ids of listed orders that the period does not have.
SELECT e.order_id, e.order_name
FROM events e
WHERE e.space_id = %(space_id)s
  AND is_order(e.event_name, e.is_upsell, e.amount)
  AND (e.order_id = ANY(%(keys)s::text[]) OR e.order_name = ANY(%(keys)s::text[]));
