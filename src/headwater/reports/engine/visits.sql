-- name: visits
-- Visits of a period by time, source and tag set, each only if it matters. Time is an index, from 1, among
-- ascending instants.
SELECT width_bucket(v.started_at, %(instants)s::timestamptz[]),
       CASE WHEN %(by_source)s THEN v.source_id END,
       CASE WHEN %(by_tag_set)s THEN v.tag_set_id ELSE 0 END,
       count(*)
FROM visits v
WHERE v.space_id = %(space_id)s AND v.started_at >= %(start)s AND v.started_at < %(end)s
GROUP BY 1, 2, 3;

-- name: visit_tag_sets
-- The tag sets of touchpoints made by page views.
SELECT coalesce(array_agg(g.id ORDER BY g.id), '{}') FROM tag_sets g
WHERE g.space_id = %(space_id)s AND g.by_hit;

-- name: bot_views
SELECT coalesce(sum(b.views), 0)::bigint FROM bot_views b
WHERE b.space_id = %(space_id)s AND b.quarter >= %(start)s AND b.quarter < %(end)s;
