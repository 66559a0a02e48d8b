-- name: keep
INSERT INTO former_rates (space_id, until_revision, date, base, currency, rate)
SELECT %(space_id)s, v.revision, r.date, r.base, r.currency, x.rate
FROM json_to_recordset(%(rates)s::json) AS r (date date, base text, currency text, rate numeric)
JOIN revisions v ON v.space_id = %(space_id)s
LEFT JOIN rates x ON x.space_id = %(space_id)s AND x.date = r.date AND x.base = r.base
                  AND x.currency = r.currency
WHERE x.rate IS DISTINCT FROM r.rate;

-- name: put
-- Sorted, so that concurrent requests cannot deadlock.
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

-- name: lock_reference
-- Wait for the previous commit, so that change numbers commit in order.
LOCK TABLE reference_changes IN EXCLUSIVE MODE;

-- name: draw_reference
INSERT INTO reference_changes (revision)
SELECT coalesce(max(c.revision), 0) + 1 FROM reference_changes c;

-- name: keep_reference
INSERT INTO former_reference_rates (until_revision, date, currency, per_euro)
SELECT (SELECT max(c.revision) FROM reference_changes c), r.date, r.currency, x.per_euro
FROM json_to_recordset(%(rates)s::json) AS r (date date, currency text, per_euro numeric)
LEFT JOIN reference_rates x ON x.date = r.date AND x.currency = r.currency
WHERE x.per_euro IS DISTINCT FROM r.per_euro;

-- name: reference_revision
SELECT coalesce(max(c.revision), 0) FROM reference_changes c
WHERE %(moment)s::timestamptz IS NULL OR c.made_at <= %(moment)s;

-- name: changed
SELECT EXISTS (SELECT FROM former_rates f
               WHERE f.space_id = %(space_id)s AND f.until_revision > %(revision)s
                 AND f.until_revision <= %(until_revision)s)
    OR EXISTS (SELECT FROM former_reference_rates f
               WHERE f.until_revision > %(reference)s
                 AND f.until_revision <= %(until_reference)s);

-- name: former
-- The former versions, at a point, of a Space's rates that changed later.
SELECT DISTINCT ON (f.date, f.base, f.currency) f.date, f.base, f.currency, f.rate
FROM former_rates f
WHERE f.space_id = %(space_id)s AND f.until_revision > %(revision)s
  AND f.date = ANY(%(days)s::date[])
ORDER BY f.date, f.base, f.currency, f.until_revision;

-- name: former_reference
-- The former versions, likewise, of the rates for all Spaces.
SELECT DISTINCT ON (f.date, f.currency) f.date, f.currency, f.per_euro
FROM former_reference_rates f
WHERE f.until_revision > %(reference)s AND f.date = ANY(%(days)s::date[])
  AND f.currency = ANY(%(currencies)s::text[])
ORDER BY f.date, f.currency, f.until_revision;

-- name: put_reference
INSERT INTO reference_rates AS x (date, currency, per_euro)
SELECT r.date, r.currency, r.per_euro
FROM json_to_recordset(%(rates)s::json) AS r (date date, currency text, per_euro numeric)
ORDER BY r.date, r.currency
ON CONFLICT (date, currency) DO UPDATE SET per_euro = excluded.per_euro
WHERE x.per_euro <> excluded.per_euro;

-- name: reference_day
SELECT max(x.date) FROM reference_rates x;

-- name: own
SELECT x.date, x.base, x.currency, x.rate
FROM rates x
WHERE x.space_id = %(space_id)s AND x.date BETWEEN %(first_day)s AND %(last_day)s
  AND x.date = ANY(%(days)s::date[]);

-- name: reference
SELECT x.date, x.currency, x.per_euro
FROM reference_rates x
WHERE x.currency = ANY(%(currencies)s::text[]) AND x.date = ANY(%(days)s::date[]);
