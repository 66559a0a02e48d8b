-- name: put
-- A Space's own rates, new or changed. In one order everywhere, so that two requests never wait for
-- each other in a circle.
INSERT INTO rates AS x (space_id, date, base, currency, rate)
SELECT %(space_id)s, r.date, r.base, r.currency, r.rate
FROM json_to_recordset(%(rates)s::json) AS r (date date, base text, currency text, rate numeric)
ORDER BY r.date, r.base, r.currency
ON CONFLICT (space_id, date, base, currency) DO UPDATE SET rate = excluded.rate
WHERE x.rate <> excluded.rate;

-- name: page
-- A page of a Space's own rates, the latest days first.
SELECT (SELECT row_to_json(line)::text FROM (
            SELECT x.date, x.base, x.currency, trim_scale(x.rate) AS rate
       ) line), x.date - '1970-01-01'::date, x.number
FROM (
    SELECT x.*
    FROM rates x
    WHERE x.space_id = %(space_id)s
      AND (x.date, x.number) > (%(after_day)s, %(after)s)
      AND (x.date, x.number) < (%(before_day)s, %(before)s)
    ORDER BY x.date {order}, x.number {order}
    LIMIT %(limit)s
) x
ORDER BY x.date DESC, x.number DESC;

-- name: put_reference
-- Rates for all Spaces, new or changed.
INSERT INTO reference_rates AS x (date, currency, per_euro)
SELECT r.date, r.currency, r.per_euro
FROM json_to_recordset(%(rates)s::json) AS r (date date, currency text, per_euro numeric)
ORDER BY r.date, r.currency
ON CONFLICT (date, currency) DO UPDATE SET per_euro = excluded.per_euro
WHERE x.per_euro <> excluded.per_euro;

-- name: reference_day
-- The latest day with rates for all Spaces.
SELECT max(x.date) FROM reference_rates x;

-- name: own
-- A Space's own rates of some days.
SELECT x.date, x.base, x.currency, x.rate
FROM rates x
WHERE x.space_id = %(space_id)s AND x.date BETWEEN %(first_day)s AND %(last_day)s
  AND x.date = ANY(%(days)s::date[]);

-- name: reference
-- Those for all Spaces, of some currencies and days.
SELECT x.date, x.currency, x.per_euro
FROM reference_rates x
WHERE x.currency = ANY(%(currencies)s::text[]) AND x.date = ANY(%(days)s::date[]);
