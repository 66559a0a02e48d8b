-- name: create
-- Create the row that represents a Space in locks.
INSERT INTO space_locks (space_id) VALUES (%(space_id)s);

-- name: try
-- The Space, locked against every other change of its identities, or no row when it is locked.
SELECT l.space_id FROM space_locks l
WHERE l.space_id = %(space_id)s
FOR NO KEY UPDATE SKIP LOCKED;

-- name: take
-- Take the Space against every other change of its contacts, companies and memberships, and of
-- itself.
SELECT l.space_id FROM space_locks l WHERE l.space_id = %(space_id)s FOR NO KEY UPDATE;

-- name: share
-- Wait while another transaction changes the identities of the Space, and prevent new changes.
SELECT l.space_id FROM space_locks l WHERE l.space_id = %(space_id)s FOR SHARE;

-- name: bound_waiting
-- How long this transaction waits for any lock. No query, as a cluster hands that on to its nodes.
SET LOCAL lock_timeout = {patience};
