-- name: latest
-- The effective row of each key: from the latest report, and the last row in it. The figures decide ties, so
-- that the order of reports does not matter.
SELECT DISTINCT ON (r.date, r.key)
       r.date, r.key, r.platform, r.account_id, r.campaign_id, r.adset_id, r.ad_id, r.country,
       r.currency, r.amount, r.impressions, r.clicks, r.platform_conversions, r.platform_revenue,
       r.timezone, coalesce(r.as_of, now()) AS as_of, r.place
FROM {rows}
ORDER BY r.date, r.key, coalesce(r.as_of, now()) DESC, r.place DESC, r.amount DESC,
         r.impressions DESC NULLS LAST, r.clicks DESC NULLS LAST,
         r.platform_conversions DESC NULLS LAST, r.platform_revenue DESC NULLS LAST,
         r.timezone COLLATE "C" DESC NULLS LAST

-- name: replaced
SELECT s.*
FROM ({rows}) l
JOIN spend s ON s.space_id = %(space_id)s AND s.date = l.date AND s.key = l.key
WHERE (l.as_of, l.place, l.amount, coalesce(l.impressions, -1), coalesce(l.clicks, -1),
       coalesce(l.platform_conversions, -1), coalesce(l.platform_revenue, -1),
       coalesce(l.timezone, '') COLLATE "C")
    > (s.as_of, s.place, s.amount, coalesce(s.impressions, -1), coalesce(s.clicks, -1),
       coalesce(s.platform_conversions, -1), coalesce(s.platform_revenue, -1),
       coalesce(s.timezone, '') COLLATE "C")
  AND (l.amount, l.impressions, l.clicks, l.platform_conversions, l.platform_revenue)
      IS DISTINCT FROM
      (s.amount, s.impressions, s.clicks, s.platform_conversions, s.platform_revenue)

-- name: put
-- Sorted, so that concurrent requests cannot deadlock. A row with unchanged figures keeps its change number.
INSERT INTO spend AS s
    (space_id, date, key, platform, account_id, campaign_id, adset_id, ad_id, country, currency,
     amount, impressions, "clicks", platform_conversions, platform_revenue, timezone, as_of, place,
     revision)
SELECT %(space_id)s, l.*, v.revision
FROM ({rows}) l
JOIN revisions v ON v.space_id = %(space_id)s
ON CONFLICT (space_id, date, key) DO UPDATE
SET amount = excluded.amount, impressions = excluded.impressions, "clicks" = excluded.clicks,
    platform_conversions = excluded.platform_conversions,
    platform_revenue = excluded.platform_revenue, timezone = excluded.timezone,
    as_of = excluded.as_of, place = excluded.place,
    revision = CASE WHEN (excluded.amount, excluded.impressions, excluded.clicks,
                          excluded.platform_conversions, excluded.platform_revenue)
                         IS DISTINCT FROM
                         (s.amount, s.impressions, s.clicks, s.platform_conversions,
                          s.platform_revenue)
                    THEN excluded.revision ELSE s.revision END
WHERE (excluded.as_of, excluded.place, excluded.amount, coalesce(excluded.impressions, -1),
       coalesce(excluded.clicks, -1), coalesce(excluded.platform_conversions, -1),
       coalesce(excluded.platform_revenue, -1), coalesce(excluded.timezone, '') COLLATE "C")
    > (s.as_of, s.place, s.amount, coalesce(s.impressions, -1), coalesce(s.clicks, -1),
       coalesce(s.platform_conversions, -1), coalesce(s.platform_revenue, -1),
       coalesce(s.timezone, '') COLLATE "C");

-- name: rows_of_request
json_to_recordset(%(rows)s::json) AS r (
    date date, key bytea, platform text, account_id text, campaign_id text, adset_id text,
    ad_id text, country text, currency text, amount numeric, impressions bigint, "clicks" bigint,
    platform_conversions numeric, platform_revenue numeric, timezone text, as_of timestamptz,
    place integer)

-- name: make_room
-- A file's rows, with columns in the order of `copy_lines.py`: common columns first.
CREATE TEMPORARY TABLE IF NOT EXISTS arriving_spend (
    key bytea, platform text, account_id text, campaign_id text, adset_id text, ad_id text,
    country text, currency text, timezone text, as_of timestamptz, date date, amount numeric,
    impressions bigint, "clicks" bigint, platform_conversions numeric, platform_revenue numeric,
    place integer
) ON COMMIT DELETE ROWS;

-- name: fill
COPY arriving_spend FROM STDIN;

-- name: page
SELECT (SELECT row_to_json(line)::text FROM (
            SELECT s.date, s.platform, nullif(s.account_id, '') AS account_id,
                   nullif(s.campaign_id, '') AS campaign_id, nullif(s.adset_id, '') AS adset_id,
                   nullif(s.ad_id, '') AS ad_id, nullif(s.country, '') AS country, s.currency,
                   trim_scale(s.amount) AS amount, s.impressions, s.clicks,
                   trim_scale(s.platform_conversions) AS platform_conversions,
                   trim_scale(s.platform_revenue) AS platform_revenue, s.timezone,
                   iso_utc(s.as_of) AS as_of, {complete} AS complete
       ) line), s.date - '1970-01-01'::date, s.number
