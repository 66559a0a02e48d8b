-- name: campaign_gaps
-- Visits carry a campaign by its id, by its name, or by its name in the place of the id.
WITH spent AS (
    SELECT s.campaign_id, s.currency, sum(s.amount) AS amount
    FROM spend s
    WHERE s.space_id = %(space_id)s AND s.date BETWEEN %(first_day)s AND %(last_day)s
      AND s.platform = %(platform)s AND s.account_id = %(account_id)s
      AND s.campaign_id <> '' AND s.adset_id = '' AND s.ad_id = ''
    GROUP BY s.campaign_id, s.currency
    HAVING sum(s.amount) > 0
), named AS (
    SELECT t.campaign_id, t.currency, t.amount, n.name
    FROM spent t
    LEFT JOIN ad_names n ON n.space_id = %(space_id)s AND n.kind = 'campaign' AND n.id = t.campaign_id
), carried AS (
    SELECT v.campaign_id AS value FROM tag_sets v
    WHERE v.space_id = %(space_id)s AND v.campaign_id IS NOT NULL
    UNION
    SELECT v.campaign_name FROM tag_sets v
    WHERE v.space_id = %(space_id)s AND v.campaign_name IS NOT NULL
)
SELECT n.campaign_id, n.name, n.amount, n.currency
FROM named n
WHERE NOT EXISTS (SELECT FROM carried c WHERE c.value = n.campaign_id)
  AND NOT EXISTS (SELECT FROM carried c WHERE lower(c.value) = lower(n.name))
ORDER BY n.amount DESC, n.campaign_id
LIMIT %(most)s;

-- name: unassigned_spend
-- Only on days that the account covers.
SELECT count(*), min(s.date), max(s.date)
FROM spend s
WHERE s.space_id = %(space_id)s AND s.platform = %(platform)s AND s.account_id = ''
  AND s.amount > 0
  AND s.date >= (SELECT min(o.date) FROM spend o
                 WHERE o.space_id = %(space_id)s AND o.platform = %(platform)s
                   AND o.account_id = %(account_id)s AND %(account_id)s <> '');
