-- name: next_days
-- The next range of days, {first} to {last}, of a scan of some sources' events, up to the day with %(enough)s
-- postings and events. Events count in segments where one of the sources is common. Of these days: the
-- versions of the segments with one of the sources; the postings of uncached segments; the number of events
-- in segments with a common source, and of such segments that aren't cached; the later changes by event; and
-- the events outside segments that may have credit, by mask or by path, with times in microseconds since
-- 2000. No row if too many events have changed or are outside segments.
WITH reach AS MATERIALIZED (
    SELECT (SELECT passed.day
            FROM (SELECT s.day, sum(
                      CASE WHEN s.common_sources & %(source_mask)s <> 0 THEN s.event_count
                           ELSE posted.size END
                  ) OVER (
                      ORDER BY s.day {direction}, s.part {direction} ROWS UNBOUNDED PRECEDING) AS size
                  FROM path_segments s
                  CROSS JOIN LATERAL (
                      SELECT coalesce(sum(s.posting_ends[p.place]
                                          - coalesce(s.posting_ends[p.place - 1], 0)), 0)
                             / %(posting_octets)s
                      FROM generate_subscripts(s.posted_sources, 1) AS p (place)
                      WHERE s.posted_sources[p.place] = ANY(%(source_ids)s::smallint[])
                  ) AS posted (size)
                  WHERE s.space_id = %(space_id)s
                    AND s.day BETWEEN %(first_day)s AND %(last_day)s) passed
            WHERE passed.size >= %(enough)s
            ORDER BY passed.day {direction} LIMIT 1) AS day
), days AS MATERIALIZED (
    SELECT {first} AS first_day, {last} AS last_day FROM reach
), known AS MATERIALIZED (
    SELECT d.day, d.parts
    FROM days, path_days d
    WHERE d.space_id = %(space_id)s AND d.day BETWEEN days.first_day AND days.last_day
), found AS MATERIALIZED (
    SELECT s.day, s.part, s.event_count, s.stamp,
           s.common_sources & %(source_mask)s <> 0 AS has_common,
           s.posted_sources && %(source_ids)s::smallint[] AS has_posted,
           s.stamp = ANY(%(known_stamps)s::bigint[]) AS is_known
    FROM days, path_segments s
    WHERE s.space_id = %(space_id)s AND s.day BETWEEN days.first_day AND days.last_day
), unbuilt AS MATERIALIZED (
    SELECT gap.after + 1 AS first_day, gap.before - 1 AS last_day
    FROM (SELECT edge.day AS after, lead(edge.day) OVER (ORDER BY edge.day) AS before
          FROM (SELECT k.day FROM known k
                UNION ALL SELECT days.first_day - 1 FROM days
                UNION ALL SELECT days.last_day + 1 FROM days) edge) gap
    WHERE gap.before > gap.after + 1
    UNION ALL
    SELECT k.day, k.day
    FROM known k LEFT JOIN found f ON f.day = k.day
    GROUP BY k.day, k.parts
    HAVING count(*) FILTER (WHERE f.part < k.parts) < k.parts
), changed AS MATERIALIZED (
    SELECT p.event_id, p.id
    FROM days, pending_paths p
    WHERE p.space_id = %(space_id)s AND p.day BETWEEN days.first_day AND days.last_day
    LIMIT %(most_live)s + 1
), live AS MATERIALIZED (
    SELECT e.id, e.event_time, e.source_mask, e.contact_id, e.company_id
    FROM unbuilt u
    CROSS JOIN LATERAL (
        SELECT known.id, known.event_time, known.source_mask, known.contact_id, known.company_id
        FROM events known
        WHERE known.space_id = %(space_id)s
          AND known.event_time >= u.first_day::timestamp AT TIME ZONE 'UTC'
          AND known.event_time < (u.last_day + 1)::timestamp AT TIME ZONE 'UTC'
        ORDER BY known.event_time LIMIT %(most_live)s + 1) e
    LIMIT %(most_live)s + 1
)
SELECT days.first_day, days.last_day, whole.stamps, passed.stamps, passed.days, passed.sources,
       passed.postings, whole.common, whole.unread, behind.events, behind.changes,
       waiting.ids, waiting.times
FROM days,
     LATERAL (SELECT array_agg(s.stamp) AS stamps, array_agg(s.day) AS days,
                     array_agg(source.id) AS sources,
                     array_agg(substring(
                         s.postings FROM 1 + coalesce(s.posting_ends[source.place - 1], 0)
                         FOR greatest(0, s.posting_ends[source.place]
                                         - coalesce(s.posting_ends[source.place - 1], 0)))) AS postings
              FROM path_segments s
              CROSS JOIN LATERAL unnest(s.posted_sources) WITH ORDINALITY AS source (id, place)
              WHERE s.space_id = %(space_id)s AND s.day BETWEEN days.first_day AND days.last_day
                AND s.common_sources & %(source_mask)s = 0
                AND s.posted_sources && %(source_ids)s::smallint[]
                AND source.id = ANY(%(source_ids)s::smallint[])
                AND s.stamp <> ALL(%(known_stamps)s::bigint[])) passed,
     LATERAL (SELECT string_agg(int8send(c.event_id), '') AS events,
                     string_agg(int8send(c.id), '') AS changes
              FROM changed c) behind,
     LATERAL (SELECT string_agg(int8send(f.stamp), '') AS stamps,
                     coalesce(sum(f.event_count) FILTER (WHERE f.has_common), 0)::bigint AS common,
                     count(*) FILTER (WHERE f.has_common AND NOT f.is_known) AS unread
              FROM found f WHERE f.has_common OR f.has_posted) whole,
     LATERAL (SELECT string_agg(int8send(e.id), '') AS ids,
                     string_agg(timestamptz_send(e.event_time), '') AS times
              FROM live e
              WHERE e.source_mask & %(source_mask)s <> 0 AND {credited}) waiting
WHERE (SELECT count(*) FROM live) <= %(most_live)s
  AND (SELECT count(*) FROM changed) <= %(most_live)s;

-- name: changed
-- Changed events that may have credit, one by one by key.
SELECT string_agg(int8send(e.id), '') AS ids, string_agg(timestamptz_send(e.event_time), '') AS times
FROM unnest(%(event_ids)s::bigint[]) AS changed (id)
CROSS JOIN LATERAL (
    SELECT known.id, known.event_time, known.source_mask, known.contact_id, known.company_id
    FROM events known
    WHERE known.space_id = %(space_id)s AND known.id >= changed.id ORDER BY known.id LIMIT 1) e
WHERE e.id = changed.id AND e.source_mask & %(source_mask)s <> 0 AND {credited};
