-- name: credited
-- Every credited row: an event `e` with each touch `t` that gets a share of it. The sources filter the
-- result after credit is shared out, so they never change a credit. The units of an amount are computed
-- once an event.
SELECT e.id AS event_id, e.event_time, e.contact_id, e.company_id, e.event_name, e.amount,
       t.id AS touchpoint_id, t.occurred_at, t.source_id, t.tag_set_id, t.place, t.touches,
       m.units, m.step{also}
FROM {events} e
CROSS JOIN LATERAL ({money}) m
CROSS JOIN LATERAL ({credited_touches}) t
WHERE e.space_id = %(space_id)s AND t.source_id = ANY(%(source_ids)s) AND {only};

-- name: has_credit
-- Whether a touch with credit of event `e` has one of the requested sources.
EXISTS (SELECT FROM ({credited_touches}) t WHERE t.source_id = ANY(%(source_ids)s));

-- name: units
-- The units of an event's amount, and what one of them is worth.
SELECT credit_units(e.amount) AS units, sign(e.amount) * credit_unit(e.amount) AS step OFFSET 0

-- name: units_of_both
-- The same, and of the amount in the Space's currency, which event `e` has as `space_amount`.
SELECT credit_units(e.amount) AS units, sign(e.amount) * credit_unit(e.amount) AS step,
       credit_units(e.space_amount) AS space_units,
       sign(e.space_amount) * credit_unit(e.space_amount) AS space_step
OFFSET 0

-- name: no_units
-- Where the whole amount goes to one touch.
SELECT NULL::bigint AS units, NULL::numeric AS step

-- name: path
-- The touches `t` on the path of event `e`: index-only, in order. An interval in seconds, unlike
-- one in days, is the same length on every day of every time zone.
FROM touchpoints t
WHERE t.space_id = %(space_id)s AND {owner} AND {counting}
  AND t.occurred_at <= e.event_time AND {window};

-- name: pick
-- One touch of a path takes everything.
(SELECT t.id, t.occurred_at, t.source_id, t.tag_set_id, 1::bigint AS place, 1::bigint AS touches
{path}
ORDER BY t.occurred_at {direction}, t.id {direction} LIMIT 1);

-- name: either
-- The first of several picks that finds a touch. The parts of a UNION ALL run in their order, and
-- LIMIT ends it before the second when the first has answered.
({picks} LIMIT 1);

-- name: spread
-- Every touch of a path gets a share, decided by its place among them. Place and count share one
-- window, with the frame that the count needs, and so one pass.
(SELECT t.id, t.occurred_at, t.source_id, t.tag_set_id,
        row_number() OVER path AS place, count(*) OVER path AS touches
{path}
WINDOW path AS (
    ORDER BY t.occurred_at, t.id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING));

-- name: rounded_down
-- The units of one amount that touch `w` gets by its weight, rounded down, and the part that is lost.
-- A unit's number times a weight is beyond a bigint.
div(m.{units}::numeric * w.weight, w.total)::bigint AS {share},
mod(m.{units}::numeric * w.weight, w.total) AS {lost}

-- name: share_by_age
-- The units of one amount that touch `s` gets: one more where most was lost, of equals the earlier.
s.{share} + (row_number() OVER (ORDER BY s.{lost} DESC, s.place)
             <= m.{units} - sum(s.{share}) OVER ())::int AS {share}

-- name: spread_by_age
-- Every touch of a path gets a share of the units by its weight, which is less the older it is than
-- the latest.
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
-- For one amount: the share of the source of touch `r`, the sum of all sources' shares, and the source's
-- turn when the remaining units are given out.
r.{share}, sum(r.{share}) FILTER (WHERE r.nth = 1) OVER () AS {given},
dense_rank() OVER (ORDER BY r.{lost} DESC, r.met) AS {turn}

-- name: share_by_source
-- The units of one amount that touch `s` gets of the share of its source.
linear_units(s.{share} + (s.{turn} <= m.{units} - s.{given})::int, s.nth, s.alike) AS {share}

-- name: spread_by_source
-- Every touch of a path gets a share of its source's units. The units go to the distinct sources by
-- weight, in the order of their first touch, and then equally to the touches of each.
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
-- The contacts with touches of these sources, among a bounded number of touches. Above the bound they are
-- too many to be useful, and are only counted.
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
