-- name: read
SELECT s.day, s.part, s.event_count, s.touch_count, s.event_names, s.bases, s.checksums, {columns}
FROM path_segments s
WHERE s.space_id = %(space_id)s AND s.day = ANY(%(days)s::date[])
ORDER BY s.day, s.part;

-- name: read_part
SELECT s.day, s.part, s.event_count, s.touch_count, s.event_names, s.bases, s.checksums, {columns}
FROM path_segments s
WHERE s.space_id = %(space_id)s AND s.day = %(day)s AND s.part = %(part)s;

-- name: read_common
-- Uncached segments with a common source among some sources.
SELECT s.stamp, s.day, s.part, s.event_count, s.touch_count, s.event_names, s.bases, s.checksums, {columns}
FROM path_segments s
WHERE s.space_id = %(space_id)s AND s.day BETWEEN %(first_day)s AND %(last_day)s
  AND s.common_sources & %(source_mask)s <> 0
  AND s.stamp <> ALL(%(known_stamps)s::bigint[]);

-- name: postings
SELECT s.common_sources, s.posted_sources, s.posting_ends, s.postings
FROM path_segments s
WHERE s.space_id = %(space_id)s AND s.day BETWEEN %(first_day)s AND %(last_day)s
ORDER BY s.day, s.part;

-- name: days
-- Segments per day.
SELECT d.day, d.parts FROM path_days d
WHERE d.space_id = %(space_id)s AND d.day BETWEEN %(first_day)s AND %(last_day)s;

-- name: stored_days
-- Days with segments: the expected number, the existing parts, their size and packed versions, 8 bytes each.
SELECT d.day, d.parts, s.parts, coalesce(s.size, 0), coalesce(s.stamps, '')
FROM path_days d
LEFT JOIN (
    SELECT s.day, array_agg(s.part ORDER BY s.part) AS parts,
           sum(s.event_count + s.touch_count)::bigint AS size,
           string_agg(int8send(s.stamp), '' ORDER BY s.part) AS stamps
    FROM path_segments s
    WHERE s.space_id = %(space_id)s AND s.day BETWEEN %(first_day)s AND %(last_day)s
    GROUP BY s.day
) s ON s.day = d.day
WHERE d.space_id = %(space_id)s AND d.day BETWEEN %(first_day)s AND %(last_day)s
ORDER BY d.day;

-- name: all_days
-- Days with events, segments or changes.
SELECT (e.event_time AT TIME ZONE 'UTC')::date AS day FROM events e
WHERE e.space_id = %(space_id)s
UNION
SELECT d.day FROM path_days d WHERE d.space_id = %(space_id)s
UNION
SELECT p.day FROM pending_paths p WHERE p.space_id = %(space_id)s
ORDER BY day;

-- name: days_with_events
-- Days with events among some days. Their ends are computed first: under row-level security an index isn't
-- used for values that a function computes from another table's column.
WITH days AS MATERIALIZED (
    SELECT d.day, d.day::timestamp AT TIME ZONE 'UTC' AS start,
           (d.day::timestamp + interval '1 day') AT TIME ZONE 'UTC' AS ends
    FROM unnest(%(days)s::date[]) AS d (day)
)
SELECT d.day
FROM days d
WHERE EXISTS (
    SELECT FROM events e
    WHERE e.space_id = %(space_id)s AND e.event_time >= d.start AND e.event_time < d.ends
    LIMIT 1);

-- name: events_of_days
-- Event ids of some days, whose ends are computed first for the same reason.
WITH days AS MATERIALIZED (
    SELECT d.day::timestamp AT TIME ZONE 'UTC' AS start,
           (d.day::timestamp + interval '1 day') AT TIME ZONE 'UTC' AS ends
    FROM unnest(%(days)s::date[]) AS d (day)
)
SELECT e.id
FROM days d
JOIN events e
  ON e.space_id = %(space_id)s AND e.event_time >= d.start AND e.event_time < d.ends;

-- name: pending
-- Pending events and their changes by day, 8 bytes each.
SELECT p.day, string_agg(int8send(p.event_id), ''), string_agg(int8send(p.id), '')
FROM pending_paths p
WHERE p.space_id = %(space_id)s AND p.day BETWEEN %(first_day)s AND %(last_day)s
GROUP BY p.day
ORDER BY p.day;

-- name: newest_pending
SELECT coalesce(max(p.id), 0) FROM pending_paths p WHERE p.space_id = %(space_id)s;

-- name: any_pending
-- Whether changes up to %(newest)s are pending.
SELECT FROM pending_paths p WHERE p.space_id = %(space_id)s AND p.id <= %(newest)s LIMIT 1;

-- name: write
-- Insert or replace a segment.
INSERT INTO path_segments
    (space_id, day, part, stamp, event_count, touch_count, event_names, bases, checksums,
     common_sources, posted_sources, posting_ends, postings, {names})
VALUES (%(space_id)s, %(day)s, %(part)s, %(stamp)s, %(events)s, %(touches)s, %(event_names)s,
        %(bases)s::bigint[], %(checksums)s::bigint[], %(common_sources)s,
        %(posted_sources)s::smallint[], %(posting_ends)s::integer[], %(postings)s, {values})
ON CONFLICT (space_id, day, part) DO UPDATE
SET (stamp, event_count, touch_count, event_names, bases, checksums, common_sources,
     posted_sources, posting_ends, postings, {names}) =
    (excluded.stamp, excluded.event_count, excluded.touch_count, excluded.event_names,
     excluded.bases, excluded.checksums, excluded.common_sources, excluded.posted_sources,
     excluded.posting_ends, excluded.postings, {excluded});

-- name: write_day
-- Set the number of segments of a day.
INSERT INTO path_days (space_id, day, parts) VALUES (%(space_id)s, %(day)s, %(parts)s)
ON CONFLICT (space_id, day) DO UPDATE SET parts = excluded.parts;

-- name: delete_all
DELETE FROM path_segments s WHERE s.space_id = %(space_id)s;

-- name: delete_days
DELETE FROM path_days d WHERE d.space_id = %(space_id)s;

-- name: delete_pending
DELETE FROM pending_paths p WHERE p.space_id = %(space_id)s;
