-- name: create
INSERT INTO space_locks (space_id) VALUES (%(space_id)s);

-- name: try
-- No row if the Space is locked.
SELECT l.space_id FROM space_locks l
WHERE l.space_id = %(space_id)s
FOR NO KEY UPDATE SKIP LOCKED;

-- name: take
SELECT l.space_id FROM space_locks l WHERE l.space_id = %(space_id)s FOR NO KEY UPDATE;

-- name: share
-- Wait for changes of the Space's identities, and prevent new ones.
SELECT l.space_id FROM space_locks l WHERE l.space_id = %(space_id)s FOR SHARE;

-- name: bound_waiting
-- Not a query, because a cluster would pass that on to its nodes.
SET LOCAL lock_timeout = {patience};
