-- name: request
-- Process all affected rows up to the last receipt: later rows use the new name. The caller holds the Space's
-- lock.
INSERT INTO reclassifications AS r (space_id, name, first_id, after_id, until_id, requested_at)
SELECT %(space_id)s, %(name)s, span.first_id, span.first_id - 1, span.until_id, now()
FROM (SELECT least((SELECT min(t.id) FROM touchpoints t WHERE t.space_id = %(space_id)s),
                   (SELECT min(h.id) FROM hits h WHERE h.space_id = %(space_id)s)) AS first_id,
             (SELECT last_value FROM receipt_ids) AS until_id) span
WHERE span.first_id IS NOT NULL
ON CONFLICT (space_id, name) DO UPDATE
SET first_id = excluded.first_id, after_id = excluded.after_id, until_id = excluded.until_id,
    changed = 0, requested_at = excluded.requested_at;

-- name: list
SELECT r.name, r.changed, r.requested_at,
       CASE WHEN r.until_id < r.first_id THEN 1
            ELSE (r.after_id - r.first_id + 1)::float8 / (r.until_id - r.first_id + 1) END AS share
FROM reclassifications r
WHERE r.space_id = %(space_id)s
ORDER BY r.name;

-- name: spaces
SELECT DISTINCT space_id FROM reclassifications;

-- name: next
-- The names with the least progress, and the id where the first of them ends or they catch up with another.
SELECT array_agg(r.name), r.after_id,
       least(min(r.until_id), (SELECT min(o.after_id) FROM reclassifications o
                               WHERE o.space_id = %(space_id)s AND o.after_id > r.after_id))
FROM reclassifications r
WHERE r.space_id = %(space_id)s
GROUP BY r.after_id
ORDER BY r.after_id
LIMIT 1;

-- name: advance
UPDATE reclassifications r
SET after_id = %(after_id)s,
    changed = r.changed + coalesce((%(changed)s::jsonb ->> r.name)::bigint, 0)
WHERE r.space_id = %(space_id)s AND r.name = ANY(%(names)s);

-- name: end
DELETE FROM reclassifications r
WHERE r.space_id = %(space_id)s AND r.after_id >= r.until_id
RETURNING r.changed;
