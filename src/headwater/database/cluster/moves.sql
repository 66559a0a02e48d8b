-- name: nodes
SELECT n.nodeid, n.nodename, n.nodeport, n.shouldhaveshards AND n.isactive AS takes_spaces
FROM pg_dist_node n
WHERE n.noderole = 'primary'
ORDER BY n.nodeid;

-- name: is_distributed
SELECT EXISTS (SELECT 1 FROM pg_dist_partition p
               WHERE p.logicalrelid = 'space_locks'::regclass AND p.partmethod = 'h');

-- name: exists
SELECT l.space_id FROM space_locks l WHERE l.space_id = %(space_id)s;

-- name: place
-- A Space's hash, with the shard and its range of hashes.
SELECT s.shardid, n.nodeid, s.shardminvalue::integer AS first_hash,
       worker_hash(%(space_id)s::bigint) AS hash, s.shardmaxvalue::integer AS last_hash
FROM pg_dist_shard s
JOIN pg_dist_placement p ON p.shardid = s.shardid
JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'
WHERE s.shardid = get_shard_id_for_distribution_column('space_locks', %(space_id)s::bigint);

-- name: neighbors
SELECT count(*) FROM space_locks l
WHERE worker_hash(l.space_id) BETWEEN %(first_hash)s AND %(last_hash)s
  AND l.space_id <> %(space_id)s;

-- name: keyless
-- Tables without a key, whose changes cannot be replicated.
SELECT c.relname FROM pg_class c
WHERE c.oid = ANY(%(tables)s::regclass[]) AND c.relkind = 'r' AND (
    c.relreplident = 'n' OR c.relreplident = 'd' AND NOT EXISTS (
        SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary))
ORDER BY c.relname;

-- name: wal_levels
SELECT n.nodename || ':' || n.nodeport AS node, r.result
FROM run_command_on_all_nodes('SHOW wal_level') r
JOIN pg_dist_node n ON n.nodeid = r.nodeid;

-- name: split
-- Split shards in two behind a hash and put both parts on a node, while in use.
SELECT citus_split_shard_by_split_points(%(shard)s::bigint, ARRAY[%(point)s::text],
                                         ARRAY[%(node)s, %(node)s]::integer[], 'auto');

-- name: move
-- Move a Space's shards to another node, while in use.
SELECT citus_move_shard_placement(%(shard)s::bigint, %(source)s, %(target)s, 'auto');
