-- name: own_links
-- The pages that tagged internal links lead to, among the latest page views. There is no index by time; ids
-- follow the order of arrival.
WITH latest AS MATERIALIZED (
    SELECT h.id, h.occurred_at, h.url, h.touch
    FROM hits h
    WHERE h.space_id = %(space_id)s
    ORDER BY h.id DESC
    LIMIT %(most)s
)
SELECT substring(l.url FROM '^[^?#]*'), count(*),
       (array_agg(l.url ORDER BY l.id DESC))[1:%(examples)s]
FROM latest l
WHERE l.occurred_at >= %(start)s AND l.occurred_at < %(end)s
  AND l.touch ->> 'own_link' = 'true'
GROUP BY 1
ORDER BY count(*) DESC, 1;
