-- Whoever runs these holds the Space's lock.

-- name: family
-- The merges that made a contact what it is, in their order.
SELECT m.id, m.merged_id, m.survivor_id, m.company_id, m.filled
FROM contacts c
JOIN merges m ON m.space_id = %(space_id)s AND m.merged_id = c.id AND m.undone_at IS NULL
WHERE c.space_id = %(space_id)s AND c.merged_into = %(survivor_id)s
ORDER BY m.id;

-- name: to_be_erased
-- Whether an erasure waits that was asked for any of these contacts.
SELECT EXISTS (
    SELECT FROM erasures e
    WHERE e.space_id = %(space_id)s AND e.erased_at IS NULL
      AND e.contact_id = ANY(%(group)s::bigint[]));

-- name: fold_identifiers
-- Values of the contact that were seen again after its merge were put on the contact it was part
-- of by then, which got them only through the merge. That becomes a sighting of the contact's own,
-- so that each value leads to it again. `line` has every contact it was part of, and since which
-- merge.
WITH through AS (
    DELETE FROM contact_identifiers i
    USING json_to_recordset(%(line)s::json) AS line (contact_id bigint, merge_id bigint)
    WHERE i.space_id = %(space_id)s AND i.contact_id = %(survivor_id)s
      AND i.origin_id = line.contact_id AND i.since >= line.merge_id
      AND EXISTS (
        SELECT FROM contact_identifiers own
        WHERE own.space_id = %(space_id)s AND own.kind = i.kind AND own.value = i.value
          AND own.origin_id = ANY(%(members)s::bigint[]))
    RETURNING i.kind, i.value, i.first_seen_at, i.last_seen_at, i.recency
), seen AS (
    SELECT t.kind, t.value, min(t.first_seen_at) AS first_seen_at,
           max(t.last_seen_at) AS last_seen_at, max(t.recency) AS recency
    FROM through t
    GROUP BY t.kind, t.value
)
UPDATE contact_identifiers i
SET first_seen_at = least(i.first_seen_at, seen.first_seen_at),
    last_seen_at = greatest(i.last_seen_at, seen.last_seen_at),
    recency = greatest(i.recency, seen.recency)
FROM seen
CROSS JOIN LATERAL (
    SELECT latest.origin_id FROM contact_identifiers latest
    WHERE latest.space_id = %(space_id)s AND latest.kind = seen.kind AND latest.value = seen.value
      AND latest.origin_id = ANY(%(members)s::bigint[])
    ORDER BY latest.recency DESC
    LIMIT 1
) own
WHERE i.space_id = %(space_id)s AND i.kind = seen.kind AND i.value = seen.value
  AND i.origin_id = own.origin_id;

-- name: identifiers
-- What was first known of the contact counts for it again.
UPDATE contact_identifiers i SET contact_id = %(contact_id)s
WHERE i.space_id = %(space_id)s AND i.contact_id = %(survivor_id)s
  AND i.origin_id = ANY(%(members)s::bigint[]);

-- name: events
-- Its events go back to it. Their source_mask stays: a superset of what it would be.
UPDATE events e
SET contact_id = %(contact_id)s, company_id = %(company_id)s,
    origin_id = nullif(e.origin_id, %(contact_id)s)
WHERE e.space_id = %(space_id)s AND e.contact_id = %(survivor_id)s
  AND e.origin_id = ANY(%(members)s::bigint[]);

-- name: touchpoints
-- Its touchpoints.
UPDATE touchpoints t
SET contact_id = %(contact_id)s, company_id = %(company_id)s,
    origin_id = nullif(t.origin_id, %(contact_id)s)
WHERE t.space_id = %(space_id)s AND t.contact_id = %(survivor_id)s
  AND t.origin_id = ANY(%(members)s::bigint[]);

-- name: visits
-- Its visits.
UPDATE visits v
SET contact_id = %(contact_id)s, company_id = %(company_id)s,
    origin_id = nullif(v.origin_id, %(contact_id)s)
WHERE v.space_id = %(space_id)s AND v.contact_id = %(survivor_id)s
  AND v.origin_id = ANY(%(members)s::bigint[]);

-- name: hits
-- Its page views.
UPDATE hits h
SET contact_id = %(contact_id)s, origin_id = nullif(h.origin_id, %(contact_id)s)
WHERE h.space_id = %(space_id)s AND h.contact_id = %(survivor_id)s
  AND h.origin_id = ANY(%(members)s::bigint[]);

-- name: members
-- What had been merged into it points at it again; it itself at nothing.
UPDATE contacts c SET merged_into = nullif(%(contact_id)s, c.id)
WHERE c.space_id = %(space_id)s AND c.id = ANY(%(members)s::bigint[]);

