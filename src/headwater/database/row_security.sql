-- name: unprotected
-- The tables of Spaces' rows without a policy, with the column of the Space's id.
SELECT c.relname, a.attname
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped
    AND a.attname = CASE c.relname WHEN 'spaces' THEN 'id' ELSE 'space_id' END
WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relkind IN ('r', 'p')
  AND NOT (c.relrowsecurity AND EXISTS (SELECT FROM pg_policy p
                                        WHERE p.polrelid = c.oid AND p.polname = 'space'))
ORDER BY c.relname;

-- name: enable_policies
-- A cluster takes these statements one at a time.
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;

-- name: drop_policy
DROP POLICY IF EXISTS space ON {table};

-- name: create_policy
-- Rows are visible and writable only for the session's Space. Without one the setting is absent or empty, and
-- no row is visible.
CREATE POLICY space ON {table}
USING ({column} = nullif(current_setting('headwater.space_id', true), '')::bigint);

-- name: role
-- The role of sessions confined to a Space. Each database has its own, because roles belong to the server,
-- and a shared one would lead into other databases. Null where sessions cannot switch to it, where it
-- bypasses policies, and in a cluster (Citus), whose nodes do not receive a session's Space.
SELECT left(current_database(), 57) || '_space' AS name,
       (SELECT r.rolname FROM pg_roles r
        WHERE r.rolname = left(current_database(), 57) || '_space'
          AND NOT r.rolsuper AND NOT r.rolbypassrls
          AND pg_has_role(current_user, r.oid, 'SET')
          AND r.rolname <> session_user
          AND NOT EXISTS (SELECT 1 FROM pg_extension x WHERE x.extname = 'citus')) AS usable,
       EXISTS (SELECT FROM pg_roles r
               WHERE r.rolname = left(current_database(), 57) || '_space') AS exists;

-- name: create_role
-- It cannot log in: sessions of Headwater's own user switch to it.
CREATE ROLE {role} NOLOGIN;
GRANT {role} TO CURRENT_USER;

-- name: unentered
-- The database and the schema, if the role may not look up names in them or create temporary tables. All
-- roles may, unless an operator has revoked it.
SELECT current_database(), current_schema()
WHERE NOT (has_schema_privilege(%(role)s, current_schema(), 'USAGE')
           AND has_database_privilege(%(role)s, current_database(), 'TEMPORARY'));

-- name: grant_entry
GRANT USAGE ON SCHEMA {schema} TO {role};
GRANT TEMPORARY ON DATABASE {database} TO {role};

-- name: ungranted
-- Tables, views and sequences without grants to the role, except the installation's: the role must not read
-- the secret key or the schema. It may only add to the audit log.
SELECT c.relname,
       CASE WHEN c.relkind = 'S' THEN 'grant_sequence'
            WHEN c.relname = 'audit_entries' THEN 'grant_log'
            ELSE 'grant_table' END AS statement
FROM pg_class c
WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relkind IN ('r', 'p', 'v', 'S')
  AND c.relname NOT IN ('installation', 'migrations')
  AND NOT CASE c.relkind
      WHEN 'S' THEN has_sequence_privilege(%(role)s, c.oid, 'USAGE')
           AND has_sequence_privilege(%(role)s, c.oid, 'SELECT')
      ELSE has_table_privilege(%(role)s, c.oid, 'SELECT')
           AND has_table_privilege(%(role)s, c.oid, 'INSERT')
           AND (c.relname = 'audit_entries'
                OR has_table_privilege(%(role)s, c.oid, 'UPDATE')
                   AND has_table_privilege(%(role)s, c.oid, 'DELETE')) END
ORDER BY c.relname;

-- name: grant_table
-- Access to a table's rows, limited by its policy.
GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {role};

-- name: grant_log
GRANT SELECT, INSERT ON {table} TO {role};

-- name: grant_sequence
-- Draw ids, and read the latest one.
GRANT USAGE, SELECT ON SEQUENCE {table} TO {role};

-- name: confine
-- Confine the session to one Space's rows.
SELECT set_config('headwater.space_id', %(space_id)s::text, %(local)s),
       set_config('role', %(role)s, %(local)s);

-- name: release
-- Return to the session's own user, without a Space.
SELECT set_config('role', 'none', false), set_config('headwater.space_id', '', false);
