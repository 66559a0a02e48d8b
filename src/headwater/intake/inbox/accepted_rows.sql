-- name: append
-- Store accepted rows in the order given and return their receipts. The payloads are lines: JSON
-- text holds no newline. Where all rows are of one kind or sender, the array of them is empty: reading
-- thousands of equal words would be a tenth of the statement's time.
INSERT INTO inbox (space_id, kind, sender, received_at, payload)
SELECT accepted.space_id, coalesce(accepted.kind, %(kind)s), coalesce(accepted.sender, %(sender)s),
       %(received_at)s, accepted.payload
FROM ROWS FROM (unnest(%(spaces)s::bigint[]), unnest(%(kinds)s::text[]),
                unnest(%(senders)s::text[]), string_to_table(%(payloads)s, E'\n'))
     WITH ORDINALITY AS accepted (space_id, kind, sender, payload, position)
ORDER BY accepted.position
RETURNING id;
