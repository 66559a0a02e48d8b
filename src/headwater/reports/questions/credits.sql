-- name: events
-- Event fields outside the paths, with names. No email addresses, which a reporting key may not read.
SELECT e.id, e.event_time, e.order_id, e.order_name, coalesce(l.label, e.event_name), k.name,
       c.name, trim_scale(e.amount), coalesce(e.currency, s.currency), e.is_upsell
FROM events e
JOIN spaces s ON s.id = %(space_id)s
JOIN contacts k ON k.space_id = %(space_id)s AND k.id = e.contact_id
LEFT JOIN companies c ON c.space_id = %(space_id)s AND c.id = e.company_id
LEFT JOIN event_labels l ON l.space_id = %(space_id)s AND l.event_name = e.event_name
WHERE e.space_id = %(space_id)s AND e.id = ANY(%(ids)s::bigint[]);

-- name: tag_sets
-- Tag sets. A missing name is taken from the ad catalogue.
SELECT s.id, s.campaign_id, coalesce(s.campaign_name, campaign.name),
       s.adset_id, coalesce(s.adset_name, adset.name), s.ad_id, coalesce(s.ad_name, ad.name),
       s.keyword, s.landing_page
FROM tag_sets s
LEFT JOIN ad_names campaign
    ON campaign.space_id = %(space_id)s AND campaign.kind = 'campaign'
    AND campaign.id = s.campaign_id
LEFT JOIN ad_names adset
    ON adset.space_id = %(space_id)s AND adset.kind = 'adset' AND adset.id = s.adset_id
LEFT JOIN ad_names ad
    ON ad.space_id = %(space_id)s AND ad.kind = 'ad' AND ad.id = s.ad_id
WHERE s.space_id = %(space_id)s AND s.id = ANY(%(ids)s::integer[]);
