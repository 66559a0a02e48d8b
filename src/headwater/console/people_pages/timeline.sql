-- name: page
-- Read each part from its index between two positions, up to the limit.
SELECT item.line, item.at, item.rank, item.id
FROM (
    SELECT part.* FROM ({parts}) part
    ORDER BY part.at {order}, part.rank {order}, part.id {order}
    LIMIT %(limit)s
) item
ORDER BY item.at DESC, item.rank DESC, item.id DESC;

-- name: events
SELECT e.event_time AS at, 3 AS rank, e.id,
       (SELECT row_to_json(line)::text FROM (
           SELECT 'event' AS kind, e.id, iso_utc(e.event_time) AS at, e.event_name,
                  trim_scale(e.amount)::text AS amount, e.order_id, e.order_name, e.sender,
                  e.contact_id, k.name AS contact_name, k.email AS contact_email
       ) line) AS line
FROM (SELECT * FROM events e
      WHERE e.space_id = %(space_id)s AND e.{owner} = %(owner_id)s
        AND (e.event_time, e.id) > (%(after_time)s, %(after_3)s)
        AND (e.event_time, e.id) < (%(before_time)s, %(before_3)s)
      ORDER BY e.event_time {order}, e.id {order} LIMIT %(limit)s) e
JOIN contacts k ON k.space_id = %(space_id)s AND k.id = e.contact_id

-- name: merges
-- Of a contact or one now part of it, including undone ones.
SELECT m.merged_at, 2, m.id,
       (SELECT row_to_json(line)::text FROM (
           SELECT 'merge' AS kind, m.id, iso_utc(m.merged_at) AS at, m.merged_id, m.survivor_id,
                  m.cause, m.sender, m.receipt_id, iso_utc(m.undone_at) AS undone_at
       ) line)
FROM (SELECT * FROM merges m
      WHERE m.space_id = %(space_id)s
        AND (m.merged_id = ANY(%(members)s::bigint[]) OR m.survivor_id = ANY(%(members)s::bigint[]))
        AND (m.merged_at, m.id) > (%(after_time)s, %(after_2)s)
        AND (m.merged_at, m.id) < (%(before_time)s, %(before_2)s)
      ORDER BY m.merged_at {order}, m.id {order} LIMIT %(limit)s) m

-- name: page_views
SELECT h.occurred_at, 1, h.id,
       (SELECT row_to_json(line)::text FROM (
           SELECT 'page_view' AS kind, h.id, iso_utc(h.occurred_at) AS at, h.visit_id, h.url,
                  h.referrer_host, h.country, h.device_type, h.browser, h.os
       ) line)
FROM (SELECT * FROM hits h
      WHERE h.space_id = %(space_id)s AND h.{owner} = %(owner_id)s
        AND (h.occurred_at, h.id) > (%(after_time)s, %(after_1)s)
        AND (h.occurred_at, h.id) < (%(before_time)s, %(before_1)s)
      ORDER BY h.occurred_at {order}, h.id {order} LIMIT %(limit)s) h

-- name: touchpoints
-- With their ad names.
SELECT t.occurred_at, 0, t.id,
       (SELECT row_to_json(line)::text FROM (
           SELECT 'touchpoint' AS kind, t.id, iso_utc(t.occurred_at) AS at, t.url, t.referrer_host,
                  (%(source_names)s::text[])[t.source_id] AS source, t.source_rule, t.sender,
                  g.campaign_id, coalesce(g.campaign_name, campaign.name) AS campaign_name,
                  g.adset_id, coalesce(g.adset_name, adset.name) AS adset_name,
                  g.ad_id, coalesce(g.ad_name, ad.name) AS ad_name, g.keyword,
                  t.contact_id, k.name AS contact_name, k.email AS contact_email
       ) line)
FROM (SELECT * FROM touchpoints t
      WHERE t.space_id = %(space_id)s AND t.{owner} = %(owner_id)s
        AND (t.occurred_at, t.id) > (%(after_time)s, %(after_0)s)
        AND (t.occurred_at, t.id) < (%(before_time)s, %(before_0)s)
      ORDER BY t.occurred_at {order}, t.id {order} LIMIT %(limit)s) t
JOIN contacts k ON k.space_id = %(space_id)s AND k.id = t.contact_id
LEFT JOIN tag_sets g ON g.space_id = %(space_id)s AND g.id = t.tag_set_id
LEFT JOIN ad_names ad ON ad.space_id = %(space_id)s AND ad.kind = 'ad' AND ad.id = g.ad_id
LEFT JOIN ad_names adset
    ON adset.space_id = %(space_id)s AND adset.kind = 'adset' AND adset.id = g.adset_id
LEFT JOIN ad_names campaign
    ON campaign.space_id = %(space_id)s AND campaign.kind = 'campaign'
    AND campaign.id = g.campaign_id

-- name: members
-- A contact and up to %(most)s contacts merged into it.
SELECT c.id FROM contacts c
WHERE c.space_id = %(space_id)s AND (c.id = %(contact_id)s OR c.merged_into = %(contact_id)s)
LIMIT %(most)s;

-- name: deliveries
-- Return the events' deliveries to ad platforms, without corrections and credit.
SELECT d.event_id, d.status, d.reason, t.name, t.platform
FROM deliveries d
JOIN destinations t ON t.space_id = %(space_id)s AND t.id = d.destination_id
WHERE d.space_id = %(space_id)s AND d.event_id = ANY(%(event_ids)s::bigint[])
  AND d.kind = 'conversion'
ORDER BY d.event_id, t.name, d.id;
