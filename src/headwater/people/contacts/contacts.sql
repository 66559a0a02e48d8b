-- name: snapshot
-- All data of a contact must be from one moment.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- name: of_time
SELECT k.id, k.created_at
FROM contacts k
WHERE k.space_id = %(space_id)s AND {condition}

-- name: of_holders
-- The contacts that hold an identifier.
SELECT k.id, k.created_at
FROM ({holders}) holders
CROSS JOIN LATERAL (
    SELECT known.*
    FROM contacts known
    WHERE known.space_id = %(space_id)s AND known.id = holders.contact_id
    OFFSET 0
) k
WHERE {condition}

-- name: of_emails
-- Looked up one by one because the planner has no statistics about addresses.
SELECT DISTINCT i.contact_id
FROM unnest(%(emails)s::text[]) AS wanted (value)
CROSS JOIN LATERAL (
    SELECT known.contact_id
    FROM contact_identifiers known
    WHERE known.space_id = %(space_id)s AND known.kind = 'email'
      AND known.value = wanted.value
    OFFSET 0
) i

-- name: of_name
-- Contacts with a name beginning with one of a few texts, at most %(most_matches)s each; and those of the latest
-- %(most_latest)s with one of a few spellings anywhere in the name. Without sorting by code points, some
-- beginnings may be missed.
(SELECT i.contact_id
 FROM unnest(%(beginnings)s::text[]) AS wanted (value)
 CROSS JOIN LATERAL (
     SELECT known.contact_id FROM contact_identifiers known
     WHERE known.space_id = %(space_id)s AND known.kind = 'name'
       AND known.value >= wanted.value AND known.value < wanted.value || %(last_character)s
       AND starts_with(known.value, wanted.value)
     ORDER BY known.value
     LIMIT %(most_matches)s
 ) i)
UNION
(SELECT latest.id
 FROM (SELECT known.id FROM contacts known
       WHERE known.space_id = %(space_id)s AND known.merged_into IS NULL
       ORDER BY known.created_at DESC, known.id DESC LIMIT %(most_latest)s) latest
 CROSS JOIN LATERAL (
     SELECT FROM contact_identifiers i
     WHERE i.space_id = %(space_id)s AND i.contact_id = latest.id AND i.kind = 'name'
       AND EXISTS (SELECT FROM unnest(%(spellings)s::text[]) AS wanted (spelling)
                   WHERE strpos(lower(i.value), wanted.spelling) > 0)
     LIMIT 1
 ) named)

-- name: count
-- At most %(most)s.
SELECT count(*) FROM ({rows} LIMIT %(most)s) counted;

-- name: first_and_last
(SELECT iso_utc(min(e.event_time)) FROM events e
 WHERE e.space_id = %(space_id)s AND e.contact_id = k.id) AS first_event,
(SELECT iso_utc(max(e.event_time)) FROM events e
 WHERE e.space_id = %(space_id)s AND e.contact_id = k.id) AS last_event

-- name: listed
-- Unmerged and between two positions. Both are pairs: beside a plain bound on the time, PostgreSQL may begin
-- its index scan at that one instead.
k.merged_into IS NULL
AND (k.created_at, k.id) > (%(after_time)s, %(after_id)s)
AND (k.created_at, k.id) < (%(before_time)s, %(before_id)s)

-- name: field_conditions
-- A CASE hides the conditions on fields, so that the index scan ends with the page. Without statistics, very
-- selective ones would make the planner sort all matches.
CASE WHEN {conditions} THEN true END

-- name: page
-- A page `c`, cut off first; then the rest of each row `k` by primary key. Ids grow with the time of
-- creation.
WITH c AS MATERIALIZED (
    {rows} ORDER BY k.created_at {order}, k.id {order} LIMIT %(limit)s
)
SELECT {line}, c.created_at, c.id
FROM c
CROSS JOIN LATERAL (
    SELECT known.*
    FROM contacts known
    WHERE known.space_id = %(space_id)s AND known.id = c.id
    OFFSET 0
) k
ORDER BY c.created_at DESC, c.id DESC;

-- name: timezone
SELECT s.timezone FROM spaces s WHERE s.id = %(space_id)s;

-- name: lines
SELECT {line}
FROM contacts k
WHERE k.space_id = %(space_id)s AND {condition}
ORDER BY k.created_at DESC, k.id DESC;

-- name: contact
SELECT {line}
FROM contacts k
WHERE k.space_id = %(space_id)s AND k.id = %(contact_id)s;

-- name: line
(SELECT row_to_json(line)::text FROM (SELECT {columns}) line)

-- name: collection
-- The primary value first, then the most recent. Values of merged contacts may repeat.
coalesce((
    SELECT json_agg(v.value ORDER BY v.recency DESC NULLS FIRST, v.value)
    FROM (
        SELECT k.{kind} AS value, NULL::bigint AS recency WHERE k.{kind} IS NOT NULL
        UNION ALL
        SELECT i.value, max(i.recency)
        FROM contact_identifiers i
        WHERE i.space_id = %(space_id)s AND i.contact_id = k.id AND i.kind = {kind_name}
          AND i.value IS DISTINCT FROM k.{kind}
        GROUP BY i.value
    ) v
), '[]')

-- name: tokens
-- The last five, most recent first.
coalesce((
    SELECT json_agg(v.value ORDER BY v.recency DESC)
    FROM (
        SELECT i.value, max(i.recency) AS recency
        FROM contact_identifiers i
        WHERE i.space_id = %(space_id)s AND i.contact_id = k.id AND i.kind = 'trk_token'
        GROUP BY i.value
        ORDER BY recency DESC
        LIMIT 5
    ) v
), '[]')

-- name: with_fields
-- Concatenated as text because a label may be longer than a column name, and json_build_object would add
-- blanks.
concat(left({line}, -1), {members}, '}}')

-- name: filled_fields
json_strip_nulls(('{{' || substr(concat({members}), 2) || '}}')::json)

-- name: member
-- Its name is bound as JSON between a comma and a colon.
{name}::text, coalesce(to_json({value})::text, 'null')

-- name: day_or_moment
-- The first moment of a day in the Space's zone is that day: midnight, or the next moment where clocks skip
-- midnight.
CASE WHEN local_time({field} - interval '1 microsecond', %(changes)s, %(offsets)s)
          < date_trunc('day', local_time({field}, %(changes)s, %(offsets)s))
     THEN to_char(local_time({field}, %(changes)s, %(offsets)s), 'YYYY-MM-DD')
     ELSE iso_utc({field}) END
