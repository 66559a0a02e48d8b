-- name: stored_rows
-- An account's rows of some days, with the fields of `SpendRow` in order.
SELECT s.date, s.platform, s.currency, s.amount, s.account_id, s.campaign_id, s.adset_id, s.ad_id, s.country,
       s.impressions, s.clicks, s.platform_conversions, s.platform_revenue, s.timezone, {complete}
FROM spend s
WHERE s.space_id = %(space_id)s AND s.date BETWEEN %(first_day)s AND %(last_day)s
  AND s.platform = %(platform)s AND s.account_id = %(account_id)s;
