-- name: is_cluster
-- Whether the database belongs to a cluster.
SELECT EXISTS (SELECT 1 FROM pg_extension x WHERE x.extname = 'citus');

-- name: is_first
-- Whether this is the first node, which draws all numbers and moves Spaces.
SELECT g.groupid = 0 FROM pg_dist_local_group g;

-- name: bound_waiting
-- In a cluster, how long a statement of this session waits on the first node, where it only waits for
-- shards that are being switched over to another node. Locks of rows are the nodes' affair.
SELECT set_config('lock_timeout', '50ms', false) FROM pg_extension x WHERE x.extname = 'citus';
