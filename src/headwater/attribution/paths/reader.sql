-- name: paths
-- Events `e` with the touches before them. Columns are packed: 8 bytes per number (2 for a source, 4 for a tag
-- set), big-endian. Times are microseconds since 2000. `owner` is the contact or company of the path. Owners
-- are in order and an index orders the touches of each, so the final sort is cheap.
WITH chosen AS MATERIALIZED (
    SELECT e.id, e.contact_id, e.company_id, e.event_name, e.event_time, e.amount,
           e.is_upsell OR e.event_name = 'upsell_purchase' AS is_upsell, {owner} AS owner
    FROM events e
    WHERE e.space_id = %(space_id)s AND {condition}
), of_events AS (
    SELECT count(*) AS events,
           string_agg(int8send(e.id), '' ORDER BY e.owner, e.event_time, e.id) AS event_ids,
           string_agg(int8send(e.contact_id), '' ORDER BY e.owner, e.event_time, e.id) AS contacts,
           string_agg(int8send(coalesce(e.company_id, 0)), ''
                      ORDER BY e.owner, e.event_time, e.id) AS companies,
           string_agg(timestamptz_send(e.event_time), ''
                      ORDER BY e.owner, e.event_time, e.id) AS times,
           string_agg(int8send(coalesce((e.amount * 10000)::bigint, %(no_amount)s)), ''
                      ORDER BY e.owner, e.event_time, e.id) AS amounts,
           string_agg(int8send(e.owner), '' ORDER BY e.owner, e.event_time, e.id) AS owners,
           array_agg(e.event_name ORDER BY e.owner, e.event_time, e.id) AS names,
           string_agg(int2send(CASE WHEN e.amount < 0 THEN %(refund)s WHEN e.is_upsell THEN %(upsell)s
                                    ELSE %(plain)s END::smallint), ''
                      ORDER BY e.owner, e.event_time, e.id) AS kinds
    FROM chosen e
), owners AS MATERIALIZED (
    SELECT e.owner, max(e.event_time) AS latest FROM chosen e GROUP BY e.owner ORDER BY e.owner
), of_touches AS (
    SELECT string_agg(int8send(t.owner), '') AS owners,
           string_agg(timestamptz_send(t.occurred_at), '') AS times,
           string_agg(int2send(t.source_id), '') AS sources,
           string_agg(int4send(t.tag_set_id), '') AS tag_sets
    FROM (
        SELECT o.owner, t.occurred_at, t.id, t.source_id, t.tag_set_id
        FROM owners o
        CROSS JOIN LATERAL ({touches}) t
        ORDER BY o.owner, t.occurred_at, t.id
    ) t
)
SELECT e.events, e.event_ids, e.contacts, e.companies, e.times, e.amounts, e.owners, e.names, e.kinds,
       t.owners, t.times, t.sources, t.tag_sets
FROM of_events e, of_touches t;

-- name: by_contact
SELECT t.occurred_at, t.id, t.source_id, t.tag_set_id
FROM touchpoints t
WHERE t.space_id = %(space_id)s AND t.contact_id = o.owner AND t.occurred_at <= o.latest
ORDER BY t.occurred_at, t.id
OFFSET 0;

-- name: by_company
-- The touches of a company (negative number), or of a contact without one.
SELECT t.occurred_at, t.id, t.source_id, t.tag_set_id
FROM touchpoints t
WHERE o.owner < 0 AND t.space_id = %(space_id)s AND t.company_id = -o.owner
  AND t.occurred_at <= o.latest
UNION ALL
SELECT t.occurred_at, t.id, t.source_id, t.tag_set_id
FROM touchpoints t
WHERE o.owner > 0 AND t.space_id = %(space_id)s AND t.contact_id = o.owner
  AND t.occurred_at <= o.latest;
