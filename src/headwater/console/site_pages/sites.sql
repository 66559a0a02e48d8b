-- name: seen
-- Of the latest %(most)s page views, with their last view and the number in a day.
SELECT lower(substring(h.url FROM '^[A-Za-z]+://[^/?#]+')) AS origin,
       max(h.occurred_at) AS seen_at,
       count(*) FILTER (WHERE h.occurred_at > now() - interval '1 day') AS views,
       count(*) AS looked_at
FROM (SELECT l.url, l.occurred_at FROM hits l
      WHERE l.space_id = %(space_id)s ORDER BY l.id DESC LIMIT %(most)s) h
GROUP BY 1
ORDER BY 2 DESC
LIMIT %(most_origins)s;
