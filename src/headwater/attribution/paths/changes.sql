-- name: events
-- Events that meet a condition: new, changed or to be deleted.
WITH changed AS (
    SELECT e.id, e.event_time
    FROM events e
    WHERE e.space_id = %(space_id)s AND {condition}
)
INSERT INTO pending_paths (space_id, day, event_id)
SELECT %(space_id)s, (changed.event_time AT TIME ZONE 'UTC')::date, changed.id
FROM changed;

-- name: new_events
-- New events with times in Unix microseconds.
INSERT INTO pending_paths (space_id, day, event_id)
SELECT %(space_id)s, ('epoch'::timestamp + r.event_time * interval '1 microsecond')::date, r.id
FROM json_to_recordset(%(events)s::json) AS r (id bigint, event_time bigint);

-- name: moves
-- Events that get another contact or company, and the survivors' events after the touches that they get.
-- Their earlier events are left out, because a contact that many others merge into may have thousands.
WITH moves AS MATERIALIZED (
    SELECT m.* FROM json_to_recordset(%(moves)s::json)
        AS m (contact_id bigint, survivor_id bigint, company_id bigint)
), affected AS MATERIALIZED (
    SELECT m.contact_id, '-infinity'::timestamptz AS since, m.contact_id = m.survivor_id AS stays, m.company_id
    FROM moves m
    UNION ALL
    SELECT m.survivor_id, min(t.occurred_at), false, NULL
    FROM moves m
    CROSS JOIN LATERAL (
        SELECT known.occurred_at
        FROM touchpoints known
        WHERE known.space_id = %(space_id)s AND known.contact_id = m.contact_id
        ORDER BY known.occurred_at
        LIMIT 1
    ) t
    WHERE m.contact_id <> m.survivor_id
    GROUP BY m.survivor_id
), changed AS (
    SELECT e.id, e.event_time
    FROM affected a
    CROSS JOIN LATERAL (
        SELECT known.id, known.event_time
        FROM events known
        WHERE known.space_id = %(space_id)s AND known.contact_id = a.contact_id
          AND known.event_time >= a.since
          AND (NOT a.stays OR known.company_id IS DISTINCT FROM a.company_id)
        OFFSET 0
    ) e
)
INSERT INTO pending_paths (space_id, day, event_id)
SELECT %(space_id)s, (changed.event_time AT TIME ZONE 'UTC')::date, changed.id
FROM changed;

-- name: after_touches
-- Events after touches, by contact and time in Unix microseconds. There are rarely any.
WITH later AS MATERIALIZED (
    SELECT e.id, e.event_time
    FROM json_to_recordset(%(touches)s::json) AS t (contact_id bigint, occurred_at bigint)
    CROSS JOIN LATERAL (
        SELECT known.id, known.event_time
        FROM events known
        WHERE known.space_id = %(space_id)s AND known.contact_id = t.contact_id
          AND known.event_time >= 'epoch'::timestamptz + t.occurred_at * interval '1 microsecond'
        OFFSET 0
    ) e
)
INSERT INTO pending_paths (space_id, day, event_id)
SELECT %(space_id)s, (later.event_time AT TIME ZONE 'UTC')::date, later.id
FROM later;
