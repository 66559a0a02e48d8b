-- name: is_cluster
-- Whether the database is of a cluster.
SELECT EXISTS (SELECT 1 FROM pg_extension x WHERE x.extname = 'citus');
