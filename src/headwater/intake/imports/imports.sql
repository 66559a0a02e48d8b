-- name: begin
-- Create or return the progress of a file.
INSERT INTO imports AS i (space_id, kind, digest, mapping)
VALUES (%(space_id)s, %(kind)s, %(digest)s, %(mapping)s)
ON CONFLICT (space_id, kind, digest, mapping) DO UPDATE SET mapping = i.mapping
RETURNING i.rows_done, i.taken, i.refused, i.finished_at, i.sources, i.position;

-- name: forget
DELETE FROM imports i
WHERE i.space_id = %(space_id)s AND i.kind = %(kind)s AND i.digest = %(digest)s
  AND i.mapping = %(mapping)s;

-- name: advance
-- In the chunk's transaction. No row if another process was faster.
UPDATE imports i
SET rows_done = %(rows_done)s, taken = %(taken)s, refused = %(refused)s, sources = %(sources)s,
    position = %(position)s
WHERE i.space_id = %(space_id)s AND i.kind = %(kind)s AND i.digest = %(digest)s
  AND i.mapping = %(mapping)s AND i.rows_done = %(before)s
RETURNING true;

-- name: finish
UPDATE imports i SET finished_at = now()
WHERE i.space_id = %(space_id)s AND i.kind = %(kind)s AND i.digest = %(digest)s
  AND i.mapping = %(mapping)s;