FROM (
    SELECT s.*
    FROM spend s
    WHERE s.space_id = %(space_id)s
      AND (s.date, s.number) > (%(after_day)s, %(after)s)
      AND (s.date, s.number) < (%(before_day)s, %(before)s)
      AND {chosen}
    ORDER BY s.date {order}, s.number {order}
    LIMIT %(limit)s
) s
ORDER BY s.date DESC, s.number DESC;

-- name: complete
-- Reported after the end of its day.
s.as_of >= (s.date + 1)::timestamp AT TIME ZONE coalesce(s.timezone, 'UTC')

-- name: chosen
s.space_id = %(space_id)s AND s.date BETWEEN %(first_day)s AND %(last_day)s
AND (%(platform)s::text IS NULL OR s.platform = %(platform)s)
AND (%(account_id)s::text IS NULL OR s.account_id = %(account_id)s)
AND (%(campaign_id)s::text IS NULL OR s.campaign_id = %(campaign_id)s)
AND (%(currency)s::text IS NULL OR s.currency = %(currency)s)

-- name: count
SELECT count(*), min(s.date), max(s.date) FROM spend s
WHERE s.space_id = %(space_id)s AND {chosen};

-- name: deleted
SELECT s.* FROM spend s WHERE s.space_id = %(space_id)s AND {chosen}

-- name: delete
DELETE FROM spend s WHERE s.space_id = %(space_id)s AND {chosen};

-- name: days
-- The number of rows of each day and currency.
SELECT s.date, s.currency, count(*)
FROM spend s
WHERE s.space_id = %(space_id)s AND s.date BETWEEN %(first_day)s AND %(last_day)s
GROUP BY s.date, s.currency
ORDER BY s.date, s.currency;

-- name: period
-- The ledger of some days, with money and conversions in millionths. Rows of a platform's day report disjoint
-- money if all are at one level. In the wanted currency these are summed over the days of a step, or over all,
-- by the first names of their path. Others keep both, because a rate and a breakdown are for the rows of a day.
WITH ledger AS MATERIALIZED (
    SELECT {path} AS path, s.*
    FROM spend s
    WHERE s.space_id = %(space_id)s AND s.date BETWEEN %(first_day)s AND %(last_day)s
), disjoint AS (
    SELECT l.date, l.platform, l.currency, l.currency = %(currency)s AS is_summed
    FROM ledger l
    GROUP BY l.date, l.platform, l.currency
    HAVING min(cardinality(l.path)) = max(cardinality(l.path))
       AND bool_and(l.account_id <> '') AND bool_and(l.adset_id <> '' OR l.ad_id = '')
       AND (bool_and(l.country = '') OR bool_and(l.country <> ''))
)
SELECT CASE WHEN d.is_summed IS NOT TRUE THEN l.date
            WHEN %(step)s::text IS NULL THEN %(first_day)s
            ELSE date_trunc(%(step)s, l.date::timestamp)::date END,
       l.platform, l.currency,
       CASE WHEN d.is_summed THEN l.path[:%(depth)s] ELSE l.path END, l.country,
       sum(l.amount * 1000000), sum(coalesce(l.impressions, 0)), sum(coalesce(l.clicks, 0)),
       sum(coalesce(l.platform_conversions * 1000000, 0)),
       sum(coalesce(l.platform_revenue * 1000000, 0)), d.date IS NOT NULL
FROM ledger l
LEFT JOIN disjoint d ON d.date = l.date AND d.platform = l.platform AND d.currency = l.currency
GROUP BY 1, 2, 3, 4, 5, 11;

-- name: rows
-- The ledger of some days for the breakdown, with change numbers.
SELECT {broken_down}, s.revision
FROM spend s
WHERE s.space_id = %(space_id)s AND s.date BETWEEN %(first_day)s AND %(last_day)s;

-- name: former_rows
-- The versions of rows replaced after a change, with the change that created each.
SELECT {broken_down}, s.since_revision, s.until_revision, s.cause
FROM former_spend s
WHERE s.space_id = %(space_id)s AND s.date BETWEEN %(first_day)s AND %(last_day)s
  AND s.until_revision > %(revision)s;

-- name: pulls
SELECT a.revision, a.pulled_at FROM new_rows a
WHERE a.space_id = %(space_id)s AND a.revision = ANY(%(revisions)s::bigint[]) AND a.pulled_at IS NOT NULL;

-- name: path
-- The account, campaign, ad set and ad of a row, down to its level.
CASE WHEN s.ad_id <> '' THEN ARRAY[s.account_id, s.campaign_id, s.adset_id, s.ad_id]
     WHEN s.adset_id <> '' THEN ARRAY[s.account_id, s.campaign_id, s.adset_id]
     WHEN s.campaign_id <> '' THEN ARRAY[s.account_id, s.campaign_id]
     WHEN s.account_id <> '' THEN ARRAY[s.account_id]
     ELSE ARRAY[]::text[] END

-- name: broken_down
-- A row for the breakdown: money and conversions in millionths.
s.date, s.platform, s.currency,
{path},
s.country, (s.amount * 1000000)::bigint, coalesce(s.impressions, 0), coalesce(s.clicks, 0),
coalesce(s.platform_conversions * 1000000, 0)::bigint,
coalesce(s.platform_revenue * 1000000, 0)::bigint

-- name: has_platform
SELECT EXISTS (SELECT FROM spend s
               WHERE s.space_id = %(space_id)s AND s.platform = %(platform)s);
