-- name: load
-- Distinct touchpoints that a batch's touches may repeat, or that decide about direct visits.
SELECT s.contact_id, t.id, (extract(epoch FROM t.occurred_at) * 1000000)::bigint AS occurred_at,
       t.by_hit AND t.source_rule = %(directly)s AS is_direct_view, t.source_id,
       g.campaign_id, CASE WHEN g.campaign_id IS NULL THEN g.campaign_name END AS campaign_name,
       g.adset_id, CASE WHEN g.adset_id IS NULL THEN g.adset_name END AS adset_name,
       g.ad_id, CASE WHEN g.ad_id IS NULL THEN g.ad_name END AS ad_name, g.keyword
FROM json_to_recordset(%(spans)s::json) AS s (contact_id bigint, first bigint, last bigint)
CROSS JOIN LATERAL (
    SELECT known.*
    FROM touchpoints known
    WHERE known.space_id = %(space_id)s AND known.contact_id = s.contact_id
      AND known.occurred_at >= 'epoch'::timestamptz + s.first * interval '1 microsecond'
      AND known.occurred_at <= 'epoch'::timestamptz + s.last * interval '1 microsecond'
    OFFSET 0
) t
LEFT JOIN LATERAL (
    SELECT known.* FROM tag_sets known
    WHERE known.space_id = %(space_id)s AND known.id = t.tag_set_id
    OFFSET 0
) g ON true;

-- name: write_tag_sets
-- With the Space's next numbers. The Space's lock prevents duplicate numbers.
INSERT INTO tag_sets
    (space_id, id, digest, account_id, account_name, campaign_id, campaign_name, adset_id,
     adset_name, ad_id, ad_name, keyword, landing_page, by_hit)
SELECT %(space_id)s,
       (SELECT coalesce(max(g.id), 0) FROM tag_sets g WHERE g.space_id = %(space_id)s)
       + row_number() OVER (ORDER BY r.digest),
       decode(r.digest, 'hex'), r.account_id, r.account_name, r.campaign_id, r.campaign_name,
       r.adset_id, r.adset_name, r.ad_id, r.ad_name, r.keyword, r.landing_page,
       coalesce(r.by_hit, false)
FROM json_to_recordset(%(tag_sets)s::json)
     AS r (digest text, account_id text, account_name text, campaign_id text, campaign_name text,
           adset_id text, adset_name text, ad_id text, ad_name text, keyword text,
           landing_page text, by_hit boolean)
WHERE (SELECT g.id FROM tag_sets g
       WHERE g.space_id = %(space_id)s AND g.digest = decode(r.digest, 'hex')) IS NULL;

-- name: tag_set
-- Referred to by index among the digests, so each is looked up once. A missing one violates the constraint.
CASE WHEN r.tag_set IS NULL THEN 0 ELSE (ARRAY(
    SELECT (SELECT g.id FROM tag_sets g
            WHERE g.space_id = %(space_id)s AND g.digest = decode(d.digest, 'hex'))
    FROM unnest(%(digests)s::text[]) WITH ORDINALITY AS d (digest, place)
    ORDER BY d.place))[r.tag_set] END

-- name: write
INSERT INTO touchpoints
    (space_id, id, contact_id, origin_id, company_id, occurred_at, tag_set_id, source_id,
     source_rule, url, referrer_host, sent, by_hit, cookies, warnings, sender)
SELECT %(space_id)s, r.id, r.contact_id, r.origin_id, r.company_id,
       'epoch'::timestamptz + r.occurred_at * interval '1 microsecond',
       {tag_set},
       r.source_id, r.source_rule, r.url, r.referrer_host, coalesce(r.sent, false),
       coalesce(r.by_hit, false), r.cookies, r.warnings, coalesce(r.sender, 'browser')
FROM json_to_recordset(%(touchpoints)s::json)
     AS r (id bigint, contact_id bigint, origin_id bigint, company_id bigint, occurred_at bigint,
           tag_set integer, source_id smallint, source_rule text, url text, referrer_host text,
           sent boolean, by_hit boolean, cookies jsonb, warnings text[], sender text);

-- name: write_sources
UPDATE touchpoints t
SET source_id = r.source_id, source_rule = r.source_rule,
    tag_set_id = {tag_set}
FROM json_to_recordset(%(touchpoints)s::json)
     AS r (id bigint, source_id smallint, source_rule text, tag_set integer)
WHERE t.space_id = %(space_id)s AND t.id = r.id;

-- name: delete
DELETE FROM touchpoints t WHERE t.space_id = %(space_id)s AND t.id = ANY(%(ids)s::bigint[]);

-- name: reassign
UPDATE touchpoints t
SET contact_id = %(survivor_id)s, company_id = %(company_id)s,
    origin_id = CASE WHEN t.contact_id = %(survivor_id)s THEN t.origin_id
                     ELSE coalesce(t.origin_id, t.contact_id) END
WHERE t.space_id = %(space_id)s AND t.contact_id = %(contact_id)s
  AND (t.contact_id <> %(survivor_id)s OR t.company_id IS DISTINCT FROM %(company_id)s);

-- name: restore
UPDATE touchpoints t
SET contact_id = %(contact_id)s, company_id = %(company_id)s,
    origin_id = nullif(t.origin_id, %(contact_id)s)
WHERE t.space_id = %(space_id)s AND t.contact_id = %(survivor_id)s
  AND t.origin_id = ANY(%(members)s::bigint[]);
