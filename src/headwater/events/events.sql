-- name: snapshot
-- Both statements must see the same rows. A page stops early, so starting parallel workers does not pay.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL max_parallel_workers_per_gather = 0;

-- name: chosen
-- In order, each looked up by key, in primary key order, which only that index has. Events behind the last
-- row are never looked up.
(SELECT found.*, chosen.nth{space_amount}
 FROM unnest(%(event_ids)s::bigint[]) WITH ORDINALITY AS chosen (id, nth)
 CROSS JOIN LATERAL (
     SELECT e.* FROM events e
     WHERE e.space_id = %(space_id)s AND e.id >= chosen.id
     ORDER BY e.id LIMIT 1
 ) found
 {exchanged})

-- name: candidates
-- The events that meet conditions, in page order; likewise by their keys.
(SELECT e.*{space_amount}
 FROM unnest(%(event_ids)s::bigint[]) AS chosen (id)
 CROSS JOIN LATERAL (
     SELECT known.* FROM events known
     WHERE known.space_id = %(space_id)s AND known.id >= chosen.id
     ORDER BY known.id LIMIT 1
 ) e
 {exchanged}
 WHERE e.id = chosen.id AND {conditions}
 ORDER BY {order})

-- name: plain_rows
-- Every event `e` once, in the form of a credited row.
SELECT e.id AS event_id, e.event_time, e.contact_id, e.company_id, e.event_name, e.amount{also}
FROM {events} e
WHERE e.space_id = %(space_id)s AND {condition};

-- name: of_contacts
EXISTS (SELECT FROM contacts k
        WHERE k.space_id = %(space_id)s AND k.id = e.contact_id AND {conditions});

-- name: page
-- Rows `c` are cut off before the rest of each is read by primary key. A line is the row's JSON in answers
-- and files.
WITH c AS MATERIALIZED ({rows} ORDER BY {order} LIMIT %(limit)s)
SELECT {line}, {key}
FROM c
{joins}
ORDER BY {page_order};

-- name: plain_lines
-- Every event of a selection as a line. The event is `e` and, as a credited row, `c`.
SELECT {line}
FROM events e
{exchanged}
CROSS JOIN LATERAL (
    SELECT e.id AS event_id, e.event_time, e.contact_id, e.company_id, e.event_name,
           e.amount{space_amount}
) c
{joins}
WHERE e.space_id = %(space_id)s AND {condition}
ORDER BY {order};

-- name: credited_lines
-- Every credited row `c` of a selection as a line, with its event's columns as `e`.
SELECT {line}
FROM ({rows}) c
CROSS JOIN LATERAL (SELECT {columns}) e
{joins}
ORDER BY {order};

-- name: credited_events
-- The events of a selection with further columns. If an event has many rows, the common parts of their lines
-- are built here, once.
(SELECT e.space_id, e.id, e.event_time, e.contact_id, e.company_id, e.event_name, e.amount{columns}
        {space_amount}
 FROM events e
 {exchanged}
 CROSS JOIN LATERAL (
     SELECT e.id AS event_id, e.event_time, e.contact_id, e.company_id, e.event_name
 ) c
 {joins}
 WHERE e.space_id = %(space_id)s AND {condition}
 ORDER BY {order});

-- name: slice_start
-- The start of the time slice with the newest %(slice_events)s events of a selection; none if it has fewer.
SELECT e.event_time FROM events e
WHERE e.space_id = %(space_id)s AND {condition}
ORDER BY e.event_time DESC
OFFSET %(slice_events)s - 1 LIMIT 1;

-- name: count
SELECT count(*) FROM events e WHERE e.space_id = %(space_id)s AND {condition};

-- name: fetch
-- Except its currency and converted amount.
SELECT row_to_json(line)::text, {amount}
FROM events e
JOIN spaces s ON s.id = %(space_id)s
LEFT JOIN event_labels l ON l.space_id = %(space_id)s AND l.event_name = e.event_name
CROSS JOIN LATERAL (
    SELECT e.id::text AS id, e.contact_id::text AS profile_id, e.company_id::text AS company_id,
           e.space_id::text AS space_id, e.event_name,
           coalesce(l.label, e.event_name) AS configured_name,
           trim_scale(e.amount) AS amount, e.is_upsell,
           iso_utc(e.event_time) AS event_time_utc, e.order_id, e.order_name
) line
WHERE e.space_id = %(space_id)s AND e.id = %(event_id)s;

-- name: is_refund
-- Whether `r` is a refund of the order `e`, in its currency: an event of its contact with a negative amount and
-- the order's id or name, or its id with a suffix such as `-refund`.
r.contact_id = e.contact_id AND r.amount < 0 AND r.id <> e.id
AND coalesce(r.currency, s.currency) = coalesce(e.currency, s.currency)
AND (r.order_name IN (e.order_id, e.order_name)
     OR starts_with(r.order_id, e.order_id)
        AND substr(r.order_id, length(e.order_id) + 1, 1) !~ '[[:alnum:]]')

-- name: refunds
SELECT count(*), coalesce(trim_scale(sum(r.amount)), 0)
FROM events e
JOIN spaces s ON s.id = %(space_id)s
JOIN events r ON r.space_id = %(space_id)s AND {is_refund}
WHERE e.space_id = %(space_id)s AND e.id = %(event_id)s;

-- name: of_order
-- The events of an order, oldest first. A refund repeats the order's id or name, or its id begins with the
-- order's, such as `1001-refund`.
WITH found AS MATERIALIZED (
    (SELECT e.order_id, e.order_name FROM events e
     WHERE e.space_id = %(space_id)s AND e.order_id = ANY(%(numbers)s) LIMIT %(limit)s)
    UNION
    (SELECT e.order_id, e.order_name FROM events e
     WHERE e.space_id = %(space_id)s AND e.order_name = ANY(%(numbers)s) LIMIT %(limit)s)
), numbers AS MATERIALIZED (
    SELECT order_id AS number FROM found WHERE order_id IS NOT NULL
    UNION SELECT order_name FROM found WHERE order_name IS NOT NULL
)
SELECT o.id
FROM numbers n
CROSS JOIN LATERAL (
    (SELECT e.id FROM events e
     WHERE e.space_id = %(space_id)s AND e.order_name = n.number LIMIT %(limit)s)
    UNION
    (SELECT e.id FROM events e
     WHERE e.space_id = %(space_id)s
       AND e.order_id ~>=~ n.number AND e.order_id ~<~ (n.number || chr(1114111))
       AND substr(e.order_id, length(n.number) + 1, 1) !~ '[[:alnum:]]' LIMIT %(limit)s)
) o
GROUP BY o.id
ORDER BY o.id
LIMIT %(limit)s;

-- name: lock
SELECT FROM events e WHERE e.space_id = %(space_id)s AND e.id = %(event_id)s FOR UPDATE;

-- name: update_amount
-- The business confirms the amount, even if a page reported the event.
UPDATE events SET amount = %(amount)s, amount_confirmed = true
WHERE space_id = %(space_id)s AND id = %(event_id)s;

-- name: delete
DELETE FROM events
WHERE space_id = %(space_id)s AND id = %(event_id)s;
