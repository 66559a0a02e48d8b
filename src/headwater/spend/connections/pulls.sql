-- name: stored_rows
-- An account's rows of some days.
SELECT s.date, s.key, s.campaign_id, s.adset_id, s.ad_id, s.country, s.currency,
       s.amount, s.impressions, s.clicks, s.platform_conversions, s.platform_revenue, s.timezone,
       {complete} AS is_complete
FROM spend s
WHERE s.space_id = %(space_id)s AND s.date BETWEEN %(first_day)s AND %(last_day)s
  AND s.platform = %(platform)s AND s.account_id = %(account_id)s;
