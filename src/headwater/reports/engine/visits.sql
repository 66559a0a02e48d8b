-- name: counted_visits
-- Visits by time bucket, which begin and end with quarters of an hour, or by quarter, and by source if it
-- matters. Buckets are sent in seconds, which take a fifth of the time of timestamps, and are converted apart:
-- behind a policy an index is not searched by a calculation.
SELECT v.second, v.source_id, 0 AS tag_set_id, v.visits
FROM (SELECT to_timestamp(u.first) AS first, to_timestamp(u.stop) AS stop, u.bucket
      FROM unnest(%(starts)s::bigint[], %(ends)s::bigint[], %(buckets)s::bigint[]) AS u (first, stop, bucket)
      OFFSET 0) b
CROSS JOIN LATERAL (
    SELECT CASE WHEN %(by_quarter)s THEN extract(epoch FROM c.quarter)::bigint ELSE b.bucket END AS second,
           CASE WHEN %(by_source)s THEN nullif(c.source_id, 0) END AS source_id,
           sum(c.visits)::bigint AS visits
    FROM visit_counts c
    WHERE c.space_id = %(space_id)s AND c.quarter >= b.first AND c.quarter < b.stop
    GROUP BY 1, 2
    HAVING sum(c.visits) <> 0
) v;

-- name: visits
-- Visits by time bucket or quarter of an hour, source and tag set, the latter two only if they matter. A range
-- of the index for each bucket is faster than a search for each visit's bucket. The first quarter may begin
-- before the period.
SELECT v.second, v.source_id, v.tag_set_id, v.visits
FROM (SELECT to_timestamp(u.first) AS first, to_timestamp(u.stop) AS stop, u.bucket
      FROM unnest(%(starts)s::bigint[], %(ends)s::bigint[], %(buckets)s::bigint[]) AS u (first, stop, bucket)
      OFFSET 0) b
CROSS JOIN LATERAL (
    SELECT CASE WHEN %(by_quarter)s
                THEN greatest(b.bucket, floor(extract(epoch FROM w.started_at) / 900)::bigint * 900)
                ELSE b.bucket END AS second,
           CASE WHEN %(by_source)s THEN w.source_id END AS source_id,
           CASE WHEN %(by_tag_set)s THEN w.tag_set_id ELSE 0 END AS tag_set_id,
           count(*) AS visits
    FROM visits w
    WHERE w.space_id = %(space_id)s AND w.started_at >= b.first AND w.started_at < b.stop
    GROUP BY 1, 2, 3
) v;

-- name: visit_tag_sets
-- The tag sets of touchpoints made by page views.
SELECT coalesce(array_agg(g.id ORDER BY g.id), '{}') FROM tag_sets g
WHERE g.space_id = %(space_id)s AND g.by_hit;

-- name: visit_facts
-- Page views by bots, and the start of what is left after retention has deleted visits of all or some people.
SELECT coalesce(sum(b.views), 0)::bigint,
       greatest((SELECT k.forgotten_before FROM page_view_upkeep k WHERE k.space_id = %(space_id)s),
                (SELECT p.deleted_before FROM retention_passes p
                 WHERE p.space_id = %(space_id)s AND p.kind = 'contacts'))
FROM bot_views b
WHERE b.space_id = %(space_id)s AND b.quarter >= %(start)s AND b.quarter < %(end)s;
