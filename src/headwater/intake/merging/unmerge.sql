-- The caller holds the Space's lock.

-- name: family
-- In order.
SELECT m.id, m.merged_id, m.survivor_id, m.company_id, m.filled
FROM contacts c
JOIN merges m ON m.space_id = %(space_id)s AND m.merged_id = c.id AND m.undone_at IS NULL
WHERE c.space_id = %(space_id)s AND c.merged_into = %(survivor_id)s
ORDER BY m.id;

-- name: to_be_erased
SELECT EXISTS (
    SELECT FROM erasures e
    WHERE e.space_id = %(space_id)s AND e.erased_at IS NULL
      AND e.contact_id = ANY(%(group)s::bigint[]));

-- name: undone
-- Merges are marked, never deleted.
UPDATE merges m SET undone_at = now(), undone_revision = r.revision
FROM revisions r
WHERE r.space_id = %(space_id)s AND m.space_id = %(space_id)s AND m.id = %(id)s;

-- name: filled
-- Columns that another merge fills now.
UPDATE merges m SET filled = m.filled || r.filled
FROM json_to_recordset(%(merges)s::json) AS r (id bigint, filled text[])
WHERE m.space_id = %(space_id)s AND m.id = r.id;

-- name: companies_had
-- Of merged contacts without the separated one.
UPDATE merges m SET company_id = r.company_id
FROM json_to_recordset(%(merges)s::json) AS r (id bigint, company_id bigint)
WHERE m.space_id = %(space_id)s AND m.id = r.id;
