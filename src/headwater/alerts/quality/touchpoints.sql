-- name: groups
-- Problems in the latest touchpoints that arrived before the end of a period, by value: values of utm_source
-- ignored by the rule that chose the source, campaigns without a source, hosts of unlisted sites, and sources
-- whose click names no campaign. There is no index by time; ids follow the order of arrival, close enough to
-- event times.
WITH bound AS MATERIALIZED (
    SELECT coalesce(max(e.id), 9223372036854775807) AS id
    FROM (SELECT e.id FROM events e
          WHERE e.space_id = %(space_id)s AND e.event_time < %(end)s
          ORDER BY e.event_time DESC, e.id DESC
          LIMIT 100) e
    WHERE %(is_past)s
), latest AS MATERIALIZED (
    SELECT l.*
    FROM bound b
    CROSS JOIN LATERAL (
        SELECT t.id, t.occurred_at, t.source_id, t.source_rule, t.tag_set_id, t.url, t.referrer_host
        FROM touchpoints t
        WHERE t.space_id = %(space_id)s AND t.id <= b.id
        ORDER BY t.id DESC
        LIMIT %(most)s
    ) l
), inside AS MATERIALIZED (
    SELECT l.*, substring(l.url FROM '[?&#]utm_source=([^?&#]*)') AS utm_source
    FROM latest l
    WHERE l.occurred_at >= %(start)s AND l.occurred_at < %(end)s
), marked AS (
    SELECT 'utm_source' AS mark, i.utm_source AS value, i.id FROM inside i
    WHERE i.utm_source <> '' AND i.source_rule = ANY(%(unnamed)s)
      AND i.source_id <> %(paid_other)s
    UNION ALL
    SELECT 'network', i.utm_source, i.id FROM inside i
    WHERE i.utm_source <> '' AND i.source_id = %(paid_other)s
    UNION ALL
    SELECT 'no_utm_source', i.source_rule, i.id FROM inside i
    WHERE coalesce(i.utm_source, '') = '' AND i.source_rule = 'campaign'
    UNION ALL
    SELECT 'site', i.referrer_host, i.id FROM inside i
    WHERE i.source_rule = 'other_site' AND i.referrer_host IS NOT NULL
    UNION ALL
    SELECT 'no_campaign', i.source_id::text, i.id FROM inside i
    WHERE (i.source_id = ANY(%(paid)s::smallint[]) OR i.source_rule = ANY(%(links)s))
      AND NOT EXISTS (
          SELECT FROM tag_sets g
          WHERE g.space_id = %(space_id)s AND g.id = i.tag_set_id
            AND (g.campaign_id IS NOT NULL OR g.campaign_name IS NOT NULL))
)
SELECT 'all' AS mark, NULL AS value, count(*) AS number, ARRAY[]::bigint[] AS ids,
       min(i.occurred_at) AS since, (SELECT count(*) FROM latest) AS looked_at
FROM inside i
UNION ALL
(SELECT m.mark, m.value, count(*), (array_agg(m.id ORDER BY m.id DESC))[1:%(examples)s], NULL, NULL
 FROM marked m
 GROUP BY m.mark, m.value
 ORDER BY count(*) DESC, m.value
 LIMIT %(most_groups)s);

-- name: returns
-- Unlisted hosts behind the last touchpoint in the half hour before an order, and how often another
-- touchpoint came shortly before that.
SELECT r.referrer_host, count(*), count(*) FILTER (WHERE r.has_earlier)
FROM (
    SELECT l.id, l.contact_id, l.event_time
    FROM (SELECT e.id, e.contact_id, e.event_time, e.event_name, e.amount, e.is_upsell
          FROM events e
          WHERE e.space_id = %(space_id)s AND e.event_time >= %(start)s AND e.event_time < %(end)s
          ORDER BY e.event_time DESC, e.id DESC
          LIMIT %(most)s) l
    WHERE is_order(l.event_name, l.is_upsell, l.amount)
    ORDER BY l.event_time DESC, l.id DESC
    LIMIT %(most_orders)s
) o
CROSS JOIN LATERAL (
    SELECT t.source_rule, t.referrer_host,
           EXISTS (SELECT FROM touchpoints b
                   WHERE b.space_id = %(space_id)s AND b.contact_id = o.contact_id
                     AND b.occurred_at < t.occurred_at
                     AND b.occurred_at >= t.occurred_at - interval '2 hours') AS has_earlier
    FROM touchpoints t
    WHERE t.space_id = %(space_id)s AND t.contact_id = o.contact_id
      AND t.occurred_at <= o.event_time AND t.occurred_at >= o.event_time - interval '30 minutes'
    ORDER BY t.occurred_at DESC, t.id DESC
    LIMIT 1
) r
WHERE r.source_rule = 'other_site' AND r.referrer_host IS NOT NULL
GROUP BY r.referrer_host
ORDER BY count(*) DESC, r.referrer_host
LIMIT %(most_groups)s;

-- name: examples
SELECT t.id, t.contact_id, t.occurred_at, t.url, t.referrer_host
FROM touchpoints t
WHERE t.space_id = %(space_id)s AND t.id = ANY(%(ids)s::bigint[]);
