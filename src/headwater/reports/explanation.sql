-- name: snapshot
-- The event, its credits and its path must come from one snapshot: a merge may commit in between.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- name: event
-- The explained event and its contact.
SELECT e.id, e.contact_id, k.name AS contact_name, e.company_id, trim_scale(e.amount) AS amount,
       e.event_name, iso_utc(e.event_time) AS event_time_utc, e.sender
FROM events e
JOIN contacts k ON k.space_id = %(space_id)s AND k.id = e.contact_id
WHERE e.space_id = %(space_id)s AND e.id = %(event_id)s;

-- name: this_event
-- The event with its amount in the Space's currency.
(SELECT known.*, %(space_amount)s::numeric AS space_amount FROM events known
 WHERE known.space_id = %(space_id)s AND known.id = %(event_id)s)

-- name: of_model
-- One model's credit by touch; of a long path, only both ends.
SELECT {model} AS model, c.touchpoint_id, {credit} AS credit, {space_credit} AS space_credit, c.touches
FROM ({rows}) c
WHERE c.place <= %(ends)s OR c.place > c.touches - %(ends)s

-- name: any_touch
-- Whether any touch precedes the event, whatever its age.
SELECT EXISTS ({rows})

-- name: touchpoints
-- Touches in path order, with ad names.
SELECT t.id, iso_utc(t.occurred_at) AS event_time_utc, t.contact_id, t.sender,
       (%(source_names)s::text[])[t.source_id] AS source, t.source_rule,
       t.source_id = ANY(%(paid)s::int[]) AS is_paid, t.url AS event_url, t.referrer_host,
       g.campaign_id, coalesce(g.campaign_name, campaign.name) AS campaign_name,
       g.adset_id, coalesce(g.adset_name, adset.name) AS adset_name,
       g.ad_id, coalesce(g.ad_name, ad.name) AS ad_name, g.keyword
FROM touchpoints t
LEFT JOIN tag_sets g ON g.space_id = %(space_id)s AND g.id = t.tag_set_id
LEFT JOIN ad_names ad
    ON ad.space_id = %(space_id)s AND ad.kind = 'ad' AND ad.id = g.ad_id
LEFT JOIN ad_names adset
    ON adset.space_id = %(space_id)s AND adset.kind = 'adset' AND adset.id = g.adset_id
LEFT JOIN ad_names campaign
    ON campaign.space_id = %(space_id)s AND campaign.kind = 'campaign'
    AND campaign.id = g.campaign_id
WHERE t.space_id = %(space_id)s AND t.id = ANY(%(ids)s::bigint[])
ORDER BY t.occurred_at, t.id;
