-- One row for each Space, which is locked in place of the Space's own: `spaces` is the same on every
-- node of a cluster, so a lock of one of its rows holds up all others, and this table is distributed
-- like what the locks are about. The operator's side looks for waiting work by it, Space by Space.
CREATE TABLE space_locks (
    space_id bigint PRIMARY KEY
);
INSERT INTO space_locks (space_id) SELECT s.id FROM spaces s;
