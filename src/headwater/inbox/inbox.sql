-- name: draw_receipts
-- The next receipts: in a statement without a table, before the rows are written, as what an INSERT
-- returns comes in no order, and each node of a cluster would draw from a line of numbers of its own.
SELECT nextval('receipt_ids') FROM generate_series(1, $1::int);

-- name: append
-- Store accepted rows, each under the receipt that was drawn for it. All of them are in one list of
-- values: a cluster sends each node its own, where the rows of a subquery would be copied to every
-- shard, which takes ten times as long.
INSERT INTO inbox (received_at, space_id, id, kind, sender, payload)
VALUES {rows};
