-- name: load
-- The touchpoints that a batch's touches could repeat or that decide about direct visits, as far as
-- they are told apart.
SELECT s.contact_id, t.id, (extract(epoch FROM t.occurred_at) * 1000000)::bigint AS occurred_at,
       t.by_hit AND t.source_rule = %(directly)s AS is_direct_view, t.source_id,
       t.campaign_id, CASE WHEN t.campaign_id IS NULL THEN t.campaign_name END AS campaign_name,
       t.adset_id, CASE WHEN t.adset_id IS NULL THEN t.adset_name END AS adset_name,
       t.ad_id, CASE WHEN t.ad_id IS NULL THEN t.ad_name END AS ad_name, t.keyword
FROM json_to_recordset(%(spans)s::json) AS s (contact_id bigint, first bigint, last bigint)
CROSS JOIN LATERAL (
    SELECT known.*
    FROM touchpoints known
    WHERE known.space_id = %(space_id)s AND known.contact_id = s.contact_id
      AND known.occurred_at >= 'epoch'::timestamptz + s.first * interval '1 microsecond'
      AND known.occurred_at <= 'epoch'::timestamptz + s.last * interval '1 microsecond'
    OFFSET 0
) t;

-- name: write
-- New touchpoints.
INSERT INTO touchpoints
    (space_id, id, contact_id, origin_id, company_id, occurred_at, source_id, source_rule,
     campaign_id, campaign_name, adset_id, adset_name, ad_id, ad_name, account_id, account_name,
     keyword, url, referrer_host, sent, by_hit, cookies, warnings, sender)
SELECT %(space_id)s, r.id, r.contact_id, r.origin_id, r.company_id,
       'epoch'::timestamptz + r.occurred_at * interval '1 microsecond', r.source_id,
       r.source_rule, r.campaign_id, r.campaign_name, r.adset_id, r.adset_name, r.ad_id, r.ad_name,
       r.account_id, r.account_name, r.keyword, r.url, r.referrer_host, coalesce(r.sent, false),
       coalesce(r.by_hit, false), r.cookies, r.warnings, coalesce(r.sender, 'browser')
FROM json_to_recordset(%(touchpoints)s::json)
     AS r (id bigint, contact_id bigint, origin_id bigint, company_id bigint, occurred_at bigint,
           source_id smallint, source_rule text, campaign_id text, campaign_name text,
           adset_id text, adset_name text, ad_id text, ad_name text, account_id text,
           account_name text, keyword text, url text, referrer_host text, sent boolean,
           by_hit boolean, cookies jsonb, warnings text[], sender text);

-- name: delete
-- Touchpoints that page views made and no longer make.
DELETE FROM touchpoints t WHERE t.space_id = %(space_id)s AND t.id = ANY(%(ids)s::bigint[]);

-- name: reassign
-- Touchpoints follow their contact to its survivor or to another company.
UPDATE touchpoints t
SET contact_id = %(survivor_id)s, company_id = %(company_id)s,
    origin_id = CASE WHEN t.contact_id = %(survivor_id)s THEN t.origin_id
                     ELSE coalesce(t.origin_id, t.contact_id) END
WHERE t.space_id = %(space_id)s AND t.contact_id = %(contact_id)s
  AND (t.contact_id <> %(survivor_id)s OR t.company_id IS DISTINCT FROM %(company_id)s);

-- name: restore
-- Touchpoints of a contact that is taken out of another go back to it.
UPDATE touchpoints t
SET contact_id = %(contact_id)s, company_id = %(company_id)s,
    origin_id = nullif(t.origin_id, %(contact_id)s)
WHERE t.space_id = %(space_id)s AND t.contact_id = %(survivor_id)s
  AND t.origin_id = ANY(%(members)s::bigint[]);
