-- name: contents
-- The first and last event, the latest events by name and the latest contacts. Events are read from the
-- covering index by time, up to the bounds.
SELECT (SELECT min(e.event_time) FROM events e WHERE e.space_id = %(space_id)s) AS first_event,
       (SELECT max(e.event_time) FROM events e WHERE e.space_id = %(space_id)s) AS last_event,
       coalesce((SELECT json_object_agg(n.event_name, n.events ORDER BY n.events DESC, n.event_name)
                 FROM (SELECT e.event_name, count(*) AS events
                       FROM (SELECT known.event_name FROM events known
                             WHERE known.space_id = %(space_id)s
                             ORDER BY known.event_time DESC, known.id DESC LIMIT %(events)s) e
                       GROUP BY e.event_name) n), '{}') AS event_counts,
       k.contacts, k.with_country,
       EXISTS (SELECT FROM spend s WHERE s.space_id = %(space_id)s) AS has_spend
FROM (SELECT count(*) AS contacts, count(c.country) AS with_country
      FROM (SELECT known.country FROM contacts known
            WHERE known.space_id = %(space_id)s AND known.merged_into IS NULL
            ORDER BY known.created_at DESC, known.id DESC LIMIT %(contacts)s) c) k;
