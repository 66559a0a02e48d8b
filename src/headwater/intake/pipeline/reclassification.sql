-- name: bound_statements
SELECT set_config('statement_timeout', %(patience)s, true);

-- name: bound_waiting
-- SET, so that a cluster passes it on to its nodes.
SET LOCAL lock_timeout = {patience};

-- name: last_id
-- The end of a batch of at most %(most)s rows of each kind.
SELECT least(
    (SELECT t.id FROM touchpoints t
     WHERE t.space_id = %(space_id)s AND t.id > %(after_id)s AND t.id <= %(until_id)s
     ORDER BY t.id OFFSET %(most)s - 1 LIMIT 1),
    (SELECT h.id FROM hits h
     WHERE h.space_id = %(space_id)s AND h.id > %(after_id)s AND h.id <= %(until_id)s
     ORDER BY h.id OFFSET %(most)s - 1 LIMIT 1),
    %(until_id)s::bigint);

-- name: touchpoints
-- Without a page view, with link parameters or one of the networks.
SELECT t.id, t.contact_id, (extract(epoch FROM t.occurred_at) * 1000000)::bigint, t.sent, t.url,
       t.referrer_host, t.source_id, t.source_rule, g.account_id, g.account_name, g.campaign_id,
       g.campaign_name, g.adset_id, g.adset_name, g.ad_id, g.ad_name, g.keyword
FROM touchpoints t
LEFT JOIN LATERAL (
    SELECT known.* FROM tag_sets known
    WHERE known.space_id = %(space_id)s AND known.id = t.tag_set_id
    OFFSET 0
) g ON true
WHERE t.space_id = %(space_id)s AND t.id > %(after_id)s AND t.id <= %(until_id)s
  AND NOT t.by_hit AND (t.url ~ '[?#]' OR t.source_id = ANY(%(networks)s::smallint[]));

-- name: views
-- With parameters that could make a touchpoint.
SELECT h.id, h.contact_id, (extract(epoch FROM h.occurred_at) * 1000000)::bigint, h.url,
       h.referrer_host, h.touch::text,
       (SELECT t.id FROM touchpoints t WHERE t.space_id = %(space_id)s AND t.id = h.id) IS NOT NULL
FROM hits h
WHERE h.space_id = %(space_id)s AND h.id > %(after_id)s AND h.id <= %(until_id)s
  AND h.touch IS NOT NULL AND h.url ~ '[?#]';
