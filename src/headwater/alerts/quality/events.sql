-- name: orders
-- How many of the latest orders have an earlier visit, and an e-mail address, with examples of the rest.
WITH latest AS MATERIALIZED (
    SELECT e.id, e.contact_id, e.event_name, e.event_time, e.amount, e.currency, e.is_upsell
    FROM events e
    WHERE e.space_id = %(space_id)s AND e.event_time >= %(start)s AND e.event_time < %(end)s
    ORDER BY e.event_time DESC, e.id DESC
    LIMIT %(most)s
), orders AS MATERIALIZED (
    SELECT l.id, l.contact_id, l.event_time, l.amount, l.currency
    FROM latest l
    WHERE is_order(l.event_name, l.is_upsell, l.amount)
    ORDER BY l.event_time DESC, l.id DESC
    LIMIT %(most_orders)s
), checked AS MATERIALIZED (
    SELECT o.*,
           EXISTS (SELECT FROM touchpoints t
                   WHERE t.space_id = %(space_id)s AND t.contact_id = o.contact_id
                     AND t.occurred_at <= o.event_time)
           OR EXISTS (SELECT FROM visits v
                      WHERE v.space_id = %(space_id)s AND v.contact_id = o.contact_id
                        AND v.started_at <= o.event_time) AS has_visit,
           -- EXISTS would read all contacts with an address at once.
           (SELECT c.email IS NOT NULL FROM contacts c
            WHERE c.space_id = %(space_id)s AND c.id = o.contact_id) AS has_email
    FROM orders o
)
SELECT (SELECT count(*) FROM latest), (SELECT min(l.event_time) FROM latest l),
       count(*), count(*) FILTER (WHERE c.has_visit), count(*) FILTER (WHERE c.has_email),
       (SELECT json_agg(x) FROM (
            SELECT x.id, x.contact_id, x.event_time, x.amount, x.currency FROM checked x
            WHERE NOT x.has_visit ORDER BY x.event_time DESC, x.id DESC LIMIT %(examples)s) x),
       (SELECT json_agg(x) FROM (
            SELECT x.id, x.contact_id, x.event_time, x.amount, x.currency FROM checked x
            WHERE NOT x.has_email ORDER BY x.event_time DESC, x.id DESC LIMIT %(examples)s) x)
FROM checked c;

-- name: uncertain_amounts
-- Amounts that may not count in reports, other currencies and large amounts, by currency, local day and
-- whether only a page reported them.
SELECT l.currency, l.day, l.from_page, array_agg(l.id), array_agg((l.amount * 10000)::bigint)
FROM (
    SELECT e.id, e.amount, coalesce(e.currency, %(currency)s) AS currency,
           local_time(e.event_time, %(changes)s, %(offsets)s)::date AS day,
           coalesce(e.sender IN ('browser', 'signed_browser'), false)
               AND NOT e.amount_confirmed AS from_page
    FROM events e
    WHERE e.space_id = %(space_id)s AND e.event_time >= %(start)s AND e.event_time < %(end)s
    ORDER BY e.event_time DESC, e.id DESC
    LIMIT %(most)s
) l
WHERE l.amount <> 0 AND (l.currency <> %(currency)s OR abs(l.amount) > 10000000)
GROUP BY l.currency, l.day, l.from_page;

-- name: late
-- The latest events that arrived long after they happened, without imports.
SELECT count(*), (array_agg(l.id ORDER BY l.event_time DESC))[1:%(examples)s]
FROM (
    SELECT e.id, e.event_time, e.received_at, e.sender
    FROM events e
    WHERE e.space_id = %(space_id)s AND e.event_time >= %(start)s AND e.event_time < %(end)s
    ORDER BY e.event_time DESC, e.id DESC
    LIMIT %(most)s
) l
WHERE l.received_at - l.event_time > %(late)s AND l.sender IS DISTINCT FROM 'import';

-- name: future
-- Events dated in the future by more than clocks differ.
SELECT count(*), (array_agg(l.id ORDER BY l.event_time DESC))[1:%(examples)s]
FROM (
    SELECT e.id, e.event_time FROM events e
    WHERE e.space_id = %(space_id)s AND e.event_time > now() + %(ahead)s
    ORDER BY e.event_time
    LIMIT %(most)s
) l;

-- name: repeats
-- Amounts probably sent twice: one order under two event names or from two senders; or, without an order id,
-- the same amount of the same contact within minutes. Upsells share their order's id, and refunds are
-- negative.
WITH latest AS MATERIALIZED (
    SELECT e.id, e.contact_id, e.event_name, e.event_time, e.amount, e.order_id, e.is_upsell,
           e.idempotency_key
    FROM events e
    WHERE e.space_id = %(space_id)s AND e.event_time >= %(start)s AND e.event_time < %(end)s
    ORDER BY e.event_time DESC, e.id DESC
    LIMIT %(most)s
), repeats AS (
    SELECT o.id, o.event_time, row_number() OVER same > 1 AS is_repeat
    FROM latest o
    WHERE o.amount > 0 AND o.order_id IS NOT NULL AND NOT o.is_upsell
      AND o.event_name <> 'upsell_purchase'
    WINDOW same AS (PARTITION BY o.order_id ORDER BY o.event_time, o.id)
    UNION ALL
    SELECT o.id, o.event_time,
           o.event_time - lag(o.event_time) OVER alike <= %(apart)s
    FROM latest o
    WHERE o.amount > 0 AND o.order_id IS NULL AND o.idempotency_key IS NULL
      AND o.event_name = ANY(%(sales)s)
    WINDOW alike AS (PARTITION BY o.contact_id, o.event_name, o.amount
                     ORDER BY o.event_time, o.id)
)
SELECT count(*), (array_agg(r.id ORDER BY r.event_time DESC))[1:%(examples)s]
FROM repeats r
WHERE r.is_repeat;

-- name: rejected
SELECT r.reason, r.detail, count(*) FROM (
    SELECT l.reason, l.detail FROM rejected l
    WHERE l.space_id = %(space_id)s ORDER BY l.id DESC LIMIT %(most)s) r
GROUP BY r.reason, r.detail
ORDER BY count(*) DESC, r.reason, r.detail
LIMIT %(examples)s;

-- name: examples
SELECT e.id, e.contact_id, e.event_name, e.event_time, e.received_at, e.amount, e.currency,
       e.order_id
FROM events e
WHERE e.space_id = %(space_id)s AND e.id = ANY(%(ids)s::bigint[]);

-- name: refunds
-- Refunds whose orders are still unknown after a while, by order.
SELECT o.order_id, o.waiting_since,
       (SELECT json_agg(json_build_array(r.refund ->> 'amount', r.refund ->> 'currency'))
        FROM jsonb_array_elements(o.counted) AS r (refund)
        WHERE r.refund ->> 'amount' <> 'Infinity' AND r.refund -> 'is_event' IS NULL) AS amounts
FROM order_refunds o
WHERE o.space_id = %(space_id)s AND o.waiting_since < now() - %(waited)s
  AND EXISTS (SELECT FROM jsonb_array_elements(o.counted) AS r (refund)
              WHERE r.refund ->> 'amount' <> 'Infinity' AND r.refund -> 'is_event' IS NULL)
ORDER BY o.waiting_since DESC, o.order_id
LIMIT %(most)s;
