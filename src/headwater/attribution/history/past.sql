-- name: added
-- Rows added by later changes.
SELECT a.revision, a.event_ids, a.touchpoint_ids
FROM new_rows a
WHERE a.space_id = %(space_id)s AND a.revision > %(revision)s
ORDER BY a.revision;

-- name: former_events
-- Former events of some days, oldest changes first. Times are Unix microseconds, amounts ten-thousandths.
SELECT f.id, f.contact_id, f.event_name, (extract(epoch FROM f.event_time) * 1000000)::bigint,
       (f.amount * 10000)::bigint, f.currency, f.is_upsell, f.from_page, f.until_revision, f.cause,
       f.successor_id
FROM former_events f
WHERE f.space_id = %(space_id)s AND f.until_revision > %(revision)s
  AND f.event_time >= %(first_day)s::timestamp AT TIME ZONE 'UTC'
  AND f.event_time < (%(last_day)s::timestamp + interval '1 day') AT TIME ZONE 'UTC'
ORDER BY f.until_revision;

-- name: former_touchpoints
-- Former touchpoints, oldest changes first.
SELECT f.id, f.contact_id, (extract(epoch FROM f.occurred_at) * 1000000)::bigint, f.source_id,
       f.tag_set_id, f.until_revision, f.cause
FROM former_touchpoints f
WHERE f.space_id = %(space_id)s AND f.until_revision > %(revision)s
ORDER BY f.until_revision;

-- name: contacts_of_events
SELECT DISTINCT e.contact_id
FROM unnest(%(ids)s::bigint[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT known.contact_id FROM events known
    WHERE known.space_id = %(space_id)s AND known.id = wanted.id
      AND known.event_time >= %(first_day)s::timestamp AT TIME ZONE 'UTC'
      AND known.event_time < (%(last_day)s::timestamp + interval '1 day') AT TIME ZONE 'UTC'
    OFFSET 0
) e;

-- name: contacts_of_touchpoints
SELECT DISTINCT t.contact_id
FROM unnest(%(ids)s::bigint[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT known.contact_id FROM touchpoints known
    WHERE known.space_id = %(space_id)s AND known.id = wanted.id
    OFFSET 0
) t;

-- name: merged_since
-- Contacts merged or unmerged since.
SELECT m.merged_id, m.survivor_id FROM merges m
WHERE m.space_id = %(space_id)s AND m.revision > %(revision)s
UNION
SELECT m.merged_id, m.survivor_id FROM merges m
WHERE m.space_id = %(space_id)s AND m.undone_revision > %(revision)s;

-- name: survivors
-- The current contacts after merges.
SELECT DISTINCT coalesce(c.merged_into, c.id)
FROM contacts c
WHERE c.space_id = %(space_id)s AND c.id = ANY(%(ids)s::bigint[]);

-- name: merges
-- Merges of some contacts and their parts that were in force since the revision.
SELECT m.merged_id, m.survivor_id, m.revision, m.undone_revision
FROM (
    SELECT c.id FROM contacts c
    WHERE c.space_id = %(space_id)s AND c.id = ANY(%(contact_ids)s::bigint[])
    UNION
    SELECT c.id FROM contacts c
    WHERE c.space_id = %(space_id)s AND c.merged_into = ANY(%(contact_ids)s::bigint[])
) part
JOIN merges m ON m.space_id = %(space_id)s AND m.merged_id = part.id
WHERE m.undone_revision IS NULL OR m.undone_revision > %(revision)s
ORDER BY m.id;

-- name: events
-- Events of some contacts and days, with their original contact.
SELECT e.id, e.origin, e.event_name, (extract(epoch FROM e.event_time) * 1000000)::bigint,
       (e.amount * 10000)::bigint, e.currency, e.is_upsell,
       coalesce(e.sender IN ('browser', 'signed_browser'), false) AND NOT e.amount_confirmed
FROM unnest(%(contact_ids)s::bigint[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT known.id, coalesce(known.origin_id, known.contact_id) AS origin, known.event_name,
           known.event_time, known.amount, known.currency, known.is_upsell, known.sender,
           known.amount_confirmed
    FROM events known
    WHERE known.space_id = %(space_id)s AND known.contact_id = wanted.id
      AND known.event_time >= %(first_day)s::timestamp AT TIME ZONE 'UTC'
      AND known.event_time < (%(last_day)s::timestamp + interval '1 day') AT TIME ZONE 'UTC'
    OFFSET 0
) e;

-- name: touchpoints
-- Touchpoints of some contacts up to a day, with their original contact.
SELECT t.id, t.origin, (extract(epoch FROM t.occurred_at) * 1000000)::bigint, t.source_id,
       t.tag_set_id
FROM unnest(%(contact_ids)s::bigint[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT known.id, coalesce(known.origin_id, known.contact_id) AS origin, known.occurred_at,
           known.source_id, known.tag_set_id
    FROM touchpoints known
    WHERE known.space_id = %(space_id)s AND known.contact_id = wanted.id
      AND known.occurred_at < (%(last_day)s::timestamp + interval '1 day') AT TIME ZONE 'UTC'
    OFFSET 0
) t;
