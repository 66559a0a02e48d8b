-- name: request
-- Read every answer again, up to the last receipt: later events use the change. The caller holds the Space's
-- lock.
INSERT INTO answer_rereadings (space_id, after_id, until_id)
SELECT %(space_id)s, 0, r.last_value FROM receipt_ids r
ON CONFLICT (space_id) DO UPDATE SET after_id = 0, until_id = excluded.until_id;

-- name: spaces
SELECT space_id FROM answer_rereadings;

-- name: fetch
SELECT a.after_id, a.until_id FROM answer_rereadings a WHERE a.space_id = %(space_id)s;

-- name: advance
UPDATE answer_rereadings a SET after_id = %(after_id)s WHERE a.space_id = %(space_id)s;

-- name: finish
DELETE FROM answer_rereadings a WHERE a.space_id = %(space_id)s;
