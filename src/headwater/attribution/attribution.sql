-- name: credited
-- Every credited row: an event `e` with each touch `t` that gets a share. Sources filter the rows after
-- credit is shared out, so they never change it. The units of an amount are computed once per event.
SELECT e.id AS event_id, e.event_time, e.contact_id, e.company_id, e.event_name, e.amount,
       t.id AS touchpoint_id, t.occurred_at, t.source_id, t.tag_set_id, t.place, t.touches,
       m.units, m.step{also}
FROM {events} e
CROSS JOIN LATERAL ({money}) m
CROSS JOIN LATERAL ({credited_touches}) t
WHERE e.space_id = %(space_id)s AND t.source_id = ANY(%(source_ids)s) AND {condition};

-- name: has_credit
-- Whether a touch credited with event `e` has one of the requested sources.
EXISTS (SELECT FROM ({credited_touches}) t WHERE t.source_id = ANY(%(source_ids)s));

-- name: units
-- The units of an event's amount, and the value of a unit.
SELECT credit_units(e.amount) AS units, sign(e.amount) * credit_unit(e.amount) AS step OFFSET 0

-- name: units_of_both
-- Also for the amount in the Space's currency, the event's `space_amount`.
SELECT credit_units(e.amount) AS units, sign(e.amount) * credit_unit(e.amount) AS step,
       credit_units(e.space_amount) AS space_units,
       sign(e.space_amount) * credit_unit(e.space_amount) AS space_step
OFFSET 0

-- name: no_units
-- One touch gets the whole amount.
SELECT NULL::bigint AS units, NULL::numeric AS step

-- name: path
-- The touches `t` on the path of event `e`: index-only, in order. An interval in seconds, unlike one in days,
-- has the same length on every day in every time zone.
FROM touchpoints t
WHERE t.space_id = %(space_id)s AND {owner} AND {counting}
  AND t.occurred_at <= e.event_time AND {window};

-- name: pick
-- One touch of a path gets all credit.
(SELECT t.id, t.occurred_at, t.source_id, t.tag_set_id, 1::bigint AS place, 1::bigint AS touches
{path}
ORDER BY t.occurred_at {direction}, t.id {direction} LIMIT 1);

-- name: either
-- The first of several picks that finds a touch. The parts of a UNION ALL run in order, and LIMIT stops after
-- the first result.
({picks} LIMIT 1);

-- name: spread
-- Every touch of a path gets a share by its place. Place and count use one window, with the frame that the
-- count needs, and so one pass.
(SELECT t.id, t.occurred_at, t.source_id, t.tag_set_id,
        row_number() OVER path AS place, count(*) OVER path AS touches
{path}
WINDOW path AS (
    ORDER BY t.occurred_at, t.id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING));

-- name: rounded_down
-- The units that touch `w` gets by weight, rounded down, and the lost remainder. The product of units and
-- weight exceeds a bigint.
div(m.{units}::numeric * w.weight, w.total)::bigint AS {share},
mod(m.{units}::numeric * w.weight, w.total) AS {lost}

-- name: share_by_age
-- One more unit where most was lost, the earlier touch first.
s.{share} + (row_number() OVER (ORDER BY s.{lost} DESC, s.place)
             <= m.{units} - sum(s.{share}) OVER ())::int AS {share}

-- name: spread_by_age
-- Every touch of a path gets a share by its weight, which decreases with its age relative to the latest.
(SELECT s.id, s.occurred_at, s.source_id, s.tag_set_id, s.place, s.touches, {shares}
 FROM (
    SELECT w.id, w.occurred_at, w.source_id, w.tag_set_id, w.place, w.touches, {rounded_down}
    FROM (
        SELECT a.id, a.occurred_at, a.source_id, a.tag_set_id, a.place, a.touches, a.weight,
               sum(a.weight) OVER () AS total
        FROM (
            SELECT t.id, t.occurred_at, t.source_id, t.tag_set_id,
                   row_number() OVER path AS place, count(*) OVER path AS touches,
                   decayed_weight(
                       whole_seconds(last_value(t.occurred_at) OVER path)
                           - whole_seconds(t.occurred_at),
                       (SELECT s.half_life_days FROM spaces s WHERE s.id = %(space_id)s)) AS weight
            {path}
            WINDOW path AS (
                ORDER BY t.occurred_at, t.id
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
        ) a
    ) w
 ) s);

-- name: turn_of_source
-- For one amount: the units of the touch's source, the sum over all sources, and the source's turn for the
-- remaining units.
r.{share}, sum(r.{share}) FILTER (WHERE r.nth = 1) OVER () AS {given},
dense_rank() OVER (ORDER BY r.{lost} DESC, r.met) AS {turn}

-- name: share_by_source
-- The touch's units from the share of its source.
linear_units(s.{share} + (s.{turn} <= m.{units} - s.{given})::int, s.nth, s.alike) AS {share}

-- name: spread_by_source
-- Every touch of a path gets a share of its source's units. Units go to distinct sources by weight, in the
-- order of their first touch, then equally to the touches of each.
(SELECT s.id, s.occurred_at, s.source_id, s.tag_set_id, s.place, s.touches, {shares}
 FROM (
    SELECT r.id, r.occurred_at, r.source_id, r.tag_set_id, r.place, r.touches, r.nth, r.alike,
           {turns}
    FROM (
        SELECT w.id, w.occurred_at, w.source_id, w.tag_set_id, w.place, w.touches, w.nth, w.alike,
               w.met, {rounded_down}
        FROM (
            SELECT a.id, a.occurred_at, a.source_id, a.tag_set_id, a.place, a.touches, a.nth,
                   a.alike, a.weight, min(a.place) OVER (PARTITION BY a.source_id) AS met,
                   sum(a.weight) FILTER (WHERE a.nth = 1) OVER () AS total
            FROM (
                SELECT t.id, t.occurred_at, t.source_id, t.tag_set_id, {weight} AS weight,
                       row_number() OVER path AS place, count(*) OVER path AS touches,
                       row_number() OVER (
                           PARTITION BY t.source_id ORDER BY t.occurred_at, t.id) AS nth,
                       count(*) OVER (PARTITION BY t.source_id) AS alike
                {path}
                WINDOW path AS (
                    ORDER BY t.occurred_at, t.id
                    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
            ) a
        ) w
    ) r
 ) s);

-- name: holders
-- The contacts with touches of these sources, up to a bound. Above it they are only counted, because too many
-- contacts don't narrow the query.
WITH h AS MATERIALIZED (
    SELECT t.contact_id, {company_id} AS company_id FROM touchpoints t
    WHERE t.space_id = %(space_id)s AND t.source_id = ANY(%(source_ids)s)
    LIMIT %(rare)s + 1
)
SELECT crowd.seen <= %(rare)s,
       CASE WHEN crowd.seen <= %(rare)s
            THEN ARRAY(SELECT DISTINCT h.contact_id FROM h) END,
       CASE WHEN crowd.seen <= %(rare)s
            THEN ARRAY(SELECT DISTINCT h.company_id FROM h WHERE h.company_id IS NOT NULL) END
FROM (SELECT count(*) AS seen FROM h) crowd;
