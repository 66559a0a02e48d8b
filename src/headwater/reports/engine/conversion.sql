-- name: days
-- UTC days with events in another currency than the report's.
SELECT DISTINCT c.day
FROM currency_days c
WHERE c.space_id = %(space_id)s AND c.currency <> %(currency)s
  AND c.day BETWEEN %(first_day)s AND %(last_day)s
ORDER BY c.day;

-- name: events
-- Events whose amount may need conversion or exceeds a bound, by currency, local day and whether only a page
-- reported it: on the given UTC days, those in another currency; on all days of the range, those beyond a
-- bound in the Space's currency.
SELECT f.currency, f.day, f.from_page, string_agg(int8send(f.id), ''),
       string_agg(int8send((f.amount * 10000)::bigint), '')
FROM (
    SELECT e.id, e.amount, coalesce(e.currency, %(own)s) AS currency,
           local_time(e.event_time, %(changes)s, %(offsets)s)::date AS day,
           coalesce(e.sender IN ('browser', 'signed_browser'), false)
               AND NOT e.amount_confirmed AS from_page
    FROM unnest(%(days)s::date[]) AS days (day)
    CROSS JOIN LATERAL (
        SELECT known.id, known.amount, known.currency, known.event_time, known.sender,
               known.amount_confirmed
        FROM events known
        WHERE known.space_id = %(space_id)s
          AND known.event_time >= days.day::timestamp AT TIME ZONE 'UTC'
          AND known.event_time < (days.day + 1)::timestamp AT TIME ZONE 'UTC'
          AND known.amount <> 0
        OFFSET 0
    ) e
    WHERE %(own)s <> %(target)s OR coalesce(e.currency, %(own)s) <> %(target)s
    UNION ALL
    SELECT e.id, e.amount, %(own)s, local_time(e.event_time, %(changes)s, %(offsets)s)::date,
           coalesce(e.sender IN ('browser', 'signed_browser'), false) AND NOT e.amount_confirmed
    FROM events e
    WHERE e.space_id = %(space_id)s AND %(own)s = %(target)s
      AND coalesce(e.currency, %(own)s) = %(own)s
      AND e.event_time >= %(first_day)s::timestamp AT TIME ZONE 'UTC'
      AND e.event_time < (%(last_day)s::timestamp + interval '1 day') AT TIME ZONE 'UTC'
      AND (abs(e.amount) > 100000000000
           OR (abs(e.amount) > 10000000 AND NOT e.amount_confirmed
               AND e.sender IN ('browser', 'signed_browser')))
) f
GROUP BY f.currency, f.day, f.from_page;