-- name: primaries
-- A primary value that no identifier is left for gives way to the one left that was seen first.
-- `origins` are the contacts that make up this one, `holder_id` is where their identifiers count.
UPDATE contacts c
SET email = (
        SELECT i.value FROM contact_identifiers i
        WHERE i.space_id = %(space_id)s AND i.contact_id = %(holder_id)s AND i.kind = 'email'
          AND i.origin_id = ANY(%(origins)s::bigint[])
        ORDER BY i.value = c.email DESC, i.first_seen_at, i.recency DESC
        LIMIT 1),
    name = (
        SELECT i.value FROM contact_identifiers i
        WHERE i.space_id = %(space_id)s AND i.contact_id = %(holder_id)s AND i.kind = 'name'
          AND i.origin_id = ANY(%(origins)s::bigint[])
        ORDER BY i.value = c.name DESC, i.first_seen_at, i.recency DESC
        LIMIT 1),
    phone = (
        SELECT i.value FROM contact_identifiers i
        WHERE i.space_id = %(space_id)s AND i.contact_id = %(holder_id)s AND i.kind = 'phone'
          AND i.origin_id = ANY(%(origins)s::bigint[])
        ORDER BY i.value = c.phone DESC, i.first_seen_at, i.recency DESC
        LIMIT 1),
    location = (
        SELECT i.value FROM contact_identifiers i
        WHERE i.space_id = %(space_id)s AND i.contact_id = %(holder_id)s AND i.kind = 'location'
          AND i.origin_id = ANY(%(origins)s::bigint[])
        ORDER BY i.value = c.location DESC, i.first_seen_at, i.recency DESC
        LIMIT 1)
WHERE c.space_id = %(space_id)s AND c.id = %(contact_id)s;

-- name: undone
-- The merge is marked, never deleted.
UPDATE merges m SET undone_at = now() WHERE m.space_id = %(space_id)s AND m.id = %(id)s;

-- name: filled
-- Columns that another merge fills now.
UPDATE merges m SET filled = m.filled || r.filled
FROM json_to_recordset(%(merges)s::json) AS r (id bigint, filled text[])
WHERE m.space_id = %(space_id)s AND m.id = r.id;

-- name: companies_had
-- The company that a merged contact has without the one taken out of it.
UPDATE merges m SET company_id = r.company_id
FROM json_to_recordset(%(merges)s::json) AS r (id bigint, company_id bigint)
WHERE m.space_id = %(space_id)s AND m.id = r.id;

-- name: divide_visits
-- Visits that went on after the merge have page views of both contacts now. Those that are not
-- where their visit is make up visits of their own, each numbered like its first page view.
WITH stray AS (
    SELECT h.id, h.contact_id, h.origin_id, h.visit_id, h.occurred_at, v.device,
           h.occurred_at - lag(h.occurred_at) OVER run < interval '30 minutes' AS goes_on
    FROM hits h
    JOIN visits v ON v.space_id = %(space_id)s AND v.id = h.visit_id
    WHERE h.space_id = %(space_id)s AND h.contact_id IN (%(contact_id)s, %(survivor_id)s)
      AND v.contact_id <> h.contact_id
    WINDOW run AS (PARTITION BY h.contact_id, v.device ORDER BY h.occurred_at, h.id)
), numbered AS (
    SELECT s.*, count(*) FILTER (WHERE s.goes_on IS NOT true)
                OVER (PARTITION BY s.contact_id, s.device ORDER BY s.occurred_at, s.id) AS run
    FROM stray s
), divided AS (
    SELECT n.id, n.contact_id, n.device, n.occurred_at,
           first_value(n.id) OVER whole AS visit_id,
           first_value(n.origin_id) OVER whole AS origin_id
    FROM numbered n
    WINDOW whole AS (PARTITION BY n.contact_id, n.device, n.run ORDER BY n.occurred_at, n.id)
), made AS (
    INSERT INTO visits
        (space_id, id, contact_id, origin_id, company_id, device, started_at, last_hit_at)
    SELECT %(space_id)s, d.visit_id, d.contact_id, d.origin_id, c.company_id, d.device,
           min(d.occurred_at), max(d.occurred_at)
    FROM divided d
    JOIN contacts c ON c.space_id = %(space_id)s AND c.id = d.contact_id
    GROUP BY d.visit_id, d.contact_id, d.origin_id, c.company_id, d.device
)
UPDATE hits h SET visit_id = d.visit_id
FROM divided d
WHERE h.space_id = %(space_id)s AND h.id = d.id
RETURNING h.id;

-- name: bound_visits
-- The visits that lost page views end where those that are left do.
UPDATE visits v SET started_at = left_over.first, last_hit_at = left_over.last
FROM (
    SELECT h.visit_id, min(h.occurred_at) AS first, max(h.occurred_at) AS last
    FROM hits h
    WHERE h.space_id = %(space_id)s AND h.contact_id IN (%(contact_id)s, %(survivor_id)s)
    GROUP BY h.visit_id
) left_over
WHERE v.space_id = %(space_id)s AND v.id = left_over.visit_id
  AND (v.started_at <> left_over.first OR v.last_hit_at <> left_over.last);
