-- name: snapshot
-- The period and the one it is compared with must see the same rows. Many rows are sorted and
-- hashed, few reports run at once.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL work_mem = '64MB';

-- name: patience
-- How long the next statement may take, in milliseconds.
SELECT set_config('statement_timeout', %(patience)s, true);

-- name: events
-- The events `e` of a period, with their own keys and what their amounts are made of: whole units,
-- and the ten-thousandths in one. OFFSET makes that once an event instead of once a touch.
SELECT e.contact_id, e.company_id, e.event_time, e.amount, {keys},
       credit_units(e.amount) AS units,
       (10000 * sign(e.amount) * credit_unit(e.amount))::bigint AS step
FROM events e
{joins}
WHERE e.space_id = %(space_id)s AND {only}
OFFSET 0;

-- name: plain_parts
-- Every event `e` once, in the shape of a part that no touch is asked for.
SELECT e.contact_id, e.amount, {keys}, NULL::text AS name_1, NULL::text AS name_2,
       true AS leads, true AS touched, NULL::bigint AS credit, NULL::bigint AS weight
FROM events e
{joins}
WHERE e.space_id = %(space_id)s AND {only};

-- name: credited_parts
-- The parts of every event: its credited touches `c`, with their shares of its amount and of the
-- event itself. One part of each event leads, to count it once. An event without such touches is
-- a part by itself, if those are wanted.
SELECT e.contact_id, e.amount, {keys}, s.name_1, s.name_2, coalesce(s.leads, true) AS leads,
       s.leads IS NOT NULL AS touched, s.units * e.step AS credit, s.weight
FROM ({events}) e
{join} JOIN LATERAL ({touches}) s ON true;

-- name: each_touch
-- Every touch by itself.
SELECT {keys}, {name_1} AS name_1, {name_2} AS name_2, c.place = 1 AS leads,
       {units} AS units, {weight} AS weight
FROM ({touches}) c
{joins}
WHERE {only};

-- name: touches_by_key
-- The touches of an event with the same key put together, so that they count its amount once.
SELECT {keys}, min({name_1} COLLATE "C") AS name_1, min({name_2} COLLATE "C") AS name_2,
       {leads} AS leads, sum({units})::bigint AS units, sum({weight})::bigint AS weight
FROM ({touches}) c
{joins}
WHERE {only}
GROUP BY {grouping};

-- name: report
-- The groups `s` of a report that are listed, then what is of no touch, then everything. Sums over
-- leading parts count an event once; a group's own count each of its events once as they are.
WITH p AS MATERIALIZED (
    SELECT {contact} AS contact_id, r.key_1, r.key_2, r.touched,
           {name_1} AS name_1, {name_2} AS name_2, {sums},
           count(*) FILTER (WHERE r.leads) AS led_events,
           sum(r.amount) FILTER (WHERE r.leads) AS led_revenue,
           count(r.amount) FILTER (WHERE r.leads) AS led_priced
    FROM ({parts}) r
    GROUP BY {contact_key} r.key_1, r.key_2, r.touched
), g AS MATERIALIZED (
    SELECT {key_1} AS key_1, {key_2} AS key_2, min(p.name_1) AS name_1, min(p.name_2) AS name_2,
           {group_events} AS events, {group_revenue} AS revenue, {group_priced} AS priced,
           sum(p.credit) AS credit, sum(p.weight) AS weight,
           count(DISTINCT p.contact_id) AS contacts
    FROM p
    WHERE {visible}
    GROUP BY p.key_1, p.key_2
)
SELECT 'group', s.place, s.key_1, {label_1}, s.key_2, {label_2},
       s.events, s.revenue, s.priced, s.credit, s.weight, s.contacts
FROM ({groups}) s
{labels}
UNION ALL
SELECT 'unattributed', 0, NULL, NULL, NULL, NULL, sum(p.led_events), sum(p.led_revenue),
       sum(p.led_priced), NULL, NULL, count(DISTINCT p.contact_id)
FROM p WHERE NOT p.touched
UNION ALL
SELECT 'total', (SELECT count(*) FROM g), NULL, NULL, NULL, NULL, sum(p.led_events),
       sum(p.led_revenue), sum(p.led_priced), sum(p.credit), sum(p.weight),
       count(DISTINCT p.contact_id)
FROM p;

-- name: first_groups
-- The first groups in the order asked for.
SELECT g.*, row_number() OVER (ORDER BY {order}) AS place FROM g ORDER BY {order} LIMIT %(limit)s;

-- name: same_groups
-- The groups with certain keys, an absent one told from every text by what is put before those.
SELECT g.*, w.place
FROM g
JOIN json_to_recordset(%(wanted)s::json) AS w (place bigint, key_1 text, key_2 text)
  ON coalesce('=' || w.key_1, '') = coalesce('=' || g.key_1, '')
 AND coalesce('=' || w.key_2, '') = coalesce('=' || g.key_2, '');
