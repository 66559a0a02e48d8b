-- name: snapshot
-- The time, and a name: pg_dump reads the snapshot of this name.
SELECT pg_export_snapshot(), clock_timestamp(), current_setting('server_version');

-- name: endure
-- This transaction lasts as long as the dump.
SELECT set_config('statement_timeout', '0', true),
       set_config('idle_in_transaction_session_timeout', '0', true);

-- name: migrations
SELECT m.name, m.checksum FROM migrations m ORDER BY m.name;

-- name: tables
-- The backed-up tables: unlogged ones hold counts of a minute.
SELECT c.relname FROM pg_class c
WHERE c.relnamespace = quote_ident(current_schema())::regnamespace AND c.relkind IN ('r', 'p')
  AND c.relpersistence = 'p'
  AND NOT EXISTS (SELECT FROM pg_depend d
                  WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY c.relname;

-- name: count
SELECT count(*) FROM {table};

-- name: anything
-- One table of the database that is not part of PostgreSQL or an extension.
SELECT c.relname FROM pg_class c
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
  AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace,
                             'pg_toast'::regnamespace)
  AND c.relpersistence <> 't'
  AND NOT EXISTS (SELECT FROM pg_depend d
                  WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
LIMIT 1;

-- name: adopt_schema
-- The end of a restore: tables that had a schema of their own get the one that Headwater's user looks them up
-- in. The dump has emptied the search path.
RESET search_path;
DO $$
DECLARE
    target name := current_schema();
    original name := (SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                      WHERE c.relname = 'migrations' AND c.relkind = 'r');
BEGIN
    IF original <> target THEN
        EXECUTE format('DROP SCHEMA %I', target);
        EXECUTE format('ALTER SCHEMA %I RENAME TO %I', original, target);
    END IF;
END $$;

-- name: sequences
-- The sequences of ids that other systems store. Identity columns only number internal rows.
SELECT c.oid::regclass::text FROM pg_class c
WHERE c.relkind = 'S' AND c.relnamespace = quote_ident(current_schema())::regnamespace
  AND NOT EXISTS (SELECT FROM pg_depend d
                  WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                    AND d.deptype IN ('a', 'i', 'e'));

-- name: skip
-- Continue ids after a gap.
SELECT setval(%(sequence)s::regclass, nextval(%(sequence)s::regclass) + %(gap)s);

-- name: analyze
-- Restored rows have no planner statistics.
ANALYZE;

-- name: recovering
-- Whether PostgreSQL is still recovering, and the other sessions in the database.
SELECT pg_is_in_recovery(),
       (SELECT count(*) FROM pg_stat_activity a
        WHERE a.datname = current_database() AND a.backend_type = 'client backend'
          AND a.pid <> pg_backend_pid());

-- name: sealed
-- For the operator's side: the secrets that only the secret key can decrypt.
SELECT (SELECT count(*) FROM destinations d WHERE d.secrets IS NOT NULL AND d.status <> 'removed'),
       (SELECT count(*) FROM webhooks w WHERE w.secret IS NOT NULL AND w.revoked_at IS NULL),
       (SELECT count(*) FROM sites s WHERE s.signing_secret IS NOT NULL AND s.revoked_at IS NULL);

-- name: record
INSERT INTO backups (id, made_at, finished_at, bytes, name, folder)
VALUES (%(id)s, %(made_at)s, clock_timestamp(), %(bytes)s, %(name)s, %(folder)s);

-- name: verified
UPDATE backups b SET verified_at = now() WHERE b.id = %(id)s;

-- name: forget
DELETE FROM backups b WHERE b.id = ANY(%(ids)s);

-- name: list
SELECT b.name, b.folder, b.made_at, b.finished_at, b.bytes, b.verified_at FROM backups b
ORDER BY b.made_at DESC LIMIT %(limit)s;

-- name: age
-- The age in seconds of the data in the latest backup; null without any.
SELECT extract(epoch FROM now() - max(b.made_at))::float8 FROM backups b;

-- name: latest
SELECT b.made_at, b.made_at < now() - %(old)s::interval AS is_old, b.verified_at FROM backups b
ORDER BY b.made_at DESC LIMIT 1;

-- name: latest_folder
SELECT b.folder FROM backups b ORDER BY b.made_at DESC LIMIT 1;

-- name: now
-- The database's clock, which also dates the erasures.
SELECT clock_timestamp();
