-- name: log
-- Merging: one row per merge.
INSERT INTO merges (space_id, id, merged_id, survivor_id, cause, receipt_id, company_id, filled)
SELECT %(space_id)s, m.id, m.merged_id, m.survivor_id, m.cause, m.receipt_id, m.company_id, m.filled
FROM json_to_recordset(%(merges)s::json)
     AS m (id bigint, merged_id bigint, survivor_id bigint, cause text, receipt_id bigint,
           company_id bigint, filled text[]);
