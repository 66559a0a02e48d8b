-- name: tables
-- The tables whose rows are compared: unlogged ones hold counts of a minute.
SELECT n.nspname, c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.relpersistence = 'p'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema')
ORDER BY 1, 2;

-- name: digest
-- The row count of a table, and a checksum that changes with any row.
SELECT count(*) || ' rows, sum ' || coalesce(sum(hashtextextended(t::text, 0)), 0)
FROM {table} t;

-- name: objects
-- All other objects, by kind and name, without definitions that each major version writes differently.
SELECT 'sequence', s.schemaname || '.' || s.sequencename,
       coalesce(s.last_value::text, 'unused') || ' by ' || s.increment_by
FROM pg_sequences s
UNION ALL
SELECT 'role', r.rolname,
       concat_ws(' ', r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb, r.rolcanlogin,
                 r.rolbypassrls, array_to_string(r.rolconfig, ','))
FROM pg_roles r WHERE r.rolname NOT LIKE 'pg\_%'
UNION ALL
SELECT 'membership', m.roleid::regrole || ' to ' || m.member::regrole,
       concat_ws(' ', m.admin_option, m.inherit_option, m.set_option)
FROM pg_auth_members m WHERE m.member::regrole::text NOT LIKE 'pg\_%'
UNION ALL
SELECT 'row-level security', c.oid::regclass::text,
       -- Without the owner's own privileges: their letters differ between versions.
       concat_ws(' ', c.relrowsecurity, c.relforcerowsecurity,
                 (SELECT string_agg(a::text, ' ' ORDER BY a::text) FROM unnest(c.relacl) a
                  WHERE a::text NOT LIKE pg_get_userbyid(c.relowner) || '=%'))
FROM pg_class c
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S')
  AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace,
                             'pg_toast'::regnamespace)
UNION ALL
SELECT 'policy', p.policyname || ' on ' || p.schemaname || '.' || p.tablename,
       concat_ws(' ', p.permissive, p.roles, p.cmd)
FROM pg_policies p
UNION ALL
SELECT 'index', c.oid::regclass::text, concat_ws(' ', i.indisunique, i.indisvalid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'pg_toast'::regnamespace)
UNION ALL
SELECT 'constraint', o.conname || ' on ' || o.conrelid::regclass, o.convalidated::text
FROM pg_constraint o
WHERE o.conrelid <> 0 AND o.contype <> 'n'  -- NOT NULL is one since PostgreSQL 18
  AND o.connamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
UNION ALL
SELECT 'trigger', g.tgname || ' on ' || g.tgrelid::regclass, g.tgenabled::text
FROM pg_trigger g WHERE NOT g.tgisinternal
UNION ALL
SELECT 'function', f.oid::regprocedure::text, md5(f.prosrc)
FROM pg_proc f
WHERE f.pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
UNION ALL
SELECT 'extension', e.extname, e.extversion FROM pg_extension e
UNION ALL
SELECT 'setting', coalesce(d.datname, 'all') || ' ' || coalesce(s.setrole::regrole::text, ''),
       array_to_string(s.setconfig, ',')
FROM pg_db_role_setting s LEFT JOIN pg_database d ON d.oid = s.setdatabase;

-- name: configured
SELECT s.name, s.setting FROM pg_settings s WHERE s.source = 'configuration file';

-- name: analyze
-- Not all planner statistics are copied.
ANALYZE;
