-- name: database
-- The database's oid; a replacement has another one.
SELECT d.oid FROM pg_database d WHERE d.datname = current_database();
