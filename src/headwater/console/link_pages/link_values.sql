-- name: tag_sets
-- Return the latest combinations of campaign, ad set, ad, keyword and page.
SELECT coalesce(s.campaign_name, s.campaign_id), coalesce(s.adset_name, s.adset_id),
       coalesce(s.ad_name, s.ad_id), s.keyword, s.landing_page
FROM tag_sets s
WHERE s.space_id = %(space_id)s
ORDER BY s.id DESC
LIMIT %(most)s;

-- name: urls
-- Of the latest touchpoints with parameters.
SELECT l.url
FROM (SELECT t.url FROM touchpoints t
      WHERE t.space_id = %(space_id)s ORDER BY t.id DESC LIMIT %(most)s) l
WHERE l.url LIKE '%%?%%';
