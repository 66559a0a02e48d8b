-- name: journey
-- At equal times conversions come before the touchpoints that led to them. Both are read from their index
-- between two positions, up to the limit.
SELECT item.line, item.at, item.rank, item.id
FROM (
    SELECT part.*
    FROM (
        SELECT e.event_time AS at, 1 AS rank, e.id,
               (SELECT row_to_json(line)::text FROM (
                   SELECT 'conversion' AS type, e.id, iso_utc(e.event_time) AS event_time_utc,
                          e.event_url, e.event_name,
                          coalesce(l.label, e.event_name) AS configured_name,
                          trim_scale(e.amount) AS amount, e.order_id, e.order_name, e.is_upsell,
                          e.company_id
               ) line) AS line
        FROM (SELECT * FROM events e
              WHERE e.space_id = %(space_id)s AND e.contact_id = %(contact_id)s
                AND (e.event_time, e.id) > (%(after_time)s, %(after_event)s)
                AND (e.event_time, e.id) < (%(before_time)s, %(before_event)s)
              ORDER BY e.event_time {order}, e.id {order} LIMIT %(limit)s) e
        LEFT JOIN event_labels l ON l.space_id = %(space_id)s AND l.event_name = e.event_name
        UNION ALL
        SELECT t.occurred_at, 0, t.id,
               (SELECT row_to_json(line)::text FROM (
                   SELECT 'touchpoint' AS type, t.id, iso_utc(t.occurred_at) AS event_time_utc,
                          t.url AS event_url, t.referrer_host,
                          (%(source_names)s::text[])[t.source_id] AS source,
                          t.source_id = ANY(%(paid)s::int[]) AS is_paid,
                          t.source_id = %(direct)s AS is_direct,
                          g.ad_id, coalesce(g.ad_name, ad.name) AS ad_name,
                          g.adset_id, coalesce(g.adset_name, adset.name) AS adset_name,
                          g.campaign_id, coalesce(g.campaign_name, campaign.name) AS campaign_name,
                          g.account_id, coalesce(g.account_name, account.name) AS account_name,
                          t.company_id
               ) line)
        FROM (SELECT * FROM touchpoints t
              WHERE t.space_id = %(space_id)s AND t.contact_id = %(contact_id)s
                AND t.source_id IS DISTINCT FROM %(hidden)s
                AND (t.occurred_at, t.id) > (%(after_time)s, %(after_touch)s)
                AND (t.occurred_at, t.id) < (%(before_time)s, %(before_touch)s)
              ORDER BY t.occurred_at {order}, t.id {order} LIMIT %(limit)s) t
        LEFT JOIN tag_sets g ON g.space_id = %(space_id)s AND g.id = t.tag_set_id
        LEFT JOIN ad_names ad
            ON ad.space_id = %(space_id)s AND ad.kind = 'ad' AND ad.id = g.ad_id
        LEFT JOIN ad_names adset
            ON adset.space_id = %(space_id)s AND adset.kind = 'adset' AND adset.id = g.adset_id
        LEFT JOIN ad_names campaign
            ON campaign.space_id = %(space_id)s AND campaign.kind = 'campaign'
            AND campaign.id = g.campaign_id
        LEFT JOIN ad_names account
            ON account.space_id = %(space_id)s AND account.kind = 'account'
            AND account.id = g.account_id
    ) part
    ORDER BY part.at {order}, part.rank {order}, part.id {order}
    LIMIT %(limit)s
) item
ORDER BY item.at DESC, item.rank DESC, item.id DESC;

-- name: count_earlier
SELECT (SELECT count(*) FROM events e
        WHERE e.space_id = %(space_id)s AND e.contact_id = %(contact_id)s
          AND (e.event_time, e.id) < (%(before_time)s, %(before_event)s))
     + (SELECT count(*) FROM touchpoints t
        WHERE t.space_id = %(space_id)s AND t.contact_id = %(contact_id)s
          AND t.source_id IS DISTINCT FROM %(hidden)s
          AND (t.occurred_at, t.id) < (%(before_time)s, %(before_touch)s));

-- name: hits
SELECT (SELECT row_to_json(line)::text FROM (
            SELECT h.url AS event_url, h.referrer_host,
                   (%(source_names)s::text[])[h.source_id] AS source, h.country, h.device_type,
                   h.browser, h.os, h.event_name, iso_utc(h.occurred_at) AS event_time_utc
        ) line)
FROM hits h
WHERE h.space_id = %(space_id)s AND h.contact_id = %(contact_id)s
ORDER BY h.occurred_at DESC, h.id DESC
LIMIT %(most)s;
