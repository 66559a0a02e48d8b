-- name: begin
-- The import of a file, begun now or before; the row tells how far it is.
INSERT INTO imports AS i (space_id, kind, digest, mapping)
VALUES (%(space_id)s, %(kind)s, %(digest)s, %(mapping)s)
ON CONFLICT (space_id, kind, digest, mapping) DO UPDATE SET mapping = i.mapping
RETURNING i.rows_done, i.taken, i.refused, i.finished_at;

-- name: forget
-- Let a file be imported once more.
DELETE FROM imports i
WHERE i.space_id = %(space_id)s AND i.kind = %(kind)s AND i.digest = %(digest)s
  AND i.mapping = %(mapping)s;

-- name: advance
-- A chunk is done, in the transaction that stores it; no row when another process was faster.
UPDATE imports i
SET rows_done = %(rows_done)s, taken = %(taken)s, refused = %(refused)s
WHERE i.space_id = %(space_id)s AND i.kind = %(kind)s AND i.digest = %(digest)s
  AND i.mapping = %(mapping)s AND i.rows_done = %(before)s
RETURNING true;

-- name: finish
-- The whole file is done.
UPDATE imports i SET finished_at = now()
WHERE i.space_id = %(space_id)s AND i.kind = %(kind)s AND i.digest = %(digest)s
  AND i.mapping = %(mapping)s;
