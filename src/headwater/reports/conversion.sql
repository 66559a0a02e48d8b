-- name: days
-- The days, in UTC, with events that name another currency than a report is in.
SELECT DISTINCT c.day
FROM currency_days c
WHERE c.space_id = %(space_id)s AND c.currency <> %(currency)s
  AND c.day BETWEEN %(first_day)s AND %(last_day)s
ORDER BY c.day;

-- name: events
-- Events of some days, in UTC, with an amount in another currency than a report is in, by currency and
-- day on the Space's clock.
SELECT f.currency, f.day, string_agg(int8send(f.id), ''), string_agg(int8send(f.amount), '')
FROM unnest(%(days)s::date[]) AS days (day)
CROSS JOIN LATERAL (
    SELECT e.id, (e.amount * 10000)::bigint AS amount, coalesce(e.currency, %(own)s) AS currency,
           (e.event_time AT TIME ZONE %(zone)s)::date AS day
    FROM events e
    WHERE e.space_id = %(space_id)s
      AND e.event_time >= days.day::timestamp AT TIME ZONE 'UTC'
      AND e.event_time < (days.day + 1)::timestamp AT TIME ZONE 'UTC'
      AND coalesce(e.currency, %(own)s) <> %(target)s AND e.amount <> 0
    OFFSET 0
) f
GROUP BY f.currency, f.day;
