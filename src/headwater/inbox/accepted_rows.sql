-- name: append
-- Store accepted rows in the order given and return their receipts, on a single PostgreSQL. The
-- payloads are lines: JSON text holds no newline. Where all rows are of one kind or sender, the array
-- of them is empty: reading thousands of equal words would be a tenth of the statement's time.
INSERT INTO inbox (space_id, kind, sender, received_at, payload)
SELECT given.space_id, coalesce(given.kind, %(kind)s), coalesce(given.sender, %(sender)s),
       %(received_at)s, given.payload
FROM ROWS FROM (unnest(%(spaces)s::bigint[]), unnest(%(kinds)s::text[]),
                unnest(%(senders)s::text[]), string_to_table(%(payloads)s, E'\n'))
     WITH ORDINALITY AS given (space_id, kind, sender, payload, position)
ORDER BY given.position
RETURNING id;

-- name: draw_receipts
-- The next receipts, in a cluster: before the rows are written and without a table, as rows are
-- returned node by node, and each node would draw from a line of numbers of its own.
SELECT nextval('receipt_ids') FROM generate_series(1, $1::int);

-- name: append_listed
-- Store accepted rows under these receipts, in a cluster: it sends each node its own rows of a list,
-- where those of a subquery are copied to every shard, which takes ten times as long. On a single
-- PostgreSQL a list takes a fifth longer.
INSERT INTO inbox (received_at, space_id, id, kind, sender, payload)
VALUES {rows};
