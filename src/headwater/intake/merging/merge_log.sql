-- name: log
INSERT INTO merges
    (space_id, id, merged_id, survivor_id, cause, receipt_id, sender, company_id, filled, revision)
SELECT %(space_id)s, m.id, m.merged_id, m.survivor_id, m.cause, m.receipt_id, m.sender,
       m.company_id, m.filled,
       (SELECT r.revision FROM revisions r WHERE r.space_id = %(space_id)s)
FROM json_to_recordset(%(merges)s::json)
     AS m (id bigint, merged_id bigint, survivor_id bigint, cause text, receipt_id bigint,
           sender text, company_id bigint, filled text[]);

-- name: count_lately
SELECT count(*) FROM merges m
WHERE m.space_id = %(space_id)s AND m.merged_at > now() - interval '1 hour';

-- name: figures
-- For the operator.
SELECT l.space_id, lately.merges
FROM space_locks l
CROSS JOIN LATERAL (
    SELECT count(*) AS merges FROM merges m
    WHERE m.space_id = l.space_id AND m.merged_at > now() - interval '1 hour'
) lately
WHERE lately.merges > 0
ORDER BY l.space_id;

-- name: list
-- Including undone merges.
SELECT m.id, m.merged_at, m.merged_id, m.survivor_id, m.cause, m.receipt_id, m.sender,
       m.filled, m.undone_at
FROM merges m
WHERE m.space_id = %(space_id)s
ORDER BY m.id DESC
LIMIT %(limit)s;

-- name: list_of_contact
-- Include merges into its merged contacts.
WITH part AS MATERIALIZED (
    SELECT c.id FROM contacts c
    WHERE c.space_id = %(space_id)s AND (c.id = %(contact_id)s OR c.merged_into = %(contact_id)s)
)
SELECT m.id, m.merged_at, m.merged_id, m.survivor_id, m.cause, m.receipt_id, m.sender,
       m.filled, m.undone_at
FROM merges m
WHERE m.space_id = %(space_id)s
  AND (m.merged_id IN (SELECT part.id FROM part) OR m.survivor_id IN (SELECT part.id FROM part))
ORDER BY m.id DESC
LIMIT %(limit)s;
