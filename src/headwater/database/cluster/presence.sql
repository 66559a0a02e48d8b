-- name: is_cluster
SELECT EXISTS (SELECT 1 FROM pg_extension x WHERE x.extname = 'citus');

-- name: is_first
SELECT g.groupid = 0 FROM pg_dist_local_group g;

-- name: bound_waiting
-- The lock timeout on the first node, which only waits for shards that are being switched. The nodes handle
-- row locks.
SELECT set_config('lock_timeout', '50ms', false) FROM pg_extension x WHERE x.extname = 'citus';
