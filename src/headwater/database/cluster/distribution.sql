-- name: nodes
SELECT count(*) FROM pg_dist_node n WHERE n.shouldhaveshards AND n.isactive;

-- name: placed
SELECT c.relname, CASE WHEN p.partmethod = 'h' THEN 'DISTRIBUTED'
                       WHEN p.repmodel = 't' THEN 'REFERENCE' ELSE 'QUEUE' END AS kind
FROM pg_dist_partition p
JOIN pg_class c ON c.oid = p.logicalrelid
WHERE c.relnamespace = quote_ident(current_schema())::regnamespace;

-- name: prepare
-- Process one table after the other on each node, because they refer to each other, and allow the triggers
-- that count deliveries and visits, which stay within a Space.
SELECT set_config('citus.multi_shard_modify_mode', 'sequential', true),
       set_config('citus.enable_unsafe_triggers', 'on', true);

-- name: unlogged
-- Unlogged tables: a Space in them could not be moved while in use.
SELECT c.relname FROM pg_class c
WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relkind = 'r'
  AND c.relpersistence = 'u' AND c.relname = ANY(%(tables)s);

-- name: log_changes
ALTER TABLE {table} SET LOGGED;

-- name: triggers
-- Tables whose triggers count rows. Copied rows are counted already, so the triggers are disabled during the move.
SELECT DISTINCT c.relname FROM pg_trigger t
JOIN pg_class c ON c.oid = t.tgrelid
WHERE NOT t.tgisinternal AND c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relname = ANY(%(tables)s);

-- name: disable_triggers
ALTER TABLE {table} DISABLE TRIGGER USER;

-- name: enable_triggers
ALTER TABLE {table} ENABLE TRIGGER USER;

-- name: references
-- Foreign keys of and to tables without a place, dropped during the move.
SELECT c.relname, f.conname, pg_get_constraintdef(f.oid)
FROM pg_constraint f
JOIN pg_class c ON c.oid = f.conrelid
WHERE f.contype = 'f' AND c.relnamespace = quote_ident(current_schema())::regnamespace
  AND (f.conrelid = ANY(%(tables)s::regclass[]) OR f.confrelid = ANY(%(tables)s::regclass[]))
ORDER BY c.relname, f.conname;

-- name: drop_reference
ALTER TABLE {table} DROP CONSTRAINT {name};

-- name: add_reference
ALTER TABLE {table} ADD CONSTRAINT {name} {definition};

-- name: distribute
SELECT create_distributed_table(%(table)s, 'space_id', colocate_with => %(beside)s);

-- name: copy
SELECT create_reference_table(%(table)s);

-- name: take_back
-- Move a distributed table back to the first node.
SELECT undistribute_table(p.logicalrelid) FROM pg_dist_partition p
WHERE p.logicalrelid = %(table)s::regclass;

-- name: make_known
-- Let transactions include a table of the first node.
SELECT citus_add_local_table_to_metadata(%(table)s);
